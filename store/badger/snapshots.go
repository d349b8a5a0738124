package badger

import "sync"

// snapshots knows what readers may see, which is everything up to the last
// group that was acknowledged, in the generation that counts; who still reads
// which generation; and the scans under way.
type snapshots struct {
	mu struct {
		sync.Mutex
		gen   *generation
		last  uint64 // of the commits acknowledged
		scans map[*scan]struct{}
	}
}

func (r *snapshots) init(gen *generation, last uint64) {
	r.mu.gen, r.mu.last = gen, last
	r.mu.scans = make(map[*scan]struct{})
}

// begin returns the generation that counts, which stays until end, and the
// newest commit that a reader sees.
func (r *snapshots) begin() (*generation, uint64) { return r.follow(func() {}) }

// follow is begin together with fn, so that no commit falls in between.
func (r *snapshots) follow(fn func()) (*generation, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
	r.mu.gen.readers++
	return r.mu.gen, r.mu.last
}

func (r *snapshots) end(gen *generation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gen.readers--
	r.idle(gen)
}

// idle tells of a generation that is read no more. It is called once for each
// reader that ends after the switch, or at the switch if there is none.
func (r *snapshots) idle(gen *generation) {
	if gen != r.mu.gen && gen.readers == 0 {
		close(gen.idle)
	}
}

// generation returns the one that counts, for the caller that has the turn.
func (r *snapshots) generation() *generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.gen
}

// switchTo has readers that begin from now on read gen.
func (r *snapshots) switchTo(gen *generation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.mu.gen
	r.mu.gen = gen
	r.idle(old)
}

func (r *snapshots) last() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.last
}

// advance shows the commits up to seq to readers that begin from now on, and
// calls publish before anyone sees them.
func (r *snapshots) advance(seq uint64, publish func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	publish()
	r.mu.last = seq
}

func (r *snapshots) register(sc *scan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.scans[sc] = struct{}{}
}

// unregister reports whether a scan is the caller's to release.
func (r *snapshots) unregister(sc *scan) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.mu.scans[sc]; !ok {
		return false
	}
	delete(r.mu.scans, sc)
	return true
}

// take returns all scans for the caller to release.
func (r *snapshots) take() map[*scan]struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	scans := r.mu.scans
	r.mu.scans = make(map[*scan]struct{})
	return scans
}
