package meta

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// told returns the record of outcomes, given as words: an approach, with "+" behind it where it delivered.
func told(t testing.TB, outcomes string) *session {
	sessions := New(store.NewGroup(store.NewMem()))
	record(t, sessions, outcomes)
	return stored(t, sessions, "acme", "s")
}

// stored returns the record of a session.
func stored(t interface {
	require.TestingT
	Context() context.Context
}, sessions *Sessions, scope store.Scope, name string) *session {
	key, err := sessionKey(scope, name)
	require.NoError(t, err)
	s, _, err := codec.Load[session](t.Context(), sessions.group.Store(), key)
	require.NoError(t, err)
	return &s
}

func record(t testing.TB, sessions *Sessions, outcomes string) {
	for word := range strings.FieldsSeq(outcomes) {
		approach, delivered := strings.CutSuffix(word, "+")
		o := Try{Goal: "g", Approach: approach, Delivered: delivered}
		require.NoError(t, sessions.Record(t.Context(), "acme", "s", o))
	}
}

// The rules of thumb of seed 000, and what comes beside them.
func TestAssess(t *testing.T) {
	var falling []iar.Reflection
	for _, confidence := range []float64{0.98, 0.75, 0.1} {
		falling = append(falling, iar.Reflection{Status: iar.Success, Confidence: confidence})
	}
	for _, c := range []struct {
		outcomes string
		under    Try
		step     string
		also     []string
	}{
		{"", Try{}, "keep_going", nil},
		{"a+", Try{}, "keep_going", nil},
		{"a+ a", Try{}, "slow_down", nil},
		{"a", Try{}, "slow_down", nil},
		{"a b", Try{}, "consider_pivot", nil},
		{"a+ a+ a+ a a", Try{}, "slow_down", nil},
		{"a+ a+ a+ a+ a a a", Try{}, "pivot_now", nil},
		{"a b b a a", Try{}, "pivot_now", []string{freshContext}},
		{"a a+", Try{}, "keep_going", nil},
		{"a a a+ a a+", Try{}, "keep_going", nil},
		{"a+ a a a a", Try{}, "pivot_now", nil},
		{"a+ a+ a a", Try{}, "slow_down", nil},
		{"a a a", Try{Approach: "b"}, "consider_pivot", nil},
		{"a a a a+", Try{}, "keep_going", nil},
		{strings.Repeat("a ", 99) + strings.Repeat("a+ ", 64) + "b", Try{}, "slow_down", nil},
		{"b+ b+ b+ a b a b", Try{}, "slow_down", []string{freshContext}},
		{"a a b b c c", Try{}, "consider_pivot", []string{freshContext, askPerson}},
		{"a+", Try{Reflections: falling}, "slow_down", []string{shift}},
		{"a+ a+ a", Try{Reflections: falling}, "consider_pivot", []string{shift}},
	} {
		s := told(t, c.outcomes)
		a := assess(s, &odds{}, c.under, 0, nil)
		require.Equal(t, c.step, a.Step, "%q %v", c.outcomes, a)
		require.Equal(t, c.also, a.Also, "%q %v", c.outcomes, a)
		require.Equal(t, a.Step != KeepGoing || c.outcomes == "", len(a.Evidence) > 0, "%q %v", c.outcomes, a)
	}
}

func TestAssessByOdds(t *testing.T) {
	require.Equal(t, SlowDown, assess(told(t, ""), &odds{}, Try{}, .9, nil).Step, "the budget is nearly spent")
	s := told(t, "x+ x+ x+ x+ x+ a")
	var counts odds
	counts.Again[0] = count{Tries: 100, Delivered: 60}
	counts.Again[1] = count{Tries: 30, Delivered: 2}
	counts.Other[1] = count{Tries: 20, Delivered: 10}
	a := assess(s, &counts, Try{}, 0, []string{"a", "b", "c"})
	require.Equal(t, PivotNow, a.Step, "another try delivers in 2 of 30, another approach in 10 of 20")
	require.Contains(t, strings.Join(a.Evidence, "\n"), `left to try: ["b" "c"]`)
	few := counts
	few.Again[1] = count{Tries: 4}
	require.Equal(t, SlowDown, assess(s, &few, Try{}, 0, nil).Step, "four tries are too few")
	few.Again[1], few.Other[1] = count{Tries: 90}, count{Tries: 19}
	require.Empty(t, assess(s, &few, Try{}, 0, nil).Also, "19 are too few to ask for a person")
	counts.Other[1].Delivered = 0
	a = assess(s, &counts, Try{}, 0, nil)
	require.Equal(t, []string{askPerson}, a.Also)
	require.NotEqual(t, PivotNow, a.Step, "another approach is no likelier")

	s = told(t, "a b c a b c a")
	counts.Again[3] = count{Tries: 900}
	counts.Other[7] = count{Tries: 900}
	a = assess(s, &counts, Try{}, 0, nil)
	require.Contains(t, a.Also, giveUp)
}

