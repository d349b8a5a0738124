package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
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
	require.InDelta(t, 0.625, r.Random, 1e-12)
	require.InDeltaSlice(t, []float64{1, 0.5, 1.5, 1}, r.Regret, 1e-12)
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
	require.Nil(t, r.Regret)
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
	for _, propensity := range []float64{0, -1, 1.1, math.NaN()} {
		d := good[0]
		d.Outcomes, d.Propensity = d.Outcomes[:1], propensity
		_, err := replay.Off(t.Context(), replay.Fixed(always("a")), []replay.Decision{d}, nil)
		require.ErrorIs(t, err, replay.ErrDecision)
	}
	d := good[0]
	d.Propensity = 0.5
	_, err := replay.Off(t.Context(), replay.Fixed(always("a")), []replay.Decision{d}, nil)
	require.ErrorIs(t, err, replay.ErrDecision, "two outcomes")
}

// TestOff checks the arithmetic by hand.
func TestOff(t *testing.T) {
	t.Parallel()
	log := func(name string, reward, propensity float64) replay.Decision {
		return replay.Decision{
			Candidates: []rank.Candidate{{Name: "a"}, {Name: "b"}}, Propensity: propensity,
			Outcomes: []rank.Sample{{Candidate: name, Reward: p(reward)}},
		}
	}
	ds := []replay.Decision{log("a", 1, 0.5), log("b", 0, 0.5), log("a", 0, 0.25), log("b", 1, 0.75)}
	r, err := replay.Off(t.Context(), replay.Fixed(always("a")), ds, nil)
	require.NoError(t, err)
	require.Equal(t, 2, r.Matched)
	require.InDelta(t, 0.5, r.Logged.Value, 1e-12)
	require.InDelta(t, 2.0/4, r.IPS.Value, 1e-12)
	require.InDelta(t, 2.0/6, r.SNIPS.Value, 1e-12)
	require.InDelta(t, 36.0/20, r.Effective, 1e-12)
	require.Less(t, r.IPS.Low, r.IPS.Value)
	require.Greater(t, r.DR.High, r.DR.Value)
}

