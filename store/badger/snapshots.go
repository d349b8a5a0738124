package badger

import "sync"

// snapshots knows what readers may see, which is everything up to the last
// group that was acknowledged; the old versions that they still need; and the
// scans under way.
type snapshots struct {
	mu struct {
		sync.Mutex
		last  uint64 // of the commits acknowledged
		open  map[uint64]int
		scans map[*scan]struct{}
	}
}

func (r *snapshots) init(last uint64) {
	r.mu.last = last
	r.mu.open = make(map[uint64]int)
	r.mu.scans = make(map[*scan]struct{})
}

// begin returns the newest commit that a reader sees, and keeps it readable
// until end.
func (r *snapshots) begin() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.open[r.mu.last]++
	return r.mu.last
}

func (r *snapshots) end(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.open[seq]--; r.mu.open[seq] == 0 {
		delete(r.mu.open, seq)
	}
}

func (r *snapshots) last() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.last
}

// advance shows the commits up to seq to readers that begin from now on, and
// calls publish before anyone sees them. It returns the oldest commit that is
// still read: what is older than that may be cleared away.
func (r *snapshots) advance(seq uint64, publish func()) (oldest uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	publish()
	r.mu.last = seq
	oldest = seq
	for open := range r.mu.open {
		oldest = min(oldest, open)
	}
	return oldest
}

// follow is begin together with fn, so that no commit falls in between.
func (r *snapshots) follow(fn func()) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
	r.mu.open[r.mu.last]++
	return r.mu.last
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

// release ends all scans. Nobody may be inside Badger.
func (r *snapshots) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for sc := range r.mu.scans {
		sc.release()
	}
	clear(r.mu.scans)
}
