package arc_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/embed"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// stored returns what a store holds.
func stored(t *testing.T, st store.Store) (out []store.Entry) {
	t.Helper()
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		out = append(out, e)
	}
	return out
}

// The identity of a scope is the Agent's: its store, its clock.
func TestIdentityOfAScope(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	a := agent(t, (&script{}).host(), &arc.Options{Now: func() time.Time { return now }})
	me, err := a.In("acme/anna").Identity()
	require.NoError(t, err)
	f, err := me.Add(t.Context(), identity.Draft{Content: "prefers tabs, password=hunter22hunter"})
	require.NoError(t, err)
	require.Equal(t, now, f.Created)
	require.NotContains(t, f.Content, "hunter22")

	again, err := a.In("acme/anna").Identity()
	require.NoError(t, err)
	g, err := again.Get(t.Context(), f.ID)
	require.NoError(t, err)
	require.Equal(t, f.Content, g.Content)
	second, err := again.Add(t.Context(), identity.Draft{Content: "works at night"})
	require.NoError(t, err, "two views of one seed and one moment")
	require.NotEqual(t, f.ID, second.ID)

	other, err := a.In("").Identity()
	require.NoError(t, err)
	_, err = other.Get(t.Context(), f.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = a.In("not a scope").Identity()
	require.ErrorIs(t, err, memory.ErrScope)
}

// The memory of an Agent has what the host says about memory.
func TestMemoryOptions(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{}).host(), &arc.Options{Memory: memory.Options{Embedder: embed.Hashed{}, CosineWeight: 2}})
	d := memory.Draft{Kind: memory.Fact, Content: "authentication uses certificates"}
	vs, err := embed.Hashed{}.Embed(t.Context(), []string{d.Content})
	require.NoError(t, err)
	d.Vector = vs[0]
	_, err = a.In("").Memory().Remember(t.Context(), d)
	require.NoError(t, err)
	hits, err := a.In("").Memory().Recall(t.Context(), memory.Query{Text: "authentification certifcates"})
	require.NoError(t, err)
	require.Len(t, hits, 1)
	require.Positive(t, hits[0].Parts.Cosine)

	_, err = arc.New(t.Context(), store.NewMem(), (&script{}).host(), &arc.Options{Memory: memory.Options{Language: "tlh"}})
	require.ErrorContains(t, err, "tlh")
}

func TestThinkDecidesAndKeepsNothing(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	s := &script{}
	a := agentOn(t, st, s.host(), nil)
	run(t, a, arc.Objective{Text: "mend the cache", Situation: situation})
	before := stored(t, st)
	s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
		if n == 2 {
			return reason.Decision{}, nil
		}
		return plan(b.Objective), nil
	}
	d, err := a.Think(t.Context(), arc.Objective{Text: "mend the pool", Situation: situation})
	require.NoError(t, err)
	require.Equal(t, plan("mend the pool"), d)
	require.Len(t, s.briefs[1].Background, 1, "it is told what was learned")
	require.NotEmpty(t, s.briefs[2].Complaint, "and why a decision was refused")
	require.Len(t, s.work, 1, "nothing was executed")
	require.Equal(t, before, stored(t, st))

	s.decide = func(int, reason.Brief) (reason.Decision, error) { return reason.Decision{}, nil }
	_, err = a.Think(t.Context(), arc.Objective{Text: "mend the pool"})
	require.ErrorIs(t, err, reason.ErrDecision)
	_, err = a.Think(t.Context(), arc.Objective{})
	require.ErrorIs(t, err, arc.ErrObjective)
}

func TestRunsOfASession(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := &script{do: func(int, act.Work) (act.Result, error) {
		c.Add(time.Minute)
		return done(`1`), nil
	}}
	a := agent(t, s.host(), &arc.Options{Now: c.Now})
	begin := c.Now()
	run(t, a, arc.Objective{ID: "b", Session: "s", Text: "mend the pool"})
	run(t, a, arc.Objective{ID: "other", Session: "t", Text: "mend the log"})
	s.decide = func(int, reason.Brief) (reason.Decision, error) {
		return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which?"}}, nil
	}
	run(t, a, arc.Objective{ID: "a", Session: "s", Text: "mend something"})
	var got []string
	for r, err := range a.In("").Runs(t.Context(), arc.Filter{Session: "s"}) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(r.ID, " ", r.Scope, " ", r.Session, " ", r.Status, " ", r.Objective, " ", r.Started.Sub(begin), " ", r.Ended.IsZero()))
	}
	require.Equal(t, []string{
		"a local s asking mend something 2m0s true",
		"b local s delivered mend the pool 0s false",
	}, got)
}

