package iar

import (
	"fmt"
	"math"
	"slices"
)

// Tracker keeps the resonance of a workflow's actions: the last 64 of them, and a summary of all. The zero
// value is empty and ready. A copy goes on by itself, and a Tracker that was stored goes on where it was.
type Tracker struct {
	Recent  []entry `json:"recent"` // oldest first
	Summary `json:"counts"`
}

// entry is one record of a [Tracker].
type entry struct {
	Task      string  `json:"task"`
	Status    Status  `json:"status"`
	Resonance float64 `json:"resonance"`
}

// Summary describes all that a [Tracker] was told of.
type Summary struct {
	Total int     `json:"total"`
	Mean  float64 `json:"mean"` // of the resonances; 0 without records
}

// Record adds the reflection of an action on a task, unless it does not pass [Content].
func (t *Tracker) Record(task string, r Reflection) {
	if !Content(r, "").Valid {
		return
	}
	e := entry{task, r.Status, Resonance(r)}
	t.Total++
	t.Mean += (e.Resonance - t.Mean) / float64(t.Total)
	t.Recent = append(slices.Clone(last(t.Recent, 63)), e) // cloned, since copies of t share it
}

// Issues returns the [Findings] of the recent records.
func (t *Tracker) Issues() []Issue {
	values := make([]float64, 0, len(t.Recent))
	for _, e := range t.Recent {
		values = append(values, e.Resonance)
	}
	return Findings(values)
}

// last returns the last n values, all if there are fewer.
func last[T any](values []T, n int) []T { return values[max(0, len(values)-n):] }

// Kinds of what [Findings] finds.
const (
	LowResonance = "low_resonance"
	Degradation  = "resonance_degradation"
)

const (
	lowBound, lowWindow   = 0.7, 5
	trendMin, trendWindow = 6, 30 // the fewest and the most values of the trend test
)

// Findings says what is wrong with a series of resonances, oldest first. Values outside [0,1] are left out;
// of the others the last 30 count.
//
//   - LowResonance: one of the last 5 is below 0.7.
//   - Degradation: the series falls by more than chance.
//
// Degradation is decided by the one-sided Mann-Kendall trend test, at a level of 1/720 over 6 values, which 6
// in strict decline just reach, and of .0003 over more. The levels are far below .05 because the question is
// asked again after every value. Asked after each of 50 values of a steady stream (independent noise of
// standard deviation .05) the test fires in under 1 % of streams; in 97 % it finds a decline of .01 a value
// in that noise within 25 values. A series of 3 to 5 values that only falls, by .15 or more besides its
// largest step, counts too. A single dip does not.
func Findings(resonances []float64) []Issue {
	values := slices.DeleteFunc(slices.Clone(resonances), func(v float64) bool { return !inUnit(v) })
	values = last(values, trendWindow)
	var found []Issue
	recent := last(values, lowWindow)
	low := slices.DeleteFunc(slices.Clone(recent), func(v float64) bool { return v >= lowBound })
	if len(low) > 0 {
		const format = "%d of the last %d below %.2f, the lowest %.2f"
		text := fmt.Sprintf(format, len(low), len(recent), lowBound, slices.Min(low))
		found = append(found, Issue{LowResonance, text})
	}
	if n := len(values); n < trendMin && falls(values) || n >= trendMin && declines(values) {
		const text = "falling over the last %d, from %.2f to %.2f"
		found = append(found, Issue{Degradation, fmt.Sprintf(text, n, values[0], values[n-1])})
	}
	return found
}

// falls reports whether a short series falls at every step, and far even without the largest step.
func falls(values []float64) bool {
	n, largest := len(values), 0.0
	for i := 1; i < n; i++ {
		step := values[i-1] - values[i]
		if step <= 0 {
			return false
		}
		largest = max(largest, step)
	}
	return n >= 3 && values[0]-values[n-1]-largest >= 0.15-1e-9
}

// mostRising[n] is the most rising pairs that n different values in decline may have: the share of the n!
// orders with no more is at most the level (Kendall, Rank Correlation Methods, 1975).
var mostRising = [...]int{6: 0, 7: 0, 8: 1, 9: 2, 10: 4}

// declines is the one-sided Mann-Kendall test for a falling trend (Mann 1945): exact for up to 10 different
// values, otherwise the normal approximation with its corrections for ties and for continuity.
func declines(values []float64) bool {
	n, rising, falling, counts := len(values), 0, 0, map[float64]int{}
	for i, a := range values {
		counts[a]++
		for _, b := range values[i+1:] {
			if b > a {
				rising++
			} else if b < a {
				falling++
			}
		}
	}
	switch {
	case rising >= falling:
		return false
	case len(counts) == n && n < len(mostRising):
		return rising <= mostRising[n]
	}
	ties := 0 // Σ t(t-1)(2t+5) over groups of t equal values
	for _, t := range counts {
		ties += t * (t - 1) * (2*t + 5)
	}
	z := float64(falling-rising-1) / math.Sqrt(float64(n*(n-1)*(2*n+5)-ties)/18)
	return math.Erfc(z/math.Sqrt2)/2 <= 0.0003
}
