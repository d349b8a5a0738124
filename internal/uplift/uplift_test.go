package uplift_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/uplift"
)

const (
	runs     = 2000
	episodes = 2000
)

// simulate runs trials with a base rate, treated with a chance, looks at each after
// every episode, and returns the share whose interval was ever wrong, and the share
// that found an uplift within 800 episodes.
func simulate(truth, base, treated float64, seed uint64) (wrong, found float64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for range runs {
		var t uplift.Trial
		miss, hit := 0.0, 0.0
		for i := range episodes {
			got, rate := rng.Float64() < treated, base
			if got {
				rate += truth
			}
			t.Add(treated, got, rng.Float64() < rate)
			_, low, high := t.Interval()
			if truth < low || truth > high {
				miss = 1
			}
			if low > 0 && i < 800 {
				hit = 1
			}
		}
		wrong, found = wrong+miss/runs, found+hit/runs
	}
	return wrong, found
}

// The interval holds at every stopping time, and is narrow enough to be of use.
func TestIntervalHoldsAlways(t *testing.T) {
	t.Parallel()
	for seed, truth := range []float64{0, 0.05, 0.2, -0.1} {
		wrong, found := simulate(truth, 0.5, 0.8, uint64(seed+1))
		require.LessOrEqual(t, wrong, 0.05, "uplift %v", truth)
		if truth >= 0.2 {
			require.GreaterOrEqual(t, found, 0.8)
		}
		if truth <= 0 {
			require.LessOrEqual(t, found, 0.05, "an uplift that is not there")
		}
	}
}

// The interval holds where few episodes go without the treatment, and nearly all of
// them end alike: those that do not are still to come.
func TestIntervalHoldsOfFew(t *testing.T) {
	t.Parallel()
	for i, c := range [...]struct{ truth, base, treated float64 }{
		{-0.1, 0.1, 0.9}, {-0.1, 0.1, 0.95}, {0.1, 0.9, 0.95},
	} {
		wrong, _ := simulate(c.truth, c.base, c.treated, uint64(i+11))
		require.LessOrEqual(t, wrong, 0.05, "%+v", c)
	}
}

func TestNothingIsClaimedEarly(t *testing.T) {
	t.Parallel()
	var tr uplift.Trial
	for i := range 18 {
		_, low, high := tr.Interval()
		require.Equal(t, [2]float64{-1, 1}, [2]float64{low, high})
		tr.Add(0.5, i%2 == 0, i%2 == 0)
	}
	for range 200 {
		tr.Add(0.5, true, true)
		tr.Add(0.5, false, false)
	}
	mean, low, high := tr.Interval()
	require.InDelta(t, 1, mean, 0.05)
	require.Greater(t, low, 0.5)
	require.LessOrEqual(t, high, 1.0)
	require.Equal(t, 418, tr.Episodes())
}

func TestIntervalIsInRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tr uplift.Trial
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			tr.Add(rapid.Float64Range(0.01, 0.99).Draw(t, "p"), rapid.Bool().Draw(t, "treated"), rapid.Bool().Draw(t, "success"))
			mean, low, high := tr.Interval()
			require.True(t, -1 <= low && low <= mean && mean <= high && high <= 1, "%v %v %v", low, mean, high)
			require.True(t, tr.Valid())
		}
	})
	for _, bad := range []uplift.Trial{
		{Sum: math.NaN()}, {Squares: math.Inf(1)}, {Squares: -1}, {Treated: uplift.Arm{Episodes: 1, Successes: 2}}, {Untreated: uplift.Arm{Episodes: -1, Successes: -2}},
	} {
		require.False(t, bad.Valid(), "%+v", bad)
	}
}
