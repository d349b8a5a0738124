package meta

import (
	"fmt"
	"slices"
)

// What an [Assessment] can recommend, besides "slow_down", "consider_pivot" and
// "pivot_now", for which Assessment.Pivot stands.
const (
	// KeepGoing is the Recommendation where nothing speaks against it.
	KeepGoing = "keep_going"
	// StartFresh is among Also: two approaches fail at a goal in turn, or five
	// tries at it failed by two approaches or more. The context misleads: begin
	// with a clean one.
	StartFresh = "start_fresh"
	// AskHuman is among Also: three approaches or more have failed at a goal, six
	// times or more; or neither another try nor another approach delivers in one
	// of ten cases, as learned from at least 20 tries of each.
	AskHuman = "ask_human"
	// GiveUp is among Also: neither delivers in one of twenty cases, as learned
	// from at least 50 tries of each, and the goal has failed six times.
	GiveUp = "give_up"
)

// The rules of Assess. The first three are those of the first Arc.
const (
	pivotFailures = 3    // of one approach, since the last success
	pivotRate     = 0.4  // success rate below which a pivot is considered
	pivotTasks    = 2    // outcomes that a success rate needs
	pivotChance   = 0.25 // chance below which another try does not pay
	pivotTries    = 5    // tries after as many failures that say so
)

// Assessment is what the outcomes of a session add up to. [Monitor.Assess]
// says by which rules.
type Assessment struct {
	Session string `cbor:"1,keyasint,omitempty"`
	// State of the session: "no_data", "healthy", "struggling" or "failing".
	State string `cbor:"2,keyasint,omitempty"`
	// Recommendation is "keep_going", "slow_down", "consider_pivot" or
	// "pivot_now".
	Recommendation string `cbor:"3,keyasint,omitempty"`
	// Pivot is set if Recommendation is "pivot_now".
	Pivot bool `cbor:"4,keyasint,omitempty"`
	// Confidence in the Recommendation: "low", "medium" or "high".
	Confidence string `cbor:"5,keyasint,omitempty"`

	Total       int     `cbor:"6,keyasint,omitempty"` // outcomes ever recorded
	Successes   int     `cbor:"7,keyasint,omitempty"` // of Total
	SuccessRate float64 `cbor:"8,keyasint,omitempty"` // of Total; zero if there are none
	Failures    int     `cbor:"9,keyasint,omitempty"` // since the last success
	// Same is how many of these failures, at most the last 256, are of the
	// same approach as the last.
	Same int `cbor:"10,keyasint,omitempty"`
	// Goal and Approach are those of the last failure; empty if the last
	// outcome was a success.
	Goal     string `cbor:"11,keyasint,omitempty"`
	Approach string `cbor:"12,keyasint,omitempty"`
	// Evidence says in words what the recommendation rests on; nil for KeepGoing.
	Evidence []string `cbor:"13,keyasint,omitempty"`
	// Chances are those of another try of Approach at Goal, and of another
	// approach to it; zero if the last outcome was a success.
	Chances Chances `cbor:"14,keyasint,omitempty"`
	// Also are steps for where a pivot alone will not mend it, StartFresh, AskHuman
	// and GiveUp, the mildest first, each with its reason in Evidence; nil: none.
	Also []string `cbor:"15,keyasint,omitempty"`
	// Tries are the attempts of a run that failed at its goal, if With has found
	// something in them.
	Tries int `cbor:"16,keyasint,omitempty"`
	// Last is when the last of Failures was, in nanoseconds since 1970; zero if
	// there is none.
	Last int64 `cbor:"17,keyasint,omitempty"`
}

// assess applies the rules, with the odds of all approaches and those of the
// last failure's.
func (s *history) assess(name string, all, own *odds) Assessment {
	if s.totals.Outcomes == 0 {
		return Assessment{Session: name, State: "no_data", Recommendation: KeepGoing, Confidence: "low"}
	}
	a := Assessment{
		Session:        name,
		State:          "healthy",
		Recommendation: KeepGoing,
		Confidence:     "high",
		Total:          int(s.totals.Outcomes),
		Successes:      int(s.totals.Successes),
		SuccessRate:    float64(s.totals.Successes) / float64(s.totals.Outcomes),
		Failures:       int(s.totals.Failures),
		Goal:           s.goal,
		Approach:       s.approach,
	}
	if a.Failures > 0 {
		a.Last = s.last
	}
	failures := s.failures()
	if n := len(failures); n > 0 {
		last := failures[n-1]
		for _, f := range failures {
			if f.same(last) {
				a.Same++
			}
		}
		same, tries := s.tried(last)
		a.Chances = all.chances(own, same, tries)
	}
	low := a.SuccessRate < pivotRate && a.Total >= pivotTasks
	switch {
	case a.Same >= pivotFailures, a.Chances.pivot():
		a.State, a.Recommendation, a.Pivot = "failing", "pivot_now", true
	case low:
		a.State, a.Recommendation, a.Confidence = "struggling", "consider_pivot", "medium"
	case a.Failures > 0:
		a.State, a.Recommendation, a.Confidence = "struggling", "slow_down", "medium"
	default:
		return a
	}
	a.explain(low)
	a.also(failures)
	return a
}

