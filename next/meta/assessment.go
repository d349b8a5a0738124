package meta

import (
	"fmt"
	"math"
	"slices"

	"github.com/arc-learn/arc/next/iar"
)

// Step is what an assessment recommends.
type Step string

const ( // the steps, the mildest first, and what may come beside them
	KeepGoing     Step = "keep_going"
	SlowDown      Step = "slow_down"      // something failed, or is about to
	ConsiderPivot Step = "consider_pivot" // the approach seldom works
	PivotNow      Step = "pivot_now"      // the approach does not work

	Shift        Step = "shift"         // resonance falls: think about the way of working
	FreshContext Step = "fresh_context" // what was tried misleads: begin with a clean context
	AskPerson    Step = "ask_person"    // neither another try nor another approach is likely to help
	GiveUp       Step = "give_up"       // nothing that was counted speaks for any further try
)

// State of a session.
const (
	NoData     = "no_data"
	Healthy    = "healthy"
	Struggling = "struggling"
	Failing    = "failing"
)

// Signs are what a run tells of itself while its outcomes are still open. The zero value says nothing.
type Signs struct {
	Goal, Approach string    // what is tried now; empty: those of the last outcome
	Resonance      []float64 // of the run's reflections so far, oldest first
	Spent          float64   // share of the budget that is used up, in [0,1], of the bound that is nearest
	Left           []string  // the approaches that are left to try
}

// Assessment is what the outcomes of a session and the signs of a run add up to.
type Assessment struct {
	State      string   // NoData, Healthy, Struggling or Failing
	Step       Step     // KeepGoing, SlowDown, ConsiderPivot or PivotNow
	Confidence string   // in Step: low, medium or high
	Also       []Step   // Shift, FreshContext, AskPerson, GiveUp, where they hold
	Evidence   []string // in words, what Step and Also rest on
	Left       []string // approaches that have not failed at the goal since it was last delivered

	Total, Delivered int
	Failures         int // since the last delivery
	Same, Tries      int // tries at the goal that failed since it was delivered: by the approach, and by all
	Again, Other     Odd // of another try of the approach, and of the first one of another approach
}

// Assess assesses a session. It is a function of its arguments alone:
//
//   - PivotNow: three tries of the approach at the goal failed since it was last delivered; or of at least five that
//     were counted after as many failures under a quarter delivered, and another approach is likelier to
//   - ConsiderPivot: of two outcomes or more under 40 % delivered; or resonance falls in a session that fails
//   - SlowDown: the last outcome failed, four fifths of the budget are spent, or resonance is low or falls
//   - Shift: resonance falls, in the run or over the session (see [iar.Findings])
//   - FreshContext: two approaches failed at the goal in turn, or five tries by two approaches or more
//   - AskPerson: six tries by three approaches failed at the goal; or, counted from 20 tries of each, neither another
//     try nor another approach delivers in one case of ten
//   - GiveUp: counted from 50 tries of each, neither does in one of twenty, and six tries failed at the goal
func Assess(s *Session, odds *Odds, g Signs) Assessment {
	a := Assessment{Step: KeepGoing, Total: s.Total, Delivered: s.Delivered, Failures: s.Failures}
	if n := len(s.Recent); n > 0 {
		if g.Goal == "" {
			g.Goal = s.Recent[n-1].Goal
		}
		if g.Approach == "" {
			g.Approach = s.Recent[n-1].Approach
		}
	}
	g.Goal, g.Approach = cut(g.Goal), cut(g.Approach)
	a.Same, a.Tries = s.failed(g.Goal, g.Approach)
	a.Again, a.Other = odds.Of(a.Same, a.Tries)
	by := s.approaches(g.Goal)
	for _, left := range g.Left {
		if !slices.Contains(by, cut(left)) {
			a.Left = append(a.Left, left)
		}
	}
	a.byOutcomes(g.Approach)
	a.bySigns(&g, s)
	a.byTries(by)
	if a.Step != KeepGoing && len(a.Left) > 0 {
		a.say("left to try: %.200q", a.Left)
	}
	switch a.State, a.Confidence = Struggling, "medium"; {
	case a.Step == PivotNow:
		a.State, a.Confidence = Failing, "high"
	case a.Step == KeepGoing && a.Total == 0:
		a.State, a.Confidence = NoData, "low"
	case a.Step == KeepGoing:
		a.State, a.Confidence = Healthy, "high"
	}
	return a
}

