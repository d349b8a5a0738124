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
	well := meta.Assessment{State: meta.Healthy, Recommendation: meta.KeepGoing, Confidence: meta.High, Total: 3, Successes: 3}
	failed := meta.Assessment{State: meta.Struggling, Recommendation: meta.SlowDown, Confidence: meta.Medium, Total: 3, Failures: 1, Evidence: []string{"1 failed"}}
	low := meta.Signs{Resonance: []float64{0.9, 0.9, 0.6, 0.6, 0.6}}
	falling := meta.Signs{Resonance: []float64{0.98, 0.94, 0.9, 0.86, 0.82, 0.78}}
	turns := meta.Signs{Resonance: []float64{0.95, 0.71, 0.95, 0.71, 0.95, 0.71}}
	spent := meta.Signs{Spent: 0.8, Bound: "1000 tokens"}
	for name, c := range map[string]struct {
		a        meta.Assessment
		s        meta.Signs
		want     meta.Recommendation
		trust    meta.Confidence
		evidence string // of the sign; "": there is none
	}{
		"nothing":                 {well, meta.Signs{}, meta.KeepGoing, meta.High, ""},
		"no outcome":              {meta.Assessment{}, low, meta.SlowDown, meta.Low, "low_resonance: 3 of the last 5"},
		"low":                     {well, low, meta.SlowDown, meta.Low, "low_resonance: 3 of the last 5"},
		"two low":                 {well, meta.Signs{Resonance: []float64{0.9, 0.9, 0.6, 0.9, 0.6}}, meta.KeepGoing, meta.High, ""},
		"low, long ago":           {well, meta.Signs{Resonance: []float64{0.1, 0.1, 0.1, 0.9, 0.9, 0.9, 0.9, 0.9}}, meta.KeepGoing, meta.High, ""},
		"falling":                 {well, falling, meta.SlowDown, meta.Low, "resonance_degradation: falling over the last 6"},
		"up and down":             {well, turns, meta.SlowDown, meta.Low, "resonance_alternation"},
		"spent":                   {well, spent, meta.SlowDown, meta.Medium, "80 % of the budget of 1000 tokens is spent"},
		"not yet spent":           {well, meta.Signs{Spent: 0.79}, meta.KeepGoing, meta.High, ""},
		"no share":                {well, meta.Signs{Spent: math.NaN()}, meta.KeepGoing, meta.High, ""},
		"more than all":           {well, meta.Signs{Spent: math.Inf(1)}, meta.KeepGoing, meta.High, ""},
		"no resonance":            {well, meta.Signs{Resonance: []float64{math.NaN(), -1, 7, math.Inf(-1)}}, meta.KeepGoing, meta.High, ""},
		"failure, low":            {failed, low, meta.SlowDown, meta.Medium, "low_resonance"},
		"failure, falling":        {failed, falling, meta.ConsiderPivot, meta.Low, "resonance_degradation"},
		"failure, up and down":    {failed, turns, meta.ConsiderPivot, meta.Low, "resonance_alternation"},
		"failure, spent":          {failed, spent, meta.ConsiderPivot, meta.Medium, "80 %"},
		"no failure, but slow":    {meta.Assessment{Recommendation: meta.SlowDown}, falling, meta.SlowDown, "", "resonance_degradation"},
		"more cannot be said":     {meta.Assessment{Recommendation: meta.PivotNow, Pivot: true, Confidence: meta.High}, falling, meta.PivotNow, meta.High, "resonance_degradation"},
		"considered already":      {meta.Assessment{Recommendation: meta.ConsiderPivot, Failures: 2}, spent, meta.ConsiderPivot, "", "80 %"},
		"both":                    {well, meta.Signs{Resonance: falling.Resonance, Spent: 1, Bound: "$2"}, meta.SlowDown, meta.Medium, "100 % of the budget of $2 is spent"},
		"two resonances are none": {well, meta.Signs{Resonance: []float64{0.1, 0.1}}, meta.KeepGoing, meta.High, ""},
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
	steps := []meta.Recommendation{meta.KeepGoing, meta.SlowDown, meta.ConsiderPivot, meta.PivotNow}
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, 3).Draw(rt, "recommendation")
		a := meta.Assessment{Recommendation: steps[at], Failures: rapid.IntRange(0, 3).Draw(rt, "failures")}
		got := a.With(meta.Signs{
			Resonance: rapid.SliceOf(rapid.Float64()).Draw(rt, "resonance"), Spent: rapid.Float64().Draw(rt, "spent"),
		})
		want := []meta.Recommendation{steps[at]}
		if at < 2 {
			want = append(want, steps[at+1])
		}
		require.Contains(rt, want, got.Recommendation)
		if got.Recommendation != a.Recommendation {
			require.NotEmpty(rt, got.Evidence)
		}
	})
}