// Resonance of the session's reflections is kept in its record.
func TestResonanceShift(t *testing.T) {
	sessions := New(store.NewGroup(store.NewMem()))
	for _, confidence := range []float64{0.9, 0.85, 0.8, 0.75} {
		require.NoError(t, sessions.Record(t.Context(), "", "s", Try{Delivered: true, Reflections: []iar.Reflection{
			{Status: iar.Success, Confidence: confidence}}}))
	}
	a, err := sessions.Assess(t.Context(), "", "s", Try{}, 0)
	require.NoError(t, err)
	require.Empty(t, a.Also, "a fall of .15 is none yet")
	require.NoError(t, sessions.Record(t.Context(), "", "s", Try{Delivered: true, Reflections: []iar.Reflection{
		{Status: iar.Success, Confidence: 0.7}}}))
	a, err = sessions.Assess(t.Context(), "", "s", Try{}, 0)
	require.NoError(t, err)
	require.Equal(t, []string{shift}, a.Also)
	require.Equal(t, SlowDown, a.Step)
	require.Contains(t, a.Evidence[0], "resonance_degradation: falling over the last 5")
}

// Sessions against a model: any outcomes, of any sessions of two scopes, in batches that may fail.
func TestSessionsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := store.NewMem()
		sessions := New(store.NewGroup(st))
		type place struct {
			scope   store.Scope
			session string
		}
		model, tries := map[place][]outcome{}, 0
		for range rapid.IntRange(0, 120).Draw(t, "n") {
			p := place{rapid.SampledFrom([]store.Scope{"acme/anna", "acme/bob"}).Draw(t, "scope"), rapid.SampledFrom([]string{"1", "2"}).Draw(t, "s")}
			o := outcome{Goal: digest("g"), Approach: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "by"), Delivered: rapid.Bool().Draw(t, "ok")}
			require.NoError(t, sessions.Record(t.Context(), p.scope, p.session, Try{Goal: "g", Approach: o.Approach, Delivered: o.Delivered}))
			model[p] = append(model[p], o)
			tries++
		}
		for p, outcomes := range model {
			s := stored(t, sessions, p.scope, p.session)
			failures := 0
			for _, o := range outcomes {
				failures++
				if o.Delivered {
					failures = 0
				}
			}
			require.Equal(t, failures, s.Failures)
			require.Equal(t, outcomes[max(0, len(outcomes)-64):], s.Recent)
			a, err := sessions.Assess(t.Context(), p.scope, p.session, Try{}, 0)
			require.NoError(t, err)
			require.True(t, a.again.chance > 0 && a.again.chance < 1 && a.other.chance > 0 && a.other.chance < 1)
			require.True(t, a.same <= a.tries && a.tries <= s.Failures)
		}
		counts := read(t, st)
		for d := range counts.Again {
			tries -= counts.Again[d].Tries + counts.Other[d].Tries
		}
		require.Zero(t, tries, "every try is counted once in the tenant's odds")
	})
}

// read returns the tenant's odds as they are stored.
func read(t interface {
	require.TestingT
	Context() context.Context
}, st store.Store) (counts odds) {
	e, err := st.Get(t.Context(), store.Scope("acme").Key("odds", "all"))
	if !errors.Is(err, store.ErrNotFound) {
		require.NoError(t, err)
		require.NoError(t, codec.Unmarshal(e.Value, &counts))
	}
	return counts
}

