package meta

import (
	"fmt"
	"slices"

	"github.com/arc-learn/arc/iar"
)

// The steps that Assessment.Also can hold.
const (
	// StartFresh: two approaches fail at a goal in turn, or five tries at it failed
	// by two approaches or more. The context misleads: begin with a clean one.
	StartFresh = "start_fresh"
	// AskHuman: three approaches or more have failed at a goal, six times or more;
	// or neither another try nor another approach delivers in one of ten cases, as
	// learned from at least 20 tries of each.
	AskHuman = "ask_human"
	// GiveUp: neither delivers in one of twenty cases, as learned from at least 50
	// tries of each, and the goal has failed six times.
	GiveUp = "give_up"
)

// keepGoing is the Recommendation where nothing speaks against it.
const keepGoing = "keep_going"

// The rules of Assess by counts, which are those of the first Arc.
const (
	pivotFailures = 3   // of one approach, since the last success
	pivotRate     = 0.4 // success rate below which a pivot is considered
	pivotTasks    = 2   // outcomes that a success rate needs
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
	// Evidence says in words what the recommendation rests on; nil for "keep_going".
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
	// User is that of the last failure, whose words Goal, Approach and the first of the
	// Evidence may repeat. "": the host's, or the last outcome was a success.
	User string `cbor:"18,keyasint,omitempty" json:",omitempty"`
}

