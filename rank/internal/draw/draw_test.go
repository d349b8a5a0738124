package draw_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank/internal/draw"
)

// The last of the hashes are numbers below 1 too, whose deviate is finite.
func TestUniformIsOpen(t *testing.T) {
	t.Parallel()
	for _, h := range []uint64{0, 1, 1 << 11, math.MaxUint64 - 1<<11, math.MaxUint64} {
		u := draw.Uniform(h)
		require.Greater(t, u, 0.0)
		require.Less(t, u, 1.0)
		require.Less(t, math.Abs(draw.Normal(h)), 9.0)
	}
}

// Normal is the inverse of the normal law, to 6 digits.
func TestNormal(t *testing.T) {
	t.Parallel()
	for i := range uint64(100_000) {
		h := i * (math.MaxUint64 / 100_000)
		want := math.Sqrt2 * math.Erfinv(2*draw.Uniform(h)-1)
		require.InDelta(t, want, draw.Normal(h), 1e-6*max(1, math.Abs(want)))
	}
}
