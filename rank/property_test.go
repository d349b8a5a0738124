package rank_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// recompute returns the figures of a pair the slow way.
func recompute(all []rank.Sample) rank.Stats {
	last := all[max(0, len(all)-rank.Window):]
	var s rank.Stats
	var wall, confidence, onSuccess, onFailure float64
	for _, x := range last {
		s.Samples++
		wall += float64(x.Wall)
		s.CostUSD += x.CostUSD
		s.TokensIn += float64(x.TokensIn)
		s.TokensOut += float64(x.TokensOut)
		if x.Unknown {
			continue
		}
		s.Known++
		if x.Success {
			s.Successes++
		}
		if x.Confidence == nil {
			continue
		}
		s.Confident++
		confidence += *x.Confidence
		switch {
		case x.Success:
			onSuccess += *x.Confidence
			s.ConfidenceOnSuccess++
		default:
			onFailure += *x.Confidence
			s.ConfidenceOnFailure++
			if *x.Confidence >= rank.HighConfidence {
				s.HighConfidenceFailures++
			}
		}
	}
	over := func(sum, n float64) float64 {
		if n == 0 {
			return 0
		}
		return sum / n
	}
	n := float64(s.Samples)
	s.SuccessRate = over(float64(s.Successes), float64(s.Known))
	s.Confidence = over(confidence, float64(s.Confident))
	s.ConfidenceOnSuccess = over(onSuccess, s.ConfidenceOnSuccess)
	s.ConfidenceOnFailure = over(onFailure, s.ConfidenceOnFailure)
	s.Wall = time.Duration(over(wall, n))
	s.CostUSD, s.TokensIn, s.TokensOut = over(s.CostUSD, n), over(s.TokensIn, n), over(s.TokensOut, n)
	return s
}

func requireClose(t require.TestingT, want, got rank.Stats) {
	for _, f := range [][2]*float64{
		{&want.Confidence, &got.Confidence},
		{&want.ConfidenceOnSuccess, &got.ConfidenceOnSuccess},
		{&want.ConfidenceOnFailure, &got.ConfidenceOnFailure},
		{&want.CostUSD, &got.CostUSD},
	} {
		require.InDelta(t, *f[0], *f[1], 1e-12*max(1, *f[0]))
		*f[0] = *f[1]
	}
	require.Equal(t, want, got)
}

