package actr

import "math"

// BlendTemperature is what ACT-R's blending takes when it is given none: √2·s.
func BlendTemperature(s float64) float64 { return math.Sqrt2 * s }

// Softmax returns the shares e^(A/t) / Σ e^(A/t) of activations at a
// temperature. At 0 the largest take all.
func Softmax(activations []float64, temperature float64) []float64 {
	p := make([]float64, len(activations))
	best := math.Inf(-1)
	for _, a := range activations {
		best = max(best, a)
	}
	sum := 0.0
	for i, a := range activations {
		switch {
		case a == best:
			p[i] = 1
		case temperature > 0:
			p[i] = math.Exp((a - best) / temperature)
		}
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// BlendedActivation is ln Σ e^A, which decides whether there is a blend at all,
// and how long it takes.
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

// Mean is the blend Σ p·v of numbers.
func Mean(p, values []float64) float64 {
	sum := 0.0
	for i, v := range values {
		sum += p[i] * v
	}
	return sum
}

// Vote is the blend of values that are the same or not: the one with the
// largest sum of shares, which is returned too. It minimises Σ p·M² over the
// values, M being 0 for the same and -1 for another. Of equals the first wins.
func Vote[T comparable](p []float64, values []T) (T, float64) {
	sums := make(map[T]float64, len(values))
	for i, v := range values {
		sums[v] += p[i]
	}
	var best T
	share := math.Inf(-1)
	for _, v := range values {
		if sums[v] > share {
			best, share = v, sums[v]
		}
	}
	return best, share
}
