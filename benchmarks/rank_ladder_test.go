package benchmarks

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/rank/replay"
)

// openHands is the index of software tasks by model, those of one benchmark or
// of all: whether each solved each, and what it cost.
func openHands(t *testing.T, benchmark string) ([]replay.Decision, []string) {
	rows := data(t, "openhands-dev.csv")
	var ds []replay.Decision
	var tasks []string
	for _, row := range rows[1:] {
		if benchmark != "" && row[0] != benchmark {
			continue
		}
		d := replay.Decision{Situation: rank.Situation{Skill: "solve"}}
		for i, cell := range row[2:] {
			if cell == "" {
				continue
			}
			outcome, usd, _ := strings.Cut(cell, ":")
			s := rank.Sample{Candidate: rows[0][2+i], Success: outcome == "1"}
			if usd != "" {
				var err error
				s.CostUSD, err = strconv.ParseFloat(usd, 64)
				require.NoError(t, err)
			} else {
				s.CostUSD = math.NaN()
			}
			d.Outcomes = append(d.Outcomes, s)
			d.Candidates = append(d.Candidates, rank.Candidate{Name: s.Candidate, Prior: 0.5})
		}
		ds, tasks = append(ds, d), append(tasks, row[1])
	}
	return ds, tasks
}

// few lets a policy see a random √n of the candidates (Bayati et al., 2020).
type few struct {
	replay.Learner
	rng  *rand.Rand
	n    int
	seen map[string]bool
}

func (f *few) Score(ctx context.Context, s rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
	if f.seen == nil {
		f.seen = make(map[string]bool)
		for _, i := range f.rng.Perm(len(cs))[:min(len(cs), int(math.Sqrt(float64(f.n))))] {
			f.seen[cs[i].Name] = true
		}
	}
	some := slices.DeleteFunc(slices.Clone(cs), func(c rank.Candidate) bool { return !f.seen[c.Name] })
	if len(some) == 0 {
		some = cs
	}
	return f.Learner.Score(ctx, s, some)
}

// rootModels is greedy among the square root of 261 models.
var rootModels = contestant{"√T, then greedy", func(s uint64) (replay.Learner, error) {
	return &few{Learner: replay.NewGreedy(0, s), rng: rand.New(rand.NewPCG(s, 5)), n: 261}, nil
}}

// orders is how many TestRankMany takes: of 20 the mean of a greedy rule has a
// standard error of .012, which decides nothing.
const orders = 100

// TestRankMany has one of 43 models take each task: Learned is to be within
// .005 of the best of the simple rules.
func TestRankMany(t *testing.T) {
	ds, _ := openHands(t, "swe-bench")
	for i := range ds { // one model per task, what it costs left aside
		for j := range ds[i].Outcomes {
			ds[i].Outcomes[j].CostUSD = 0
		}
	}
	draws := func(seed uint64) []replay.Decision {
		rng := rand.New(rand.NewPCG(seed, 4))
		out := make([]replay.Decision, 500)
		for i := range out {
			out[i] = ds[rng.IntN(len(ds))]
		}
		return out
	}
	for name, order := range map[string]func(seed uint64) []replay.Decision{
		"261 tasks": func(uint64) []replay.Decision { return ds },
		"500 draws": draws,
	} {
		t.Run(name, func(t *testing.T) {
			best := math.Inf(-1)
			peers := append(slices.Clone(baselines), rootModels)
			means := func(c contestant) float64 {
				var rs []float64
				for seed := range uint64(orders) {
					l, err := c.fresh(seed + 1)
					require.NoError(t, err)
					r, err := replay.Run(t.Context(), l, order(seed+1), &replay.Options{Seed: seed + 1})
					require.NoError(t, err)
					require.NoError(t, closeBook(l))
					rs = append(rs, r.Reward)
				}
				s := replay.Summarize(rs)
				t.Logf("| %-20s | %.4f | %.4f |", c.name, s.Mean, s.SD)
				return s.Mean
			}
			for _, c := range peers {
				best = max(best, means(c))
			}
			means(observedOne)
			got := means(learnedOne)
			t.Logf("best peer %.4f, Learned %+.4f", best, got-best)
			require.GreaterOrEqual(t, got, best-0.005)
		})
	}
}
