package arc_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// What is not permitted, or cannot be done at all, is called once, in whatever words or
// types a worker or a model says so.
func TestWhatCannotSucceedIsCalledOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   error
		cause arc.Cause
		calls int // of the worker
		asked int // the reasoner
	}{
		{errors.New("HTTP 401"), arc.CausePermission, 1, 1},
		{errors.New(`POST "https://api.example/v1": 401 Unauthorized {"error":"who?"}`), arc.CausePermission, 1, 1},
		{errors.New("StatusCode: 403, request 7"), arc.CausePermission, 1, 1},
		{errors.New("rpc error: code = PermissionDenied desc = no"), arc.CausePermission, 1, 1},
		{&reason.ModelError{Status: 403}, arc.CausePermission, 1, 1},
		{&reason.ModelError{Status: 400}, arc.CauseWorker, 1, 3},
		{act.Permanent(errors.New("no such table")), arc.CauseWorker, 1, 3},
		{errors.New("HTTP 418"), arc.CauseWorker, 3, 3},
	} {
		s := &script{do: func(int, act.Work) (act.Result, error) { return act.Result{}, c.err }}
		r := run(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the cache"})
		require.Equal(t, []any{arc.Blocked, c.cause, c.calls}, []any{r.Status, r.Cause, len(s.work)}, c.err)

		h, calls := new(script).host(), 0
		h.Reasoner = reason.ReasonerFunc(func(context.Context, reason.Brief) (reason.Decision, error) {
			calls++
			return reason.Decision{}, c.err
		})
		a := agent(t, h, nil)
		r = run(t, a, arc.Objective{Text: "mend the cache"})
		require.Equal(t, []any{arc.Blocked, arc.CauseModel, c.asked}, []any{r.Status, r.Cause, calls}, c.err)
		calls = 0
		_, err := a.Think(t.Context(), arc.Objective{Text: "mend the cache"})
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.asked, calls)
	}
}

// A task climbs the ladder rung by rung: the worker that failed tries once more with the
// complaint, then each other candidate, then the plan gives way to another approach, and
// last a person is told.
func TestRetryLadder(t *testing.T) {
	t.Parallel()
	errs := map[string]error{
		"away": act.Transient(errBoom), "denied": act.ErrDenied, "permanent": act.Permanent(errBoom), "late": context.DeadlineExceeded,
	}
	for name, c := range map[string]struct {
		workers []string
		want    []string
		cause   arc.Cause
	}{
		"refine, then candidates, then approaches": {[]string{"a", "b"}, []string{"a one", "a one", "b one", "b one", "a two", "a two", "b two", "b two"}, arc.CauseGate},
		"who may not is not asked again":           {[]string{"denied", "b"}, []string{"denied one", "b one", "b one", "b one", "denied two", "b two", "b two", "b two"}, arc.CauseGate},
		"nor who cannot":                           {[]string{"permanent", "b"}, []string{"permanent one", "b one", "b one", "b one", "permanent two", "b two", "b two", "b two"}, arc.CauseGate},
		"more time mends nothing":                  {[]string{"late", "b"}, []string{"late one", "b one", "b one", "late one", "late two", "b two", "b two", "b two"}, arc.CauseGate}, // its breaker opens
		"without any it is over":                   {[]string{"denied", "permanent"}, []string{"denied one", "permanent one", "denied two", "permanent two"}, arc.CauseWorker},
	} {
		s := &script{judge: fail("still nil")}
		s.do = func(_ int, w act.Work) (act.Result, error) { return done(`1`), errs[w.Task.Worker] }
		s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
			d := plan([]string{"one", "two"}[n-1])
			d.Approach = d.Tasks[0].Objective
			return d, nil
		}
		var events []arc.Event
		o := &arc.Options{Attempts: 4, Replans: 1, Policy: asGiven}
		o.Hooks.Event = func(e arc.Event) { events = append(events, e) }
		r := run(t, agent(t, s.host(c.workers...), o), arc.Objective{Text: "mend the cache"})
		var made []string
		for _, w := range s.work {
			made = append(made, w.Task.Worker+" "+w.Task.Objective)
			require.Equal(t, w.Attempt > 1, w.Complaint != "", name)
		}
		require.Equal(t, c.want, made, name)
		require.Equal(t, []any{arc.Blocked, c.cause, true}, []any{r.Status, r.Cause, r.Escalated}, name)
		require.Equal(t, []arc.EventKind{"escalated", arc.EventFinished}, []arc.EventKind{events[len(events)-2].Kind, events[len(events)-1].Kind})
	}
}

