package actr

import "math"

// BlendedActivation is ln Σ e^A, the activation of several chunks that answer
// together. It is -Inf without any.
func BlendedActivation(activations []float64) float64 {
	best := math.Inf(-1)
	for _, a := range activations {
		best = max(best, a)
	}
	if math.IsInf(best, -1) {
		return best
	}
	sum := 0.0
	for _, a := range activations {
		sum += math.Exp(a - best)
	}
	return best + math.Log(sum)
}
