package actr

import "math"

// Association is the strength S - ln(fan) of the bond from a source to a chunk
// that holds it in held of its slots, with fan = (1 + refs)/held, refs being
// the number of slots of all chunks that hold the source (:mas is S). It is 0
// if held is, and not below 0 unless negative is set (:nsji t).
func Association(s float64, refs, held int, negative bool) float64 {
	if held <= 0 {
		return 0
	}
	a := s - math.Log(float64(1+refs)/float64(held))
	if a < 0 && !negative {
		return 0
	}
	return a
}

// Mismatch is Σ P·M, what partial matching takes from a chunk for each slot that
// was asked for. A similarity M is 0 for the same and by default -1 for
// anything else (:mp is P; :ms, :md).
func Mismatch(p float64, similarities ...float64) float64 {
	sum := 0.0
	for _, m := range similarities {
		sum += m
	}
	return p * sum
}

// Probability is that of an activation that is a before noise being at least
// tau with it: 1/(1 + e^((tau-a)/s)). Without noise it is 0 or 1.
func Probability(a, tau, s float64) float64 {
	if s == 0 {
		if a >= tau {
			return 1
		}
		return 0
	}
	return 1 / (1 + math.Exp((tau-a)/s))
}

// Latency is F·e^-A, the time that a retrieval takes (:lf is F). A failure
// takes the latency of the threshold.
func Latency(f, a float64) float64 { return f * math.Exp(-a) }