// A worker whose gate has no permission, or is not there, does not do the task again.
func TestGateThatCannotJudge(t *testing.T) {
	t.Parallel()
	for _, err := range []error{act.ErrDenied, errors.New("HTTP 403"), act.Permanent(errBoom)} {
		s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{}, err }}
		r := run(t, agent(t, s.host("one", "two"), &arc.Options{Attempts: 9}), arc.Objective{Text: "mend the cache"})
		require.Equal(t, []any{arc.CauseGate, 2}, []any{r.Cause, r.Attempts})
	}
}

// No refinement costs another worker its turn, or where attempts have a price, goes before
// who is worth it.
func TestRefinementComesAfterOthersTurns(t *testing.T) {
	t.Parallel()
	for _, o := range []arc.Options{{Attempts: 3}, {Spend: 1, Attempts: 4}} {
		s := &script{judge: fail("still nil")}
		run(t, agent(t, s.host("one", "two", "three"), &o), arc.Objective{Text: "mend the cache"})
		var made []string
		for _, w := range s.work[:3] {
			made = append(made, w.Task.Worker)
		}
		require.ElementsMatch(t, []string{"one", "two", "three"}, made)
	}
}

// crewed are workers of which some break off, and whose calls are kept.
type crewed struct {
	calls  []string
	broken map[string]error
	hold   chan struct{} // nil: a call returns at once
}

func (c *crewed) host(names ...string) (h arc.Host) {
	for i, name := range names {
		h.Workers = append(h.Workers, act.Worker{
			Card: rank.Candidate{Name: name, Prior: 0.9 - float64(i)/10}, Skills: []string{"work"}, Gates: []act.Gate{act.NoGate},
			Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				c.calls = append(c.calls, name)
				if c.hold != nil {
					<-c.hold
				}
				return done(`1`), c.broken[name]
			}),
		})
	}
	return h
}

var mendIt = arc.Objective{Text: "mend it", Fresh: true, Tasks: []reason.Task{{Objective: "mend it", Skill: "work", Verify: "x"}}}

// took returns whom the runs of a crew have called since.
func (c *crewed) took(t *testing.T, a *arc.Agent, runs int) []string {
	t.Helper()
	c.calls = nil
	for range runs {
		require.Equal(t, arc.Delivered, run(t, a, mendIt).Status)
	}
	return c.calls
}

// A worker that breaks off three times in a row is left alone, over a restart too, then
// tried once in a while; mended it is back.
func TestBreaker(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"error": errBoom, "late": context.DeadlineExceeded, "away": act.Transient(errBoom)} {
		synctest.Test(t, func(t *testing.T) {
			c, st := &crewed{broken: map[string]error{"one": err}}, store.NewMem()
			open := func() *arc.Agent {
				a, err := arc.New(t.Context(), st, c.host("one", "two"), &arc.Options{Policy: asGiven})
				require.NoError(t, err)
				return a
			}
			a := open()
			ones := func(runs int) (n int) {
				for _, w := range c.took(t, a, runs) {
					if w == "one" {
						n++
					}
				}
				return n
			}
			require.GreaterOrEqual(t, ones(3), 3, name)
			require.Zero(t, ones(9), "it is left alone")
			require.NoError(t, a.Close())
			a = open()
			require.Zero(t, ones(1), "also by another process")
			idle(time.Minute)
			require.Positive(t, ones(1), "it is tried again")
			require.Zero(t, ones(1))
			c.broken = nil
			idle(time.Minute)
			require.Zero(t, ones(1), "it rests for longer each time")
			idle(4 * time.Minute)
			require.Equal(t, 5, ones(5), "it is back")
			require.NoError(t, a.Close())
		})
	}
}

