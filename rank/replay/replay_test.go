package replay_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/rank/replay"
	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func p(f float64) *float64 { return &f }

// always is a policy that puts one candidate first.
func always(name string) rank.Policy {
	return rank.PolicyFunc(func(_ context.Context, _ rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
		out := []rank.Scored{{}}
		for _, c := range cs {
			if c.Name == name {
				out[0] = rank.Scored{Candidate: c, Score: 1}
				continue
			}
			out = append(out, rank.Scored{Candidate: c})
		}
		return out, nil
	})
}

// full returns decisions with full information: rewards by row, of the
// candidates a, b, c, ...
func full(rows ...[]float64) []replay.Decision {
	var ds []replay.Decision
	for _, row := range rows {
		var d replay.Decision
		for j, reward := range row {
			name := string(rune('a' + j))
			d.Candidates = append(d.Candidates, rank.Candidate{Name: name})
			d.Outcomes = append(d.Outcomes, rank.Sample{Candidate: name, Reward: p(reward)})
		}
		ds = append(ds, d)
	}
	return ds
}

func TestRun(t *testing.T) {
	t.Parallel()
	ds := full([]float64{1, 0}, []float64{0.5, 1}, []float64{1, 0}, []float64{0.5, 1})
	r, err := replay.Run(t.Context(), replay.Fixed(always("b")), ds, &replay.Options{InOrder: true})
	require.NoError(t, err)
	require.Equal(t, 4, r.Decisions)
	require.Equal(t, map[string]int{"b": 4}, r.Chosen)
	require.InDelta(t, 0.5, r.Reward, 1e-12)
	require.InDelta(t, 0.75, r.Best, 1e-12)
	require.Equal(t, "a", r.BestName)
	require.InDelta(t, 1, r.Oracle, 1e-12)
	require.InDelta(t, -1, r.GapClosed(), 1e-12)

	halved := func(s rank.Sample) float64 { return *s.Reward / 2 }
	r, err = replay.Run(t.Context(), replay.Fixed(always("a")), ds, &replay.Options{Worth: halved})
	require.NoError(t, err)
	require.InDelta(t, 0.375, r.Reward, 1e-12)
	require.InDelta(t, 0, r.GapClosed(), 1e-12)

	same, err := replay.Run(t.Context(), replay.Fixed(always("a")), full([]float64{1, 1}), nil)
	require.NoError(t, err)
	require.True(t, math.IsNaN(same.GapClosed()), "there is no gap")
}

// TestRunOnALog keeps the decisions in which the policy agrees with the log.
func TestRunOnALog(t *testing.T) {
	t.Parallel()
	ds := full([]float64{1, 0}, []float64{0, 1}, []float64{1, 0})
	for i := range ds {
		ds[i].Outcomes = ds[i].Outcomes[i%2 : i%2+1]
	}
	r, err := replay.Run(t.Context(), replay.Fixed(always("a")), ds, nil)
	require.NoError(t, err)
	require.Equal(t, 2, r.Decisions)
	require.InDelta(t, 1, r.Reward, 1e-12)
	require.True(t, math.IsNaN(r.Best))
	require.True(t, math.IsNaN(r.Best))
	r, err = replay.Run(t.Context(), replay.Fixed(always("z")), nil, nil)
	require.NoError(t, err)
	require.True(t, math.IsNaN(r.Reward))
}

func TestBadDecisions(t *testing.T) {
	t.Parallel()
	good := full([]float64{1, 0})
	for name, d := range map[string]replay.Decision{
		"no candidates": {Outcomes: good[0].Outcomes},
		"no outcomes":   {Candidates: good[0].Candidates},
	} {
		_, err := replay.Run(t.Context(), replay.Fixed(always("a")), []replay.Decision{d}, nil)
		require.ErrorIs(t, err, replay.ErrDecision, name)
	}
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	book, err := rank.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	defer book.Close()
	l := replay.With(book.Learned(nil), book)
	for _, prefix := range []string{"first", "second", "second"} {
		_, err = replay.Run(t.Context(), l, full([]float64{1}), &replay.Options{Prefix: prefix})
		require.NoError(t, err)
	}
	s, err := book.Stats(t.Context(), "a", "")
	require.NoError(t, err)
	require.Equal(t, 2, s.Samples, "a Book knows the keys of an earlier replay")
}

// A host replays its log before it lets a policy decide.
func Example() {
	ctx := context.Background()
	var log []replay.Decision
	for i := range 400 {
		// "small" does the easy steps, "large" does all, at a price.
		easy := i%2 == 0
		kind := map[bool]string{true: "easy", false: "hard"}[easy]
		small, large := 0.0, 0.8
		if easy {
			small = 1
		}
		log = append(log, replay.Decision{
			Situation:  rank.Situation{Skill: "answer", Key: kind},
			Candidates: []rank.Candidate{{Name: "small"}, {Name: "large"}},
			Outcomes: []rank.Sample{
				{Candidate: "small", Success: easy, Reward: &small},
				{Candidate: "large", Success: true, Reward: &large},
			},
		})
	}
	book, err := rank.Open(ctx, store.NewMem(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer book.Close()
	r, err := replay.Run(ctx, replay.With(book.Learned(nil), book), log, &replay.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("better than always %s: %t, gap to the oracle closed by more than 3/4: %t\n",
		r.BestName, r.Reward > r.Best, r.GapClosed() > 0.75)
	// Output: better than always large: true, gap to the oracle closed by more than 3/4: true
}