// A large output is a record of its own, so that the State, which is written
// at every step, stays small.
func TestLargeOutputsAreKeptBesideTheState(t *testing.T) {
	t.Parallel()
	large := `"` + strings.Repeat("x", 10_000) + `"`
	s := &script{
		decide: func(_ int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective)
			d.Tasks = append(d.Tasks, d.Tasks[0])
			return d, nil
		},
		do: func(n int, _ act.Work) (act.Result, error) {
			return done([]string{`"small"`, large}[n-1]), nil
		},
	}
	var last []arc.Delivery
	a := agentOn(t, committed{store.NewMem(), func(s *arc.State) { last = s.Deliveries }}, s.host(), nil)
	r := run(t, a, arc.Objective{ID: "run", Text: "mend the cache"})
	require.Len(t, last, 2)
	require.Equal(t, arc.Output{Inline: []byte(`"small"`)}, last[0].Output)
	require.Empty(t, last[1].Output.Inline)
	require.NotEmpty(t, last[1].Output.Key)

	task := plan("mend the cache").Tasks[0]
	task.Worker = "worker"
	want := []act.Delivery{
		{Task: task, Worker: "worker", Attempt: 1, Output: []byte(`"small"`), Summary: "did it", At: r.Deliveries[0].At},
		{Task: task, Worker: "worker", Attempt: 1, Output: []byte(large), Summary: "did it", At: r.Deliveries[1].At},
	}
	require.Equal(t, want, r.Deliveries)
	again, err := a.In("").Resume(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, want, again.Deliveries)
}

func TestChunkAgainChangesNothing(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{}).host(), nil)
	for _, name := range []string{"cache", "pool"} {
		o := mend(name)
		o.ID, o.Session = name, "s"
		run(t, a, o)
	}
	before := recallOne(t, a, memory.Pattern)
	for range 2 {
		receipts, err := a.In("").Chunk(t.Context(), "s")
		require.NoError(t, err)
		require.Len(t, receipts, 2)
		for _, r := range receipts {
			require.Equal(t, before.ID, r.ID)
		}
		require.Equal(t, before, recallOne(t, a, memory.Pattern))
	}
	receipts, err := a.In("").Chunk(t.Context(), "another")
	require.NoError(t, err)
	require.Empty(t, receipts)
}

func TestUpkeepOfAScope(t *testing.T) {
	t.Parallel()
	c := newClock()
	a := agent(t, (&script{}).host(), &arc.Options{Now: c.Now})
	ctx := t.Context()
	run(t, a, arc.Objective{Text: "mend the cache", Situation: situation, Scope: "acme"})
	// Two that say the same stay apart for as long as one is in quarantine.
	d := memory.Draft{Kind: memory.Fact, Content: "the cache lives in cache.go"}
	_, err := a.In("acme").Memory().Remember(ctx, d)
	require.NoError(t, err)
	d.Source.Origin = memory.Web
	page, err := a.In("acme").Memory().Remember(ctx, d)
	require.NoError(t, err)
	h, err := a.Health(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, []int{3, 2, 1, 0}, []int{h.Total, h.Quarantined, h.Lessons, h.Archived})

	require.NoError(t, a.In("acme").Memory().Trust(ctx, page.ID))
	merged, err := a.In("acme").Memory().Consolidate(ctx)
	require.NoError(t, err)
	require.Equal(t, memory.ConsolidateReport{Before: 3, Tried: 1, Merged: 1, After: 2}, merged)

	c.Add(60 * 24 * time.Hour)
	faded, err := a.In("acme").Memory().Decay(ctx)
	require.NoError(t, err)
	require.Equal(t, memory.DecayReport{Total: 2, Archived: 2}, faded)
	h, err = a.Health(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, []int{2, 1, 2}, []int{h.Total, h.Quarantined, h.Archived})

	for range 2 {
		kept, err := a.Maintain(ctx, "acme")
		require.NoError(t, err)
		require.Equal(t, learn.MaintenanceReport{
			Decay: memory.DecayReport{Total: 2, Already: 2}, Consolidate: memory.ConsolidateReport{Before: 2, After: 2},
		}, kept.MaintenanceReport)
		require.Empty(t, kept.Proposals)
	}

	h, err = a.Health(ctx, "") // another scope
	require.NoError(t, err)
	require.Zero(t, h.Total)
}

