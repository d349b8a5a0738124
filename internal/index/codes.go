package index

import "math"

// lengthCode returns the code of a length, in a byte: there are 8 to an
// octave.
func lengthCode(length float64) uint8 {
	return uint8(min(math.Round(8*math.Log2(max(length, 1))), 255))
}

// lengthOf returns the length that a code stands for.
func lengthOf(code uint8) float64 { return math.Exp2(float64(code) / 8) }

// normCode returns the code of the largest length that is not above a squared
// norm, or 0 if there is none.
func normCode(norm float64) uint8 {
	return uint8(min(math.Floor(8*math.Log2(max(norm, 1))), 255))
}

// sums holds the lengths by code as whole numbers of sumUnit, of which sums
// are exact in any order.
var sums = func() (s [256]int64) {
	for code := range s {
		s[code] = int64(math.Round(lengthOf(uint8(code)) / sumUnit))
	}
	return s
}()

const sumUnit = 1.0 / 256

// maxCount is the largest term frequency that is told from larger ones.
const maxCount = 255