// approaches returns those that failed at a goal since it was last delivered, oldest first, one a try.
func (s *Session) approaches(goal string) (by []string) {
	for _, o := range s.Recent {
		if o.Goal == goal && o.Delivered {
			by = nil
		} else if o.Goal == goal {
			by = append(by, o.Approach)
		}
	}
	return by
}

func (a *Assessment) say(format string, args ...any) {
	a.Evidence = append(a.Evidence, fmt.Sprintf(format, args...))
}

// raise makes the step at least step.
func (a *Assessment) raise(step Step) {
	order := []Step{KeepGoing, SlowDown, ConsiderPivot, PivotNow}
	a.Step = order[max(slices.Index(order, step), slices.Index(order, a.Step))]
}

func (a *Assessment) also(step Step, why string) {
	a.Also = append(a.Also, step)
	a.say("%s: %s", step, why)
}

// byOutcomes applies the rules of thumb.
func (a *Assessment) byOutcomes(approach string) {
	if a.Failures > 0 {
		a.raise(SlowDown)
		a.say("%d failed since the last delivery; %d at the goal, %d of them by %q", a.Failures, a.Tries, a.Same, approach)
	}
	if a.Total >= 2 && float64(a.Delivered) < 0.4*float64(a.Total) {
		a.raise(ConsiderPivot)
		a.say("%d of %d delivered, under 40 %%", a.Delivered, a.Total)
	}
	if a.Same >= 3 {
		a.raise(PivotNow)
		a.say("%d tries of the approach failed: the next one is not likely to work", a.Same)
	}
	if a.Same > 0 && a.Again.Tries >= 5 && a.Again.Chance < 0.25 && a.Again.Chance < a.Other.Chance {
		a.raise(PivotNow)
		a.say("%s", a.words())
	}
}

// words gives the odds and what they rest on.
func (a *Assessment) words() string {
	return fmt.Sprintf("another try delivers with a chance of %.2f (%d of %d did so far), another approach of %.2f (%d of %d)",
		a.Again.Chance, a.Again.Delivered, a.Again.Tries, a.Other.Chance, a.Other.Delivered, a.Other.Tries)
}

// bySigns applies what the run and the session's reflections tell. They never make a PivotNow: a reflection
// is a worker's own word, and a short budget says nothing about the approach.
func (a *Assessment) bySigns(g *Signs, s *Session) {
	found := iar.Findings(g.Resonance)
	if len(found) == 0 {
		found = s.Resonance.Issues()
	}
	for _, f := range found {
		a.raise(SlowDown)
		a.say("%s: %s", f.Kind, f.Text)
		if f.Kind == iar.Degradation {
			a.also(Shift, "resonance falls by more than chance")
			if a.Failures > 0 {
				a.raise(ConsiderPivot)
			}
		}
	}
	if g.Spent >= 0.8 && g.Spent <= 1 {
		a.raise(SlowDown)
		a.say("%.0f %% of the budget is spent", 100*g.Spent)
	}
}

// byTries adds the steps that failures at the goal ask for, by these approaches, oldest first.
func (a *Assessment) byTries(by []string) {
	n, different := len(by), len(slices.Compact(slices.Sorted(slices.Values(by))))
	many := fmt.Sprintf("%d tries at the goal failed, by %d approaches", n, different)
	counted, best := min(a.Again.Tries, a.Other.Tries), max(a.Again.Chance, a.Other.Chance)
	if l := by[max(0, n-4):]; n >= 4 && l[0] == l[2] && l[1] == l[3] && l[0] != l[1] || n >= 5 && different >= 2 {
		a.also(FreshContext, many)
	}
	if n >= 6 && different >= 3 {
		a.also(AskPerson, many)
	} else if n > 0 && counted >= 20 && best < 0.1 {
		a.also(AskPerson, a.words())
	}
	if n >= 6 && counted >= 50 && best < 0.05 {
		a.also(GiveUp, a.words())
	}
}

// Another reports whether a try that failed is better followed by another approach than by the same again:
// unless that is less likely to deliver by more than two standard errors. Unlike PivotNow it needs no counts;
// it is for a host that has an approach left whose price is about the same.
func (a *Assessment) Another() bool {
	p := a.Other.Chance
	return a.Tries > 0 && p+2*math.Sqrt(p*(1-p)/float64(believed+a.Other.Tries+1)) >= a.Again.Chance
}
