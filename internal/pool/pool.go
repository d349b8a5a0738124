// Package pool caches values by name: those in use, and some idle ones.
package pool

import (
	"context"
	"errors"
	"sync"

	"github.com/arc-learn/arc/internal/guard"
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
	shut   func(V) error // what Close was called with; nil: it is open
}

// holding is a value and its users.
type holding[V any] struct {
	opened chan struct{}      // closed once value and err are set
	cancel context.CancelFunc // of opening
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
// After Close it returns store.ErrClosed. It waits no longer than ctx; the value is opened nevertheless.
func (p *Pool[V]) Get(ctx context.Context, name string) (V, error) {
	var zero V
	if err := store.CheckContext(ctx); err != nil {
		return zero, err
	}
	guest := !p.home(name)
	p.mu.Lock()
	if p.shut != nil {
		p.mu.Unlock()
		return zero, store.ErrClosed
	}
	if why := p.barred[name]; why != nil {
		p.mu.Unlock()
		return zero, why
	}
	h := p.held[name]
	if h == nil {
		h = &holding[V]{opened: make(chan struct{}), users: 1} // obtain is one
		p.held[name] = h
		var open context.Context
		open, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
		go p.obtain(open, name, h)
	}
	p.calls++
	h.users, h.last, h.guest = h.users+1, p.calls, guest
	p.mu.Unlock()
	select {
	case <-h.opened:
		return h.value, h.err
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		h.users--
		return zero, ctx.Err()
	}
}

// obtain opens a value for all who wait for it.
func (p *Pool[V]) obtain(ctx context.Context, name string, h *holding[V]) {
	defer h.cancel()
	h.err = errOpening // stays if open ends the goroutine
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		h.users--
		if shut := p.shut; h.err == nil && shut != nil { // Close has passed it by
			p.mu.Unlock() // shut may hang
			h.err = errors.Join(store.ErrClosed, shut(h.value))
			p.mu.Lock()
		}
		if h.err == nil {
			p.measure(h)
		} else if p.held[name] == h { // so that the next Get tries again
			delete(p.held, name)
		}
		close(h.opened)
	}()
	if lost := guard.Call(func() { h.value, h.err = p.open(ctx, name) }); lost != nil {
		h.err = lost
	}
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
	for p.total > p.bound && p.shut == nil {
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

// Close calls fn with each open value, and makes later calls of Get return store.ErrClosed. It does not wait for what
// is being opened, which may hang: that is cancelled, and passed to fn if it is there all the same.
func (p *Pool[V]) Close(fn func(V) error) error {
	p.mu.Lock()
	p.shut = fn
	var open []V
	for _, h := range p.held {
		select {
		case <-h.opened:
			open = append(open, h.value)
		default:
			h.cancel()
		}
	}
	p.mu.Unlock() // fn may hang
	var errs []error
	for _, v := range open {
		errs = append(errs, fn(v))
	}
	return errors.Join(errs...)
}
