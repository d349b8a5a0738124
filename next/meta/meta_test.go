package meta_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/next/iar"
	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/meta"
	"github.com/arc-learn/arc/next/store"
)

// told returns the record of outcomes, given as words: an approach, with "+" behind it where it delivered.
func told(t testing.TB, outcomes string) *meta.Session {
	sessions := meta.New(store.NewGroup(store.NewMem()))
	record(t, sessions, outcomes)
	s, err := sessions.Session(t.Context(), "acme", "s")
	require.NoError(t, err)
	return &s
}

func record(t testing.TB, sessions *meta.Sessions, outcomes string) {
	for word := range strings.FieldsSeq(outcomes) {
		approach, delivered := strings.CutSuffix(word, "+")
		o := meta.Outcome{Goal: "g", Approach: approach, Delivered: delivered}
		require.NoError(t, sessions.Record(t.Context(), "acme", "s", o))
	}
}

// The rules of thumb of seed 000, and what comes beside them.
func TestAssess(t *testing.T) {
	falling := []float64{0.98, 0.75, 0.1}
	for _, c := range []struct {
		outcomes    string
		signs       meta.Signs
		state, step string
		also        []meta.Step
	}{
		{"", meta.Signs{}, meta.NoData, "keep_going", nil},
		{"", meta.Signs{Spent: 0.9}, meta.Struggling, "slow_down", nil},
		{"a+", meta.Signs{}, meta.Healthy, "keep_going", nil},
		{"a+ a", meta.Signs{}, meta.Struggling, "slow_down", nil},
		{"a", meta.Signs{}, meta.Struggling, "slow_down", nil},
		{"a b", meta.Signs{}, meta.Struggling, "consider_pivot", nil},
		{"a+ a+ a+ a a", meta.Signs{}, meta.Struggling, "slow_down", nil},
		{"a+ a+ a+ a+ a a a", meta.Signs{}, meta.Failing, "pivot_now", nil},
		{"a b b a a", meta.Signs{}, meta.Failing, "pivot_now", []meta.Step{meta.FreshContext}},
		{"a a+", meta.Signs{}, meta.Healthy, "keep_going", nil},
		{"a a a+ a a+", meta.Signs{}, meta.Healthy, "keep_going", nil},
		{"a+ a a a a", meta.Signs{}, meta.Failing, "pivot_now", nil},
		{"a+ a+ a a", meta.Signs{}, meta.Struggling, "slow_down", nil},
		{"a a a", meta.Signs{Approach: "b"}, meta.Struggling, "consider_pivot", nil},
		{"a a a a+", meta.Signs{}, meta.Struggling, "consider_pivot", nil},
		{"b+ b+ b+ a b a b", meta.Signs{}, meta.Struggling, "slow_down", []meta.Step{meta.FreshContext}},
		{"a a b b c c", meta.Signs{}, meta.Struggling, "consider_pivot", []meta.Step{meta.FreshContext, meta.AskPerson}},
		{"a+", meta.Signs{Resonance: falling}, meta.Struggling, "slow_down", []meta.Step{meta.Shift}},
		{"a+ a+ a", meta.Signs{Resonance: falling}, meta.Struggling, "consider_pivot", []meta.Step{meta.Shift}},
	} {
		s := told(t, c.outcomes)
		a := meta.Assess(s, &meta.Odds{}, c.signs)
		require.Equal(t, []string{c.state, c.step}, []string{a.State, string(a.Step)}, "%q %v", c.outcomes, a)
		confidence := map[string]string{meta.NoData: "low", meta.Struggling: "medium", meta.Healthy: "high", meta.Failing: "high"}
		require.Equal(t, confidence[a.State], a.Confidence)
		require.Equal(t, c.also, a.Also, "%q %v", c.outcomes, a)
		require.Equal(t, a.Step != meta.KeepGoing, len(a.Evidence) > 0, "%q %v", c.outcomes, a)
	}
}

func TestAssessByOdds(t *testing.T) {
	s := told(t, "x+ x+ x+ x+ x+ a")
	var odds meta.Odds
	odds.Again[0] = meta.Count{Tries: 100, Delivered: 60}
	odds.Again[1] = meta.Count{Tries: 30, Delivered: 2}
	odds.Other[1] = meta.Count{Tries: 20, Delivered: 10}
	a := meta.Assess(s, &odds, meta.Signs{Left: []string{"a", "b", "c"}})
	require.Equal(t, meta.PivotNow, a.Step, "another try delivers in 2 of 30, another approach in 10 of 20")
	require.Equal(t, []string{"b", "c"}, a.Left)
	require.Contains(t, strings.Join(a.Evidence, "\n"), `left to try: ["b" "c"]`)
	few := odds
	few.Again[1] = meta.Count{Tries: 4}
	require.Equal(t, meta.SlowDown, meta.Assess(s, &few, meta.Signs{}).Step, "four tries are too few")
	few.Again[1], few.Other[1] = meta.Count{Tries: 90}, meta.Count{Tries: 19}
	require.Empty(t, meta.Assess(s, &few, meta.Signs{}).Also, "19 are too few to ask for a person")
	odds.Other[1].Delivered = 0
	a = meta.Assess(s, &odds, meta.Signs{})
	require.Equal(t, []meta.Step{meta.AskPerson}, a.Also)
	require.NotEqual(t, meta.PivotNow, a.Step, "another approach is no likelier")

	s = told(t, "a b c a b c a")
	odds.Again[3] = meta.Count{Tries: 900}
	odds.Other[7] = meta.Count{Tries: 900}
	a = meta.Assess(s, &odds, meta.Signs{})
	require.Contains(t, a.Also, meta.GiveUp)
}

