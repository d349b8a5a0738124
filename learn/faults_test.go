package learn_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Whatever the store answers, and over crashes, a Learner knows in the end what one does that
// was told the same on a store that never failed. And no plan fires for another user.
func TestLearnerComesToWhatOneWithoutFaultsDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		st := arctest.NewStore(store.NewMem())
		x := &learners{st: st, opts: learn.Options{Holdout: rapid.SampledFrom([]float64{0, 0.25}).Draw(t, "holdout"), Seed: 1}}
		x.p = x.open(t, st)
		x.well = x.open(t, store.NewMem())
		defer func() { _, _ = x.p.close(), x.well.close() }()
		t.Repeat(map[string]func(*rapid.T){"goal": x.goal, "goal again": x.goal, "crash": x.crash, "release": x.release})
		require.NoError(t, x.p.learner.Flush(context.Background()))
		again := x.open(t, st)
		defer func() { require.NoError(t, again.close()) }()
		want := x.knows(t, x.well)
		require.Equal(t, want, x.knows(t, x.p))
		require.Equal(t, want, x.knows(t, again))
	})
}

type learners struct {
	st   *arctest.Store
	opts learn.Options
	p    parts // on st
	well parts // on a store that does not fail
	n    int
	told []learn.Outcome // to p and well
}

func (x *learners) open(t *rapid.T, st store.Store) parts {
	p, err := open(context.Background(), st, &x.opts)
	require.NoError(t, err)
	return p
}

// crash loses what is not written.
func (x *learners) crash(t *rapid.T) {
	x.st.FailNext(0, -1, false)
	_ = x.p.close()
	x.st.FailNext(0, 0, false)
	x.p = x.open(t, x.st)
}

// tell has the learner learn an outcome, and write it, while the store perhaps fails and the
// process perhaps ends.
func (x *learners) tell(t *rapid.T, o func(p parts) learn.Outcome) {
	ctx := context.Background()
	_, err := x.well.learner.Learn(ctx, o(x.well))
	require.NoError(t, err)
	if rapid.Bool().Draw(t, "fails") {
		n, many := rapid.IntRange(0, 4).Draw(t, "commits"), rapid.IntRange(1, 3).Draw(t, "many")
		x.st.FailNext(n, many, rapid.Bool().Draw(t, "applied"))
	}
	ends := rapid.IntRange(0, 3).Draw(t, "ends") == 0
	given := o(x.p)
	for range 8 {
		if _, err = x.p.learner.Learn(ctx, given); err == nil && !ends {
			err = x.p.learner.Flush(ctx)
		}
		if ends {
			x.crash(t)
			ends, err = false, arctest.ErrStore
		}
		if err == nil {
			break
		}
		require.ErrorIs(t, err, arctest.ErrStore)
	}
	x.st.FailNext(0, 0, false)
	require.NoError(t, err)
	if rapid.IntRange(0, 3).Draw(t, "again") == 0 {
		_, err := x.p.learner.Learn(ctx, given)
		require.NoError(t, err)
	}
}

// goal has a goal of a user tried once or twice, by deliberation or the chunk that fires.
func (x *learners) goal(t *rapid.T) {
	ctx := context.Background()
	x.n++
	run := fmt.Sprint("run ", x.n)
	thing := rapid.SampledFrom([]string{"the cache", "the pool", "the map"}).Draw(t, "thing")
	user := rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(t, "user")
	a := ask(thing)
	a.GoalKey, a.User = run+"/goal/0", user
	found, err := x.p.learner.Recall(ctx, a)
	require.NoError(t, err)
	as, err := x.well.learner.Recall(ctx, a)
	require.NoError(t, err)
	require.Equal(t, contents(as.Hits), contents(found.Hits))
	require.Equal(t, as.Withheld, found.Withheld)
	chunk, fired := learn.Fire(x.p.learner.Match(found.Hits, a), nil)
	_, fires := learn.Fire(x.well.learner.Match(as.Hits, a), nil)
	require.Equal(t, fires, fired)
	fired = fired && !found.Withheld
	if fired {
		by := strings.TrimPrefix(chunk.Tasks[0].Objective, "edit for: "+thing+" as ")
		require.Contains(t, []string{"", user}, by, "a plan of another user")
	}
	outcome := func(p parts, passed bool, n int) learn.Outcome {
		o := blocked(run, thing)
		if passed {
			o = delivered(run, thing)
		}
		found, chunk := found, chunk
		if p == x.well {
			found = as
			chunk, _ = learn.Fire(p.learner.Match(as.Hits, a), nil)
		}
		o.Key, o.User, o.Quotes, o.Try = fmt.Sprint(run, "/", n), user, a.Asker(), n
		o.Injected = found.Hits[:found.Trusted]
		if found.Withheld {
			o.Injected, o.Withheld = nil, nil
			for _, h := range found.Hits[:found.Trusted] {
				o.Withheld = append(o.Withheld, h.Record.ID)
			}
		}
		o.Plan = []reason.Task{{Objective: "edit for: " + thing + " as " + user, Skill: "edit", Worker: "fixer"}}
		if fired {
			o.Fired, o.Plan = chunk.ID, nil
		}
		return o
	}
	if rapid.Bool().Draw(t, "fails at first") {
		x.tell(t, func(p parts) learn.Outcome {
			o := outcome(p, false, 1)
			o.Task, o.Goal = learn.Open, learn.Open
			return o
		})
	}
	passed := rapid.IntRange(0, 3).Draw(t, "passed") > 0
	x.tell(t, func(p parts) learn.Outcome { return outcome(p, passed, 2) })
	x.told = append(x.told, outcome(x.well, passed, 2))
}

// release forgets what makes the goals so far idempotent.
func (x *learners) release(t *rapid.T) {
	for _, o := range x.told {
		for _, p := range []parts{x.p, x.well} {
			require.NoError(t, p.learner.Release(context.Background(), "s", []memory.Scope{scope}, []string{o.Run + "/1", o.Key}, []string{o.GoalKey}))
		}
	}
	x.told = nil
	require.NoError(t, x.p.learner.Flush(context.Background()))
}

func contents(hits []memory.Hit) (out []string) {
	for _, h := range hits {
		out = append(out, fmt.Sprintf("%s %.9f", h.Record.Content, h.Score))
	}
	return out
}

// knows is all that a learner has learned.
func (x *learners) knows(t *rapid.T, p parts) (out []string) {
	ctx := context.Background()
	for r, err := range p.bank.In(scope).All(ctx) {
		require.NoError(t, err)
		out = append(out, fmt.Sprintf("%s %s %s %+v %d", r.Kind, r.Content, r.Plan, r.Stats, len(r.Links)))
	}
	slices.Sort(out)
	say := func(v any, err error) {
		require.NoError(t, err)
		out = append(out, fmt.Sprintf("%+v", v))
	}
	say(p.book.Stats(ctx, "fixer", "edit"))
	say(p.book.Health(ctx, "fixer"))
	say(p.book.Daily(ctx, time.Time{}))
	say(p.book.Learned(nil).Score(ctx, learn.Situation("edit", situation), []rank.Candidate{{Name: "fixer"}, {Name: "other"}}))
	say(p.monitor.Assess(ctx, "s"))
	say(p.learner.Uplift(ctx, scope))
	return out
}
