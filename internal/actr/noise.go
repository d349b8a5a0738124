package actr

import "math"

// Noise is a draw from the logistic distribution with mean 0 and scale s, thus
// of variance π²s²/3 (:ans is s). It depends on nothing but the seed and what
// it decides: the same draw comes again, and others do not move it.
func Noise(s float64, seed uint64, what string) float64 {
	if s == 0 {
		return 0
	}
	u := (float64(Draw(seed, what)>>11) + 0.5) / (1 << 53)
	return s * math.Log(u/(1-u))
}

// Draw is 64 bits that look random, by seed and by what they decide: FNV-1a,
// and the finalizer of SplitMix64, which makes every bit depend on all.
func Draw(seed uint64, what string) uint64 {
	h := mix(seed + 0x9e3779b97f4a7c15)
	for i := range len(what) {
		h ^= uint64(what[i])
		h *= 1099511628211
	}
	return mix(h)
}

func mix(h uint64) uint64 {
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	return h ^ h>>31
}
