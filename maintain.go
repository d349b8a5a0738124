package arc

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// maintainSome begins to maintain the scopes that are due, one after another.
func (a *Agent) maintainSome() int64 {
	if a.o.Maintain < 0 {
		return 0
	}
	now := a.o.Now().UnixNano()
	at := a.maintained.Load()
	if now < at {
		return min(at, now+int64(longestWait))
	}
	a.maintained.Store(math.MaxInt64) // until this is over
	a.upkeep.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		a.upkeep.Go(func() {
			select {
			case <-a.upkeep.Stopping():
				cancel()
			case <-ctx.Done():
			}
		})
		names := a.names()
		next := a.maintainDue(ctx, now)
		if a.names() != names {
			next = now // others are at home here
		}
		a.maintained.Store(next)
	})
	return 0
}

// keepStill keeps Erase, and what maintains scopes, from one another until done is called.
func (a *Agent) keepStill(ctx context.Context) (done func(), err error) {
	select {
	case a.keeping <- struct{}{}:
		return func() { <-a.keeping }, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}

// maintainDue maintains the scopes at home that were written to since they were last
// maintained, if that is long enough ago, and returns when the next is due.
func (a *Agent) maintainDue(ctx context.Context, now int64) int64 {
	next := now + int64(a.o.Maintain)
	if a.pruned+int64(a.o.Maintain) <= now { // tenants that are idle have old runs too
		prune := func(ctx context.Context) error { return a.prune(ctx, time.Unix(0, now)) }
		err := a.leases.Alone(ctx, maintainKey, prune)
		if err != nil && !another(err) && ctx.Err() == nil {
			a.o.Logger.Error("what is old could not be deleted", "error", a.o.Sanitizer.Sanitize(err.Error()))
		}
		if a.files != nil {
			if err := tend(ctx, a.files.Maintain); err != nil && ctx.Err() == nil {
				a.o.Logger.Error("the store's files could not be maintained", "error", a.o.Sanitizer.Sanitize(err.Error()))
			}
		}
		a.pruned = now
	}
	erased := a.erased.Load()
	for scope, written := range a.bank.Scopes() {
		if !a.atHome(scope) {
			continue
		}
		done, err := a.keepStill(ctx)
		if err != nil || a.erased.Load() != erased {
			done()
			return now // what is there has changed
		}
		due, err := a.maintainOne(ctx, scope, written, now)
		done()
		if err != nil && ctx.Err() == nil {
			a.o.Logger.Error("a scope could not be maintained", "error", a.o.Sanitizer.Sanitize(err.Error()))
			due = now + int64(time.Hour)
		}
		if due > now {
			next = min(next, due)
		}
	}
	return next
}

// maintainAll maintains what a scope of the Bank holds: memories, or an identity.
func (a *Agent) maintainAll(ctx context.Context, scope memory.Scope) error {
	of, apart := strings.CutSuffix(string(scope), "/"+memory.Apart)
	if !apart {
		_, err := a.Maintain(ctx, scope)
		return err
	}
	me, err := a.identity(memory.Scope(of))
	if err == nil {
		_, err = me.Maintain(ctx)
	}
	return err
}

// maintainOne maintains a scope if it is due, and returns when it is next; 0: when
// it is written to.
func (a *Agent) maintainOne(ctx context.Context, scope memory.Scope, written time.Time, now int64) (int64, error) {
	k := upkeepKey(scope)
	var last maintainedAt
	e, err := a.st.Get(ctx, k)
	if err == nil {
		err = codec.Decode(e, &last)
	}
	seen := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	due := last.At + int64(a.o.Maintain)
	switch {
	case seen && written.UnixNano() < last.At:
		return 0, nil
	case seen && due > now:
		return due, nil
	case seen:
		err := a.leases.Alone(ctx, key.Join(maintainKey, scope.Tenant()), func(ctx context.Context) error {
			return a.maintainAll(ctx, scope)
		})
		if another(err) { // whose home it was, as it seems there
			return now + int64(a.o.Lease), nil
		}
		if err != nil {
			return 0, err
		}
	}
	return now + int64(a.o.Maintain), a.keepTime(ctx, k, now)
}

// maintainKey is the lease of the one that prunes, and with a tenant that of the one that
// maintains it.
const maintainKey = "arc/maintains"

// tend calls a method of a filer.
func tend(ctx context.Context, method func(context.Context) error) error {
	var err error
	return errors.Join(guard.Call(func() { err = guard.Error(method(ctx)) }), err)
}
