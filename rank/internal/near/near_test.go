package near

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestNearest holds the sketches, which pass over most vectors, and the guess of where the
// neighbourhood ends to the distances alone: over scales that differ and change, values
// that repeat, and features beyond the eighth.
func TestNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 12).Draw(t, "features")
		value := rapid.OneOf(rapid.Float64Range(-1, 1), rapid.Float64Range(-1e6, 1e6), rapid.Float64(),
			rapid.SampledFrom([]float64{0, 1, 2}))
		x := rapid.SliceOfN(value, dim, dim)
		var n Index
		for _, p := range rapid.SliceOfN(x, 1, 100).Draw(t, "vectors") {
			v := Narrow(nil, p)
			if n.At(v) < 0 {
				axes, slot := n.With(v)
				n.Put(slot, v, axes)
			}
		}
		for _, q := range rapid.SliceOfN(x, 1, 5).Draw(t, "near") {
			y := Narrow(nil, q)
			var want []Neighbour
			for slot, v := range n.vectors {
				want = append(want, Neighbour{min(distance(v, y, n.inv, 2*maxFeature), maxFeature), int32(slot)})
			}
			slices.SortStableFunc(want, func(a, b Neighbour) int {
				switch {
				case a.Distance < b.Distance:
					return -1
				case a.Distance > b.Distance:
					return +1
				}
				return 0
			})
			require.Equal(t, want[:min(len(want), Neighbours+1)], n.Nearest(nil, y))
		}
	})
}
