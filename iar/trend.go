package iar

import (
	"math"
	"slices"
)

const (
	trendWindow = 30
	trendMin    = 6
	firstLevel  = 1.0/720 + 1e-12 // of the test over trendMin values
	trendLevel  = 0.0003          // of the tests over more
	exactMax    = 10              // the exact distribution is used up to here

	fallMin  = 3    // a short series that only falls
	fallSize = 0.15 // without its largest step
)

// declines says whether values fall by more than chance.
func declines(values []float64) bool {
	switch n := len(values); {
	case n < trendMin:
		return falls(values)
	case n == trendMin:
		return mannKendall(values) <= firstLevel
	}
	return mannKendall(values) <= trendLevel
}

// falls says whether a short series falls at each step, and would fall far
// without the largest of them: one dip at its end is no decline.
func falls(values []float64) bool {
	if len(values) < fallMin {
		return false
	}
	sum, largest := 0.0, 0.0
	for i, v := range values[1:] {
		step := values[i] - v
		if step <= 0 {
			return false
		}
		sum += step
		largest = max(largest, step)
	}
	return sum-largest >= fallSize-1e-9
}

// kendall is S of the Mann-Kendall test, the rising less the falling pairs.
func kendall(values []float64) (s int) {
	for i, a := range values {
		for _, b := range values[i+1:] {
			switch {
			case b > a:
				s++
			case b < a:
				s--
			}
		}
	}
	return s
}

// tau is Kendall's rank correlation with time (tau-a).
func tau(values []float64) float64 {
	n := len(values)
	if n < 2 {
		return 0
	}
	return float64(kendall(values)) / float64(n*(n-1)/2)
}

// mannKendall is the one-sided p-value of a falling trend (Mann 1945, Kendall
// 1975): exact for up to 10 values without ties, else the normal approximation
// with the correction for ties and for continuity.
func mannKendall(values []float64) float64 {
	n, s := len(values), kendall(values)
	if s >= 0 {
		return 1
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	ties := 0 // sum of t(t-1)(2t+5) over groups of t equal values
	for i := 0; i < n; {
		j := i
		for j < n && sorted[j] == sorted[i] {
			j++
		}
		t := j - i
		ties += t * (t - 1) * (2*t + 5)
		i = j
	}
	if ties == 0 && n <= exactMax {
		return atMost(n, (n*(n-1)/2+s)/2)
	}
	variance := float64(n*(n-1)*(2*n+5)-ties) / 18
	z := float64(-s-1) / math.Sqrt(variance)
	return math.Erfc(z/math.Sqrt2) / 2
}

// atMost is the share of the orders of n values that have at most k rising
// pairs. Of n values, c orders have k rising pairs as counted by adding one
// value at a time: it makes 0 to n-1 further pairs.
func atMost(n, k int) float64 {
	counts := []float64{1}
	total := 1.0
	for m := 2; m <= n; m++ {
		next := make([]float64, len(counts)+m-1)
		for i, c := range counts {
			for j := range m {
				next[i+j] += c
			}
		}
		counts, total = next, total*float64(m)
	}
	sum := 0.0
	for _, c := range counts[:k+1] {
		sum += c
	}
	return sum / total
}
