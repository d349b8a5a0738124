package arc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/lease"
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
		next := now + int64(a.o.Lease)
		if ctx, end, err := a.maintainer(ctx); err == nil {
			next = a.maintainDue(ctx, now)
			end()
		}
		a.maintained.Store(next)
	})
	return 0
}

// maintainDue maintains the scopes that were written to since they were last
// maintained, if that is long enough ago, and returns when the next is due.
func (a *Agent) maintainDue(ctx context.Context, now int64) int64 {
	next := now + int64(a.o.Maintain)
	if a.pruned+int64(a.o.Maintain) <= now { // tenants that are idle have old runs too
		if err := a.prune(ctx, time.Unix(0, now)); err != nil && ctx.Err() == nil {
			a.o.Logger.Error("what is old could not be deleted", "error", a.o.Sanitizer.Sanitize(err.Error()))
		}
		if a.files != nil {
			if err := tend(ctx, a.files.Maintain); err != nil && ctx.Err() == nil {
				a.o.Logger.Error("the store's files could not be maintained", "error", a.o.Sanitizer.Sanitize(err.Error()))
			}
		}
		a.pruned = now
	}
	for scope, written := range a.bank.Scopes() {
		if ctx.Err() != nil {
			break
		}
		due, err := a.maintainOne(ctx, scope, written, now)
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

// upkeepKey leads to when a scope was last maintained.
func upkeepKey(scope memory.Scope) string {
	part := string(scope)
	if len(part) > key.MaxID {
		sum := sha256.Sum256([]byte(part))
		part = "#" + hex.EncodeToString(sum[:]) // no scope begins so
	}
	return key.Under(scope.Tenant(), upkeepKeys, part)
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
		if err := a.maintainAll(ctx, scope); err != nil {
			return 0, err
		}
	}
	return now + int64(a.o.Maintain), a.keepTime(ctx, k, now)
}

// maintainKey is the lease of the one that maintains the scopes.
const maintainKey = "arc/maintains"

// maintainer has one replica at a time maintain the scopes: it returns the context to do
// so under, and what ends that. It is called again when an error says that another does.
func (a *Agent) maintainer(ctx context.Context) (context.Context, func(), error) {
	if a.leases == nil {
		return ctx, func() {}, nil
	}
	ctx, err := a.leases.Enter(ctx, maintainKey)
	if err != nil {
		return nil, nil, err
	}
	l := lease.Of(ctx)
	l.Keep(true)
	end := func() {
		_ = l.Release(context.WithoutCancel(ctx)) // else it lapses
		a.leases.Leave(maintainKey)
	}
	if err = l.Fresh(ctx); err != nil {
		end()
	}
	return ctx, end, err
}