// Resonance of the session's reflections is kept in its record.
func TestResonanceShift(t *testing.T) {
	sessions := meta.New(store.NewGroup(store.NewMem()))
	for _, confidence := range []float64{0.9, 0.85, 0.8, 0.75} {
		require.NoError(t, sessions.Record(t.Context(), "", "s", meta.Outcome{Delivered: true, Reflections: []iar.Reflection{
			{Status: iar.Success, Confidence: confidence}}}))
	}
	a, err := sessions.Assess(t.Context(), "", "s", meta.Signs{})
	require.NoError(t, err)
	require.Empty(t, a.Also, "a fall of .15 is none yet")
	require.NoError(t, sessions.Record(t.Context(), "", "s", meta.Outcome{Delivered: true, Reflections: []iar.Reflection{
		{Status: iar.Success, Confidence: 0.7}}}))
	a, err = sessions.Assess(t.Context(), "", "s", meta.Signs{})
	require.NoError(t, err)
	require.Equal(t, []meta.Step{meta.Shift}, a.Also)
	require.Equal(t, meta.SlowDown, a.Step)
	require.Contains(t, a.Evidence[0], "resonance_degradation: falling over the last 5")
}

// Sessions against a model: any outcomes, of any sessions of two scopes, in batches that may fail.
func TestSessionsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := store.NewMem()
		sessions := meta.New(store.NewGroup(st))
		type place struct {
			scope   store.Scope
			session string
		}
		model, tries := map[place][]meta.Outcome{}, 0
		for range rapid.IntRange(0, 120).Draw(t, "n") {
			p := place{rapid.SampledFrom([]store.Scope{"acme/anna", "acme/bob"}).Draw(t, "scope"), rapid.SampledFrom([]string{"1", "2"}).Draw(t, "s")}
			o := meta.Outcome{Goal: "g", Approach: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "by"), Delivered: rapid.Bool().Draw(t, "ok")}
			require.NoError(t, sessions.Record(t.Context(), p.scope, p.session, o))
			model[p] = append(model[p], o)
			tries++
		}
		for p, outcomes := range model {
			s, err := sessions.Session(t.Context(), p.scope, p.session)
			require.NoError(t, err)
			failures, delivered := 0, 0
			for _, o := range outcomes {
				failures++
				if o.Delivered {
					failures = 0
					delivered++
				}
			}
			require.Equal(t, [3]int{len(outcomes), delivered, failures}, [3]int{s.Total, s.Delivered, s.Failures})
			require.Equal(t, outcomes[max(0, len(outcomes)-64):], s.Recent)
			a, err := sessions.Assess(t.Context(), p.scope, p.session, meta.Signs{})
			require.NoError(t, err)
			require.True(t, a.Again.Chance > 0 && a.Again.Chance < 1 && a.Other.Chance > 0 && a.Other.Chance < 1)
			require.True(t, a.Same <= a.Tries && a.Tries <= a.Failures)
		}
		odds := read(t, st)
		for d := range odds.Again {
			tries -= odds.Again[d].Tries + odds.Other[d].Tries
		}
		require.Zero(t, tries, "every try is counted once in the tenant's odds")
	})
}

// read returns the tenant's odds as they are stored.
func read(t interface {
	require.TestingT
	Context() context.Context
}, st store.Store) (odds meta.Odds) {
	e, err := st.Get(t.Context(), store.Scope("acme").Key("odds", "all"))
	if !errors.Is(err, store.ErrNotFound) {
		require.NoError(t, err)
		require.NoError(t, codec.Unmarshal(e.Value, &odds))
	}
	return odds
}

func TestRefusals(t *testing.T) {
	sessions := meta.New(store.NewGroup(store.NewMem()))
	require.Error(t, sessions.Record(t.Context(), "a//b", "s", meta.Outcome{}))
	require.Error(t, sessions.Record(t.Context(), "a", "", meta.Outcome{}))
	_, err := sessions.Assess(t.Context(), "a", strings.Repeat("s", 999), meta.Signs{})
	require.Error(t, err)
	require.NoError(t, sessions.Record(t.Context(), "a", "s", meta.Outcome{Goal: strings.Repeat("é", 1000)}))
	s, err := sessions.Session(t.Context(), "a", "s")
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", 128), s.Recent[0].Goal)
}

