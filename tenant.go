package arc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// Bounds of the tenants that are in memory without a run that works on them.
const maxIdle, idleAfter = 256, time.Hour

// tenants are those in memory: each is opened at its first use, and unloaded when nobody has used it for an
// hour, or too many others were used since. One that a run works on stays, which no cache by recency knows.
type tenants struct {
	load func(ctx context.Context, scope memory.Scope) (*tenant, error)

	mu   sync.Mutex
	open map[string]*opening
}

// opening is a tenant that is open or being opened.
type opening struct {
	done    chan struct{} // closed when t or err is set
	t       *tenant
	err     error
	holders int
	last    time.Time // of its uses
}

// tenant has the parts of a tenant, over one group.
type tenant struct {
	name, prefix string
	whole        *store.Group // over the whole store
	group        *store.Group // the tenant's part of it
	now          func() time.Time
	bank         *memory.Bank
	book         *rank.Book
	sessions     *meta.Sessions
	layer        *learn.Layer
}

// tenant returns the tenant of a scope for a call so short that it may be unloaded meanwhile.
func (a *Agent) tenant(ctx context.Context, scope memory.Scope) (*tenant, error) {
	t, release, err := a.tenants.hold(ctx, scope)
	if err == nil {
		release()
	}
	return t, err
}

// hold returns the tenant of a scope, which stays until release is called.
func (ts *tenants) hold(ctx context.Context, scope memory.Scope) (t *tenant, release func(), err error) {
	if err := scope.Check(); err != nil {
		return nil, nil, fmt.Errorf("arc: %w", err)
	}
	name := scope.Tenant()
	ts.mu.Lock()
	o := ts.open[name]
	if o == nil {
		o = &opening{done: make(chan struct{}), holders: 1}
		ts.open[name] = o
		go ts.fill(context.WithoutCancel(ctx), scope, o) // the store may be away for longer than ctx lasts
	}
	o.holders++
	ts.mu.Unlock()
	release = func() { ts.release(name, o) }
	select {
	case <-o.done:
		err = o.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return o.t, release, nil
}

// fill opens a tenant, and lets it go. What others have changed meanwhile, refresh has passed by.
func (ts *tenants) fill(ctx context.Context, scope memory.Scope, o *opening) {
	o.t, o.err = ts.load(ctx, scope)
	if o.err != nil {
		ts.forget(scope.Tenant()) // the next caller tries again
	}
	close(o.done)
	if o.err == nil && o.t.group.Refresh(ctx) != nil {
		ts.forget(scope.Tenant())
	}
	ts.release(scope.Tenant(), o)
}

// drop takes out the tenants that which returns under the lock, and ends without it what they have in the
// background. To close a Bank is no error.
func (ts *tenants) drop(which func() []*opening) {
	ts.mu.Lock()
	gone := which()
	ts.mu.Unlock()
	for _, o := range gone {
		if o.t != nil {
			_ = o.t.bank.Close()
		}
	}
}

// release lets a holder go. The last one closes what was forgotten.
func (ts *tenants) release(name string, o *opening) {
	ts.drop(func() []*opening {
		o.holders--
		o.last = time.Now()
		switch {
		case o.holders > 0:
		case ts.open[name] != o: // who comes next has opened it anew, or will
			return []*opening{o}
		case len(ts.open) > maxIdle:
			return ts.idle()
		}
		return nil
	})
}

// idle takes out of the map the tenants that nobody holds and that were idle for too long, or are too many.
func (ts *tenants) idle() (gone []*opening) {
	held := func(name string) bool { return ts.open[name].holders > 0 }
	idle := slices.DeleteFunc(slices.Collect(maps.Keys(ts.open)), held)
	slices.SortFunc(idle, func(a, b string) int { return ts.open[a].last.Compare(ts.open[b].last) })
	for i, name := range idle {
		if o := ts.open[name]; len(idle)-i > maxIdle || time.Since(o.last) >= idleAfter {
			delete(ts.open, name)
			gone = append(gone, o)
		}
	}
	return gone
}

// forget has tenants opened anew at their next use: those of these names, or all where there is none.
func (ts *tenants) forget(names ...string) {
	ts.drop(func() (gone []*opening) {
		for name, o := range ts.open {
			if len(names) > 0 && !slices.Contains(names, name) {
				continue
			}
			delete(ts.open, name)
			if o.holders == 0 {
				gone = append(gone, o)
			}
		}
		return gone
	})
}

// refresh has the tenants that have changed read what others wrote.
func (ts *tenants) refresh(ctx context.Context, changed map[string]bool) error {
	ts.mu.Lock()
	open := maps.Clone(ts.open)
	ts.mu.Unlock()
	var errs []error
	for name, o := range open {
		if !changed[name] {
			continue
		}
		select {
		case <-o.done:
			if o.t != nil {
				errs = append(errs, o.t.group.Refresh(ctx))
			}
		default: // who opens it refreshes it
		}
	}
	return errors.Join(errs...)
}

func (a *Agent) openTenant(ctx context.Context, scope memory.Scope) (_ *tenant, err error) {
	t := &tenant{name: scope.Tenant(), prefix: scope.TenantPrefix(), whole: store.NewGroup(a.store)}
	t.group, t.now = t.whole.Sub(t.prefix), a.opts.Now
	t.sessions = meta.New(t.group)
	of := a.opts.Learn
	of.Scope = plain(store.Scope(t.name))
	if t.bank, err = memory.Open(ctx, t.group, a.opts.Memory); err == nil {
		var wrong error
		t.book, err = rank.Open(ctx, t.group, a.opts.Now, a.opts.Seed, a.opts.Logger)
		t.layer, wrong = learn.With(t.group, t.bank, t.book, &of)
		if err = cmp.Or(err, wrong); err != nil {
			err = errors.Join(err, t.bank.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("arc: tenant %s: %w", t.name, err)
	}
	return t, nil
}

// Tenants yields the tenants that have something in the store.
func (a *Agent) Tenants(ctx context.Context) iter.Seq2[string, error] {
	return skipScan(ctx, a.store, "t/", func(key string) (name, after string) {
		name, _, _ = strings.Cut(strings.TrimPrefix(key, "t/"), "/")
		return name, store.Scope(name).TenantPrefix()
	})
}
