package memory

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/store"
)

// Space is the view of one scope of a Bank. It is a small value: copy it freely. It may
// be used concurrently.
//
// Every method returns ErrScope if the scope is bad, store.ErrClosed after Close of the
// Bank, and the error of a context that has ended. For an id that is not in the scope the
// error is store.ErrNotFound, also if another scope has it.
type Space struct {
	b     *Bank
	scope Scope
	err   error
}

// Scope returns the scope.
func (s Space) Scope() Scope { return s.scope }

// ready loads the tenant, and keeps it in memory until the caller calls done, which is
// never nil. The error says why the space cannot be used.
func (s Space) ready(ctx context.Context) (done func(), err error) {
	if err := s.check(ctx); err != nil {
		return nothing, err
	}
	return s.b.tenants.Use(ctx, s.scope.Tenant())
}

// check returns why the space cannot be used, or nil.
func (s Space) check(ctx context.Context) error {
	switch {
	case s.err != nil:
		return s.err
	case s.b == nil:
		return ErrScope
	}
	return s.b.check(ctx)
}

// holding is ready, and returns the shard of the scope; nil if the scope is empty.
func (s Space) holding(ctx context.Context) (sh *shard, done func(), err error) {
	if done, err = s.ready(ctx); err == nil {
		sh = s.b.shard(s.scope)
	}
	return sh, done, err
}

// lookup returns the record that the id leads to.
func (s Space) lookup(id ID) (*shard, *table.Entry, error) {
	if sh := s.b.shard(s.scope); sh != nil {
		if e := sh.entry(id); e != nil {
			return sh, e, nil
		}
	}
	return nil, nil, fmt.Errorf("memory: record %.256q: %w", s.b.sanitize.Sanitize(string(id)), store.ErrNotFound)
}

// Scopes yields the scopes that have records, in no order, each with the last time at which
// one of them was made, said again or used. With IndexBytes these are the scopes of tenants
// that were used since Open, here or, as Follow has told, elsewhere.
func (b *Bank) Scopes() iter.Seq2[Scope, time.Time] {
	return func(yield func(Scope, time.Time) bool) {
		more := true
		b.shards.Range(func(_, v any) bool {
			sh := v.(*shard)
			last := sh.Changed()
			more = last == 0 || yield(sh.scope, micros(last))
			return more
		})
		for scope, last := range b.tenants.Left {
			if !more {
				return
			}
			more = last == 0 || yield(Scope(scope), micros(last))
		}
	}
}

// In returns the view of one scope. If the scope is bad, the methods of the view return
// ErrScope.
func (b *Bank) In(s Scope) Space { return Space{b: b, scope: s, err: s.Check()} }

// change calls f on a record while nothing else changes the scope. Errors name the verb.
func (s Space) change(ctx context.Context, verb string, id ID, f func(*shard, *table.Entry) error) error {
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return err
	}
	sh, _, err := s.lookup(id)
	if err != nil {
		return err
	}
	sh.edit.Lock()
	defer sh.edit.Unlock()
	now, e, err := s.lookup(id) // again: it may have changed
	if err != nil {
		return err
	}
	if err = store.ErrConflict; now == sh { // else Reload has read the scope anew
		err = f(sh, e)
	}
	if err != nil {
		return fmt.Errorf("memory: %s %q: %w", verb, id, err)
	}
	return nil
}
