package actr

import "math"

// Refs are n references to a working memory element in one cycle.
type Refs struct {
	Cycle int
	N     int
}

// ForgetBound is Soar's quick bound for the cycle in which the element falls
// below the threshold: the sum over the references of the cycles that each
// would still last alone. It is never too late, and mostly much too early
// (Derbinsky and Laird 2012). No reference is after now.
func ForgetBound(refs []Refs, now int, d, threshold float64) int {
	at := now
	for _, r := range refs {
		last := int(math.Ceil(math.Exp((threshold - math.Log(float64(r.N))) / -d)))
		at += max(0, last-(now-r.Cycle))
	}
	return at
}

// Forget is the first cycle after now in which ln Σ n·t^-d is below the
// threshold: looked for by bisection from ForgetBound on.
func Forget(refs []Refs, now int, d, threshold float64) int {
	below := func(cycle int) bool {
		sum := 0.0
		for _, r := range refs {
			sum += float64(r.N) * math.Pow(float64(cycle-r.Cycle), -d)
		}
		return math.Log(sum) < threshold
	}
	low := now // above the threshold, or not asked for
	high := max(now+1, ForgetBound(refs, now, d, threshold))
	for !below(high) {
		low, high = high, high+2*(high-now)
	}
	for low+1 < high {
		if mid := low + (high-low)/2; below(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}
