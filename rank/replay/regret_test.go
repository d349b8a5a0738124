package replay_test

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

// TestRegret holds the mean regret of the simple policies over a few seeds to
// the figures of other implementations, within two of their standard
// deviations of a single run.
func TestRegret(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../testdata/bandit-regret.json")
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
			"ts":     func(s uint64) replay.Learner { return replay.NewThompson(false, s) },
			"ucb1":   func(s uint64) replay.Learner { return replay.NewUCB(1, s) },
			"eps0.1": func(s uint64) replay.Learner { return replay.NewGreedy(0.1, s) },
			"greedy": func(s uint64) replay.Learner { return replay.NewGreedy(0, s) },
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
