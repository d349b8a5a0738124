package meta

import (
	"fmt"
	"slices"

	"github.com/arc-learn/arc/iar"
)

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
	// Tries are the attempts that failed at the run's goal, oldest first.
	Tries []Try
	// Goal and Approach are those of the last of Tries, in words.
	Goal, Approach string
	// Open says that the task at hand may still be done by the approach: a
	// worker has not tried, or the last attempt failed for a new reason.
	Open bool
}

// Try is an attempt that failed, as digests: two that are equal mean the same.
type Try struct {
	// Approach is what was decided; of a decision without a name, its tasks.
	Approach uint64 `cbor:"1,keyasint,omitempty" json:"approach,omitempty"`
	// Action is what was done: the task, its inputs, and the worker.
	Action uint64 `cbor:"2,keyasint,omitempty" json:"action,omitempty"`
	// Result is what was wrong with it.
	Result uint64 `cbor:"3,keyasint,omitempty" json:"result,omitempty"`
	// Plan are the tasks of the decision, whatever it calls them.
	Plan uint64 `cbor:"4,keyasint,omitempty" json:"plan,omitempty"`
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
	a.Tries, a.Goal = len(s.Tries), s.Goal
	if to == 3 || !a.Pivot {
		a.Approach = s.Approach
	}
	a.State = "struggling"
	if a.Pivot = a.Pivot || to == 3; a.Pivot {
		a.State = "failing"
	}
	if by := s.all(func(t Try) uint64 { return t.Approach }); !s.Open && len(by) >= turnsOf {
		a.advise(by, 0, 1)
	}
	return a
}

// steps are the recommendations, the mildest first.
func steps() []string { return []string{KeepGoing, "slow_down", "consider_pivot", "pivot_now"} }

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
	n := len(s.Tries)
	if n == 0 {
		return 0, "", nil
	}
	by, did, same, again := s.all(func(t Try) uint64 { return t.Approach }), s.all(Try.did), 0, 0
	for i := range s.Tries {
		if by[i] == by[n-1] {
			same++
		}
		if did[i] == did[n-1] {
			again++
		}
	}
	add := func(step int, format string, args ...any) {
		to, signs = max(to, step), append(signs, fmt.Sprintf(format, args...))
	}
	if again > 1 {
		add(2, "the same attempt failed %d times, for the same reason", again)
	}
	if inTurn(by) || inTurn(did) {
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

// did is the attempt with what came of it, as a digest that is not 0.
func (t Try) did() uint64 { return max(1, t.Action*31+t.Result) }

// all returns a property of each try.
func (s *Signs) all(of func(Try) uint64) (out []uint64) {
	for _, t := range s.Tries {
		out = append(out, of(t))
	}
	return out
}
