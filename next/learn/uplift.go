package learn

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/store"
)

// Arm counts the outcomes of cases with memory, or of those that the holdout gave nothing.
type Arm struct {
	Cases, Delivered   int
	Calls, CallsSquare float64 // of models, over the cases that reported them
	Reported           int
	USD, USDSquare     float64 // over the cases whose cost is known
	Priced             int
}

// arms are those of a Lessons scope.
type arms struct{ With, Without Arm }

// stageUplift counts an outcome in its arm. Without a holdout nothing is counted: the two would not be alike.
func (l *Layer) stageUplift(ctx context.Context, b *store.Batch, g *given, by int) error {
	o := &g.Outcome
	if l.opts.Holdout == 0 || o.Verdict == Unknown || g.Case.Fresh {
		return nil
	}
	key := g.Case.Lessons.Key(upliftKind, "all")
	all, rev, err := load[arms](ctx, b, key)
	if err != nil {
		return err
	}
	arm, n := &all.With, float64(by)
	if g.Held {
		arm = &all.Without
	}
	arm.Cases += by
	if o.Verdict == Delivered {
		arm.Delivered += by
	}
	if o.Usage != nil {
		calls := float64(o.Usage.Calls)
		arm.Calls, arm.CallsSquare, arm.Reported = arm.Calls+n*calls, arm.CallsSquare+n*calls*calls, arm.Reported+by
	}
	if usd := cost(o.Usage); usd != nil {
		arm.USD, arm.USDSquare, arm.Priced = arm.USD+n**usd, arm.USDSquare+n**usd**usd, arm.Priced+by
	}
	return put(b, key, &all, rev)
}

// Uplift returns the two arms of a Lessons scope: cases with memory, and those held out.
func (l *Layer) Uplift(ctx context.Context, lessons memory.Scope) (with, without Arm, err error) {
	if err := lessons.Check(); err != nil {
		return Arm{}, Arm{}, fmt.Errorf("learn: %w", err)
	}
	all, _, err := load[arms](ctx, l.group.Store(), lessons.Key(upliftKind, "all"))
	return all.With, all.Without, err
}
