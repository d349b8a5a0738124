package benchmarks

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/rank/replay"
)

// TestRankRegret holds the mean regret of the simple policies over a few seeds to
// the figures of other implementations, within two of their standard
// deviations of a single run.
func TestRankRegret(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../rank/testdata/bandit-regret.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Name  string
			Input struct{ P []float64 }
			Want  map[string]json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	for _, c := range file.Cases {
		for name, fresh := range map[string]func(uint64) replay.Learner{
			"ts":     func(s uint64) replay.Learner { return newThompson(false, s) },
			"ucb1":   func(s uint64) replay.Learner { return newUCB(1, s) },
			"eps0.1": func(s uint64) replay.Learner { return newGreedy(0.1, s) },
			"greedy": func(s uint64) replay.Learner { return newGreedy(0, s) },
		} {
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				var want map[string]struct{ Mean, SD float64 }
				require.NoError(t, json.Unmarshal(c.Want[name], &want))
				const seeds = 10
				mean := 0.0
				for seed := range uint64(seeds) {
					mean += regret(t, fresh(seed), c.Input.P, seed) / seeds
				}
				w := want["1000"]
				require.InDelta(t, w.Mean, mean, 2*w.SD)
			})
		}
	}
}

// regret returns the expected regret of a Learner over 1000 draws.
func regret(t *testing.T, l replay.Learner, p []float64, seed uint64) float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	cs := make([]rank.Candidate, len(p))
	index := make(map[string]int)
	best := 0.0
	for i := range cs {
		cs[i].Name = fmt.Sprint("arm", i)
		index[cs[i].Name] = i
		best = max(best, p[i])
	}
	sum := 0.0
	for range 1000 {
		ss, err := l.Score(t.Context(), rank.Situation{}, cs)
		require.NoError(t, err)
		arm := index[ss[0].Candidate.Name]
		sum += best - p[arm]
		require.NoError(t, l.Observe(t.Context(), rank.Sample{Candidate: cs[arm].Name, Success: rng.Float64() < p[arm]}))
	}
	return sum
}

// TestRankNumerics holds the indices of the simple policies to published figures.
func TestRankNumerics(t *testing.T) {
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
			l := newUCB(1, 1)
			feedOutcomes(t, l, "x", c.Input.Successes, c.Input.Pulls-c.Input.Successes)
			feedOutcomes(t, l, "other", 0, c.Input.T-c.Input.Pulls)
			require.InDelta(t, c.Want.Score, scoreOf(t, l, "x").Score, 5e-9, c.Name)
		case c.Name[:4] == "beta":
			l := newThompson(false, 1)
			feedOutcomes(t, l, "x", c.Input.Successes, c.Input.Failures)
			got := scoreOf(t, l, "x").Parts
			require.InDelta(t, c.Want.Mean, got.Mean, 5e-9, c.Name)
			require.InDelta(t, c.Want.Var, got.Spread*got.Spread, 5e-9, c.Name)
		}
	}
}

func feedOutcomes(t *testing.T, l replay.Learner, name string, successes, failures int) {
	t.Helper()
	for i := range successes + failures {
		require.NoError(t, l.Observe(t.Context(), rank.Sample{Candidate: name, Success: i < successes}))
	}
	require.NoError(t, l.Observe(t.Context(), rank.Sample{Candidate: name, Unknown: true}))
}

func scoreOf(t *testing.T, l replay.Learner, name string) rank.Scored {
	t.Helper()
	ss, err := l.Score(t.Context(), rank.Situation{}, []rank.Candidate{{Name: name}})
	require.NoError(t, err)
	return ss[0]
}
