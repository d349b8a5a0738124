// Package turns says whose turn it is on what goroutines share in memory: that of many
// searches or of one change, and that of the holder of a name.
package turns

import "sync"

// maxPassed is how many searches go before a change that waits.
const maxPassed = 256

// Turnstile lets in any number of searches, or one change. A change that comes
// while searches are in is left to the last of them, so that it is never one
// that waits for a processor that keeps searches out: with sync.RWMutex, all that
// come after it wait for the longest search before it, and for its goroutine.
type Turnstile struct {
	mu       sync.Mutex
	turn     sync.Cond // changes were made
	searches int       // that are in
	passed   int       // searches that went in while changes wait
	changes  []func()  // that wait
	made     int       // changes
}

// New returns a Turnstile that nothing has passed.
func New() *Turnstile {
	t := new(Turnstile)
	t.turn.L = &t.mu
	return t
}

// Enter lets a search in, which calls Leave.
func (t *Turnstile) Enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.passed >= maxPassed {
		t.turn.Wait()
	}
	if t.searches++; len(t.changes) > 0 {
		t.passed++
	}
}

// Leave ends a search.
func (t *Turnstile) Leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.searches--; t.searches > 0 || len(t.changes) == 0 {
		return
	}
	for _, change := range t.changes {
		change()
	}
	t.made += len(t.changes)
	clear(t.changes)
	t.changes, t.passed = t.changes[:0], 0
	t.turn.Broadcast()
}

// Change has f called while no search is in, and returns after that. F waits for
// nothing.
func (t *Turnstile) Change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.searches == 0 {
		f()
		return
	}
	t.changes = append(t.changes, f)
	for all := t.made + len(t.changes); t.made < all; {
		t.turn.Wait()
	}
}
