package learn

import (
	"cmp"
	"context"
	"fmt"

	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/meta"
	"github.com/arc-learn/arc/next/store"
)

// Uplift is what memory is worth: the difference between cases with memory and those that the holdout gave nothing, a
// case each. Model calls and dollars count where they were reported. See [meta.Difference].
type Uplift struct{ Delivered, Calls, USD meta.Interval }

// arm sums up the outcomes of one side.
type arm struct{ Delivered, Calls, USD meta.Sample }

// arms are those of a Lessons scope.
type arms struct{ With, Without arm }

// measure counts an outcome in its arm, or takes it back. Without a holdout nothing is counted: the two would not be alike.
func (l *Layer) measure(ctx context.Context, b *store.Batch, g *given, by int) error {
	o := &g.Outcome
	if l.opts.Holdout == 0 || o.Verdict == Unknown || g.Case.Fresh {
		return nil
	}
	key := g.Case.Lessons.Key(upliftKind, "all")
	all, rev, err := load[arms](ctx, b, key)
	if err != nil {
		return err
	}
	side := &all.With
	if l.holds(&g.Case) {
		side = &all.Without
	}
	delivered := 0.0
	if o.Verdict == Delivered {
		delivered = 1
	}
	side.Delivered.Add(delivered, by)
	if u := o.Usage; u != nil {
		side.Calls.Add(float64(u.Calls), by)
		if usd := cmp.Or(u.CostUSD, u.EstimateUSD); usd != nil {
			side.USD.Add(*usd, by)
		}
	}
	return put(b, key, &all, rev)
}

// Uplift returns what memory is worth in a Lessons scope, since a holdout is set.
func (l *Layer) Uplift(ctx context.Context, lessons memory.Scope) (Uplift, error) {
	if err := lessons.Check(); err != nil {
		return Uplift{}, fmt.Errorf("learn: %w", err)
	}
	all, _, err := load[arms](ctx, l.group.Store(), lessons.Key(upliftKind, "all"))
	w, o := all.With, all.Without
	return Uplift{meta.Difference(w.Delivered, o.Delivered, 0, 1), meta.Difference(w.Calls, o.Calls), meta.Difference(w.USD, o.USD)}, err
}
