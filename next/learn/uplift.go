package learn

import (
	"cmp"
	"context"
	"fmt"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/meta"
	"github.com/arc-learn/arc/next/store"
)

// Uplift is what memory is worth: the difference between cases with memory and those that the holdout gave nothing, a
// case each. Model calls and dollars count where they were reported. See [meta.Difference].
type Uplift struct{ Delivered, Calls, USD meta.Interval }

// arms are what cases with memory came to, and those without: delivered, model calls, dollars. They are of a Lessons
// scope.
type arms [2][3]meta.Sample

// measure counts an outcome in its arm, or takes it back. Without a holdout nothing is counted: the two would not be
// alike.
func (l *Layer) measure(ctx context.Context, b *store.Batch, g *given, by int) error {
	o := &g.Outcome
	if l.opts.Holdout == 0 || o.Verdict == Unknown || g.Case.Fresh {
		return nil
	}
	return edit(ctx, b, g.Case.Lessons.Key(upliftKind, "all"), func(all *arms) (bool, error) {
		side := &all[0]
		if l.holds(&g.Case) {
			side = &all[1]
		}
		delivered := 0.0
		if o.Verdict == Delivered {
			delivered = 1
		}
		side[0].Add(delivered, by)
		if u := o.Usage; u != nil {
			side[1].Add(float64(u.Calls), by)
			if usd := cmp.Or(u.CostUSD, u.EstimateUSD); usd != nil {
				side[2].Add(*usd, by)
			}
		}
		return true, nil
	})
}

// Uplift returns what memory is worth in a Lessons scope, since a holdout is set.
func (l *Layer) Uplift(ctx context.Context, lessons memory.Scope) (Uplift, error) {
	if err := lessons.Check(); err != nil {
		return Uplift{}, fmt.Errorf("learn: %w", err)
	}
	all, _, err := codec.Load[arms](ctx, l.group.Store(), lessons.Key(upliftKind, "all"))
	w, o := all[0], all[1]
	return Uplift{meta.Difference(w[0], o[0], 0, 1), meta.Difference(w[1], o[1]), meta.Difference(w[2], o[2])}, err
}