// A try is counted by the failures before it: of its approach, or, the first of an approach, of all.
func TestOdds(t *testing.T) {
	st := store.NewMem()
	record(t, meta.New(store.NewGroup(st)), "a a b a b+ b")
	odds := read(t, st)
	require.Equal(t, []meta.Count{{2, 0}, {2, 1}, {1, 0}}, odds.Again[:3])
	require.Equal(t, meta.Count{Tries: 1}, odds.Other[2])
	again, other := odds.Of(1, 2)
	require.InDelta(t, (4*((4*0.5)/6/2)+1)/6, again.Chance, 1e-12)
	require.InDelta(t, 4*((4*0.5)/6/3)/5, other.Chance, 1e-12)
}

// The interval holds at every moment at once in 95 of 100 trials, and finds what is there.
func TestDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	for _, c := range []struct{ held, base, uplift float64 }{{0.2, 0.5, 0}, {0.5, 0.9, 0.05}, {0.05, 0.3, 0.2}} {
		const trials = 400
		wrong, found := 0, 0
		for range trials {
			var with, without meta.Sample
			ever := false
			var last meta.Interval
			for i := range 2000 {
				arm, p := &with, c.base+c.uplift
				if rng.Float64() < c.held {
					arm, p = &without, c.base
				}
				arm.Add(float64(int(rng.Float64()+p)), 1)
				if i%7 == 0 {
					last = meta.Difference(with, without, 0, 1)
					ever = ever || last.Low > c.uplift || last.High < c.uplift
				}
			}
			if ever {
				wrong++
			}
			if last.Low > 0 {
				found++
			}
		}
		t.Logf("%+v: ever outside %d of %d, found %d", c, wrong, trials, found)
		require.LessOrEqual(t, wrong, trials/20+4, "%+v", c)
		if c.uplift > 0.1 {
			require.Greater(t, found, trials*3/4, "%+v", c)
		}
	}
	none := meta.Difference(meta.Sample{N: 9, Sum: 9, Squares: 9}, meta.Sample{N: 100}, 0, 1)
	raw, err := json.Marshal(none)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"Low":null,"High":null`)
	require.True(t, math.IsInf(none.Low, -1) && math.IsInf(none.High, 1))
	var dollars, held meta.Sample
	for i := range 300 {
		dollars.Add(0.01+0.001*float64(i%3), 1)
		held.Add(0.03+0.001*float64(i%5), 1)
	}
	saved := meta.Difference(dollars, held)
	require.Less(t, saved.High, 0.0)
	require.InDelta(t, -0.021, saved.Mean, 1e-9)
	held.Add(0.5, 1)
	held.Add(0.5, -1)
	require.InDelta(t, saved.Low, meta.Difference(dollars, held).Low, 1e-9, "what was taken back leaves no trace")
}

// The stop rule on the trials of Reflexion's agents (ARC_PIVOT_TRIALS names reflexion_trials.json): plain
// retry until Another says that another approach is better, here the agent that reflects; then its log goes
// on.
func TestStopRule(t *testing.T) {
	path := os.Getenv("ARC_PIVOT_TRIALS")
	if path == "" {
		t.Skip("ARC_PIVOT_TRIALS is not set")
	}
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	var file struct {
		ALFWorld map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	var base, other struct{ Sequences map[string]string }
	require.NoError(t, json.Unmarshal(file.ALFWorld["base"], &base))
	require.NoError(t, json.Unmarshal(file.ALFWorld["reflexion"], &other))
	number := func(env string) int { n, _ := strconv.Atoi(strings.TrimPrefix(env, "env_")); return n }
	for seed := range uint64(6) {
		envs := []string{}
		for env := range base.Sequences {
			envs = append(envs, env)
		}
		slices.SortFunc(envs, func(a, b string) int { return number(a) - number(b) })
		if seed > 0 {
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(envs), func(i, j int) { envs[i], envs[j] = envs[j], envs[i] })
		}
		sessions := meta.New(store.NewGroup(store.NewMem()))
		solved, spent, pivots := 0, 0, 0
		for _, env := range envs {
			approach, log := "retry", base.Sequences[env]
			for trial := range min(7, len(log)) {
				a, err := sessions.Assess(t.Context(), "", env, meta.Signs{})
				require.NoError(t, err)
				if approach == "retry" && a.Tries > 0 && a.Another() {
					approach, log = "reflect", strings.Repeat("0", trial)+other.Sequences[env][1:]
				}
				if a.Step == meta.PivotNow {
					pivots++
				}
				spent++
				delivered := log[trial] == '1'
				require.NoError(t, sessions.Record(t.Context(), "", env, meta.Outcome{Goal: env, Approach: approach, Delivered: delivered}))
				if delivered {
					solved++
					break
				}
			}
		}
		t.Logf("seed %d: %d of %d solved in %d trials, %d pivots", seed, solved, len(envs), spent, pivots)
		require.GreaterOrEqual(t, solved, 123)
		require.LessOrEqual(t, spent, 292)
	}
}

func ExampleAssess() {
	var s meta.Session
	a := meta.Assess(&s, &meta.Odds{}, meta.Signs{Spent: 0.85})
	fmt.Println(a.State, a.Step, a.Evidence)
	// Output: struggling slow_down [85 % of the budget is spent]
}
