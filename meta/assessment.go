package meta

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/iar"
)

// The steps that an assessment recommends, the mildest first.
const (
	KeepGoing     = "keep_going"
	SlowDown      = "slow_down"      // something failed, or is about to
	ConsiderPivot = "consider_pivot" // the approach seldom works
	PivotNow      = "pivot_now"      // the approach does not work
)

// What may come beside a step.
const (
	shift        = "shift"         // resonance falls: think about the way of working
	freshContext = "fresh_context" // what was tried misleads: begin with a clean context
	askPerson    = "ask_person"    // neither another try nor another approach is likely to help
	giveUp       = "give_up"       // nothing that was counted speaks for any further try
)

// Assessment is what the tries of a session add up to.
type Assessment struct {
	Step     string   // KeepGoing, SlowDown, ConsiderPivot or PivotNow
	Also     []string // "shift", "fresh_context", "ask_person", "give_up", where they hold: see Sessions.Assess
	Evidence []string // in words, what Step and Also rest on

	same, tries  int // that failed at the goal since it was last delivered: by the approach, and by all
	again, other odd // of another try of the approach, and of the first one of another approach
}

// assess makes the assessment: see [Sessions.Assess]. Each rule can only raise the step and add its evidence,
// so that their order matters for the words alone.
func assess(s *session, o *odds, t Try, spent float64, approaches []string) Assessment {
	a := Assessment{Step: KeepGoing}
	t.Goal, t.Approach = digest(t.Goal), cut(t.Approach)
	if n := len(s.Recent); n > 0 {
		t.Goal = cmp.Or(t.Goal, s.Recent[n-1].Goal)
		t.Approach = cmp.Or(t.Approach, s.Recent[n-1].Approach)
	}
	by, same := s.failed(t.Goal, t.Approach)
	a.same, a.tries = same, len(by)
	a.again, a.other = o.of(a.same, a.tries)
	a.byOutcomes(s, t.Approach)
	a.bySigns(s, &t, spent)
	a.byTries(by)
	failed := func(approach string) bool { return slices.Contains(by, cut(approach)) }
	left := slices.DeleteFunc(slices.Clone(approaches), failed)
	if a.Step != KeepGoing && len(left) > 0 {
		a.say("left to try: %.200q", left)
	}
	if len(s.Recent) == 0 {
		a.say("no tries are recorded")
	}
	return a
}

func (a *Assessment) say(format string, args ...any) {
	a.Evidence = append(a.Evidence, fmt.Sprintf(format, args...))
}

// raise makes the step at least step.
func (a *Assessment) raise(step string) {
	order := []string{KeepGoing, SlowDown, ConsiderPivot, PivotNow}
	a.Step = order[max(slices.Index(order, step), slices.Index(order, a.Step))]
}

func (a *Assessment) also(step string, why string) {
	a.Also = append(a.Also, step)
	a.say("%s: %s", step, why)
}

// byOutcomes applies the rules of thumb.
func (a *Assessment) byOutcomes(s *session, approach string) {
	if s.Failures > 0 {
		a.raise(SlowDown)
		a.say("%d failed since the last delivery; %d at the goal, %d of them by %q",
			s.Failures, a.tries, a.same, approach)
	}
	n, delivered := len(s.Recent), 0
	for _, o := range s.Recent {
		if o.Delivered {
			delivered++
		}
	}
	if s.Failures > 0 && n >= 2 && float64(delivered) < 0.4*float64(n) {
		a.raise(ConsiderPivot)
		a.say("%d of the last %d delivered, under 40 %%", delivered, n)
	}
	if a.same >= 3 {
		a.raise(PivotNow)
		a.say("%d tries of the approach failed: the next one is not likely to work", a.same)
	}
	if a.same > 0 && a.again.Tries >= 5 && a.again.chance < 0.25 && a.again.chance < a.other.chance {
		a.raise(PivotNow)
		a.say("%s", a.words())
	}
}

// words gives the odds and what they rest on.
func (a *Assessment) words() string {
	again, other := a.again, a.other
	return fmt.Sprintf("another try delivers with a chance of %.2f (%d of %d did so far), "+
		"another approach of %.2f (%d of %d)",
		again.chance, again.Delivered, again.Tries, other.chance, other.Delivered, other.Tries)
}

// bySigns applies what reflections and the budget tell. They never make a PivotNow: a reflection is a
// worker's own word, and a short budget says nothing about the approach.
func (a *Assessment) bySigns(s *session, t *Try, spent float64) {
	var resonance iar.Tracker
	for _, r := range t.Reflections {
		resonance.Record(t.Goal, r)
	}
	found := resonance.Issues()
	if len(found) == 0 {
		found = s.Resonance.Issues()
	}
	for _, f := range found {
		a.raise(SlowDown)
		a.say("%s: %s", f.Kind, f.Text)
		if f.Kind == iar.Degradation {
			a.also(shift, "resonance falls by more than chance")
			if s.Failures > 0 {
				a.raise(ConsiderPivot)
			}
		}
	}
	if spent >= 0.8 {
		a.raise(SlowDown)
		a.say("%.0f %% of the budget is spent", 100*spent)
	}
}

// byTries adds the steps that failures at the goal ask for, by these approaches, oldest first.
func (a *Assessment) byTries(by []string) {
	n, different := len(by), len(slices.Compact(slices.Sorted(slices.Values(by))))
	many := fmt.Sprintf("%d tries at the goal failed, by %d approaches", n, different)
	counted, best := min(a.again.Tries, a.other.Tries), max(a.again.chance, a.other.chance)
	last := by[max(0, n-4):]
	inTurn := n >= 4 && last[0] == last[2] && last[1] == last[3] && last[0] != last[1]
	if inTurn || n >= 5 && different >= 2 {
		a.also(freshContext, many)
	}
	if n >= 6 && different >= 3 {
		a.also(askPerson, many)
	} else if n > 0 && counted >= 20 && best < 0.1 {
		a.also(askPerson, a.words())
	}
	if n >= 6 && counted >= 50 && best < 0.05 {
		a.also(giveUp, a.words())
	}
}
