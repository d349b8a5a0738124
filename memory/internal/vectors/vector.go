package vectors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/arc-learn/arc/store"
)

// MaxDimension is how many numbers a vector may have.
const MaxDimension = 4096

// ErrVector: a vector is none, or has another dimension than those before.
var ErrVector = errors.New("bad vector")

// Check returns what is wrong with a vector, nil for none.
func Check(v []float32) error {
	if len(v) > MaxDimension {
		return &store.LimitError{Field: "vector", Limit: MaxDimension, Got: len(v)}
	}
	for i, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%w: number %d is not finite", ErrVector, i)
		}
	}
	if len(v) > 0 && Zero(v) {
		return fmt.Errorf("%w: it is zero", ErrVector)
	}
	return nil
}

// Zero reports whether a vector has no direction.
func Zero(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return x != 0 })
}

// Pack returns the numbers of a vector, four bytes each, little endian.
func Pack(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// Unpack returns the vector that Pack has packed, nil for one without numbers.
func Unpack(b []byte) ([]float32, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if len(b)%4 != 0 || len(b) > 4*MaxDimension {
		return nil, fmt.Errorf("vector of %d bytes", len(b))
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v, Check(v)
}
