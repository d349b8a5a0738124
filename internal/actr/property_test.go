package actr_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/actr"
)

// drawAges draws 1 to 60 ages, the most recent first.
func drawAges(t *rapid.T) []float64 {
	out := rapid.SliceOfN(rapid.Float64Range(0, 1e7), 1, 60).Draw(t, "ages")
	slices.Sort(out)
	return out
}

func drawDecay(t *rapid.T) float64 { return rapid.Float64Range(.05, .95).Draw(t, "d") }

// sumOfPowers is ln Σ t^-d, written out.
func sumOfPowers(ages []float64, d float64) float64 {
	sum := 0.0
	for _, t := range ages {
		sum += math.Pow(max(t, actr.MinAge), -d)
	}
	return math.Log(sum)
}

func hybrid(all []float64, k int, d float64) float64 {
	return actr.Hybrid(all[:min(k, len(all))], len(all), all[len(all)-1], d)
}

func TestBaseLevelProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, d := drawAges(t), drawDecay(t)
		k := rapid.IntRange(0, len(all)+2).Draw(t, "k")
		want, approx := exact(all, d), hybrid(all, k, d)
		const eps = 1e-9

		require.InDelta(t, sumOfPowers(all, d), want, eps, "hybrid is exact when all uses are known")
		require.InDelta(t, actr.Optimized(len(all), max(all[len(all)-1], actr.MinAge), d), hybrid(all, 0, d), 1e-6+eps,
			"hybrid is optimized when none is known")
		more := append([]float64{all[0] / 2}, all...)
		require.Greater(t, exact(more, d), want, "a use raises it")
		require.Greater(t, hybrid(more, k, d), approx-eps, "a use raises it")
		require.Greater(t, actr.Optimized(len(all)+1, all[len(all)-1], d), actr.Optimized(len(all), all[len(all)-1], d))

		later := make([]float64, len(all))
		wait := rapid.Float64Range(1, 1e6).Draw(t, "wait")
		for i, a := range all {
			later[i] = a + wait
		}
		require.Less(t, exact(later, d), want, "time lowers it")
		require.LessOrEqual(t, hybrid(later, k, d), approx+eps, "time lowers it")

		if all[0] > 1 {
			require.Less(t, exact(all, min(d+.01, .99)), want, "decay lowers it, from one second on")
		}
	})
}

// As k grows, hybrid comes nearer to exact: not use by use, but on average.
func TestHybridConverges(t *testing.T) {
	sums := make(map[int]float64)
	rapid.Check(t, func(t *rapid.T) {
		all := drawAges(t)
		for _, k := range []int{0, 1, 3, 10, 30, 60} {
			sums[k] += math.Abs(hybrid(all, k, .5) - exact(all, .5))
		}
	})
	require.Greater(t, sums[0], sums[1])
	require.Greater(t, sums[1], sums[3])
	require.Greater(t, sums[3], sums[10])
	require.Greater(t, sums[10], sums[30])
	require.InDelta(t, 0, sums[60], 1e-6)
}

// Fisher, Houpt and Gunzelmann (2018), Computational Brain & Behavior 1:
// optimized learning falls with d up to d* = 1 - 1/ln(L) only.
func TestOptimizedIsNotMonotoneInDecay(t *testing.T) {
	for life, star := range map[float64]float64{10: .5657, 1000: .8552} {
		at := func(d float64) float64 { return actr.Optimized(3, life, d) }
		require.Greater(t, at(star-.01), at(star))
		require.Greater(t, at(star+.01), at(star))
	}
}

func TestRetrievalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64Range(-20, 20).Draw(t, "a")
		tau := rapid.Float64Range(-5, 5).Draw(t, "tau")
		s := rapid.Float64Range(.01, 2).Draw(t, "s")
		p := actr.Probability(a, tau, s)
		require.InDelta(t, 1, p+actr.Probability(2*tau-a, tau, s), 1e-9, "it is symmetric about the threshold")
		require.GreaterOrEqual(t, actr.Probability(a+1, tau, s), p)
		require.Greater(t, actr.Latency(1, a), actr.Latency(1, a+1))

		refs := rapid.IntRange(0, 50).Draw(t, "refs")
		held := rapid.IntRange(1, 3).Draw(t, "held")
		require.GreaterOrEqual(t, actr.Association(2, refs, held, false), actr.Association(2, refs+1, held, false), "fan divides")
		require.Equal(t, max(0, actr.Association(2, refs, held, true)), actr.Association(2, refs, held, false))
	})
	require.Zero(t, actr.Probability(-1, 0, 0))
	require.Equal(t, 1.0, actr.Probability(0, 0, 0))
}

func TestNoiseRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, what := rapid.Uint64().Draw(t, "seed"), rapid.String().Draw(t, "what")
		require.Equal(t, actr.Noise(.5, seed, what), actr.Noise(.5, seed, what))
		require.NotEqual(t, actr.Draw(seed, what), actr.Draw(seed+1, what))
		require.NotEqual(t, actr.Draw(seed, what), actr.Draw(seed, what+"x"))
		require.Zero(t, actr.Noise(0, seed, what))
	})
}

// The share of draws above a level is what Probability says.
func TestNoiseIsLogistic(t *testing.T) {
	for _, a := range []float64{-1, -.3, 0, .4, 1.2} {
		above := 0
		const n = 100_000
		for i := range n {
			if a+actr.Noise(.5, 7, string(rune('a'+i%26))+string(rune(i))) >= 0 {
				above++
			}
		}
		require.InDelta(t, actr.Probability(a, 0, .5), float64(above)/n, .006)
	}
}

func TestBlendedActivation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		as := rapid.SliceOfN(rapid.Float64Range(-30, 30), 1, 20).Draw(t, "activations")
		sum := 0.0
		for _, a := range as {
			sum += math.Exp(a)
		}
		require.InDelta(t, math.Log(sum), actr.BlendedActivation(as), 1e-9)
		require.GreaterOrEqual(t, actr.BlendedActivation(as), slices.Max(as))
	})
	require.Equal(t, math.Inf(-1), actr.BlendedActivation(nil))
}
