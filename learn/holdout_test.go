package learn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// goal runs one goal whose worker succeeds when it is told what worked, and
// for every fourth goal without.
func (p parts) goal(t *testing.T, n int) (withheld bool) {
	t.Helper()
	key := fmt.Sprint("run ", n)
	found, err := p.learner.Recall(t.Context(), learn.Ask{GoalKey: key, Scope: scope, Situation: situation, Objective: key})
	require.NoError(t, err)
	hits, withheld := found.Hits[:found.Trusted], found.Withheld
	require.Len(t, hits, 1)
	success := !withheld || n%4 == 0
	o := blocked(key, key)
	if success {
		o = delivered(key, key)
		o.Plan = nil
		if !withheld && n%2 == 0 {
			o.Fired = hits[0].Record.ID
		}
	}
	o.Situation = "kept apart from what is recalled"
	o.GoalKey, o.Injected = key, hits
	if withheld {
		o.Injected, o.Withheld = nil, []memory.ID{hits[0].Record.ID}
	}
	for range 2 { // again after a crash
		_, err = p.learner.Learn(t.Context(), o)
		require.NoError(t, err)
	}
	return withheld
}

func TestHoldoutMeasuresWhatMemoryHelps(t *testing.T) {
	t.Parallel()
	p := setup(t, &learn.Options{Holdout: 0.25, Seed: 1, Recall: 1})
	lesson, err := p.bank.In(scope).Remember(t.Context(), memory.Draft{Kind: memory.Pattern, Trigger: situation, Content: "make the map first"})
	require.NoError(t, err)
	u, err := p.learner.Uplift(t.Context(), scope)
	require.NoError(t, err)
	require.Equal(t, "not measured: nothing was withheld by chance", u.Delivered.String())

	const goals = 200
	held := 0
	for n := range goals {
		if p.goal(t, n) {
			held++
		}
		if n == 15 {
			u, err = p.learner.Uplift(t.Context(), scope)
			require.NoError(t, err)
			require.LessOrEqual(t, u.Delivered.Low, 0.0)
			require.True(t, strings.HasPrefix(u.Delivered.String(), "cannot tell yet: "), u.Delivered)
		}
	}
	require.InDelta(t, goals/4, held, 20)
	u, err = p.learner.Uplift(t.Context(), scope)
	require.NoError(t, err)
	require.Equal(t, held, u.Delivered.Withheld)
	require.Equal(t, goals-held, u.Delivered.Treated)
	require.True(t, u.Delivered.Low > 0 && u.AtOnce.Low > 0, "%v", u)
	require.InDelta(t, 0.75, u.Delivered.Mean, 0.15)
	require.Equal(t, 1.0, u.Delivered.With)
	require.InDelta(t, 0.5, u.Unasked.With, 0.1)
	require.Zero(t, u.Unasked.Without)
	require.Positive(t, u.Unasked.Low)
	require.True(t, strings.HasPrefix(u.Delivered.String(), "helps by +"), u.Delivered)

	of, err := p.learner.UpliftOf(t.Context(), scope, lesson.ID)
	require.NoError(t, err)
	require.Positive(t, of.Low)
	require.Positive(t, of.Treated)
	other, err := p.learner.Uplift(t.Context(), "acme/another")
	require.NoError(t, err)
	require.Zero(t, other.Delivered.Treated)
}

func TestHoldoutIsDrawnByTheGoal(t *testing.T) {
	t.Parallel()
	draw := func(o learn.Options, key string) bool {
		p := setup(t, &o)
		_, err := p.bank.In(scope).Remember(t.Context(), memory.Draft{Kind: memory.Pattern, Trigger: situation, Content: "make the map first"})
		require.NoError(t, err)
		found, err := p.learner.Recall(t.Context(), learn.Ask{GoalKey: key, Scope: scope, Situation: situation})
		require.NoError(t, err)
		require.Len(t, found.Hits[:found.Trusted], 1)
		again, err := p.learner.Recall(t.Context(), learn.Ask{GoalKey: key, Scope: scope, Situation: situation})
		require.NoError(t, err)
		require.Equal(t, found.Withheld, again.Withheld)
		nothing, err := p.learner.Recall(t.Context(), learn.Ask{GoalKey: key, Scope: "acme/another", Situation: situation})
		require.NoError(t, err)
		require.False(t, nothing.Withheld, "where there is nothing to say, nothing is withheld")
		return found.Withheld
	}
	differ := false
	for i := range 40 {
		key := fmt.Sprint(i)
		require.False(t, draw(learn.Options{}, key))
		differ = differ || draw(learn.Options{Holdout: 0.5, Seed: 1}, key) != draw(learn.Options{Holdout: 0.5, Seed: 2}, key)
	}
	require.True(t, differ, "the seed matters")
	_, err := open(t.Context(), store.NewMem(), &learn.Options{Holdout: 0.6})
	require.ErrorContains(t, err, "Holdout")
}

