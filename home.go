package arc

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/lease"
	"github.com/arc-learn/arc/memory"
)

// Home returns the name of the replica at which a scope's tenant is at home: that one alone
// maintains its memories, and keeps them in memory in preference (memory.Options.IndexBytes).
// A balancer that asks there finds them warm. Each other answers as well, only colder. It
// is the same at all replicas, within twice Options.Lease after one of them has gone,
// and "" for an Agent without a name. The scope "" is Options.Scope.
func (a *Agent) Home(scope memory.Scope) string {
	live := a.live.Load()
	if live == nil {
		return a.o.Replica
	}
	return lease.Home(cmp.Or(scope, a.o.Scope).Tenant(), *live)
}

// atHome reports whether a scope's tenant is at home here.
func (a *Agent) atHome(scope memory.Scope) bool { return a.Home(scope) == a.o.Replica }

// meet sees which other replicas are there.
func (a *Agent) meet(ctx context.Context) error {
	keys, err := a.leases.Live(ctx, key.Prefix(replicaKeys))
	if err != nil {
		return err
	}
	names := []string{a.o.Replica}
	for _, k := range keys {
		names = append(names, key.Split(k)[1])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	before := a.live.Load()
	if before != nil && slices.Equal(*before, names) {
		return nil
	}
	a.live.Store(&names)
	if at := a.maintained.Load(); at != math.MaxInt64 { // else it looks when it is over
		a.maintained.CompareAndSwap(at, 0) // what is at home here now may be due
	}
	return nil
}
