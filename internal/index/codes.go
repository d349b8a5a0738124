package index

import (
	"math/bits"

	"github.com/arc-learn/arc/internal/text"
)

// lengthUnit is the resolution of lengths: a function word.
const lengthUnit = text.StopWeight

// lengthCode returns the code of a length, in a byte: units are exact up to
// 31, above that there are 16 codes to an octave. Codes and lengths have the
// same order.
func lengthCode(length float64) uint8 {
	n := uint64(length/lengthUnit + 0.5)
	if n < 32 {
		return uint8(n)
	}
	shift := bits.Len64(n) - 5
	n = (n + 1<<shift>>1) >> shift // rounding may carry into the next octave, with the same code
	return uint8(min(16*uint64(shift)+n, 255))
}

// lengthOf returns the length that a code stands for.
func lengthOf(code uint8) float64 {
	if code < 32 {
		return float64(code) * lengthUnit
	}
	shift := code/16 - 1
	return float64((uint64(code)%16+16)<<shift) * lengthUnit
}

// Weighted term frequencies are whole numbers, of which a posting keeps up to
// maxCount.
const maxCount = 127
