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
}

// The rules of With.
const (
	signSpent = 0.8 // share of the budget from which on it is a sign
	signLow   = 3   // of the last 5 resonances say that it is low
)

// With returns a with what a run tells of itself:
//
//   - three of the last five resonances below 0.7, a decline of
//     resonance or one that goes up and down in turn (see [iar.Findings]), or
//     four fifths of the budget spent: slow_down, if a is keep_going
//   - a decline, resonance up and down in turn, or the budget, while the last
//     outcome was a failure: consider_pivot, if a is slow_down
//
// Each sign is among the Evidence. Signs never make a pivot_now: that takes
// outcomes, for reflections are a worker's own word, and a budget that is short
// says nothing about the approach. State and the counts stay as they are. A
// recommendation that rests on signs has Confidence low, or medium if the budget
// is among them.
func (a Assessment) With(s Signs) Assessment {
	var signs []string
	serious, spent := false, s.Spent >= signSpent && s.Spent <= 1
	if len(s.Resonance) >= signLow {
		for _, f := range iar.Findings(s.Resonance) {
			if low := f.Kind == "low_resonance"; !low || f.Count >= signLow {
				signs, serious = append(signs, f.Kind+": "+f.Text), serious || !low
			}
		}
	}
	if spent {
		signs = append(signs, fmt.Sprintf("%.0f %% of the budget of %s is spent", 100*s.Spent, s.Bound))
	}
	was := a.Recommendation
	switch {
	case len(signs) == 0:
		return a
	case was == KeepGoing || was == "":
		a.Recommendation = "slow_down"
	case was == "slow_down" && a.Failures > 0 && (serious || spent):
		a.Recommendation = "consider_pivot"
	}
	if a.Recommendation != was {
		a.Confidence = "low"
		if spent {
			a.Confidence = "medium"
		}
	}
	a.Evidence = append(slices.Clip(a.Evidence), signs...)
	return a
}
