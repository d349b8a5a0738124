// Package pool keeps values by name in memory while they are used, and some of
// them longer.
package pool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/arc-learn/arc/store"
)

// Pool holds one value per name, so that whoever works on a name works on the
// same value. It may be used concurrently.
type Pool[V any] struct {
	open   func(ctx context.Context, name string) (V, error)
	settle func(ctx context.Context) error
	bound  int64
	size   func(V) int64
	left   func(name string)
	home   func(name string) bool

	mu     sync.Mutex
	total  int64 // size of held, as it was when a use began or ended
	held   map[string]*holding[V]
	barred map[string]error
	calls  uint64
	closed bool
}

// holding is a value and its users.
type holding[V any] struct {
	opened chan struct{} // closed once value and err are set
	value  V
	err    error // of opening

	size  int64
	users int
	last  uint64 // call of Get
	guest bool   // not at home then
}

var errOpening = errors.New("the opening did not end")

// New returns an empty Pool. Open makes the value of a name; settle writes what
// values hold that is not written yet, before one may leave memory; bound is how much
// may stay while no caller uses it, by size, which tells at once; nil: each value is one. Left
// is told, if it is not nil, of a value that leaves memory, before it can be opened again.
// Home says whose values stay in preference: others have a quarter of the bound, and what
// is left; nil: all are alike.
func New[V any](
	open func(ctx context.Context, name string) (V, error), settle func(ctx context.Context) error,
	bound int64, size func(V) int64, left func(name string), home func(name string) bool,
) *Pool[V] {
	if size == nil {
		size = func(V) int64 { return 1 }
	}
	if home == nil {
		home = func(string) bool { return true }
	}
	return &Pool[V]{
		open: open, settle: settle, bound: bound, size: size, left: left, home: home,
		held: make(map[string]*holding[V]), barred: make(map[string]error),
	}
}

// Has reports whether the value of a name is in memory, or on its way.
func (p *Pool[V]) Has(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[name] != nil
}

// Get returns the value of a name, opened if need be. Every Get that succeeds is
// paired with Put. After Close it returns store.ErrClosed.
func (p *Pool[V]) Get(ctx context.Context, name string) (V, error) {
	var zero V
	guest := !p.home(name)
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return zero, store.ErrClosed
	}
	if why := p.barred[name]; why != nil {
		p.mu.Unlock()
		return zero, why
	}
	h := p.held[name]
	first := h == nil
	if first {
		h = &holding[V]{opened: make(chan struct{})}
		p.held[name] = h
	}
	p.calls++
	h.users, h.last, h.guest = h.users+1, p.calls, guest
	p.mu.Unlock()
	if first {
		func() {
			defer close(h.opened)
			h.err = errOpening // if the goroutine ends there
			h.value, h.err = p.open(context.WithoutCancel(ctx), name)
		}()
		p.mu.Lock()
		if h.err == nil && p.held[name] == h {
			p.measure(h)
		}
		p.mu.Unlock()
	}
	var gone <-chan struct{} // of a caller whose nil context is refused by what it does
	if ctx != nil {
		gone = ctx.Done()
	}
	select {
	case <-h.opened:
	case <-gone: // another opens it for others
		p.mu.Lock()
		defer p.mu.Unlock()
		h.users--
		return zero, ctx.Err()
	}
	if h.err == nil {
		return h.value, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[name] == h { // the next Get tries again
		delete(p.held, name)
	}
	return zero, h.err
}

// measure takes note of what a value has come to. The caller has mu.
func (p *Pool[V]) measure(h *holding[V]) {
	now := p.size(h.value)
	p.total, h.size = p.total+now-h.size, now
}

// Put ends a use. While there is more than may stay, the value that was idle for longest leaves
// memory once it is settled.
func (p *Pool[V]) Put(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[name].users--
	p.measure(p.held[name])
	for p.total > p.bound && !p.closed {
		idle, last := p.idle()
		if last == 0 {
			return
		}
		p.mu.Unlock()
		err := p.settle(context.Background())
		p.mu.Lock()
		if err != nil {
			return // it stays until a later Put
		}
		if h := p.held[idle]; h != nil && h.users == 0 && h.last == last {
			p.release(idle)
		}
	}
}

// idle returns the value to leave memory next, and when it was used last; 0: all are in use.
// It is the one that was idle for longest, of guests alone while these have more than a
// quarter of the bound. The caller has mu.
func (p *Pool[V]) idle() (name string, last uint64) {
	guests, guest, lastGuest := int64(0), "", uint64(0)
	for n, h := range p.held {
		if h.guest {
			guests += h.size
		}
		if h.users > 0 {
			continue
		}
		if last == 0 || h.last < last {
			name, last = n, h.last
		}
		if h.guest && (lastGuest == 0 || h.last < lastGuest) {
			guest, lastGuest = n, h.last
		}
	}
	if lastGuest != 0 && guests > p.bound/4 {
		return guest, lastGuest
	}
	return name, last
}

// release has a value leave memory. The caller has mu.
func (p *Pool[V]) release(name string) {
	p.total -= p.held[name].size
	delete(p.held, name)
	if p.left != nil {
		p.left(name)
	}
}

// Bar forgets the value of a name, and has Get return why until Lift; false: a caller
// uses it.
func (p *Pool[V]) Bar(name string, why error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.held[name]; h != nil {
		if h.users > 0 {
			return false
		}
		p.release(name)
	}
	p.barred[name] = why
	return true
}

// Lift ends what Bar has begun.
func (p *Pool[V]) Lift(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.barred, name)
}

// Close calls fn with each value that is open, and refuses what comes later.
func (p *Pool[V]) Close(fn func(V) error) error {
	p.mu.Lock()
	p.closed = true
	held := slices.Collect(maps.Values(p.held))
	p.mu.Unlock() // fn may hang
	var errs []error
	for _, h := range held {
		select {
		case <-h.opened:
			if h.err == nil {
				errs = append(errs, fn(h.value))
			}
		default: // what opens it may hang
		}
	}
	return errors.Join(errs...)
}
