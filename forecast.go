package arc

import (
	"cmp"
	"context"
	"strings"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Forecast is what a run of an objective would begin with.
type Forecast struct {
	// Fires is the chunk whose plan would run before the reasoner is asked, with
	// its Tasks bound to the objective. nil: none, for the reason in Why.
	Fires *reason.Suggestion
	Why   string
	// Near are the chunks of cases like this one, most alike first, each with what
	// keeps it from firing.
	Near []reason.Suggestion
}

// Would returns which chunk would fire if the objective were run now, or why none would.
// It only reads: it executes nothing, learns nothing and stores nothing. Where an option
// draws by a run's id (learn.Options.Holdout), the result is that for the objective's ID.
// The errors are those of Run.
func (a *Agent) Would(ctx context.Context, o Objective) (f Forecast, err error) {
	if err := store.CheckContext(ctx); err != nil {
		return f, err
	}
	o.ID = cmp.Or(o.ID, "would") // begin draws one otherwise, and the next run another
	s, err := a.begin(o)
	if err != nil {
		return f, err
	}
	own, err := a.tenant(ctx, s.Objective.Scope)
	if err != nil {
		return f, err
	}
	defer a.handBack(own)
	t := &turn{a: a, own: own, s: s, veil: a.veilFor(s.Objective.Secrets)}
	defer a.veils.Put(t.veil)
	next, err := t.assess(ctx)
	if err != nil {
		return f, err
	}
	g := t.s.aim()
	if next != phaseRecall {
		f.Why = "metacognition: " + t.advice()
		return f, nil
	}
	if next, err = t.recall(ctx); err != nil {
		return f, err
	}
	for _, c := range t.matched() {
		plan := c.Suggestion
		if next == phaseAssign && c.ID == g.Fired {
			f.Fires = &plan
		} else {
			f.Near = append(f.Near, plan)
		}
	}
	if f.Fires == nil {
		f.Why = t.silent(f.Near)
	}
	return f, nil
}

// silent returns why no chunk fires.
func (t *turn) silent(near []reason.Suggestion) string {
	o := &t.s.Objective
	switch {
	case len(o.Tasks) > 0:
		return "the host's own plan goes first"
	case o.Fresh:
		return "the objective is to start fresh"
	case len(t.s.aim().Withheld) > 0:
		return "what is known is withheld, by chance, to measure how much it helps"
	case t.s.Assessment.Pivot:
		return "metacognition: " + t.advice()
	case len(near) == 0:
		return "no plan of a case like this one is known"
	case len(near[0].Differs) == 0:
		return t.a.unable(near[0].Tasks)
	}
	return strings.Join(near[0].Differs, "; ")
}
