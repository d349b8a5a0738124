package meta_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/meta"
)

func TestSignsOfARun(t *testing.T) {
	t.Parallel()
	well := meta.Assessment{State: "healthy", Recommendation: "keep_going", Confidence: "high", Total: 3, Successes: 3}
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
		"nothing":                 {well, meta.Signs{}, "keep_going", "high", ""},
		"no outcome":              {meta.Assessment{}, low, "slow_down", "low", "low_resonance: 3 of the last 5"},
		"low":                     {well, low, "slow_down", "low", "low_resonance: 3 of the last 5"},
		"two low":                 {well, meta.Signs{Resonance: []float64{0.9, 0.9, 0.6, 0.9, 0.6}}, "keep_going", "high", ""},
		"low, long ago":           {well, meta.Signs{Resonance: []float64{0.1, 0.1, 0.1, 0.9, 0.9, 0.9, 0.9, 0.9}}, "keep_going", "high", ""},
		"falling":                 {well, falling, "slow_down", "low", "resonance_degradation: falling over the last 6"},
		"up and down":             {well, turns, "slow_down", "low", "resonance_alternation"},
		"spent":                   {well, spent, "slow_down", "medium", "80 % of the budget of 1000 tokens is spent"},
		"not yet spent":           {well, meta.Signs{Spent: 0.79}, "keep_going", "high", ""},
		"no share":                {well, meta.Signs{Spent: math.NaN()}, "keep_going", "high", ""},
		"more than all":           {well, meta.Signs{Spent: math.Inf(1)}, "keep_going", "high", ""},
		"no resonance":            {well, meta.Signs{Resonance: []float64{math.NaN(), -1, 7, math.Inf(-1)}}, "keep_going", "high", ""},
		"failure, low":            {failed, low, "slow_down", "medium", "low_resonance"},
		"failure, falling":        {failed, falling, "consider_pivot", "low", "resonance_degradation"},
		"failure, up and down":    {failed, turns, "consider_pivot", "low", "resonance_alternation"},
		"failure, spent":          {failed, spent, "consider_pivot", "medium", "80 %"},
		"no failure, but slow":    {meta.Assessment{Recommendation: "slow_down"}, falling, "consider_pivot", "low", "resonance_degradation"},
		"three in a row":          {well, meta.Signs{Resonance: []float64{0.9, 0.9, 0.9, 0.9, 0.98, 0.75, 0.1}}, "consider_pivot", "low", "resonance_fall: three in a row, from 0.98 to 0.10"},
		"three, but still high":   {well, meta.Signs{Resonance: []float64{0.98, 0.9, 0.75}}, "keep_going", "high", ""},
		"three, hardly lower":     {well, meta.Signs{Resonance: []float64{0.75, 0.72, 0.69}}, "keep_going", "high", ""},
		"a dip":                   {well, meta.Signs{Resonance: []float64{0.9, 0.9, 0.4}}, "keep_going", "high", ""},
		"more cannot be said":     {meta.Assessment{Recommendation: "pivot_now", Pivot: true, Confidence: "high"}, falling, "pivot_now", "high", "resonance_degradation"},
		"considered already":      {meta.Assessment{Recommendation: "consider_pivot", Failures: 2}, spent, "consider_pivot", "", "80 %"},
		"both":                    {well, meta.Signs{Resonance: falling.Resonance, Spent: 1, Bound: "$2"}, "slow_down", "medium", "100 % of the budget of $2 is spent"},
		"two resonances are none": {well, meta.Signs{Resonance: []float64{0.1, 0.1}}, "keep_going", "high", ""},
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

// What failed attempts of a run say. A try is approach, action, result.
func TestAttemptsOfARun(t *testing.T) {
	t.Parallel()
	const x, y, z = 1, 2, 3
	again := func(n int, more ...[3]uint64) (out [][3]uint64) {
		for range n {
			out = append(out, more...)
		}
		return out
	}
	for name, c := range map[string]struct {
		tries [][3]uint64
		open  bool
		want  string
		also  []string
	}{
		"none":                      {nil, false, "keep_going", nil},
		"one":                       {again(1, [3]uint64{x, 1, 1}), false, "keep_going", nil},
		"two, for another reason":   {[][3]uint64{{x, 1, 1}, {x, 1, 2}}, false, "keep_going", nil},
		"two, of other approaches":  {[][3]uint64{{x, 1, 1}, {y, 2, 1}}, false, "keep_going", nil},
		"the same twice":            {again(2, [3]uint64{x, 1, 1}), true, "consider_pivot", nil},
		"the same thrice":           {again(3, [3]uint64{x, 1, 1}), false, "pivot_now", nil},
		"… under another name":      {[][3]uint64{{x, 1, 1}, {y, 1, 1}, {z, 1, 1}}, false, "pivot_now", nil},
		"… by other workers":        {[][3]uint64{{x, 1, 1}, {x, 2, 1}, {x, 3, 1}}, false, "pivot_now", nil},
		"… while one has not tried": {[][3]uint64{{x, 1, 1}, {x, 2, 1}, {x, 3, 1}}, true, "consider_pivot", nil},
		"three approaches":          {[][3]uint64{{x, 1, 1}, {y, 2, 1}, {z, 3, 1}}, false, "keep_going", nil},
		"two approaches in turn":    {[][3]uint64{{x, 1, 1}, {y, 2, 2}, {x, 1, 3}, {y, 2, 4}}, false, "consider_pivot", []string{meta.StartFresh}},
		"two actions in turn":       {[][3]uint64{{x, 1, 1}, {x, 2, 2}, {x, 1, 1}, {x, 2, 2}}, true, "consider_pivot", nil},
		"five by two":               {[][3]uint64{{x, 1, 1}, {x, 2, 2}, {y, 3, 3}, {y, 4, 4}, {y, 5, 5}}, false, "pivot_now", []string{meta.StartFresh}},
		"nine by three":             {append(again(3, [3]uint64{x, 1, 1}, [3]uint64{y, 2, 2}), again(3, [3]uint64{z, 3, 3})...), false, "pivot_now", []string{meta.StartFresh, meta.AskHuman}},
	} {
		s := meta.Signs{Goal: "mend it", Approach: "begin with the test", Open: c.open}
		for _, try := range c.tries {
			s.Approaches, s.Attempts = append(s.Approaches, try[0]), append(s.Attempts, 31*try[1]+try[2])
		}
		got := meta.Assessment{Recommendation: "keep_going"}.With(s)
		require.Equal(t, c.want, got.Recommendation, name)
		require.Equal(t, c.also, got.Also, name)
		require.Equal(t, c.want == "pivot_now", got.Pivot, name)
		if got.Pivot {
			require.Equal(t, []string{"mend it", "begin with the test", "high", "failing"}, []string{got.Goal, got.Approach, got.Confidence, got.State}, name)
		}
		if c.want != "keep_going" {
			require.Len(t, c.tries, got.Tries, name)
			require.NotEmpty(t, got.Evidence, name)
		}
	}
}

// Resonance and the budget only ever raise a recommendation, and never to
// pivot_now.
func TestSignsRaise(t *testing.T) {
	t.Parallel()
	steps := []string{"keep_going", "slow_down", "consider_pivot", "pivot_now"}
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, 3).Draw(rt, "recommendation")
		a := meta.Assessment{Recommendation: steps[at], Failures: rapid.IntRange(0, 3).Draw(rt, "failures")}
		got := a.With(meta.Signs{
			Resonance: rapid.SliceOf(rapid.Float64Range(-0.2, 1.2)).Draw(rt, "resonance"),
			Spent:     rapid.Float64Range(-0.2, 1.2).Draw(rt, "spent"),
		})
		to := slices.Index(steps, got.Recommendation)
		require.GreaterOrEqual(rt, to, at)
		require.Less(rt, to, max(3, at+1))
		require.Equal(rt, a.Pivot, got.Pivot)
		if to > at {
			require.NotEmpty(rt, got.Evidence)
		}
	})
}
