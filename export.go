package arc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/census"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/parcel"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Export writes what is kept of a scope and of those below it, as JSON lines that Import
// reads: runs that touch the scope (see Erase) with their outputs, jobs of queues with their
// cycles, memories, identity, endings, experiments, and the samples and outcomes of these runs. For a scope of one
// segment, a tenant, statistics go as a whole, with proposals and the ledgers of goals.
// What runs have taught in other scopes of the tenant stays with these, and what
// they have used of Options.Bounds is not carried along: Erase alone follows it there.
// Values are as they lie on disk, so texts have no more secrets than there; vectors go along.
//
// The error is ErrRunning while a run is live that touches the scope; until Export
// returns, the tenant's runs that would begin, or go on, get ErrRunning. What is written
// after an error is no whole parcel, and Import refuses it.
func (a *Agent) Export(ctx context.Context, scope memory.Scope, w io.Writer) error {
	err := errors.Join(alive(ctx), scope.Check())
	if err == nil && guard.IsNil(w) {
		err = errors.New("the writer is nil")
	}
	if err == nil {
		err = a.stilled(ctx, scope, false, func() error { return a.export(ctx, scope, w) })
	}
	if err != nil {
		return fmt.Errorf("export %q: %w", scope, err)
	}
	return nil
}

func (a *Agent) export(ctx context.Context, scope memory.Scope, w io.Writer) error {
	if err := a.w.Flush(ctx); err != nil {
		return err
	}
	out, err := parcel.NewWriter(w, string(scope))
	if err != nil {
		return err
	}
	known := newCustoms(scope)
	give := func(entries iter.Seq2[store.Entry, error]) error {
		for e, err := range entries {
			if err == nil {
				err = known.check(e) // what goes out can come in
			}
			if err == nil {
				err = out.Put(e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := give(a.bank.Entries(ctx, scope)); err != nil {
		return err
	}
	if err := give(queue.Entries(ctx, a.st, scope)); err != nil {
		return err
	}
	if whole(scope) {
		err = a.giveTenant(ctx, scope.Tenant(), give)
	} else {
		err = a.giveUser(ctx, scope, give)
	}
	if err != nil {
		return err
	}
	return out.Close()
}

// giver takes entries out.
type giver = func(iter.Seq2[store.Entry, error]) error

// one yields one entry.
func one(e store.Entry) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) { yield(e, nil) }
}

// giveTenant gives what lies under a tenant. What follows from runs is left out.
func (a *Agent) giveTenant(ctx context.Context, tenant string, give giver) error {
	prefix := key.Under(tenant, "")
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: prefix}) {
		switch part := key.Split(e.Key[min(len(prefix), len(e.Key)):])[0]; {
		case err != nil, part == statusKeys, part == sessionKeys, part == outputKeys, part == spoolKeys, part == jobKeys:
		case part == runKeys:
			_, err = a.giveRun(ctx, e, "", give)
		default:
			err = give(one(e))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveUser gives what lies under the tenant and is of a scope below it.
func (a *Agent) giveUser(ctx context.Context, scope memory.Scope, give giver) error {
	tenant := scope.Tenant()
	own, err := a.tenant(ctx, scope)
	if err != nil {
		return err
	}
	defer a.handBack(own)
	if err := give(own.learner.Entries(ctx, scope)); err != nil {
		return err
	}
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: key.Under(tenant, upkeepKeys, string(scope))}) {
		if err == nil && upkeepOf(e.Key).Within(scope) {
			err = give(one(e))
		}
		if err != nil {
			return err
		}
	}
	keys := make(map[string]bool)
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: key.Under(tenant, runKeys, "")}) {
		var more []string
		if err == nil {
			more, err = a.giveRun(ctx, e, scope, give)
		}
		if err != nil {
			return err
		}
		for _, k := range more {
			keys[k] = true
		}
	}
	return give(census.Entries(ctx, own.book, own.monitor, keys))
}

// giveRun gives a run, if it touches the scope, with its outputs and what marks its
// episodes; those of a tenant ("") are with its statistics. It returns the keys by which
// the run was counted.
func (a *Agent) giveRun(ctx context.Context, e store.Entry, scope memory.Scope, give giver) ([]string, error) {
	var s state
	if err := codec.Decode(e, &s); err != nil || !s.touches(scope) {
		return nil, err
	}
	err := give(one(e))
	if err == nil {
		err = give(a.outputs(ctx, &s))
	}
	attempts, goals := s.names()
	counted, episodes := learn.Keys(goals)
	if scope == "" {
		return nil, err
	}
	for _, name := range episodes {
		mark, miss := a.st.Get(ctx, key.Under(s.Objective.Scope.Tenant(), "meta", "episode", name))
		if miss == nil && err == nil {
			err = give(one(mark))
		} else if miss != nil && !errors.Is(miss, store.ErrNotFound) {
			return nil, miss
		}
	}
	return append(counted, attempts...), err
}

// upkeepOf is the scope in the key of an upkeep, unless it is too long for one.
func upkeepOf(k string) memory.Scope { return memory.Scope(k[strings.LastIndexByte(k, 0)+1:]) }