// An episode has room for 64 treatments: a goal with more memories ends all the same, and
// the first of them are measured.
func TestHoldoutOfManyMemories(t *testing.T) {
	t.Parallel()
	p := setup(t, &learn.Options{Holdout: 0.25, Seed: 1, Recall: 100})
	hits := make([]memory.Hit, 80)
	for i := range hits {
		hits[i].Record.ID, hits[i].Record.Scope = memory.ID(fmt.Sprint("m", i)), scope
	}
	o := blocked("run", "the cache")
	o.Injected = hits
	_, err := p.learner.Learn(t.Context(), o)
	require.NoError(t, err)
	u, err := p.learner.Uplift(t.Context(), scope)
	require.NoError(t, err)
	require.Equal(t, 1, u.Delivered.Treated)
	for i, measured := range map[int]int{0: 1, 62: 1, 63: 0} {
		of, err := p.learner.UpliftOf(t.Context(), scope, hits[i].Record.ID)
		require.NoError(t, err)
		require.Equal(t, measured, of.Treated, i)
	}
}

// Of an experiment a goal leaves sums alone, once it is released.
func TestReleasedGoalLeavesNoMark(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	p, err := open(t.Context(), st, &learn.Options{Holdout: 0.25, Seed: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.close()) }()
	marks := func() (n int) {
		require.NoError(t, p.learner.Flush(t.Context()))
		for e, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			if strings.Contains(e.Key, "episode\x00") {
				n++
			}
		}
		return n
	}
	o := blocked("run", "the cache")
	o.Withheld = []memory.ID{"one"}
	_, err = p.learner.Learn(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, 3, marks())
	require.NoError(t, p.learner.Release(t.Context(), "s", []memory.Scope{scope}, []string{o.Key}, []string{o.GoalKey}))
	require.Zero(t, marks())
}

// What is measured in a scope is forgotten with it and with those above it, and listed, however
// long its name is.
func TestForgetOfLongScopes(t *testing.T) {
	t.Parallel()
	long := "acme/ann" + strings.Repeat("/"+strings.Repeat("x", 128), 6)
	for _, scope := range []memory.Scope{"acme/ann", memory.Scope(long[:8+129+100]), memory.Scope(long), memory.Scope(long + "/@identity")} {
		for _, of := range []memory.Scope{scope, "acme/ann", "acme"} {
			p := setup(t, &learn.Options{Holdout: 0.25, Seed: 1})
			for i, s := range []memory.Scope{scope, "acme/anna"} {
				o := blocked(fmt.Sprint("run ", i), "the cache")
				o.Scope, o.Withheld = s, []memory.ID{"one", memory.ID(strings.Repeat("i", 256))}
				_, err := p.learner.Learn(t.Context(), o)
				require.NoError(t, err)
			}
			check := func(s memory.Scope, want int) {
				t.Helper()
				u, err := p.learner.Uplift(t.Context(), s)
				require.NoError(t, err)
				require.Equal(t, want, u.Delivered.Withheld)
				for _, id := range []memory.ID{"one", memory.ID(strings.Repeat("i", 256))} {
					of, err := p.learner.UpliftOf(t.Context(), s, id)
					require.NoError(t, err)
					require.Equal(t, want, of.Withheld)
				}
			}
			check(scope, 1)
			listed := 0
			for _, err := range p.learner.Entries(t.Context(), of) {
				require.NoError(t, err)
				listed++
			}
			require.GreaterOrEqual(t, listed, 5)
			require.NoError(t, p.learner.Forget(t.Context(), of))
			check(scope, 0)
			if of != "acme" {
				check("acme/anna", 1)
			}
		}
	}
}
