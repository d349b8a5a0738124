package iar_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/iar"
)

func TestCorrectIsMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c iar.Calibration
		for range rapid.IntRange(0, 80).Draw(t, "n") {
			require.NoError(t, c.Add(rapid.Float64Range(0, 1).Draw(t, "said"), rapid.Bool().Draw(t, "was")))
		}
		last := -1.0
		for i := range 201 {
			said := float64(i) / 200
			got := c.Correct(said)
			require.True(t, got >= 0 && got <= 1, got)
			require.GreaterOrEqual(t, got, last-1e-12)
			if c.Count() == 0 {
				require.Equal(t, said, got)
			}
			last = got
		}
		require.Equal(t, c.Correct(0), c.Correct(math.NaN()))
		require.Equal(t, c.Correct(0), c.Correct(math.Inf(-1)))
		require.Equal(t, c.Correct(1), c.Correct(math.Inf(1)))
		require.Equal(t, c.Correct(1), c.Correct(7))
	})
}

// An executor that says 0.95 whatever it does, and one that is overconfident
// everywhere, are corrected: on outcomes that were not learned from, the error
// of calibration falls to a third or less.
func TestCorrectCalibrates(t *testing.T) {
	t.Parallel()
	for name, talk := range map[string]func(truth float64) float64{
		"always sure":   func(float64) float64 { return 0.95 },
		"overconfident": math.Sqrt,
	} {
		rng := rand.New(rand.NewPCG(7, 7))
		draw := func() (said float64, was bool) {
			truth := rng.Float64()
			return talk(truth), rng.Float64() < truth
		}
		var c, before, after iar.Calibration
		for range 2000 {
			said, was := draw()
			require.NoError(t, c.Add(said, was))
		}
		for range 5000 {
			said, was := draw()
			require.NoError(t, before.Add(said, was))
			require.NoError(t, after.Add(c.Correct(said), was))
		}
		require.Greater(t, before.ECE(), 0.1, name)
		require.Less(t, after.ECE(), before.ECE()/3, name)
		require.Less(t, after.Brier(), before.Brier(), name)
	}
}

func alternates(values ...float64) bool {
	tr := iar.NewTracker(nil)
	for _, v := range values {
		tr.Record("t", of(v))
	}
	return slices.ContainsFunc(tr.Issues(), func(f iar.Finding) bool { return f.Kind == "resonance_alternation" })
}

func TestAlternation(t *testing.T) {
	t.Parallel()
	require.True(t, alternates(0.9, 0.5, 0.9, 0.5, 0.9, 0.5))
	require.True(t, alternates(0.9, 0.9, 0.4, 0.7, 0.3, 0.95, 0.1, 0.8))
	require.False(t, alternates(0.9, 0.5, 0.9, 0.5, 0.9), "five")
	require.False(t, alternates(0.9, 0.5, 0.9, 0.5, 0.9, 0.5, 0.5), "it has stopped")
	require.False(t, alternates(0.9, 0.8, 0.9, 0.8, 0.9, 0.8), "too little")
	require.False(t, alternates(0.9, 0.5, 0.9, 0.5, 0.2, 0.9), "not in turn")
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 { // healthy streams
		var values []float64
		for range 50 {
			values = append(values, min(1, max(0, 0.85+0.05*rng.NormFloat64())))
		}
		require.False(t, alternates(values...))
	}
}

func ExampleCalibration_Correct() {
	var c iar.Calibration
	for i := range 40 {
		if err := c.Add(0.9, i%2 == 0); err != nil { // says 0.9, succeeds every other time
			fmt.Println(err)
		}
	}
	fmt.Printf("%.2f %.2f %.2f\n", c.Correct(0.9), c.Correct(0.5), c.Correct(0.2))
	// Output:
	// 0.59 0.50 0.20
}