// One attempt at a time tries a worker again, and one that has no others is never left alone.
func TestBreakerIsTriedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &crewed{broken: map[string]error{"one": errBoom}}
		a, err := arc.New(t.Context(), store.NewMem(), c.host("one", "two"), &arc.Options{Policy: asGiven})
		require.NoError(t, err)
		defer a.Close()
		c.took(t, a, 3)
		idle(time.Minute)
		c.calls, c.hold = nil, make(chan struct{})
		for range 5 {
			go a.Run(t.Context(), mendIt)
			synctest.Wait()
		}
		require.Equal(t, []string{"one", "two", "two", "two", "two"}, c.calls)
		close(c.hold)
		synctest.Wait()

		c = &crewed{broken: map[string]error{"one": errBoom}}
		lone, err := arc.New(t.Context(), store.NewMem(), c.host("one"), nil)
		require.NoError(t, err)
		defer lone.Close()
		for range 3 {
			run(t, lone, mendIt)
		}
		require.Len(t, c.calls, 9)
	})
}

// An outage leaves no mark on a good worker's record that lasts: the default policy goes back
// to it.
func TestAMendedWorkerIsPreferredAgain(t *testing.T) {
	t.Parallel()
	c, now, n := &crewed{broken: map[string]error{}}, newClock(), 0
	h := c.host("one", "two")
	h.Workers[1].Gates = []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
		n++
		return act.Verdict{Pass: n%10 < 7, Complaint: "no"}, nil
	})}
	a := agent(t, h, &arc.Options{Now: now.Now, Seed: 1})
	runs := func(times int) (ones int) {
		c.calls = nil
		for range times {
			now.Add(time.Minute)
			run(t, a, mendIt)
		}
		for _, w := range c.calls {
			if w == "one" {
				ones++
			}
		}
		return ones
	}
	require.Greater(t, runs(60), 50)
	c.broken["one"] = errBoom
	require.Less(t, runs(100), 15, "of 100 runs")
	delete(c.broken, "one")
	runs(50)
	require.Greater(t, runs(150), 140)
}

// A person is told once of each kind of failure and day, over restarts too, and of a run
// that was cut off before it was told.
func TestEscalation(t *testing.T) {
	t.Parallel()
	st, now := store.NewMem(), newClock()
	var told []string
	open := func(s *script, attended bool) *arc.Agent {
		o := &arc.Options{Now: now.Now, Attempts: 1, Attended: attended, Pivot: arc.PivotAuto, Learn: learn.Options{Repeats: -1}}
		o.Hooks.Event = func(e arc.Event) {
			if e.Kind == "escalated" {
				told = append(told, e.Run+" "+e.Text)
			}
		}
		return agentOn(t, st, s.host(), o)
	}
	id := 0
	blocked := func(a *arc.Agent) *arc.Report {
		id++
		r := run(t, a, arc.Objective{ID: fmt.Sprint(id), Text: fmt.Sprint("mend ", id)})
		require.Equal(t, arc.Blocked, r.Status)
		return r
	}
	a := open(&script{judge: fail("still nil")}, false)
	require.True(t, blocked(a).Escalated)
	require.False(t, blocked(a).Escalated)
	require.NoError(t, a.Close())
	a = open(&script{judge: fail("another complaint")}, false)
	require.False(t, blocked(a).Escalated, "after a restart")
	require.Len(t, told, 1)
	require.Contains(t, told[0], "1 gate: task 1 was not delivered in 1 attempt; the last, by worker: still nil")
	require.NoError(t, a.Close())
	a = open(&script{do: func(int, act.Work) (act.Result, error) { return act.Result{}, act.ErrDenied }}, false)
	require.True(t, blocked(a).Escalated, "another kind")
	r, err := a.In("").Retry(t.Context(), "4", "try again")
	require.NoError(t, err)
	require.False(t, r.Escalated, "the same run, again")
	require.NoError(t, a.Close())
	now.Add(24 * time.Hour)
	a = open(&script{judge: fail("still nil")}, false)
	require.True(t, blocked(a).Escalated, "another day")
	require.Len(t, told, 3)
	require.True(t, run(t, a, arc.Objective{Text: "mend it", Scope: "acme"}).Escalated, "another tenant")
}

