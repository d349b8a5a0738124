package answer_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/answer"
)

// match is what a query has found.
type match struct {
	ratio float64
	by    answer.Actor
}

func likely(ms ...match) float64 {
	var a answer.Attribution
	for _, m := range ms {
		a.Add(m.ratio, m.by)
	}
	return a.Likely()
}

func TestLikely(t *testing.T) {
	require.Equal(t, answer.Unnamed, likely())
	require.Equal(t, answer.Unnamed, likely(match{3, 0}), "the query names no actor")
	named, another := match{2, answer.Named}, match{2, answer.Another}
	require.InDelta(t, .999, likely(named), .001, "the other has said nothing of it")
	require.InDelta(t, .002, likely(another), .001, "only the other has said something of it")
	both := likely(named, another)
	require.Greater(t, both, likely(another))
	require.Less(t, both, likely(named))
	require.Greater(t, likely(match{4, answer.Named}, another), both)
}

// What comes after the first ten says nothing, in whatever order they come.
func TestLikelyOfTheBest(t *testing.T) {
	ms := []match{{9, answer.Named}, {8, answer.Another}}
	for i := range answer.Compared - 2 {
		ms = append(ms, match{7 - float64(i)/10, 0})
	}
	want := likely(ms...)
	ms = append(ms, match{1, answer.Another}, match{.5, answer.Named})
	require.Equal(t, want, likely(ms...))
	slices.Reverse(ms)
	require.Equal(t, want, likely(ms...))
}

func TestProbability(t *testing.T) {
	require.Zero(t, answer.Probability(0, 1))
	require.Equal(t, .3, answer.Probability(1, .3))
	// x of .9, of which the relevance is x⁴/(1+x⁴): as likely as not.
	require.InDelta(t, .5, answer.Probability(.6561/1.6561, 1), 1e-9)
	last := 0.0
	for r := .05; r < 1; r += .05 {
		p := answer.Probability(r, 1)
		require.Greater(t, p, last)
		require.InDelta(t, p/2, answer.Probability(r, .5), 1e-12)
		last = p
	}
}
