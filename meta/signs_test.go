package meta_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/meta"
)

func TestSignsOfARun(t *testing.T) {
	t.Parallel()
	well := meta.Assessment{State: "healthy", Recommendation: meta.KeepGoing, Confidence: "high", Total: 3, Successes: 3}
	failed := meta.Assessment{State: "struggling", Recommendation: "slow_down", Confidence: "medium", Total: 3, Failures: 1, Evidence: []string{"1 failed"}}
	low := meta.Signs{Resonance: []float64{0.9, 0.9, 0.6, 0.6, 0.6}}
	falling := meta.Signs{Resonance: []float64{0.98, 0.94, 0.9, 0.86, 0.82, 0.78}}
	turns := meta.Signs{Resonance: []float64{0.95, 0.71, 0.95, 0.71, 0.95, 0.71}}
	spent := meta.Signs{Spent: 0.8, Bound: "1000 tokens"}
	for name, c := range map[string]struct {
		a        meta.Assessment
		s        meta.Signs
		want     string
		trust    string
		evidence string // of the sign; "": there is none
	}{
		"nothing":                 {well, meta.Signs{}, meta.KeepGoing, "high", ""},
		"no outcome":              {meta.Assessment{}, low, "slow_down", "low", "low_resonance: 3 of the last 5"},
		"low":                     {well, low, "slow_down", "low", "low_resonance: 3 of the last 5"},
		"two low":                 {well, meta.Signs{Resonance: []float64{0.9, 0.9, 0.6, 0.9, 0.6}}, meta.KeepGoing, "high", ""},
		"low, long ago":           {well, meta.Signs{Resonance: []float64{0.1, 0.1, 0.1, 0.9, 0.9, 0.9, 0.9, 0.9}}, meta.KeepGoing, "high", ""},
		"falling":                 {well, falling, "slow_down", "low", "resonance_degradation: falling over the last 6"},
		"up and down":             {well, turns, "slow_down", "low", "resonance_alternation"},
		"spent":                   {well, spent, "slow_down", "medium", "80 % of the budget of 1000 tokens is spent"},
		"not yet spent":           {well, meta.Signs{Spent: 0.79}, meta.KeepGoing, "high", ""},
		"no share":                {well, meta.Signs{Spent: math.NaN()}, meta.KeepGoing, "high", ""},
		"more than all":           {well, meta.Signs{Spent: math.Inf(1)}, meta.KeepGoing, "high", ""},
		"no resonance":            {well, meta.Signs{Resonance: []float64{math.NaN(), -1, 7, math.Inf(-1)}}, meta.KeepGoing, "high", ""},
		"failure, low":            {failed, low, "slow_down", "medium", "low_resonance"},
		"failure, falling":        {failed, falling, "consider_pivot", "low", "resonance_degradation"},
		"failure, up and down":    {failed, turns, "consider_pivot", "low", "resonance_alternation"},
		"failure, spent":          {failed, spent, "consider_pivot", "medium", "80 %"},
		"no failure, but slow":    {meta.Assessment{Recommendation: "slow_down"}, falling, "slow_down", "", "resonance_degradation"},
		"more cannot be said":     {meta.Assessment{Recommendation: "pivot_now", Pivot: true, Confidence: "high"}, falling, "pivot_now", "high", "resonance_degradation"},
		"considered already":      {meta.Assessment{Recommendation: "consider_pivot", Failures: 2}, spent, "consider_pivot", "", "80 %"},
		"both":                    {well, meta.Signs{Resonance: falling.Resonance, Spent: 1, Bound: "$2"}, "slow_down", "medium", "100 % of the budget of $2 is spent"},
		"two resonances are none": {well, meta.Signs{Resonance: []float64{0.1, 0.1}}, meta.KeepGoing, "high", ""},
	} {
		got := c.a.With(c.s)
		require.Equal(t, c.want, got.Recommendation, name)
		require.Equal(t, c.trust, got.Confidence, name)
		require.Equal(t, c.a.State, got.State, name)
		require.Equal(t, c.a.Pivot, got.Pivot, name)
		if c.evidence == "" {
			require.Equal(t, c.a, got, name)
			continue
		}
		require.Contains(t, strings.Join(got.Evidence[len(c.a.Evidence):], "; "), c.evidence, name)
		require.Equal(t, strings.Join(c.a.Evidence, ""), strings.Join(got.Evidence[:len(c.a.Evidence)], ""), name)
	}
}

// Signs only ever raise a recommendation, by one step, and never to PivotNow.
func TestSignsRaiseByAStepAtMost(t *testing.T) {
	t.Parallel()
	steps := []string{meta.KeepGoing, "slow_down", "consider_pivot", "pivot_now"}
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, 3).Draw(rt, "recommendation")
		a := meta.Assessment{Recommendation: steps[at], Failures: rapid.IntRange(0, 3).Draw(rt, "failures")}
		got := a.With(meta.Signs{
			Resonance: rapid.SliceOf(rapid.Float64()).Draw(rt, "resonance"), Spent: rapid.Float64().Draw(rt, "spent"),
		})
		want := []string{steps[at]}
		if at < 2 {
			want = append(want, steps[at+1])
		}
		require.Contains(rt, want, got.Recommendation)
		if got.Recommendation != a.Recommendation {
			require.NotEmpty(rt, got.Evidence)
		}
	})
}
