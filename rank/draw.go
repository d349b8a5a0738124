package rank

import (
	"math"
)

// hash continues h with the bytes of s (FNV-1a) and scrambles the result, so
// that neither the boundaries between strings nor their last bytes show.
func hash(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mix(h + uint64(len(s)))
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// uniform returns the number in (0,1) that a hash stands for.
func uniform(h uint64) float64 { return (float64(h>>11) + 0.5) / (1 << 53) }

// normal returns the standard normal deviate of a hash.
func normal(h uint64) float64 {
	return math.Sqrt2 * math.Erfinv(2*uniform(h)-1)
}
