package iar

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// kept is the number of entries that a Tracker keeps.
const kept = 64

// Tracker keeps the resonance of a workflow's actions: the last 64 of them, and counts of all. The zero value is
// empty and ready. It is a plain value: a copy goes on by itself, and one that was stored goes on where it was.
type Tracker struct {
	Recent []Entry `json:"recent"` // oldest first
	// Counts are of all records, not only of the recent ones. Its Issues is not used.
	Counts Summary `json:"counts"`
}

// Entry is one record of a [Tracker].
type Entry struct {
	Task       string  `json:"task"`
	Status     Status  `json:"status"`
	Confidence float64 `json:"confidence"`
	Resonance  float64 `json:"resonance"`
	// Invalid: the reflection did not pass [Content]. It is counted, its numbers are 0 and enter no average.
	Invalid bool `json:"invalid,omitempty"`
}

// Summary describes all actions that a [Tracker] was told of.
type Summary struct {
	Total    int            `json:"total"`    // valid records
	Invalid  int            `json:"invalid"`  // the others
	Statuses map[Status]int `json:"statuses"` // valid records by status
	Mean     float64        `json:"mean"`     // of the resonances; 0 without records
	Issues   int            `json:"issues"`   // the number of findings of [Tracker.Issues]
}

// Record adds the reflection of an action on a task. One that does not pass [Content] is counted as invalid.
func (t *Tracker) Record(task string, r Reflection) {
	e := Entry{Task: task, Status: r.Status, Invalid: true}
	if res := Content(r, ""); res.Valid {
		e.Confidence, e.Resonance, e.Invalid = res.Confidence, res.Resonance, false
	}
	t.Recent = append(slices.Clone(last(t.Recent, kept-1)), e) // never in place: copies of t share what it points to
	if e.Invalid {
		t.Counts.Invalid++
		return
	}
	t.Counts.Total++
	t.Counts.Mean += (e.Resonance - t.Counts.Mean) / float64(t.Counts.Total)
	statuses := map[Status]int{e.Status: 1}
	for s, n := range t.Counts.Statuses {
		statuses[s] += n
	}
	t.Counts.Statuses = statuses
}

// Trend returns the last n resonances of valid records, oldest first: fewer if there are fewer.
func (t *Tracker) Trend(n int) []float64 {
	values := []float64{}
	for _, e := range t.Recent {
		if !e.Invalid {
			values = append(values, e.Resonance)
		}
	}
	return last(values, n)
}

// Issues returns the [Findings] of the recent valid records.
func (t *Tracker) Issues() []Finding { return Findings(t.Trend(trendWindow)) }

// Summary returns counts and the mean over all records.
func (t *Tracker) Summary() Summary {
	s := t.Counts
	s.Statuses = maps.Clone(s.Statuses)
	s.Issues = len(t.Issues())
	return s
}

// last returns the last n values: all if there are fewer, none if n is negative.
func last[T any](values []T, n int) []T { return values[max(0, len(values)-max(0, n)):] }

// Kinds of a [Finding].
const (
	LowResonance = "low_resonance"
	Degradation  = "resonance_degradation"
)

// Finding is something wrong with a series of resonances.
type Finding struct {
	Kind  string // LowResonance or Degradation
	Text  string // the evidence, for a person
	Count int    // how many of the values it rests on
}

const (
	lowBound  = 0.7
	lowWindow = 5 // the values among which low ones are looked for

	trendWindow = 30
	trendMin    = 6      // the fewest values that the trend test takes
	trendLevel  = 0.0003 // its level over more than trendMin values

	fallMin  = 3    // a short series that only falls
	fallSize = 0.15 // by how much, without its largest step
)

// Findings says what is wrong with a series of resonances, oldest first. Values outside [0,1] are left out; of the
// others the last 30 count.
//
//   - LowResonance: one of the last 5 is below 0.7. Count says how many are.
//   - Degradation: the series falls by more than chance.
//
// Degradation is decided by the one-sided Mann-Kendall trend test, at a level of 1/720 over 6 values (6 in strict
// decline just reach it) and .0003 over more. The levels are far below .05 because the question is asked again after
// every value: asked after each of 50 values of a steady stream (independent noise of standard deviation .05) it
// fires in under 1 % of the streams, and it finds a decline of .01 a value in that noise within 25 values in 97 %. A
// series of 3 to 5 values that only falls, by .15 or more besides its largest step, counts too. A single dip does
// not.
func Findings(resonances []float64) []Finding {
	values := slices.DeleteFunc(slices.Clone(resonances), func(v float64) bool { return !inUnit(v) })
	values = last(values, trendWindow)
	var found []Finding
	recent, low := last(values, lowWindow), 0
	for _, v := range recent {
		if v < lowBound {
			low++
		}
	}
	if low > 0 {
		found = append(found, Finding{LowResonance, fmt.Sprintf("%d of the last %d below %.2f, the lowest %.2f",
			low, len(recent), lowBound, slices.Min(recent)), low})
	}
	if n := len(values); falls(values) || declines(values) {
		found = append(found, Finding{Degradation, fmt.Sprintf("falling over the last %d, from %.2f to %.2f",
			n, values[0], values[n-1]), n})
	}
	return found
}

// falls reports whether a series too short for the trend test falls at every step, and far without the largest one.
func falls(values []float64) bool {
	n := len(values)
	if n < fallMin || n >= trendMin {
		return false
	}
	largest := 0.0
	for i, v := range values[1:] {
		step := values[i] - v
		if step <= 0 {
			return false
		}
		largest = max(largest, step)
	}
	return values[0]-values[n-1]-largest >= fallSize-1e-9
}

// mostRising[n] is the most rising pairs that n different values in decline may have: the share of the n! orders
// with no more is at most the level (Kendall, Rank Correlation Methods, 1975).
var mostRising = [...]int{6: 0, 7: 0, 8: 1, 9: 2, 10: 4}

// declines is the one-sided Mann-Kendall test for a falling trend (Mann 1945): exact for up to 10 different values,
// otherwise the normal approximation with its corrections for ties and for continuity.
func declines(values []float64) bool {
	n := len(values)
	if n < trendMin {
		return false
	}
	rising, falling, counts := 0, 0, make(map[float64]int, n)
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
	if rising >= falling {
		return false
	}
	if len(counts) == n && n < len(mostRising) {
		return rising <= mostRising[n]
	}
	ties := 0 // Σ t(t-1)(2t+5) over groups of t equal values
	for _, t := range counts {
		ties += t * (t - 1) * (2*t + 5)
	}
	z := float64(falling-rising-1) / math.Sqrt(float64(n*(n-1)*(2*n+5)-ties)/18)
	return math.Erfc(z/math.Sqrt2)/2 <= trendLevel
}
