// Package tenants bounds what is in memory of tenants that no call uses, and remembers the
// scopes of those that have left it.
package tenants

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/arc-learn/arc/internal/pool"
)

// Tenant is a tenant in memory. Bytes is about what it takes there.
type Tenant struct {
	Bytes  atomic.Int64
	scopes sync.Map // scope → nil
}

// Add says that a scope of the tenant is in memory.
func (t *Tenant) Add(scope string) { t.scopes.Store(scope, nil) }

// Tenants are those of a Bank. A nil Tenants bounds nothing: all are in memory.
// It may be used concurrently.
type Tenants struct {
	load  func(ctx context.Context, name string) error
	evict func(scope string) (changed int64, there bool)
	pool  *pool.Pool[*Tenant]
	here  sync.Map // name → *Tenant: in memory, or on its way
	left  sync.Map // name → *sync.Map of others: scope → int64
}

// New returns Tenants of which none is in memory. Load reads one from the store;
// settle writes what is in memory only, before one may leave. Evict takes a scope
// out of memory, and says when it was changed last, if it was there. Bound and
// home are as in pool.New.
func New(
	load func(ctx context.Context, name string) error, settle func(context.Context) error,
	evict func(scope string) (changed int64, there bool), bound int64, home func(name string) bool,
) *Tenants {
	t := &Tenants{load: load, evict: evict}
	size := func(t *Tenant) int64 { return t.Bytes.Load() }
	t.pool = pool.New(t.arrive, settle, bound, size, t.depart, home)
	return t
}

// Use has a tenant be in memory until done is called, which is never nil.
func (t *Tenants) Use(ctx context.Context, name string) (done func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	if _, err := t.pool.Get(ctx, name); err != nil {
		return func() {}, err
	}
	return func() { t.pool.Put(name) }, nil
}

// Close cancels what is being loaded. Use returns store.ErrClosed from then on.
func (t *Tenants) Close() {
	if t != nil {
		_ = t.pool.Close(func(*Tenant) error { return nil }) // never fails
	}
}

// Has reports whether a tenant is in memory, or on its way.
func (t *Tenants) Has(name string) bool { return t == nil || t.pool.Has(name) }

// Of returns a tenant in memory, or nil.
func (t *Tenants) Of(name string) *Tenant {
	if t == nil {
		return nil
	}
	of, _ := t.here.Load(name)
	known, _ := of.(*Tenant)
	return known
}

// arrive reads a tenant. If that fails it has left as before.
func (t *Tenants) arrive(ctx context.Context, name string) (*Tenant, error) {
	of := new(Tenant)
	t.here.Store(name, of)
	if err := t.load(ctx, name); err != nil {
		before, known := t.left.Load(name)
		if t.depart(name); known {
			t.left.Store(name, before)
		}
		return nil, fmt.Errorf("load: %w", err)
	}
	return of, nil
}

// depart forgets a tenant that no call uses: all of it is in the store.
func (t *Tenants) depart(name string) {
	left := new(sync.Map)
	if of, ok := t.here.LoadAndDelete(name); ok {
		of.(*Tenant).scopes.Range(func(scope, _ any) bool {
			if changed, there := t.evict(scope.(string)); there {
				left.Store(scope, changed)
			}
			return true
		})
	}
	t.left.Store(name, left)
}

// Note says that a scope of a tenant that is not in memory was changed elsewhere.
func (t *Tenants) Note(name, scope string, changed int64) { t.others(name).Store(scope, changed) }

// Forget says that a scope of a tenant that is not in memory is perhaps gone.
func (t *Tenants) Forget(name, scope string) { t.others(name).Delete(scope) }

func (t *Tenants) others(name string) *sync.Map {
	left, _ := t.left.LoadOrStore(name, new(sync.Map))
	return left.(*sync.Map)
}

// Left yields the scopes of tenants that are not in memory, each with when it was
// changed last, in no order.
func (t *Tenants) Left(yield func(scope string, changed int64) bool) {
	if t == nil {
		return
	}
	more := true
	t.left.Range(func(name, left any) bool {
		if t.Of(name.(string)) == nil {
			left.(*sync.Map).Range(func(scope, changed any) bool {
				more = yield(scope.(string), changed.(int64))
				return more
			})
		}
		return more
	})
}
