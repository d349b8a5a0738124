// Package pool caches values by name: those in use, and some idle ones.
package pool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/arc-learn/arc/store"
)

// Pool holds one value per name, so that all users of a name share it. It is safe for concurrent use.
type Pool[V any] struct {
	open   func(ctx context.Context, name string) (V, error)
	settle func(ctx context.Context) error
	bound  int64
	size   func(V) int64
	left   func(name string)
	home   func(name string) bool

	mu     sync.Mutex
	total  int64 // size of held, measured when a use began or ended
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
	last  uint64 // number of the last call of Get
	guest bool   // it was not at home then
}

var errOpening = errors.New("the opening did not end")

// New returns an empty Pool.
//
//   - open makes the value of a name
//   - settle writes a value's pending changes before idle values leave memory
//   - bound is how much may stay while unused, in units of size; size must return at once, and if it is
//     nil each value counts as 1
//   - left is called, if it is not nil, when a value leaves memory, before it can be opened again
//   - home reports which names are preferred: the others share a quarter of the bound, and what is free;
//     nil: all are alike
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

// Has reports whether the value of a name is in memory or being opened.
func (p *Pool[V]) Has(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[name] != nil
}

// Get returns the value of a name, and opens it if needed. Each successful Get has to be paired with Put.
// After Close it returns store.ErrClosed.
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
			h.err = errOpening // stays if open ends the goroutine
			h.value, h.err = p.open(context.WithoutCancel(ctx), name)
		}()
		p.mu.Lock()
		if h.err == nil && p.held[name] == h {
			p.measure(h)
		}
		p.mu.Unlock()
	}
	var gone <-chan struct{} // nil for a nil context, which a later call refuses
	if ctx != nil {
		gone = ctx.Done()
	}
	select {
	case <-h.opened:
	case <-gone: // the value is opened nevertheless
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
	if p.held[name] == h { // so that the next Get tries again
		delete(p.held, name)
	}
	return zero, h.err
}

// measure updates the size of a value. The caller holds mu.
func (p *Pool[V]) measure(h *holding[V]) {
	now := p.size(h.value)
	p.total, h.size = p.total+now-h.size, now
}

// Put ends a use. While more than the bound is idle, the value that was idle for longest is settled and
// leaves memory.
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

// idle returns the value that leaves memory next, and when it was used last; 0: all are in use. It is the
// one that was idle for longest, but only of guests while these have more than a quarter of the
// bound. The caller holds mu.
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

// release removes a value from memory. The caller holds mu.
func (p *Pool[V]) release(name string) {
	p.total -= p.held[name].size
	delete(p.held, name)
	if p.left != nil {
		p.left(name)
	}
}

// Bar drops the value of a name, and makes Get return why until Lift. It returns false if the value is in
// use.
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

// Lift ends Bar.
func (p *Pool[V]) Lift(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.barred, name)
}

// Close calls fn with each open value, and makes later calls of Get return store.ErrClosed.
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
		default: // do not wait for open, which may hang
		}
	}
	return errors.Join(errs...)
}
