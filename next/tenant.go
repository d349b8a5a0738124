package arc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/arc-learn/arc/next/learn"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/meta"
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/store"
)

// opening is a tenant that is open or being opened.
type opening struct {
	done chan struct{}
	t    *tenant
	err  error
}

// tenant has the parts of a tenant, over one group.
type tenant struct {
	name, prefix string
	whole        *store.Group // over the whole store
	group        *store.Group // the tenant's part of it
	bank         *memory.Bank
	book         *rank.Book
	sessions     *meta.Sessions
	layer        *learn.Layer
}

// tenant returns the tenant of a scope, which is opened at its first use.
func (a *Agent) tenant(ctx context.Context, scope memory.Scope) (*tenant, error) {
	if err := scope.Check(); err != nil {
		return nil, fmt.Errorf("arc: %w", err)
	}
	name := scope.Tenant()
	a.mu.Lock()
	o, first := a.tenants[name], false
	if o == nil {
		o, first = &opening{done: make(chan struct{})}, true
		a.tenants[name] = o
	}
	a.mu.Unlock()
	if first {
		o.t, o.err = a.openTenant(context.WithoutCancel(ctx), scope)
		if o.err != nil { // the next caller tries again
			a.mu.Lock()
			delete(a.tenants, name)
			a.mu.Unlock()
		}
		close(o.done)
	}
	select {
	case <-o.done:
		return o.t, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a *Agent) openTenant(ctx context.Context, scope memory.Scope) (*tenant, error) {
	fail := func(err error) (*tenant, error) { return nil, fmt.Errorf("arc: tenant %s: %w", scope.Tenant(), err) }
	t := &tenant{name: scope.Tenant(), prefix: scope.TenantPrefix(), whole: store.NewGroup(a.store)}
	t.group = t.whole.Sub(t.prefix)
	if err := t.group.Refresh(ctx); err != nil { // marks where changes begin
		return fail(err)
	}
	m := memory.Options{}
	if a.opts.Memory != nil {
		m = *a.opts.Memory
	}
	if m.Now == nil {
		m.Now = a.opts.Now
	}
	if m.Sanitizer == nil {
		m.Sanitizer = a.opts.Sanitizer
	}
	var err error
	if t.bank, err = memory.OpenGroup(ctx, t.group, &m); err != nil {
		return fail(err)
	}
	t.book, err = rank.Open(ctx, t.group, &rank.Options{Now: a.opts.Now, Seed: a.opts.Seed, Logger: a.opts.Logger})
	if err != nil {
		return fail(errors.Join(err, t.bank.Close()))
	}
	t.sessions = meta.New(t.group)
	of := a.opts.Learn
	of.Scope = plain(store.Scope(t.name))
	if t.layer, err = learn.With(t.group, t.bank, t.book, nil, &of); err != nil {
		return fail(errors.Join(err, t.bank.Close()))
	}
	return t, nil
}

// Tenants yields the tenants that have something in the store.
func (a *Agent) Tenants(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for after := ""; ; {
			name := ""
			for e, err := range a.store.Scan(ctx, store.Range{Prefix: "t/", After: after, Limit: 1}) {
				if err != nil {
					yield("", fmt.Errorf("arc: %w", err))
					return
				}
				name, _, _ = strings.Cut(strings.TrimPrefix(e.Key, "t/"), "/")
			}
			if name == "" || !yield(name, nil) {
				return
			}
			after = store.Scope(name).TenantPrefix() + "\U0010FFFF"
		}
	}
}
