package benchmarks

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/rank/replay"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
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
	return half(ds), half(tasks)
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
	return &few{Learner: newGreedy(0, s), rng: rand.New(rand.NewPCG(s, 5)), n: 261}, nil
}}

// orders is how many TestRankMany takes: the mean of 20 has a standard error
// of .012, and that of 100 one of .006.
var orders = flag.Uint64("rank.orders", 100, "orders of many candidates")

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
				for seed := range *orders {
					l, err := c.fresh(seed + 1)
					require.NoError(t, err)
					r, err := replay.Run(t.Context(), l, order(seed+1), &replay.Options{Seed: seed + 1})
					require.NoError(t, err)
					require.NoError(t, closeBook(l))
					rs = append(rs, r.Reward)
				}
				s := summarize(rs)
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

// rungs are the models of the ladder, as a host might list them.
var rungs = strings.Fields("claude-fable-5 claude-opus-4-8 claude-sonnet-4-6 DeepSeek-V4-Pro Gemini-3.5-Flash Gemini-3-Flash " +
	"GLM-5.1 GPT-5.5 GPT-5.4 Kimi-K2.6 MiniMax-M3 Nemotron-3-Super Qwen3.6-Plus")

// laddered are the tasks with the models of the ladder; a cost that is not known is
// the mean of the model.
func laddered(t *testing.T, benchmark string) []map[string]rank.Sample {
	ds, _ := openHands(t, benchmark)
	sum, n := make(map[string]float64), make(map[string]float64)
	for i := range ds {
		for _, s := range ds[i].Outcomes {
			if !math.IsNaN(s.CostUSD) {
				sum[s.Candidate] += s.CostUSD
				n[s.Candidate]++
			}
		}
	}
	tasks := make([]map[string]rank.Sample, len(ds))
	for i := range ds {
		tasks[i] = make(map[string]rank.Sample)
		for _, s := range ds[i].Outcomes {
			if math.IsNaN(s.CostUSD) {
				s.CostUSD = sum[s.Candidate] / n[s.Candidate]
			}
			if slices.Contains(rungs, s.Candidate) {
				tasks[i][s.Candidate] = s
			}
		}
	}
	return tasks
}

// outcome is what a rule made of the tasks in an order.
type outcome struct{ late, lateUSD, all, allUSD float64 }

// climbed plays a rule for which try gives the outcome of a model at a task. It
// returns the means over the second half of the tasks, and over all.
func climbed(tasks []map[string]rank.Sample, seed uint64, rule func(n int, try func(model string) (bool, float64))) outcome {
	var o outcome
	for n, i := range rand.New(rand.NewPCG(seed, 6)).Perm(len(tasks)) {
		solved, usd := 0.0, 0.0
		rule(n, func(model string) (bool, float64) {
			s := tasks[i][model] // none: not solved, for nothing
			if usd += s.CostUSD; s.Success {
				solved = 1
			}
			return s.Success, s.CostUSD
		})
		o.all, o.allUSD = o.all+solved/float64(len(tasks)), o.allUSD+usd/float64(len(tasks))
		if half := len(tasks) / 2; n >= half {
			o.late, o.lateUSD = o.late+solved/float64(len(tasks)-half), o.lateUSD+usd/float64(len(tasks)-half)
		}
	}
	return o
}

// fixed tries models in order.
func fixed(models ...string) func(int, func(string) (bool, float64)) {
	return func(_ int, try func(string) (bool, float64)) {
		for _, m := range models {
			if ok, _ := try(m); ok {
				return
			}
		}
	}
}

// asking is an agent with a worker for each rung, by its options.
func asking(t *testing.T, seed uint64, o arc.Options) func(n int, try func(model string) (bool, float64)) {
	var try func(string) (bool, float64)
	host := arc.Host{Gates: []act.Gate{act.GateFunc(func(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: string(r.Output) == "true", Complaint: "the tests fail"}, nil
	})}}
	for _, name := range rungs {
		host.Workers = append(host.Workers, act.Worker{
			Card: rank.Candidate{Name: name},
			Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				passed, usd := try(name)
				return act.Result{
					Output: fmt.Appendf(nil, "%t", passed), Usage: act.Usage{CostUSD: usd},
					Reflection: iar.Reflection{
						Status: iar.Success, Confidence: 0.8, Summary: "did it",
						PotentialIssues: []string{}, AlignmentCheck: map[string]float64{},
					},
				}, nil
			}),
		})
	}
	now := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	o.Seed, o.Now, o.Maintain = seed+1, func() time.Time { return now }, -1
	a, err := arc.New(t.Context(), store.NewMem(), host, &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return func(n int, attempt func(string) (bool, float64)) {
		try = attempt
		_, err := a.Run(t.Context(), arc.Objective{
			Text: fmt.Sprint("solve task ", n), Situation: "software task", Tasks: []reason.Task{{Objective: "solve it"}},
		})
		require.NoError(t, err)
	}
}

// TestRankLadder has an agent with 13 models behind a gate solve tasks from a cold
// start, its options default but for one: what a run may cost on average.
func TestRankLadder(t *testing.T) {
	for _, set := range []struct {
		benchmark string
		late, all float64 // shares of what is bought: bars of the larger and the smaller purse; 0: none
	}{{"swe-bench", 0.945, 0.85}, {"", 0, 0}} {
		t.Run(set.benchmark, func(t *testing.T) {
			tasks := laddered(t, set.benchmark)
			row := func(name string, rule func(seed uint64) func(int, func(string) (bool, float64))) (mean, most outcome) {
				const seeds = 20
				for seed := range uint64(seeds) {
					o := climbed(tasks, seed, rule(seed))
					mean.late, mean.lateUSD = mean.late+o.late/seeds, mean.lateUSD+o.lateUSD/seeds
					mean.all, mean.allUSD = mean.all+o.all/seeds, mean.allUSD+o.allUSD/seeds
					most.allUSD = max(most.allUSD, o.allUSD)
				}
				t.Logf("| %-34s | %.3f | $%.3f | %.3f | $%.3f | $%.3f |", name, mean.late, mean.lateUSD, mean.all, mean.allUSD, most.allUSD)
				return mean, most
			}
			always := func(models ...string) func(uint64) func(int, func(string) (bool, float64)) {
				return func(uint64) func(int, func(string) (bool, float64)) { return fixed(models...) }
			}
			row("DeepSeek-V4-Pro, always", always("DeepSeek-V4-Pro"))
			row("claude-fable-5, always", always("claude-fable-5"))
			row("fixed, chosen in hindsight", always("DeepSeek-V4-Pro", "MiniMax-M3", "claude-opus-4-8", "claude-fable-5"))
			row("two rungs, chosen in hindsight", always("DeepSeek-V4-Pro", "claude-fable-5"))
			row("arc, no price", func(seed uint64) func(int, func(string) (bool, float64)) { return asking(t, seed, arc.Options{}) })
			for _, c := range []struct{ spend, bar, most float64 }{{0.52, set.late, 0.52}, {0.22, set.all, 0.22}} {
				mean, most := row(fmt.Sprintf("arc, Spend %.3f", c.spend), func(seed uint64) func(int, func(string) (bool, float64)) {
					return asking(t, seed, arc.Options{Spend: c.spend})
				})
				if c.bar > 0 {
					assert.GreaterOrEqual(t, mean.late, c.bar)
					assert.LessOrEqual(t, mean.lateUSD, c.most)
					assert.LessOrEqual(t, most.allUSD, 1.05*c.spend)
				}
			}
		})
	}
}
