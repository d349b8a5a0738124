package meta

import "math"

// Sample sums up measurements: delivered as 1 or 0, model calls, dollars.
type Sample struct {
	N            int
	Sum, Squares float64 // of the values, and of their squares
}

// Add adds n times a value; a negative n takes them away.
func (s *Sample) Add(value float64, n int) {
	s.N += n
	s.Sum += float64(n) * value
	s.Squares += float64(n) * value * value
}

// mean is that of the values, 0 without any.
func (s Sample) mean() float64 { return s.Sum / float64(max(1, s.N)) }

// Interval is a difference of means with bounds between which it is.
type Interval struct {
	Mean      float64  // 0 without a value in each arm
	Low, High *float64 // nil: not known, until each arm has twenty cases
	N         int      // values with the treatment; 0 where an arm has none
}

const (
	// alpha is the nominal chance that the truth is ever outside the interval. The law is asymptotic: of
	// simulated trials under 5 % are outside at .03.
	alpha = 0.03
	// tightest is the number of cases at which the interval is tightest.
	tightest = 400
	// least is the number of cases that each arm needs: before, the law does not hold.
	least = 20
)

// Difference returns the mean of with less that of without, and a 95 % interval that holds at every moment at
// once: looking after each case, and stopping at will, does not make it wrong more often. It is the
// asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024, eq. 9).
//
// A value of each of bounds is added to both arms for their variance: give 0 and 1 for a proportion, so that
// an arm whose cases all ended alike is not taken for certain.
func Difference(with, without Sample, bounds ...float64) Interval {
	if with.N == 0 || without.N == 0 {
		return Interval{}
	}
	i := Interval{Mean: with.mean() - without.mean(), N: with.N}
	if with.N < least || without.N < least {
		return i
	}
	n := float64(with.N + without.N)
	for _, b := range bounds {
		with.Add(b, 1)
		without.Add(b, 1)
	}
	variance := n * (with.variance() + without.variance()) // of one case, as if the arms were one sequence
	rho := (-2*math.Log(alpha) + math.Log(1-2*math.Log(alpha))) / tightest
	half := math.Sqrt(variance * (n*rho + 1) / (n * n * rho) * math.Log((n*rho+1)/(alpha*alpha)))
	low, high := i.Mean-half, i.Mean+half
	i.Low, i.High = &low, &high
	return i
}

// variance is that of the mean.
func (s Sample) variance() float64 {
	n := float64(s.N)
	return max(0, s.Squares/n-s.mean()*s.mean()) / (n - 1)
}
