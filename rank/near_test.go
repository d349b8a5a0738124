package rank_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/rank"
)

// TestNearest holds the sketches, which pass over most points, to the distances: over
// scales that differ and change, values that repeat, and features beyond the eighth.
func TestNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "features")
		value := rapid.OneOf(rapid.Float64Range(-1, 1), rapid.Float64Range(-1e6, 1e6), rapid.Float64(),
			rapid.SampledFrom([]float64{0, 1, 2}))
		x := rapid.SliceOfN(value, n, n)
		points := rapid.SliceOfN(x, 1, 100).Draw(t, "points")
		by, alone := rank.Nearest(points, x.Draw(t, "x"))
		require.Equal(t, alone, by)
	})
}