// explain gives the evidence for a recommendation.
func (a *Assessment) explain(low bool) {
	add := func(format string, args ...any) { a.Evidence = append(a.Evidence, fmt.Sprintf(format, args...)) }
	if a.Failures > 0 {
		what := "an approach without a name"
		if a.Approach != "" {
			what = fmt.Sprintf("the approach %q", a.Approach)
		} else if a.Goal != "" {
			what = fmt.Sprintf("the same way to the goal %q", a.Goal)
		}
		add("%d failed since the last success, %d of them by %s", a.Failures, a.Same, what)
	}
	if a.Failures >= pivotFailures && a.Same < pivotFailures {
		add("the failures are of different approaches: none of them failed %d times", pivotFailures)
	}
	if a.Chances.pivot() {
		add("%s", a.Chances.words())
	}
	if low {
		add("%d of %d succeeded, fewer than %g %%", a.Successes, a.Total, 100*pivotRate)
	}
}

// also adds the steps that the failures at the last goal ask for.
func (a *Assessment) also(failures []failure) {
	var by []uint64 // the approaches that failed at the goal
	for _, f := range failures {
		if f.goal == failures[len(failures)-1].goal {
			by = append(by, f.approach)
		}
	}
	again, other := a.Chances.Again, a.Chances.Other
	known, high := min(again.Tries, other.Tries), max(again.High, other.High)
	if len(by) < turnsOf && known < 20 {
		return // too few for any rule
	}
	a.advise(by, known, high)
}

// turnsOf is the number of failures that show two ways taken in turn.
const turnsOf = 4

// inTurn reports whether the last four are two in turn, neither of them 0.
func inTurn(by []uint64) bool {
	if len(by) < turnsOf {
		return false
	}
	l := by[len(by)-turnsOf:]
	return l[0] == l[2] && l[1] == l[3] && l[0] != l[1] && l[0] != 0 && l[1] != 0
}

// advise adds the steps that failures by these approaches ask for, oldest first,
// where at least so many tries of either kind deliver in so many cases at most.
func (a *Assessment) advise(by []uint64, known int, high float64) {
	tries, approaches := len(by), len(slices.Compact(slices.Sorted(slices.Values(by))))
	chances := a.Chances.words()
	many := fmt.Sprintf("%d tries at the goal failed, by %d approaches", tries, approaches)
	for _, rule := range [...]struct {
		holds bool
		step  string
		why   string
	}{
		{inTurn(by), StartFresh, "two approaches fail in turn"},
		{tries >= 5 && approaches >= 2, StartFresh, many},
		{tries >= 6 && approaches >= 3, AskHuman, many},
		{known >= 20 && high < 0.1, AskHuman, chances},
		{known >= 50 && high < 0.05 && tries >= 6, GiveUp, chances},
	} {
		if rule.holds && !slices.Contains(a.Also, rule.step) {
			a.Also = append(slices.Clip(a.Also), rule.step)
			a.Evidence = append(slices.Clip(a.Evidence), rule.step+": "+rule.why)
		}
	}
}

// pivot reports whether what was learned speaks for another approach.
func (c *Chances) pivot() bool {
	return c.Again.Tries >= pivotTries && c.Again.Deliver < pivotChance && c.Again.Deliver < c.Other.Deliver
}

// words gives both estimates, their bounds, and what they rest on.
func (c *Chances) words() string {
	words := func(c Chance) string {
		return fmt.Sprintf("%.2f (%.2f to %.2f; after %d failures %d of %d tries did)",
			c.Deliver, c.Low, c.High, c.Failures, c.Successes, c.Tries)
	}
	return fmt.Sprintf("another try delivers with a chance of %s, another approach of %s", words(c.Again), words(c.Other))
}
