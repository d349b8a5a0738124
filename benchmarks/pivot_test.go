package benchmarks

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

var trialsFile = flag.String("pivot.trials", os.Getenv("ARC_PIVOT_TRIALS"), "file with the trials of Reflexion (reflexion_trials.json)")

// trials are the logs of agents that try each environment again and again: a
// digit a trial, 1 from the one that solved it.
type trials struct {
	ALFWorld map[string]json.RawMessage `json:"alfworld"`
	WebShop  map[string]json.RawMessage `json:"webshop"`
}

func loadTrials(t testing.TB) (tr trials) {
	if *trialsFile == "" {
		t.Skip("no trials: -pivot.trials or ARC_PIVOT_TRIALS names the file")
	}
	raw, err := os.ReadFile(*trialsFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &tr))
	return tr
}

// sequences returns the trials of a run, by environment.
func sequences(t testing.TB, raw json.RawMessage) map[string]string {
	var run struct{ Sequences map[string]string }
	require.NoError(t, json.Unmarshal(raw, &run))
	return run.Sequences
}

// order returns the environments in order of their number, or shuffled.
func order(envs map[string]string, seed uint64) []string {
	var names []string
	for e := range envs {
		names = append(names, e)
	}
	number := func(s string) int { n, _ := strconv.Atoi(strings.TrimPrefix(s, "env_")); return n }
	slices.SortFunc(names, func(a, b string) int { return number(a) - number(b) })
	if seed > 0 {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	return names
}

const (
	retry   = "retry"
	reflect = "reflect"
)

// watcher replays logs to a Monitor of its own.
type watcher struct {
	t testing.TB
	m *meta.Monitor
	n int
}

func watch(t testing.TB) *watcher {
	m, err := meta.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return &watcher{t: t, m: m}
}

func (w *watcher) chances(env, approach string) meta.Chances {
	c, err := w.m.Chances(w.t.Context(), env, env, approach)
	require.NoError(w.t, err)
	return c
}

func (w *watcher) record(env, approach string, success bool) {
	w.n++
	require.NoError(w.t, w.m.Record(w.t.Context(), meta.Outcome{
		Key: strconv.Itoa(w.n), Session: env, Goal: env, Approach: approach, Success: success,
	}))
}

// TestPivotCalibration scores every trial of plain retry before it is recorded.
func TestPivotCalibration(t *testing.T) {
	envs := sequences(t, loadTrials(t).ALFWorld["base"])
	for seed := range uint64(6) {
		w, c, solved := watch(t), iar.Calibration{}, 0
		for _, env := range order(envs, seed) {
			for _, trial := range envs[env] {
				success := trial == '1'
				require.NoError(t, c.Add(w.chances(env, retry).Again.Deliver, success))
				w.record(env, retry, success)
				if success {
					solved++
					break
				}
			}
		}
		rate := float64(solved) / float64(c.Count())
		t.Logf("seed %d: %d trials, ECE %.3f, Brier %.3f, of the base rate %.3f", seed, c.Count(), c.ECE(), c.Brier(), rate*(1-rate))
		require.LessOrEqual(t, c.Brier(), rate*(1-rate))
		if seed == 0 {
			require.LessOrEqual(t, c.ECE(), 0.05)
		}
	}
}

// switching spends up to seven trials on each environment: plain retry until
// pivot says so, from then on the agent that reflects, whose log goes on after
// its first trial: the two share that.
func switching(t testing.TB, base, other map[string]string, seed uint64, pivot func(w *watcher, env string, trial int) bool) (solved, spent int) {
	w := watch(t)
	for _, env := range order(base, seed) {
		approach, log := retry, base[env]
		for trial := range min(7, len(base[env])) {
			if trial > 0 && approach == retry && pivot(w, env, trial) {
				approach, log = reflect, other[env][1:]
				log = strings.Repeat("0", trial) + log
			}
			spent++
			success := log[trial] == '1'
			w.record(env, approach, success)
			if success {
				solved++
				break
			}
		}
	}
	return solved, spent
}

// TestPivotReplay pivots when Assess says so, beside every fixed number of
// failures.
func TestPivotReplay(t *testing.T) {
	tr := loadTrials(t)
	base, other := sequences(t, tr.ALFWorld["base"]), sequences(t, tr.ALFWorld["reflexion"])
	best := 0
	for k := 1; k <= 7; k++ {
		solved, spent := switching(t, base, other, 0, func(_ *watcher, _ string, trial int) bool { return trial >= k })
		t.Logf("after %d failures: %d solved in %d trials", k, solved, spent)
		best = max(best, solved)
	}
	for seed := range uint64(6) {
		solved, spent := switching(t, base, other, seed, assessed)
		t.Logf("by Assess, seed %d: %d solved in %d trials", seed, solved, spent)
		require.GreaterOrEqual(t, solved, best-2)
	}
}

func assessed(w *watcher, env string, _ int) bool {
	a, err := w.m.Assess(w.t.Context(), env)
	require.NoError(w.t, err)
	return a.Pivot
}

// TestPivotWebShop: reflecting does not help there, and what is learned from
// both agents' logs must not say so: the chances of another try and of another
// approach, after one failure, are within each other's bounds.
func TestPivotWebShop(t *testing.T) {
	tr := loadTrials(t)
	w := watch(t)
	for run, later := range map[string]string{"base_2": retry, "reflexion_2": reflect} {
		envs := sequences(t, tr.WebShop[run])
		for _, env := range order(envs, 0) {
			for i, trial := range envs[env][:2] {
				approach := retry
				if i > 0 {
					approach = later
				}
				w.record(run+env, approach, trial == '1')
				if trial == '1' {
					break
				}
			}
		}
	}
	w.record("new", retry, false)
	c := w.chances("new", retry)
	t.Log(c)
	require.Less(t, c.Other.Low, c.Again.Deliver)
	require.Greater(t, c.Again.High, c.Other.Low)
}
