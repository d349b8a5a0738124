package engine

import (
	"maps"
	"sync"

	"github.com/arc-learn/arc/store"
)

// Snapshots knows what readers may see, which is everything up to the last
// group that was acknowledged, in the generation that counts; who still reads
// which generation; and the scans under way.
type Snapshots struct {
	mu struct {
		sync.Mutex
		gen   *Generation
		last  uint64 // of the commits acknowledged
		scans map[*Scan]struct{}
	}
}

// Init has readers begin in a generation.
func (r *Snapshots) Init(gen *Generation, last uint64) {
	r.mu.gen, r.mu.last = gen, last
	r.mu.scans = make(map[*Scan]struct{})
}

// Begin returns the generation that counts, which stays until End, and the
// newest commit that a reader sees.
func (r *Snapshots) Begin() (*Generation, uint64) { return r.follow(func() {}) }

// follow is Begin together with fn, so that no commit falls in between.
func (r *Snapshots) follow(fn func()) (*Generation, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
	r.mu.gen.readers++
	return r.mu.gen, r.mu.last
}

// End ends what Begin has begun.
func (r *Snapshots) End(gen *Generation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gen.readers--
	r.idle(gen)
}

// idle tells of a generation that is read no more. It is called once for each
// reader that ends after the switch, or at the switch if there is none.
func (r *Snapshots) idle(gen *Generation) {
	if gen != r.mu.gen && gen.readers == 0 {
		close(gen.idle)
	}
}

// Idle is closed when the generation no longer counts, and has no reader.
func (g *Generation) Idle() <-chan struct{} { return g.idle }

// Generation returns the one that counts, for the caller that has the turn.
func (r *Snapshots) Generation() *Generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.gen
}

// SwitchTo has readers that begin from now on read gen.
func (r *Snapshots) SwitchTo(gen *Generation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.mu.gen
	r.mu.gen = gen
	r.idle(old)
}

// Last returns the newest commit that a reader sees.
func (r *Snapshots) Last() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.last
}

// Advance shows the commits up to seq to readers that begin from now on, and
// calls publish before a reader sees them.
func (r *Snapshots) Advance(seq uint64, publish func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	publish()
	r.mu.last = seq
}

// Scan calls follow and begins an iteration as of that moment. The caller ends it by Close,
// or all by CloseAll, while no goroutine is in it.
func (r *Snapshots) Scan(follow func(), in store.Range) (*Scan, error) {
	gen, seq := r.follow(follow)
	sc, err := gen.newScan(seq, in)
	if err != nil {
		r.End(gen)
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.scans[sc] = struct{}{}
	return sc, nil
}

// Close ends an iteration, unless CloseAll has.
func (r *Snapshots) Close(sc *Scan) {
	r.mu.Lock()
	_, open := r.mu.scans[sc]
	delete(r.mu.scans, sc)
	r.mu.Unlock()
	if open {
		sc.it.Close()
		sc.txn.Discard()
		r.End(sc.gen)
	}
}

// CloseAll ends the iterations under way.
func (r *Snapshots) CloseAll() {
	r.mu.Lock()
	scans := maps.Clone(r.mu.scans)
	r.mu.Unlock()
	for sc := range scans {
		r.Close(sc)
	}
}
