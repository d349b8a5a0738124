// Package draw makes draws that are fixed by what they are for: a hash gathers
// that, and stands for a number or a normal deviate.
package draw

import "math"

// Hash continues h with the bytes of s (FNV-1a) and scrambles the result, so
// that neither the boundaries between strings nor their last bytes show.
func Hash(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return Mix(h + uint64(len(s)))
}

// Mix is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
func Mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uniform returns the number in (0,1) that a hash stands for.
func Uniform(h uint64) float64 { return min((float64(h>>11)+0.5)/(1<<53), 1-0x1p-53) }

// quantiles are those of the standard normal law in steps of 1/cells, with their
// slopes a step. Those of the margins are too steep to go between.
var quantiles = func() (q [cells + 1][2]float64) {
	for i := margin; i <= cells-margin; i++ {
		z := quantile(float64(i) / cells)
		q[i] = [2]float64{z, math.Sqrt(2*math.Pi) * math.Exp(z*z/2) / cells}
	}
	return q
}()

const cells, margin = 1024, 8

func quantile(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*u-1) }

// Normal returns the standard normal deviate of a hash, to 6 digits.
func Normal(h uint64) float64 {
	u := Uniform(h)
	i := int(u * cells)
	if i < margin || i >= cells-margin {
		return quantile(u)
	}
	a, b, t := &quantiles[i], &quantiles[i+1], u*cells-float64(i)
	d := b[0] - a[0] // cubic, by the slopes
	return a[0] + t*(a[1]+t*(3*d-2*a[1]-b[1]+t*(a[1]+b[1]-2*d)))
}
