package arc

import (
	"context"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
)

// recall finds what is known about the aim, and lets a chunk fire. None fires
// where the host has made the plan, or while metacognition says to pivot: the
// plan that is known is the one that keeps failing.
func (t *turn) recall(ctx context.Context) (phase, error) {
	o, g := &t.s.Objective, t.s.aim()
	g.Searched = true
	if !o.Fresh {
		if err := t.search(ctx); err != nil {
			return "", err
		}
		t.emit(EventRecalled, Event{IDs: g.Recalled})
	}
	if len(o.Tasks) > 0 && t.s.Deliberations == 0 {
		if why := t.a.unable(o.Tasks); why != "" {
			return t.block(CauseNoWorker, why), nil
		}
		g.follow(o.Tasks, g.Approach, "")
		return phaseAssign, nil
	}
	if o.Fresh || t.s.Assessment.Pivot || g.Next > 0 {
		return phaseReason, nil
	}
	chunk, ok := t.own.learner.Fire(slices.Concat(t.hits, t.background), g.Situation, g.Text, g.Spent)
	if !ok || t.a.unable(chunk.Tasks) != "" {
		return phaseReason, nil
	}
	g.follow(chunk.Tasks, chunk.Approach, chunk.ID)
	t.s.Fired++
	t.emit(EventFired, Event{IDs: []memory.ID{chunk.ID}, Text: chunk.Approach})
	return phaseAssign, nil
}

// search recalls memories for the aim, and the background. A holdout withholds
// them.
func (t *turn) search(ctx context.Context) error {
	o, g := &t.s.Objective, t.s.aim()
	ask := learn.Ask{
		Scope: o.Scope, Also: o.Also, Episodes: o.Episodes, Situation: g.Situation, Objective: g.Text,
	}
	if t.a.o.Learn.Holdout > 0 {
		ask.GoalKey = t.own.name + "/" + t.s.aimKey() // no two tenants share draws
	}
	hits, withheld, err := t.own.learner.Recall(ctx, ask)
	if err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	background, held, err := t.own.learner.Background(ctx, ask)
	if err != nil {
		return fmt.Errorf("recall the background: %w", err)
	}
	ids := make([]memory.ID, 0, len(hits)+len(background))
	for _, h := range slices.Concat(hits, background) {
		ids = append(ids, h.Record.ID)
	}
	if withheld || held {
		t.hits, t.background, g.Recalled, g.Withheld = nil, nil, nil, ids
		return nil
	}
	t.hits, t.background, g.Recalled = hits, background, ids
	return nil
}