func TestRefusals(t *testing.T) {
	sessions := New(store.NewGroup(store.NewMem()))
	require.Error(t, sessions.Record(t.Context(), "a//b", "s", Try{}))
	require.Error(t, sessions.Record(t.Context(), "a", "", Try{}))
	_, err := sessions.Assess(t.Context(), "a", strings.Repeat("s", 999), Try{}, 0)
	require.Error(t, err)
	require.NoError(t, sessions.Record(t.Context(), "a", "s", Try{Approach: strings.Repeat("é", 1000)}))
	s := stored(t, sessions, "a", "s")
	require.Equal(t, strings.Repeat("é", 128), s.Recent[0].Approach)
}

// Nothing that is kept of a session has the words of its goals, which may be those of a case.
func TestGoalsAreNotKept(t *testing.T) {
	st := store.NewMem()
	sessions := New(store.NewGroup(st))
	for range 3 {
		try := Try{Goal: "mail my lawyer", Approach: "by hand", Reflections: []iar.Reflection{{Status: iar.Success, Confidence: 1}}}
		require.NoError(t, sessions.Record(t.Context(), "a", "s", try))
	}
	a, err := sessions.Assess(t.Context(), "a", "s", Try{Goal: "mail my lawyer"}, 0)
	require.NoError(t, err)
	require.Equal(t, 3, a.tries)
	require.Len(t, stored(t, sessions, "a", "s").Resonance.Recent, 3)
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, string(e.Value), "lawyer")
	}
}

// A try is counted by the failures before it: of its approach, or, the first of an approach, of all.
func TestOdds(t *testing.T) {
	st := store.NewMem()
	record(t, New(store.NewGroup(st)), "a a b a b+ b")
	counts := read(t, st)
	require.Equal(t, []count{{2, 0}, {2, 1}, {1, 0}}, counts.Again[:3])
	require.Equal(t, count{Tries: 1}, counts.Other[2])
	again, other := counts.of(1, 2)
	require.InDelta(t, (4*((4*0.5)/6/2)+1)/6, again.chance, 1e-12)
	require.InDelta(t, 4*((4*0.5)/6/3)/5, other.chance, 1e-12)
}

// The interval holds at every moment at once in 95 of 100 trials, and finds what is there.
func TestDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	for _, c := range []struct{ held, base, uplift float64 }{{0.2, 0.5, 0}, {0.5, 0.9, 0.05}, {0.05, 0.3, 0.2}} {
		const trials = 400
		wrong, found := 0, 0
		for range trials {
			var with, without sample
			ever := false
			var last Interval
			for i := range 2000 {
				arm, p := &with, c.base+c.uplift
				if rng.Float64() < c.held {
					arm, p = &without, c.base
				}
				arm.add(float64(int(rng.Float64()+p)), 1)
				if i%7 == 0 {
					last = difference(with, without, 0, 1)
					ever = ever || last.Margin != nil && math.Abs(last.Mean-c.uplift) > *last.Margin
				}
			}
			if ever {
				wrong++
			}
			if last.Mean > *last.Margin {
				found++
			}
		}
		t.Logf("%+v: ever outside %d of %d, found %d", c, wrong, trials, found)
		require.LessOrEqual(t, wrong, trials/20+4, "%+v", c)
		if c.uplift > 0.1 {
			require.Greater(t, found, trials*3/4, "%+v", c)
		}
	}
	none := difference(sample{N: 9, Sum: 9, Squares: 9}, sample{N: 100}, 0, 1)
	require.Equal(t, Interval{Mean: 1, N: 9}, none, "nine are too few for bounds")
	require.Zero(t, difference(sample{}, sample{N: 100}))
	var dollars, held sample
	for i := range 300 {
		dollars.add(0.01+0.001*float64(i%3), 1)
		held.add(0.03+0.001*float64(i%5), 1)
	}
	saved := difference(dollars, held)
	require.Less(t, saved.Mean+*saved.Margin, 0.0)
	require.InDelta(t, -0.021, saved.Mean, 1e-9)
	held.add(0.5, 1)
	held.add(0.5, -1)
	require.InDelta(t, *saved.Margin, *difference(dollars, held).Margin, 1e-9, "what was taken back leaves no trace")
}

func ExampleSessions_Assess() {
	sessions := New(store.NewGroup(store.NewMem()))
	a, err := sessions.Assess(context.Background(), "acme/anna", "thread 7", Try{}, 0.85)
	fmt.Println(a.Step, a.Evidence, err)
	// Output: slow_down [85 % of the budget is spent no tries are recorded] <nil>
}