// While metacognition says to pivot, no chunk fires: the reasoner is asked, and
// told what to avoid.
func TestNoChunkFiresAgainstAPivot(t *testing.T) {
	t.Parallel()
	s := &script{judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: !strings.HasPrefix(w.Objective, "break"), Complaint: "no"}, nil
	}}
	a := agent(t, s.host(), &arc.Options{Attempts: 1})
	mend := arc.Objective{Text: "mend the index", Situation: situation, Session: "good"}
	for range 2 {
		run(t, a, mend)
	}
	require.Equal(t, 1, run(t, a, mend).Fired)
	for i := range 3 {
		run(t, a, arc.Objective{Text: fmt.Sprint("break something ", i), Session: "bad"})
	}
	asked := len(s.briefs)
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		d.Approach = "begin with the test"
		return d, nil
	}
	mend.Session = "bad"
	r := run(t, a, mend)
	require.Equal(t, arc.Delivered, r.Status)
	require.Len(t, r.Pivots, 1)
	require.Equal(t, []int{0, 1, 1}, []int{r.Fired, r.Attempts, r.Deliberations})
	require.Equal(t, []string{"just do it"}, s.briefs[asked].Avoid)
	require.Contains(t, s.briefs[asked].Advice, "pivot_now")
}

// With PivotAuto a plan whose approach fails elsewhere in the session, while the
// reasoner makes it, is dropped before it is tried. The other policies try it.
func TestPivotAutoDropsThePlan(t *testing.T) {
	t.Parallel()
	for policy, dropped := range map[arc.PivotPolicy]bool{arc.PivotAuto: true, arc.PivotFlag: false} {
		var a *arc.Agent
		s := &script{judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: !strings.HasPrefix(w.Objective, "break"), Complaint: "no"}, nil
		}}
		s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective)
			if b.Objective == "mend the index" && len(b.Avoid) > 0 {
				d.Approach = "begin with the test"
			}
			for i := 0; n == 1 && i < 3; i++ { // meanwhile
				run(t, a, arc.Objective{Text: fmt.Sprint("break something ", i), Session: "s"})
			}
			return d, nil
		}
		a = agent(t, s.host(), &arc.Options{Pivot: policy, Attempts: 1})
		r := run(t, a, arc.Objective{Text: "mend the index", Session: "s"})
		require.Equal(t, arc.Delivered, r.Status)
		require.Len(t, r.Pivots, 1)
		require.Equal(t, 1, r.Attempts, "the plan that was dropped was not tried")
		if !dropped {
			require.Equal(t, 1, r.Deliberations)
			continue
		}
		require.Equal(t, 2, r.Deliberations)
		again := s.briefs[len(s.briefs)-1]
		require.Equal(t, []string{"just do it"}, again.Avoid)
		require.Contains(t, again.Advice, "pivot_now")
		require.Empty(t, again.Failed)
	}
}

// Shutdown lets the step under way finish and commits it; what it has done is
// not done again.
func TestShutdownWaitsForTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{})
		s := &script{do: func(int, act.Work) (act.Result, error) {
			close(started)
			idle(time.Hour)
			return done(`1`), nil
		}}
		st := store.NewMem()
		a, err := arc.New(t.Context(), st, s.host(), &arc.Options{AttemptTimeout: 2 * time.Hour})
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() {
			_, err := a.Run(t.Context(), arc.Objective{ID: "run", Text: "mend it"})
			ended <- err
		}()
		<-started
		begin := time.Now()
		require.NoError(t, a.Shutdown(t.Context()))
		require.Equal(t, time.Hour, time.Since(begin))
		require.ErrorIs(t, <-ended, store.ErrClosed)

		r, err := agentOn(t, st, s.host(), nil).In("").Resume(t.Context(), "run")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		require.Len(t, s.work, 1)
	})
}

func TestShutdownCancelsAtOnceWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	h := (&script{}).host()
	h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, _ act.Work) (act.Result, error) {
		close(started)
		<-ctx.Done()
		return act.Result{}, ctx.Err()
	})
	a := agent(t, h, &arc.Options{Grace: time.Hour})
	ended := make(chan error, 1)
	go func() {
		_, err := a.Run(t.Context(), arc.Objective{Text: "mend it"})
		ended <- err
	}()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, a.Shutdown(ctx))
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, a.Shutdown(t.Context()), "again")
}

// A budget ends what comes next, never what is paid for: an attempt that was
// made is verified and learned from.
func TestSpentBudgetStillVerifies(t *testing.T) {
	t.Parallel()
	for tasks, want := range map[int]arc.Status{1: arc.Delivered, 2: arc.Blocked} {
		s := &script{
			decide: func(_ int, b reason.Brief) (reason.Decision, error) {
				d := plan(b.Objective)
				for len(d.Tasks) < tasks {
					d.Tasks = append(d.Tasks, d.Tasks[0])
				}
				return d, nil
			},
			do: func(int, act.Work) (act.Result, error) {
				r := done(`1`)
				r.Usage.CostUSD = 2
				return r, nil
			},
		}
		r := run(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the cache", Budget: arc.Budget{CostUSD: 1}})
		require.Equal(t, want, r.Status)
		require.Equal(t, 1, r.Attempts)
		require.Len(t, r.Deliveries, 1)
	}
}

// A run is not to be found by another tenant, which may use its id.
func TestRunsOfAnotherTenantAreNotFound(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(int, reason.Brief) (reason.Decision, error) {
		return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which?"}}, nil
	}}
	a := agent(t, s.host(), nil)
	r := run(t, a, arc.Objective{ID: "run", Text: "mend the cache", Scope: "acme/anna"})
	require.Equal(t, arc.Asking, r.Status)

	_, err := a.In("evil/anna").Resume(t.Context(), "run")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = a.In("evil").Answer(t.Context(), "run", "mine")
	require.ErrorIs(t, err, store.ErrNotFound)

	other := run(t, a, arc.Objective{ID: "run", Text: "whose is it?", Scope: "evil"})
	require.Equal(t, "whose is it?", other.Objective)
	r, err = a.In("acme/ben").Resume(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, []string{"which?"}, r.Questions)
	require.Equal(t, "mend the cache", r.Objective)
}

func TestReportReadsARunAndGoesOnWithNothing(t *testing.T) {
	t.Parallel()
	s := &script{}
	s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: w.Attempt > 1, Complaint: "no tests"}, nil
	}
	var scopes []memory.Scope
	a := agent(t, s.host(), &arc.Options{Hooks: arc.Hooks{Event: func(e arc.Event) { scopes = append(scopes, e.Scope) }}})
	want, err := a.Run(t.Context(), arc.Objective{ID: "r1", Text: "mend the cache", Scope: "local/cache"})
	require.NoError(t, err)
	got, err := a.In("").Report(t.Context(), "r1")
	require.NoError(t, err)
	require.Len(t, got.Aims, 1)
	g := got.Aims[0]
	require.Equal(t, "just do it", g.Approach)
	require.Len(t, g.Failed, 1)
	failed, passed := g.Failed[0].At, got.Deliveries[0].At
	require.Equal(t, []reason.FailedAttempt{{
		Objective: "mend the cache", Worker: "worker", Complaint: "no tests", Gate: "gate 1", At: failed,
	}}, g.Failed)
	times := []time.Time{got.Started, g.Decided, failed, passed, got.Ended}
	require.True(t, slices.IsSortedFunc(times, time.Time.Compare), times)
	require.False(t, got.Started.IsZero())
	got.Aims = nil
	require.Equal(t, want, got)
	require.NotEmpty(t, scopes)
	require.Subset(t, []memory.Scope{"local/cache"}, scopes)

	s.decide = func(int, reason.Brief) (reason.Decision, error) {
		return reason.Decision{Questions: []string{"which?"}}, nil
	}
	_, err = a.Run(t.Context(), arc.Objective{ID: "r2", Text: "mend the pool"})
	require.NoError(t, err)
	asked := len(s.briefs)
	got, err = a.In("").Report(t.Context(), "r2")
	require.NoError(t, err)
	require.Equal(t, arc.Asking, got.Status)
	require.Len(t, s.briefs, asked)
	_, err = a.In("other").Report(t.Context(), "r1")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = a.In("bad scope").Report(t.Context(), "r1")
	require.ErrorIs(t, err, memory.ErrScope)
}
