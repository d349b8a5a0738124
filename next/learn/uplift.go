package learn

import (
	"cmp"
	"context"
	"fmt"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/meta"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// measure counts an outcome with those that had memory, or those that the holdout gave nothing, or takes it back.
// Without a holdout nothing is counted: the two would not be alike.
func (l *Layer) measure(ctx context.Context, b *store.Batch, g *given, by int) error {
	o, u := &g.Outcome, cmp.Or(g.Outcome.Usage, &reason.Usage{})
	if l.opts.Holdout == 0 || o.Verdict == Unknown || g.Case.Fresh {
		return nil
	}
	return edit(ctx, b, g.Case.Lessons.Key(upliftKind, "all"), func(all *meta.Arms) (bool, error) {
		var calls *int
		if o.Usage != nil {
			calls = &u.Calls
		}
		all.Add(!l.holds(&g.Case), o.Verdict == Delivered, calls, cmp.Or(u.CostUSD, u.EstimateUSD), by)
		return true, nil
	})
}

// Uplift returns what memory is worth in a Lessons scope, since a holdout is set.
func (l *Layer) Uplift(ctx context.Context, lessons memory.Scope) (meta.Uplift, error) {
	if err := lessons.Check(); err != nil {
		return meta.Uplift{}, fmt.Errorf("learn: %w", err)
	}
	all, _, err := codec.Load[meta.Arms](ctx, l.group.Store(), lessons.Key(upliftKind, "all"))
	return all.Uplift(), err
}