// TestWindow checks the sums that are kept against those that are computed
// from all samples, over duplicates and restarts, and that a book which was
// opened again cannot be told from one that was not.
func TestWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		opts := &rank.Options{Now: clock(noon)}
		st := store.NewMem()
		reopened, err := rank.Open(t.Context(), st, opts)
		require.NoError(rt, err)
		continued, err := rank.Open(t.Context(), store.NewMem(), opts)
		require.NoError(rt, err)
		type pair struct{ candidate, skill string }
		all := make(map[pair][]rank.Sample)
		cs := []rank.Candidate{{Name: "a", Prior: 0.5}, {Name: "ab", Prior: 0.4}}
		draw := rapid.Custom(func(rt *rapid.T) rank.Sample {
			s := rank.Sample{
				Candidate: rapid.SampledFrom(cs).Draw(rt, "candidate").Name,
				Situation: rank.Situation{
					Skill: rapid.SampledFrom([]string{"", "b"}).Draw(rt, "skill"),
					Key:   rapid.SampledFrom([]string{"", "k", "l"}).Draw(rt, "key"),
				},
				Success:   rapid.Bool().Draw(rt, "success"),
				Unknown:   rapid.IntRange(0, 4).Draw(rt, "unknown") == 0,
				Wall:      time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(rt, "wall")),
				CostUSD:   rapid.Float64Range(0, 1000).Draw(rt, "cost"),
				TokensIn:  rapid.IntRange(0, rank.MaxTokens).Draw(rt, "in"),
				TokensOut: rapid.IntRange(0, rank.MaxTokens).Draw(rt, "out"),
				At:        noon.Add(-time.Duration(rapid.Int64Range(0, int64(2*rank.Day)).Draw(rt, "age"))),
			}
			if rapid.Bool().Draw(rt, "reports") {
				s.Confidence = p(rapid.Float64Range(0, 1).Draw(rt, "confidence"))
			}
			if rapid.Bool().Draw(rt, "rewards") {
				s.Reward = p(rapid.Float64Range(-1, 3).Draw(rt, "reward"))
			}
			if rapid.Bool().Draw(rt, "features") {
				s.Situation.Features = []float64{rapid.Float64Range(-9, 9).Draw(rt, "feature"), 1}
			}
			return s
		})
		total := 0
		for range rapid.IntRange(1, 3).Draw(rt, "lives") {
			few := rapid.SliceOfN(draw, 1, 20).Draw(rt, "samples")
			for i := range rapid.IntRange(1, 400).Draw(rt, "n") {
				s := few[i%len(few)]
				s.Key = fmt.Sprint(total)
				total++
				k := pair{s.Candidate, s.Situation.Skill}
				all[k] = append(all[k], s)
				for _, book := range []*rank.Book{reopened, continued} {
					require.NoError(rt, book.Observe(t.Context(), s))
					require.NoError(rt, book.Observe(t.Context(), s))
				}
			}
			require.NoError(rt, reopened.Close())
			reopened, err = rank.Open(t.Context(), st, opts)
			require.NoError(rt, err)
		}
		for k, samples := range all {
			got, err := reopened.Stats(t.Context(), k.candidate, k.skill)
			require.NoError(rt, err)
			want, err := continued.Stats(t.Context(), k.candidate, k.skill)
			require.NoError(rt, err)
			require.Equal(rt, want, got)
			requireClose(rt, recompute(samples), got)
		}
		for _, c := range cs {
			want, err := continued.Health(t.Context(), c.Name)
			require.NoError(rt, err)
			got, err := reopened.Health(t.Context(), c.Name)
			require.NoError(rt, err)
			require.Equal(rt, want, got)
			known := 0
			for k, samples := range all {
				for i, s := range samples {
					since := noon.Add(-rank.Day)
					if len(samples)-i > rank.Window {
						since = since.Truncate(time.Hour)
					}
					if k.candidate == c.Name && !s.Unknown && !s.At.Before(since) {
						known++
					}
				}
			}
			require.Equal(rt, known, got.Known)
		}
		theirs := policies(continued)
		for name, policy := range policies(reopened) {
			s := rank.Situation{Skill: "b", Key: "k", Features: []float64{1, 1}}
			want, err := theirs[name].Score(t.Context(), s, cs)
			require.NoError(rt, err)
			got, err := policy.Score(t.Context(), s, cs)
			require.NoError(rt, err)
			require.Equal(rt, want, got)
		}
		require.NoError(rt, reopened.Close())
		require.NoError(rt, continued.Close())
	})
}

// TestWindowForgets: two candidates with the same last samples have the same
// score to the last bit, whatever one of them did before.
func TestWindowForgets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		book, err := rank.Open(t.Context(), store.NewMem(), nil)
		require.NoError(rt, err)
		observe := func(name string, n, offset int, values []float64) {
			for i := range n {
				v := values[i%len(values)]
				require.NoError(rt, book.Observe(t.Context(), rank.Sample{
					Key: fmt.Sprint(name, offset+i), Candidate: name, Success: i%3 != 0,
					Confidence: &v, CostUSD: v * 1e6, Wall: time.Duration(v * 1e11),
				}))
			}
		}
		values := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 7)
		observe("a", rapid.IntRange(0, 100).Draw(rt, "before"), 0, values.Draw(rt, "old"))
		same := values.Draw(rt, "values")
		observe("a", rank.Window, 100, same)
		observe("b", rank.Window, 100, same)
		ss, err := book.Observed().Score(t.Context(), rank.Situation{}, []rank.Candidate{{Name: "a"}, {Name: "b"}})
		require.NoError(rt, err)
		require.Equal(rt, ss[0].Parts, ss[1].Parts)
		a, err := book.Stats(t.Context(), "a", "")
		require.NoError(rt, err)
		b, err := book.Stats(t.Context(), "b", "")
		require.NoError(rt, err)
		require.Equal(rt, a, b)
		require.NoError(rt, book.Close())
	})
}