// TestOffAgrees: on a large log of an even draw every estimate covers the
// truth, and the doubly robust one varies less than the one by propensity.
func TestOffAgrees(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	rates := map[string]float64{"a": 0.2, "b": 0.9, "c": 0.5}
	names := []string{"a", "b", "c"}
	var ds []replay.Decision
	for range 4000 {
		d := replay.Decision{Propensity: 1.0 / 3}
		for _, n := range names {
			d.Candidates = append(d.Candidates, rank.Candidate{Name: n})
		}
		n := names[rng.IntN(3)]
		d.Outcomes = []rank.Sample{{Candidate: n, Success: rng.Float64() < rates[n]}}
		ds = append(ds, d)
	}
	for n, rate := range rates {
		r, err := replay.Off(t.Context(), replay.Fixed(always(n)), ds, &replay.Options{Seed: 3})
		require.NoError(t, err)
		for _, e := range []replay.Estimate{r.IPS, r.SNIPS, r.DR} {
			require.InDelta(t, rate, e.Value, 4*e.StdErr+1e-12)
		}
		require.InDelta(t, 4000.0/3, r.Effective, 100)
		require.Less(t, r.DR.StdErr, r.IPS.StdErr)
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	s := replay.Summarize([]float64{4, 1, 3, 2})
	require.Equal(t, 4, s.N)
	require.InDelta(t, 2.5, s.Mean, 1e-12)
	require.InDelta(t, 2.5, s.Median, 1e-12)
	require.InDelta(t, 1.2909944487, s.SD, 1e-9)
	require.InDelta(t, 2.5-3.182*s.SD/2, s.Low, 1e-9)
	require.InDelta(t, 2.5+3.182*s.SD/2, s.High, 1e-9)
	require.True(t, math.IsNaN(replay.Summarize(nil).Mean))
	require.True(t, math.IsNaN(replay.Summarize([]float64{1}).SD))
	many := make([]float64, 31)
	many[0] = 31
	s = replay.Summarize(many)
	require.InDelta(t, 2.042*s.SD/math.Sqrt(31), s.High-s.Mean, 0.001*s.SD)
}

// TestNumerics holds the indices of the simple policies to published figures.
func TestNumerics(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/bandit-numerics.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Name  string
			Input struct {
				Successes, Failures, Pulls, T int
			}
			Want struct{ Score, Mean, Var float64 }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	for _, c := range file.Cases {
		switch {
		case c.Name[:3] == "ucb":
			l := replay.NewUCB(1, 1)
			feed(t, l, "x", c.Input.Successes, c.Input.Pulls-c.Input.Successes)
			feed(t, l, "other", 0, c.Input.T-c.Input.Pulls)
			require.InDelta(t, c.Want.Score, one(t, l, "x").Score, 5e-9, c.Name)
		case c.Name[:4] == "beta":
			l := replay.NewThompson(false, 1)
			feed(t, l, "x", c.Input.Successes, c.Input.Failures)
			got := one(t, l, "x").Parts
			require.InDelta(t, c.Want.Mean, got.Mean, 5e-9, c.Name)
			require.InDelta(t, c.Want.Var, got.Spread*got.Spread, 5e-9, c.Name)
		}
	}
}

func feed(t *testing.T, l replay.Learner, name string, successes, failures int) {
	t.Helper()
	for i := range successes + failures {
		require.NoError(t, l.Observe(t.Context(), rank.Sample{Candidate: name, Success: i < successes}))
	}
	require.NoError(t, l.Observe(t.Context(), rank.Sample{Candidate: name, Unknown: true}))
}

func one(t *testing.T, l replay.Learner, name string) rank.Scored {
	t.Helper()
	ss, err := l.Score(t.Context(), rank.Situation{}, []rank.Candidate{{Name: name}})
	require.NoError(t, err)
	return ss[0]
}

// TestSimplePolicies: on an easy problem each finds the better candidate, and
// exploring wastes what it wastes.
func TestSimplePolicies(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 2))
	var rows [][]float64
	for range 2000 {
		row := []float64{0, 0}
		for j, rate := range []float64{0.2, 0.8} {
			if rng.Float64() < rate {
				row[j] = 1
			}
		}
		rows = append(rows, row)
	}
	ds := full(rows...)
	for name, fresh := range map[string]func(uint64) replay.Learner{
		"epsilon":  func(s uint64) replay.Learner { return replay.NewGreedy(0.1, s) },
		"ucb":      func(s uint64) replay.Learner { return replay.NewUCB(1, s) },
		"thompson": func(s uint64) replay.Learner { return replay.NewThompson(true, s) },
		"learned": func(s uint64) replay.Learner {
			book, err := rank.Open(t.Context(), store.NewMem(), &rank.Options{Seed: s})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, book.Close()) })
			return replay.With(book.Learned(nil), book)
		},
	} {
		done := 0
		rs, err := replay.Seeds(t.Context(), 3, ds, nil,
			func(s uint64) (replay.Learner, error) { return fresh(s), nil },
			func(replay.Learner) error { done++; return nil })
		require.NoError(t, err)
		require.Equal(t, 3, done)
		s := replay.Summarize(replay.Rewards(rs))
		require.Greater(t, s.Mean, 0.73, name)
		require.Less(t, s.Mean, 0.83, name)
	}
	_, err := replay.Seeds(t.Context(), 1, ds, nil, func(uint64) (replay.Learner, error) { return nil, os.ErrInvalid }, nil)
	require.ErrorIs(t, err, os.ErrInvalid)
	_, err = replay.Seeds(t.Context(), 1, ds, nil,
		func(uint64) (replay.Learner, error) { return replay.NewUCB(1, 1), nil },
		func(replay.Learner) error { return os.ErrInvalid })
	require.ErrorIs(t, err, os.ErrInvalid)
}

func TestTrain(t *testing.T) {
	t.Parallel()
	book, err := rank.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	defer book.Close()
	ds := full([]float64{1, 0, 0.5}, []float64{1, 0, 0.5})
	require.NoError(t, replay.Train(t.Context(), replay.With(book.Learned(nil), book), ds))
	for _, name := range []string{"a", "b", "c"} {
		s, err := book.Stats(t.Context(), name, "")
		require.NoError(t, err)
		require.Equal(t, 2, s.Samples)
	}
	ds[1].Outcomes[0].Reward = p(math.NaN())
	err = replay.Train(t.Context(), replay.With(book.Learned(nil), book), ds)
	require.ErrorIs(t, err, rank.ErrSample)

	l := replay.With(book.Learned(nil), book)
	for _, prefix := range []string{"first", "second", "second"} {
		_, err = replay.Run(t.Context(), l, full([]float64{1}), &replay.Options{Prefix: prefix})
		require.NoError(t, err)
	}
	s, err := book.Stats(t.Context(), "a", "")
	require.NoError(t, err)
	require.Equal(t, 4, s.Samples, "a Book knows the keys of an earlier replay")
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
	for _, c := range []struct {
		name string
		replay.Learner
	}{
		{"greedy", replay.NewGreedy(0.1, 1)},
		{"Thompson by key", replay.NewThompson(true, 1)},
		{"Learned", replay.With(book.Learned(nil), book)},
	} {
		r, err := replay.Run(ctx, c.Learner, log, &replay.Options{Seed: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: better than always %s: %t, gap to the oracle closed by more than 3/4: %t\n",
			c.name, r.BestName, r.Reward > r.Best, r.GapClosed() > 0.75)
	}
	// Output:
	// greedy: better than always large: false, gap to the oracle closed by more than 3/4: false
	// Thompson by key: better than always large: true, gap to the oracle closed by more than 3/4: true
	// Learned: better than always large: true, gap to the oracle closed by more than 3/4: true
}
