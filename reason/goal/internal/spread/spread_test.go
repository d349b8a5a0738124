package spread_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason/goal/internal/spread"
)

func TestOf(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	type shares = map[string]float64
	for _, c := range []struct {
		v    any
		want shares
		ok   bool
	}{
		{[]any{"a", "b", "b", 1.0}, shares{"a": .25, "b": .5, "1": .25}, true},
		{[]any{1.0, 1.0}, shares{"1": 1}, true},
		{m{"a": 1.0, "b": 3.0, "c": 0.0}, shares{"a": .25, "b": .75, "c": 0}, true},
		{m{"a": 1.0, "b": -1.0}, shares{"1": .5, "-1": .5}, true},
		{m{"a": 0.0, "b": 0.0}, shares{"0": 1}, true},
		{m{"a": math.MaxFloat64, "b": math.MaxFloat64}, shares{"1.7976931348623157e+308": 1}, true},
		{m{"a": 1.0, "b": "x"}, shares{"1": .5, "x": .5}, true},
		{[]any{nil, m{}}, shares{"null": .5, "{}": .5}, true},
		{[]any{}, shares{}, true},
		{m{}, shares{}, true},
		{"text", shares{}, false},
		{nil, shares{}, false},
	} {
		_, got, ok := spread.Of(c.v)
		require.Equal(t, c.want, got, "%v", c.v)
		require.Equal(t, c.ok, ok)
	}
}

// Shares lie in [0,1] and are 1 together, whatever the values are.
func TestSharesAreOneTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var v any = rapid.MapOfN(rapid.String(), rapid.Map(rapid.Float64(), func(f float64) any { return f }), 1, 9).Draw(t, "v")
		texts, shares, ok := spread.Of(v)
		require.True(t, ok)
		require.Len(t, texts, len(v.(map[string]any)))
		sum := 0.0
		for _, s := range shares {
			require.True(t, s >= 0 && s <= 1)
			sum += s
		}
		require.InDelta(t, 1, sum, 1e-9)
	})
}
