// Package roster lists the live runs, and can keep others from beginning.
package roster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/store"
)

// ID identifies a run: run ids are unique in a tenant.
type ID struct{ Tenant, Run string }

// Roster lists the live runs of an Agent. It is safe for concurrent use.
type Roster struct {
	running, still error

	mu      sync.Mutex
	live    map[ID]*guard.Line // with their contexts
	barred  map[string]bool    // tenants
	closing bool
	idle    chan struct{} // closed once it is closing and no run is live
}

// New returns an empty Roster. Running is the error for a run that is live, still the error for a tenant
// that is barred.
func New(running, still error) *Roster {
	return &Roster{
		running: running, still: still,
		live: make(map[ID]*guard.Line), barred: make(map[string]bool), idle: make(chan struct{}),
	}
}

// Enter marks a run as live, and returns its context. Each successful call has to be paired with Leave. The
// error is store.ErrClosed after Close.
func (r *Roster) Enter(ctx context.Context, id ID) (context.Context, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closing:
		return nil, store.ErrClosed
	case r.live[id] != nil:
		return nil, fmt.Errorf("%w: %q", r.running, id.Run)
	case r.barred[id.Tenant]:
		return nil, r.still
	}
	line := guard.NewLine(ctx)
	r.live[id] = line
	return line, nil
}

// Leave marks a run as no longer live, and ends its context.
func (r *Roster) Leave(id ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live[id].Close()
	delete(r.live, id)
	if r.closing && len(r.live) == 0 {
		close(r.idle)
	}
}

// Bar keeps the runs of a tenant from beginning until Lift, and returns the live ones.
func (r *Roster) Bar(tenant string) (live []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closing:
		return nil, store.ErrClosed
	case r.barred[tenant]:
		return nil, r.still
	}
	r.barred[tenant] = true
	for id := range r.live {
		if id.Tenant == tenant {
			live = append(live, id.Run)
		}
	}
	return live, nil
}

// Lift lets the runs of a tenant begin again.
func (r *Roster) Lift(tenant string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.barred, tenant)
}

// Close keeps all runs from beginning. It must be called once only.
func (r *Roster) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
	if len(r.live) == 0 {
		close(r.idle)
	}
}

// Closing reports whether Close was called.
func (r *Roster) Closing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing
}

// Idle returns a channel that is closed once Close was called and no run is live.
func (r *Roster) Idle() <-chan struct{} { return r.idle }

// Cancel ends the contexts of the live runs. They stay live until they leave.
func (r *Roster) Cancel() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.live {
		line.Close()
	}
}

// Live returns the live runs in order.
func (r *Roster) Live() []ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Keys(r.live), func(a, b ID) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Run, b.Run))
	})
}
