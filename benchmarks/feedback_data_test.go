package benchmarks

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank/replay"
	"github.com/arc-learn/arc/store"
)

var tauBench = flag.String("feedback.taubench", os.Getenv("ARC_TAUBENCH"),
	"taubench_airline_gpt4o.json; default $ARC_TAUBENCH")

// trajectory is one of four runs of a task.
type trajectory struct {
	Task, Trial int
	Reward      float64
	Tools       []string
}

func trajectories(t *testing.T) []trajectory {
	t.Helper()
	if *tauBench == "" {
		t.Skip("no data: set -feedback.taubench or ARC_TAUBENCH to the file of trajectories")
	}
	raw, err := os.ReadFile(*tauBench)
	require.NoError(t, err)
	var f struct{ Runs []trajectory }
	require.NoError(t, json.Unmarshal(raw, &f))
	require.NotEmpty(t, f.Runs)
	return f.Runs
}

// trial is one outcome of something in a situation.
type trial struct {
	what, situation string
	success         bool
}

func trialsOf(ds []replay.Decision) []trial {
	var out []trial
	for _, d := range ds {
		for _, o := range d.Outcomes {
			out = append(out, trial{o.Candidate, d.Situation.Key, o.Success})
		}
	}
	return out
}

// backoffLoss is the mean logarithmic loss of predicting each outcome from
// those before it: the posterior in the situation, whose prior is the
// posterior over all situations, with the given weight.
func backoffLoss(trials []trial, weight float64, seed uint64) float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	type tally struct{ n, helped float64 }
	overall, inside := map[string]*tally{}, map[string]*tally{}
	get := func(m map[string]*tally, k string) *tally {
		if m[k] == nil {
			m[k] = new(tally)
		}
		return m[k]
	}
	loss := 0.0
	for _, i := range rng.Perm(len(trials)) {
		tr := trials[i]
		o, s := get(overall, tr.what), get(inside, tr.what+"\x00"+tr.situation)
		p := (1 + o.helped) / (2 + o.n)
		if !math.IsInf(weight, 1) {
			p = (p*weight + s.helped) / (weight + s.n)
		}
		o.n, s.n = o.n+1, s.n+1
		if tr.success {
			o.helped, s.helped = o.helped+1, s.helped+1
		} else {
			p = 1 - p
		}
		loss -= math.Log(p)
	}
	return loss / float64(len(trials))
}

// TestFeedbackBackoff says how much the counts over all situations should
// weigh beside those of one.
func TestFeedbackBackoff(t *testing.T) {
	sets := map[string]func(t *testing.T) []trial{
		"LLMRouter":                func(t *testing.T) []trial { return trialsOf(llmRouter(t)) },
		"RouteLLM":                 func(t *testing.T) []trial { return trialsOf(routeLLM(t)) },
		"LLMRouter, 300 decisions": func(t *testing.T) []trial { return trialsOf(llmRouter(t)[:300]) },
		"RouteLLM, 300 decisions": func(t *testing.T) []trial {
			ds := routeLLM(t)
			rand.New(rand.NewPCG(1, 1)).Shuffle(len(ds), func(i, j int) { ds[i], ds[j] = ds[j], ds[i] })
			return trialsOf(ds[:300])
		},
		"tau-bench airline": func(t *testing.T) []trial {
			var out []trial
			for _, tr := range trajectories(t) {
				out = append(out, trial{"agent", fmt.Sprint(tr.Task), tr.Reward == 1})
			}
			return out
		},
	}
	for name, trials := range sets {
		t.Run(name, func(t *testing.T) {
			row := ""
			for _, w := range []float64{.5, 1, 2, 4, 8, 16, 32, math.Inf(1)} {
				sum := 0.0
				for seed := range uint64(10) {
					sum += backoffLoss(trials(t), w, seed) / 10
				}
				row += fmt.Sprintf(" %.4f |", sum)
			}
			t.Logf("| %s |%s", name, row)
		})
	}
}

// precision is how often the trajectory ranked first was a success.
type precision struct{ similar, weighted, possible float64 }

// TestFeedbackReplay remembers three trials of each task with their rewards as
// feedback, and asks for the fourth: is what ranks first a trajectory that
// succeeded? Asked for by the task's name, and, with all of that task's
// trajectories left out, by the tools that the fourth trial called.
func TestFeedbackReplay(t *testing.T) {
	runs := trajectories(t)
	for _, cold := range []bool{false, true} {
		for _, blamed := range []bool{false, true} {
			var p precision
			n := 0.0
			for _, q := range runs {
				if q.Trial == 3 {
					p.add(t, runs, q, cold, blamed)
					n++
				}
			}
			t.Logf("| cold %v, failures named as misleading %v | %.3f | %.3f | %.3f |",
				cold, blamed, p.similar/n, p.weighted/n, p.possible/n)
			require.Greater(t, p.weighted, p.similar)
		}
	}
}

