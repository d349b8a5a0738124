package actr

import "math"

// MinAge is the least age that a use can have: a younger one counts as MinAge,
// so that no use weighs infinitely much (ACT-R 7, compute-references).
const MinAge = 0.05

// Optimized is the base level ln(n/(1-d)) - d·ln(L) of n uses spread evenly
// over a life of L (:ol t). d is below 1.
func Optimized(n int, life, d float64) float64 {
	return math.Log(float64(n)/(1-d)) - d*math.Log(max(life, MinAge))
}

// Hybrid is the base level of n uses of which the latest are known by their
// age, the most recent first, and the others lie between the oldest of those
// and life, the age of the first (:ol k; Petrov 2006):
//
//	ln( Σ_{j≤k} t_j^-d + (n-k)·(L^(1-d) - t_k^(1-d)) / ((1-d)·(L - t_k)) )
//
// With all n uses known it is the exact base level ln Σ t^-d (:ol nil), and
// -Inf without any. Where L and t_k are closer than MinAge the fraction is its
// limit t^-d; ACT-R divides by MinAge instead, by which further uses come to
// nothing. d is below 1.
func Hybrid(recent []float64, n int, life, d float64) float64 {
	s := strength(recent, d)
	if rest := n - len(recent); rest > 0 {
		s += float64(rest) * between(recent, life, d)
	}
	return math.Log(s)
}

// between is the mean of t^-d for t from the oldest of recent to life.
func between(recent []float64, life, d float64) float64 {
	from := 0.0
	if len(recent) > 0 {
		from = max(recent[len(recent)-1], MinAge)
	}
	life = max(life, from, MinAge)
	if life-from < MinAge {
		return math.Pow((life+from)/2, -d)
	}
	return (math.Pow(life, 1-d) - math.Pow(from, 1-d)) / ((1 - d) * (life - from))
}

func strength(ages []float64, d float64) float64 {
	sum := 0.0
	for _, t := range ages {
		sum += power(max(t, MinAge), d)
	}
	return sum
}

// power is t^-d, without math.Pow for the usual d of 0.5.
func power(t, d float64) float64 {
	if d == 0.5 {
		return 1 / math.Sqrt(t)
	}
	return math.Pow(t, -d)
}
