package vector

import "math"

// rounds is how often rotate mixes all numbers.
const rounds = 2

// widthOf is the number of numbers that a vector of dim has once it is
// rotated: a multiple of two words of sign bits.
func widthOf(dim int) int { return (dim + 127) &^ 127 }

// unit writes v, scaled to length 1, to out and pads it with zeros. It reports
// whether v has a direction.
func unit(out, v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		return false
	}
	inv := 1 / math.Sqrt(sum)
	for i, x := range v {
		out[i] = float32(float64(x) * inv)
	}
	clear(out[len(v):])
	return true
}

// rotate turns v by a fixed orthogonal map that spreads each of its numbers over
// all of them, so that their signs and sizes are alike whatever the numbers
// meant: random signs and fast Walsh-Hadamard transforms, by turns of the first and of
// the last numbers, as many as are a power of two. Cosines stay as they are.
func rotate(v []float32) {
	part := 1
	for part*2 <= len(v) {
		part *= 2
	}
	state := uint64(len(v))
	for range rounds {
		state = flip(v, state)
		hadamard(v[:part])
		state = flip(v, state)
		hadamard(v[len(v)-part:])
	}
}

// flip changes the signs of half of v, by the generator SplitMix64.
func flip(v []float32, state uint64) uint64 {
	for i := 0; i < len(v); i += 64 {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		for j, x := range v[i:min(i+64, len(v))] {
			sign := uint32(z>>j&1) << 31
			v[i+j] = math.Float32frombits(math.Float32bits(x) ^ sign)
		}
	}
	return state
}

// hadamard is the orthonormal Walsh-Hadamard transform of v, whose length is a
// power of two.
func hadamard(v []float32) {
	h := 1
	for ; 4*h <= len(v); h *= 4 { // two steps at once
		for i := 0; i < len(v); i += 4 * h {
			a, b, c, d := v[i:i+h], v[i+h:i+2*h], v[i+2*h:i+3*h], v[i+3*h:i+4*h]
			for j, w := range a {
				x, y, z := b[j], c[j], d[j]
				p, q, r, s := w+x, w-x, y+z, y-z
				a[j], b[j], c[j], d[j] = p+r, q+s, p-r, q-s
			}
		}
	}
	if 2*h == len(v) {
		a, b := v[:h], v[h:]
		for j, x := range a {
			y := b[j]
			a[j], b[j] = x+y, x-y
		}
	}
	scale := float32(1 / math.Sqrt(float64(len(v))))
	for i := range v {
		v[i] *= scale
	}
}
