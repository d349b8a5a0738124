package arc

import (
	"context"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/meta"
)

// assess is the metacognitive check before an aim is taken up, before each of
// its tasks, and before a new plan is made. It sends the run on to what it
// stands before, or where the pivot policy says.
func (t *turn) assess(ctx context.Context) (phase, error) {
	pivots := len(t.s.Pivots)
	if next, err := t.judge(ctx); next != "" || err != nil {
		return next, err
	}
	g := t.s.aim()
	pivoted := len(t.s.Pivots) > pivots && slices.Contains(g.Avoid, g.Approach)
	switch {
	case len(g.Tasks) > 0 && pivoted && t.a.o.Pivot == PivotAuto && t.a.reasoner != nil:
		// The plan is of the approach that keeps failing.
		if g.takeOther() {
			t.emit(EventDecided, Event{Text: g.Approach, IDs: g.Utilized})
			return phaseAssign, nil
		}
		g.follow(nil, g.Approach, "")
		return phaseReason, nil
	case len(g.Tasks) > 0:
		return phaseAssign, nil
	case !g.Searched:
		return phaseRecall, nil
	}
	return phaseReason, nil
}

// judge asks whether what the session does is working. It returns where the
// pivot policy sends the run, or "" to go on.
func (t *turn) judge(ctx context.Context) (phase, error) {
	s, g := &t.s, t.s.aim()
	if s.Objective.Fresh {
		return "", nil
	}
	now := meta.Assessment{Recommendation: meta.KeepGoing}
	if !s.unjudged() {
		var err error
		if now, err = t.own.monitor.Assess(ctx, s.Session); err != nil {
			return "", fmt.Errorf("assess: %w", err)
		}
	}
	now = now.With(t.signs())
	if now.Recommendation == meta.KeepGoing {
		s.Assessment = meta.Assessment{}
		return "", nil
	}
	was := s.Assessment
	s.Assessment = now
	if now.Recommendation == was.Recommendation && now.Failures == was.Failures {
		return "", nil // known already
	}
	text := advice(&now)
	t.emit(EventAssessed, Event{Text: text})
	if t.a.o.Pivot == PivotAuto {
		switch {
		case slices.Contains(now.Also, meta.GiveUp):
			return t.block(CauseStuck, text), nil
		case slices.Contains(now.Also, meta.AskHuman):
			return t.ask(text + ": how shall I go on?"), nil
		}
	}
	if !now.Pivot {
		return "", nil
	}
	s.Pivots = appendTo(s.Pivots, text)
	t.emit(EventPivot, Event{Text: text})
	if now.Approach != "" && !slices.Contains(g.Avoid, now.Approach) {
		g.Avoid = appendTo(g.Avoid, now.Approach)
	}
	if t.a.o.Pivot == PivotAsk {
		return t.ask(text + ": how shall I go on?"), nil
	}
	return "", nil
}

// signs are what the run itself tells of how it goes.
func (t *turn) signs() meta.Signs {
	var signs meta.Signs
	signs.Spent, signs.Bound = t.s.Objective.Budget.used(t.s.spent(t.a.o.Now()))
	for _, e := range t.s.Tracker {
		if !e.Invalid {
			signs.Resonance = append(signs.Resonance, e.Resonance)
		}
	}
	return signs
}
