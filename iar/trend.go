package iar

import (
	"fmt"
	"math"
	"slices"
)

const (
	lowResonance = 0.7
	lowWindow    = 5 // the values that are looked at for low ones

	trendWindow = 30
	trendMin    = 6
	trendLevel  = 0.0003 // of the tests over more

	fallMin  = 3    // a short series that only falls
	fallSize = 0.15 // without its largest step

	turns     = 6   // values that alternate
	amplitude = 0.2 // of each step, at least
)

// Finding is something wrong with a run of reflections.
type Finding struct {
	// Kind is "low_resonance", "resonance_degradation" or
	// "resonance_alternation"; see [Findings].
	Kind  string
	Text  string // the evidence, for a human reader
	Count int    // how many of the values it rests on
}

// Findings returns what is wrong with a series of resonances, oldest first.
// Values outside [0,1] are left out, and of the others the last 30 count:
//
//   - low_resonance: one of the last 5 is below 0.7; Count says how many
//   - resonance_degradation: the series falls by more than chance
//   - resonance_alternation: each of the last 6 is higher or lower than the one
//     before, in turn, by 0.2 or more, as when two ways of doing something undo
//     each other
//
// Degradation is decided by the Mann-Kendall trend test, one-sided: at a level
// of 1/720 over 6 values, which six in strict decline just reach, and of 0.0003
// over more. The levels are far below the usual 0.05 because the question is
// asked again after each value: asked after each of 50 values of a healthy
// stream (independent noise, standard deviation 0.05) it fires in under 1 % of
// streams, and it finds a decline of 0.01 a value in that noise within 25 values
// in 99 %. A series of 3 to 5 that only falls, by 0.15 or more besides its
// largest step, counts too. One dip trips neither.
func Findings(resonances []float64) (fs []Finding) {
	values := slices.DeleteFunc(slices.Clone(resonances), func(v float64) bool { return !inUnit(v) })
	values = last(values, trendWindow)
	add := func(kind string, count int, format string, args ...any) {
		fs = append(fs, Finding{kind, fmt.Sprintf(format, args...), count})
	}
	recent, low := last(values, lowWindow), 0
	for _, v := range recent {
		if v < lowResonance {
			low++
		}
	}
	if low > 0 {
		add("low_resonance", low, "%d of the last %d below %.2f, the lowest %.2f",
			low, len(recent), lowResonance, slices.Min(recent))
	}
	if n := len(values); declines(values) {
		add("resonance_degradation", n, "falling over the last %d, from %.2f to %.2f", n, values[0], values[n-1])
	}
	if recent := last(values, turns); alternates(recent) {
		add("resonance_alternation", turns, "up and down in turn over the last %d: %.2f", turns, recent)
	}
	return fs
}

// last returns the last n values, or all if there are fewer.
func last[T any](values []T, n int) []T { return values[max(0, len(values)-n):] }

// alternates reports whether values go up and down in turn.
func alternates(values []float64) bool {
	if len(values) < turns {
		return false
	}
	for i := 1; i < len(values); i++ {
		step := values[i] - values[i-1]
		if math.Abs(step) < amplitude || i > 1 && step*(values[i-1]-values[i-2]) > 0 {
			return false
		}
	}
	return true
}

// most[n] is the largest number of rising pairs among n different values with
// which the exact test decides for a decline: the share of the n! orders that
// have no more is at most the level (Kendall 1975).
var most = [...]int{6: 0, 7: 0, 8: 1, 9: 2, 10: 4}

// declines is the one-sided Mann-Kendall test of a falling trend (Mann 1945):
// exact for up to 10 different values, else by the normal approximation with
// the correction for ties and for continuity. Series of 3 to 5 go to falls.
func declines(values []float64) bool {
	n := len(values)
	if n < trendMin {
		return falls(values)
	}
	rising, falling := 0, 0
	counts := make(map[float64]int, n)
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
	if len(counts) == n && n < len(most) {
		return rising <= most[n]
	}
	ties := 0 // sum of t(t-1)(2t+5) over groups of t equal values
	for _, t := range counts {
		ties += t * (t - 1) * (2*t + 5)
	}
	z := float64(falling-rising-1) / math.Sqrt(float64(n*(n-1)*(2*n+5)-ties)/18)
	return math.Erfc(z/math.Sqrt2)/2 <= trendLevel
}

// falls reports whether a short series falls at each step, and would fall far
// without the largest of them: one dip at its end is no decline.
func falls(values []float64) bool {
	if len(values) < fallMin {
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
	return values[0]-values[len(values)-1]-largest >= fallSize-1e-9
}