// assess applies the rules, with the odds of all approaches and those of the
// last failure's.
func (s *history) assess(name string, all, own *odds) Assessment {
	if s.totals.Outcomes == 0 {
		return Assessment{Session: name, State: "no_data", Recommendation: keepGoing, Confidence: "low"}
	}
	a := Assessment{
		Session:        name,
		State:          "healthy",
		Recommendation: keepGoing,
		Confidence:     "high",
		Total:          int(s.totals.Outcomes),
		Successes:      int(s.totals.Successes),
		SuccessRate:    float64(s.totals.Successes) / float64(s.totals.Outcomes),
		Failures:       int(s.totals.Failures),
		Goal:           s.goal,
		Approach:       s.approach,
		User:           s.user,
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

// Signs are what a run tells of itself while its outcomes are still open. The
// zero Signs say nothing.
type Signs struct {
	// Resonance is that of the run's reflections, in [0,1], oldest first. What
	// is not in [0,1] counts for nothing.
	Resonance []float64
	// Spent is the share of the run's budget that is used up, in [0,1], of the
	// bound that is nearest; what is not in it counts for nothing. Bound names
	// it in words, such as "1000 tokens".
	Spent float64
	Bound string
	// Approaches and Attempts are those that failed at the run's goal, oldest first,
	// as digests: two that are equal mean the same, and none is 0. An attempt is what
	// was done, by which worker, and what was wrong with it.
	Approaches, Attempts []uint64
	// Goal and Approach are those of the last attempt that failed, in words.
	Goal, Approach string
	// Open says that the task at hand may still be done by the approach: a
	// worker has not tried, or the last attempt failed for a new reason.
	Open bool
}

// The rules of With.
const (
	signSpent = 0.8 // share of the budget from which on it is a sign
	signLow   = 3   // of the last 5 resonances say that it is low
	// Three resonances, each lower than the one before, that fall by signFall or
	// more to below signWeak.
	signFall, signWeak = 0.2, 0.7
)

// With returns a with what a run tells of itself. Of resonance and budget:
//
//   - three of the last five resonances below 0.7, a decline of
//     resonance or one that goes up and down in turn (see [iar.Findings]), or
//     four fifths of the budget spent: slow_down, if a is keep_going
//   - a decline, or resonance up and down in turn: consider_pivot, if a is
//     slow_down; the budget says so only if the last outcome was a failure
//   - three resonances in a row that fall by 0.2 or more in all, to below 0.7:
//     consider_pivot
//
// And of the attempts at the run's goal:
//
//   - the same attempt, done by the same worker, failed twice for the same
//     reason, or two approaches or two attempts fail in turn: consider_pivot
//   - the same attempt did three times, or three attempts by one approach failed:
//     pivot_now, once there is no other way left to try the task (Open). Also has
//     the steps that as many outcomes would ask for.
//
// Each sign is among the Evidence. Resonance and budget never make a pivot_now:
// reflections are a worker's own word, and a budget that is short says nothing
// about the approach. The counts of a stay as they are. A recommendation that
// rests on signs has Confidence low, or medium if the budget is among them; one
// that rests on attempts has medium, and pivot_now high.
func (a Assessment) With(s Signs) Assessment {
	recommend := func(to int, confidence string, signs []string) {
		if step := steps()[to]; to > slices.Index(steps(), a.Recommendation) && to > 0 {
			a.Recommendation, a.Confidence = step, confidence
		}
		a.Evidence = append(slices.Clip(a.Evidence), signs...)
	}
	recommend(s.reflected(&a))
	to, confidence, signs := s.tried()
	if recommend(to, confidence, signs); to == 0 {
		return a
	}
	a.Tries, a.Goal = len(s.Attempts), s.Goal
	if to == 3 || !a.Pivot {
		a.Approach = s.Approach
	}
	a.State = "struggling"
	if a.Pivot = a.Pivot || to == 3; a.Pivot {
		a.State = "failing"
	}
	if !s.Open && len(s.Approaches) >= turnsOf {
		a.advise(s.Approaches, 0, 1)
	}
	return a
}

// steps are the recommendations, the mildest first.
func steps() []string { return []string{keepGoing, "slow_down", "consider_pivot", "pivot_now"} }

// reflected is the step that resonance and budget ask for, and why.
func (s *Signs) reflected(a *Assessment) (to int, confidence string, signs []string) {
	declines, spent := false, s.Spent >= signSpent && s.Spent <= 1
	if len(s.Resonance) >= signLow {
		for _, f := range iar.Findings(s.Resonance) {
			if low := f.Kind == "low_resonance"; !low || f.Count >= signLow {
				signs, declines = append(signs, f.Kind+": "+f.Text), declines || !low
			}
		}
	}
	confidence, slow := "low", a.Recommendation == "slow_down"
	if l := last3(s.Resonance); l[0] > l[1] && l[1] > l[2] && l[0]-l[2] >= signFall && l[2] < signWeak {
		to, signs = 2, append(signs, fmt.Sprintf("resonance_fall: three in a row, from %.2f to %.2f", l[0], l[2]))
	}
	if spent {
		confidence, signs = "medium", append(signs, fmt.Sprintf("%.0f %% of the budget of %s is spent", 100*s.Spent, s.Bound))
	}
	switch {
	case slow && (declines || spent && a.Failures > 0):
		to = 2
	case len(signs) > 0:
		to = max(to, 1)
	}
	return to, confidence, signs
}

// last3 returns the last three values in [0,1]; zeros if there are fewer.
func last3(values []float64) (l [3]float64) {
	n := 0
	for _, v := range slices.Backward(values) {
		if v >= 0 && v <= 1 && n < len(l) {
			n++
			l[len(l)-n] = v
		}
	}
	if n < len(l) {
		return [3]float64{}
	}
	return l
}

// tried is the step that the failed attempts ask for, and why.
func (s *Signs) tried() (to int, confidence string, signs []string) {
	same, again := repeats(s.Approaches), repeats(s.Attempts)
	add := func(step int, format string, args ...any) {
		to, signs = max(to, step), append(signs, fmt.Sprintf(format, args...))
	}
	if again > 1 {
		add(2, "the same attempt failed %d times, for the same reason", again)
	}
	if inTurn(s.Approaches) || inTurn(s.Attempts) {
		add(2, "the last four attempts are two in turn")
	}
	if same >= pivotFailures {
		add(2, "%d attempts of this run failed by the approach %q", same, s.Approach)
	}
	confidence = "medium"
	if max(same, again) >= pivotFailures && !s.Open {
		to, confidence = 3, "high"
	}
	return to, confidence, signs
}

// repeats counts the digests that equal the last.
func repeats(digests []uint64) (n int) {
	for _, d := range digests {
		if d == digests[len(digests)-1] {
			n++
		}
	}
	return n
}