// A run that asks since it is stuck has a person told; one whose reasoner asks has not.
func TestEscalationOfWhatAsks(t *testing.T) {
	t.Parallel()
	s := &script{judge: fail("still nil")}
	a := agent(t, s.host(), &arc.Options{Pivot: arc.PivotAuto, Attended: true})
	for i, want := range []bool{true, false} {
		r := run(t, a, arc.Objective{ID: fmt.Sprint(i), Text: fmt.Sprint("mend ", i)})
		require.Equal(t, []any{arc.Asking, want}, []any{r.Status, r.Escalated})
		r, err := a.In("").Answer(t.Context(), r.ID, "try again")
		require.NoError(t, err)
		require.Equal(t, []any{arc.Asking, false}, []any{r.Status, r.Escalated}, "it was told of")
	}
	s.decide = func(int, reason.Brief) (reason.Decision, error) {
		return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which cache?"}}, nil
	}
	r := run(t, agent(t, s.host(), nil), arc.Objective{Text: "mend it"})
	require.Equal(t, []any{arc.Asking, false}, []any{r.Status, r.Escalated})
}

// full is a store that refuses what is written behind while it has no room.
type full struct {
	store.Store
	now, refused atomic.Bool
}

func (f *full) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if f.now.Load() {
		f.refused.Store(true)
		return 0, store.ErrFull
	}
	return f.Store.Commit(ctx, ops...)
}

// What an attempt has come to is kept, and it is not made again, when what was to be written
// before it ended could not be: also of a worker that has broken off before, and with a budget that
// runs share, whose ledger is handed to the Writer between the attempt and its commit.
func TestAttemptIsNotLostToAnEarlierWrite(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"alone": 0, "after another": 1} {
		for _, bound := range []float64{0, 1000} {
			t.Run(fmt.Sprint(name, ", of ", bound), func(t *testing.T) {
				t.Parallel()
				st, s := &full{Store: store.NewMem()}, new(script)
				a := agentOn(t, st, s.host(), &arc.Options{Attempts: 1, Bounds: arc.Bounds{Day: arc.Budget{CostUSD: bound}}})
				s.do = func(int, act.Work) (act.Result, error) { return act.Result{}, errBoom }
				for range before {
					run(t, a, mendIt)
				}
				require.EqualValues(t, 1, callsBesideAWrite(t, a, s, st))
			})
		}
	}
}

// callsBesideAWrite is how often a worker is called whose attempt has something written that the store refuses.
func callsBesideAWrite(t *testing.T, a *arc.Agent, s *script, st *full) int64 {
	t.Helper()
	var calls atomic.Int64
	s.do = func(int, act.Work) (act.Result, error) {
		if calls.Add(1) > 1 {
			return done(`1`), nil
		}
		id, err := a.In("acme").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "it is nil"})
		require.NoError(t, err)
		st.now.Store(true)
		require.NoError(t, a.In("acme").Memory().Feedback(t.Context(), memory.Feedback{
			Key: "1", Injected: []memory.ID{id.ID}, Utilized: []memory.ID{id.ID}, Delivered: true,
		}))
		require.Eventually(t, st.refused.Load, time.Minute, time.Millisecond)
		st.now.Store(false)
		return done(`1`), nil
	}
	o := mendIt
	o.ID = "two"
	_, err := a.Run(t.Context(), o)
	if err != nil { // the host is told of the write, once
		_, err = a.In(o.Scope).Resume(t.Context(), o.ID)
	}
	require.NoError(t, err)
	return calls.Load()
}