func (p *precision) add(t *testing.T, runs []trajectory, q trajectory, cold, blamed bool) {
	ctx := t.Context()
	b, err := memory.Open(ctx, store.NewMem(), &memory.Options{Seed: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	s := b.In("airline/gpt-4o")
	rewards := map[memory.ID]float64{}
	best := 0.0
	for _, r := range runs {
		if r.Trial == 3 || cold && r.Task == q.Task {
			continue
		}
		receipt, err := s.Remember(ctx, memory.Draft{
			Kind: memory.Episode, Trigger: fmt.Sprintf("airline task t%d", r.Task), Key: fmt.Sprint(r.Task, "/", r.Trial),
			Content: "tools " + strings.Join(r.Tools, " "),
		})
		require.NoError(t, err)
		rewards[receipt.ID] = r.Reward
		if cold || r.Task == q.Task {
			best = max(best, r.Reward)
		}
		f := memory.Feedback{Key: string(receipt.ID), Injected: []memory.ID{receipt.ID}, Delivered: true}
		switch {
		case r.Reward == 1:
			f.Utilized = f.Injected
		case blamed:
			f.Misled = f.Injected
		}
		require.NoError(t, s.Feedback(ctx, f))
	}
	query := memory.Query{Text: fmt.Sprintf("airline task t%d", q.Task), K: len(runs)}
	if cold {
		query.Text = strings.Join(q.Tools, " ")
	}
	hits, err := s.Recall(ctx, query)
	require.NoError(t, err)
	p.possible += best
	if len(hits) == 0 {
		return // a trial that called no tool has no words
	}
	p.weighted += rewards[hits[0].Record.ID]
	// Among equally similar ones chance decides.
	top, sum, n := 0.0, 0.0, 0.0
	for _, h := range hits {
		top = max(top, h.Parts.Relevance)
	}
	for _, h := range hits {
		if h.Parts.Relevance == top {
			sum, n = sum+rewards[h.Record.ID], n+1
		}
	}
	p.similar += sum / n
}

// TestFeedbackPredicts keeps one memory per way of working, which is the set
// of tools that a trial called, and gives it the rewards of the first three
// trials of all tasks. Its effectiveness is then to say whether a fourth trial
// that works that way succeeds, which no feedback has said yet.
func TestFeedbackPredicts(t *testing.T) {
	ctx := t.Context()
	runs := trajectories(t)
	b, err := memory.Open(ctx, store.NewMem(), &memory.Options{Seed: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	s := b.In("airline/gpt-4o")
	way := func(r trajectory) string {
		tools := slices.Clone(r.Tools)
		slices.Sort(tools)
		return "tools " + strings.Join(slices.Compact(tools), " ")
	}
	ids := map[string]memory.ID{}
	wins, n := 0.0, 0.0
	for i, r := range runs {
		if r.Trial == 3 {
			continue
		}
		if ids[way(r)] == "" {
			receipt, err := s.Remember(ctx, memory.Draft{Kind: memory.Episode, Content: way(r), Key: way(r)})
			require.NoError(t, err)
			ids[way(r)] = receipt.ID
		}
		id := []memory.ID{ids[way(r)]}
		f := memory.Feedback{Key: fmt.Sprint(i), Injected: id, Delivered: true, Situation: fmt.Sprint(r.Task)}
		if f.Utilized = id; r.Reward != 1 {
			f.Utilized, f.Misled = nil, id
		}
		require.NoError(t, s.Feedback(ctx, f))
		wins, n = wins+r.Reward, n+1
	}
	var yes, no [2][]float64 // predictions over all situations, and in the task's
	loss := [3]float64{}
	base := wins / n
	tested := 0.0
	for _, r := range runs {
		id := ids[way(r)]
		if r.Trial != 3 || id == "" {
			continue
		}
		tested++
		for k, q := range []memory.Query{{}, {Situation: fmt.Sprint(r.Task)}} {
			x, err := s.Explain(ctx, q, id)
			require.NoError(t, err)
			p := x.Parts.Effectiveness
			if r.Reward == 1 {
				yes[k] = append(yes[k], p)
			} else {
				no[k] = append(no[k], p)
			}
			loss[k] += surprise(p, r.Reward)
		}
		loss[2] += surprise(base, r.Reward)
	}
	t.Logf("| %.0f of 50 trials, %d ways | AUC overall %.3f, by task %.3f | loss overall %.3f, by task %.3f, base rate %.3f |",
		tested, len(ids), auc(yes[0], no[0]), auc(yes[1], no[1]), loss[0]/tested, loss[1]/tested, loss[2]/tested)
	require.Greater(t, auc(yes[1], no[1]), auc(yes[0], no[0]))
	require.Greater(t, auc(yes[0], no[0]), .5)
}

func surprise(p, outcome float64) float64 {
	if outcome == 1 {
		return -math.Log(p)
	}
	return -math.Log(1 - p)
}

// auc is how likely a success has the larger prediction.
func auc(yes, no []float64) float64 {
	sum := 0.0
	for _, y := range yes {
		for _, n := range no {
			switch {
			case y > n:
				sum++
			case y == n:
				sum += .5
			}
		}
	}
	return sum / float64(len(yes)*len(no))
}
