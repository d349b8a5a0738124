package arc_test

import (
	"fmt"
	"github.com/arc-learn/arc/learn"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func TestBlockedRunIsRetriedWithANote(t *testing.T) {
	t.Parallel()
	good := false
	s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: good, Complaint: "the disk is full"}, nil
	}}
	c := newClock()
	a := agent(t, s.host(), &arc.Options{Now: c.Now})
	o := arc.Objective{ID: "run", Text: "mend the cache", Budget: arc.Budget{Wall: time.Hour, Steps: 9}}
	r := run(t, a, o)
	require.Equal(t, arc.CauseGate, r.Cause)
	_, err := a.In("other").Retry(t.Context(), "run", "")
	require.ErrorIs(t, err, store.ErrNotFound)
	good = true
	c.Add(48 * time.Hour)
	note := "there is room now; password=hunter2secret"
	r, err = a.In("").Retry(t.Context(), "run", note)
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
	require.Empty(t, r.Cause)
	require.Equal(t, 4, r.Attempts, "what was tried before is not forgotten")
	require.Equal(t, 48*time.Hour, r.Waited)
	require.Less(t, r.Ended.Sub(r.Started)-r.Waited, time.Hour)
	b := s.briefs[len(s.briefs)-1]
	require.Len(t, b.Answers, 1)
	require.Equal(t, note, b.Answers[0].Text, "the host's own reasoner gets it as it is")
	require.Contains(t, b.Answers[0].Questions[0], "the disk is full")
	require.Len(t, b.Failed, 3)
	_, err = a.In("").Retry(t.Context(), "run", "")
	require.ErrorIs(t, err, arc.ErrNotBlocked)
	_, err = a.In("").Retry(t.Context(), "run", strings.Repeat("x", 1<<17))
	require.Error(t, err)
}

func TestHostsPlanIsRetriedWhereItWasBlocked(t *testing.T) {
	t.Parallel()
	good, did := false, []string{}
	s := &script{do: func(_ int, w act.Work) (act.Result, error) {
		if w.Task.Objective == "two" && !good {
			return act.Result{}, fmt.Errorf("403: %w", act.ErrDenied)
		}
		did = append(did, w.Task.Objective)
		return done(`1`), nil
	}}
	h := s.host()
	h.Reasoner = nil
	a := agent(t, h, nil)
	r := run(t, a, arc.Objective{ID: "run", Text: "mend the cache", Tasks: []reason.Task{
		{Objective: "one", Verify: "the gate", Skill: "work"}, {Objective: "two", Verify: "the gate", Skill: "work"},
	}})
	require.Equal(t, arc.CausePermission, r.Cause)
	good = true
	r, err := a.In("").Retry(t.Context(), "run", "permission was given")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
	require.Equal(t, []string{"one", "two"}, did, "what was delivered is not done again")
}

func TestVerdictsCountOnce(t *testing.T) {
	t.Parallel()
	s := &script{}
	st := store.NewMem()
	a := agentOn(t, st, s.host(), nil)
	v := a.In("")
	for i := range 4 {
		require.Equal(t, arc.Delivered, run(t, a, arc.Objective{ID: fmt.Sprint("run-", i), Text: "mend the cache", Session: "s"}).Status)
	}
	fired := func(id string) bool {
		before := len(s.briefs)
		run(t, a, arc.Objective{ID: id, Text: "mend the cache", Session: "s"})
		return len(s.briefs) == before
	}
	require.True(t, fired("run-4"))
	r, err := v.Resume(t.Context(), "run-4")
	require.NoError(t, err)
	chunk := chunkOf(t, v)
	stats := func() memory.Stats {
		rec, err := v.Memory().Get(t.Context(), chunk)
		require.NoError(t, err)
		return rec.Stats
	}
	samples := func() (n int, mean float64) {
		ranking, err := v.Rank(t.Context(), "mend the cache", reason.Task{Skill: "work"})
		require.NoError(t, err)
		return ranking[0].Samples, ranking[0].Parts.Mean
	}
	before, n0 := stats(), 0
	n0, mean0 := samples()
	wrong := arc.Verdict{Why: "it broke again; password=hunter2secret", Source: "anna"}
	for range 3 {
		require.NoError(t, v.Judge(t.Context(), r.ID, wrong))
	}
	require.Equal(t, before.Misled+1, stats().Misled, "the same verdict counts once")
	n1, mean1 := samples()
	require.Equal(t, n0, n1, "a verdict is no attempt")
	require.Less(t, mean1, mean0)
	now, err := v.Assess(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, 1, now.Failures, "the monitor hears of it")
	other := wrong
	other.Source = "a nightly check"
	require.NoError(t, v.Judge(t.Context(), r.ID, other))
	require.Equal(t, before.Misled+2, stats().Misled, "another source counts for itself")
	for range 2 {
		require.NoError(t, v.Judge(t.Context(), r.ID, arc.Verdict{Right: true, Source: "anna"}))
		require.NoError(t, v.Judge(t.Context(), r.ID, arc.Verdict{Right: true, Source: other.Source}))
	}
	require.Equal(t, before.Misled, stats().Misled, "a changed verdict takes the place of the first")
	require.Equal(t, before.Helped, stats().Helped, "the delivery counts once")
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, string(e.Value), "hunter2secret")
	}
	for _, bad := range []arc.Verdict{{Task: 2}, {Task: -1}} {
		err := v.Judge(t.Context(), r.ID, bad)
		require.ErrorIs(t, err, arc.ErrNotDelivered)
		require.EqualError(t, err, fmt.Sprintf("not delivered: task %d of run %q, which has delivered 1", bad.Task, r.ID))
	}
	require.ErrorIs(t, a.In("other").Judge(t.Context(), r.ID, wrong), store.ErrNotFound)
	err = v.Judge(t.Context(), "nobody", wrong)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.EqualError(t, err, `run "nobody": not found`)
}

// chunkOf is the pattern that the runs of a session have learned.
func chunkOf(t *testing.T, v arc.View) memory.ID {
	t.Helper()
	rs, err := v.Chunk(t.Context(), "s")
	require.NoError(t, err)
	require.NotEmpty(t, rs)
	return rs[0].ID
}

// A chunk whose delivery was wrong does not fire again.
func TestChunkPaysForAWrongDelivery(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), nil)
	for i := range 3 {
		run(t, a, arc.Objective{ID: fmt.Sprint("run-", i), Text: "mend the cache"})
	}
	require.Len(t, s.briefs, 2, "it fires from the third on")
	for _, source := range []string{"anna", "ben", "cleo"} {
		require.NoError(t, a.In("").Judge(t.Context(), "run-2", arc.Verdict{Why: "it is not mended", Source: source}))
	}
	run(t, a, arc.Objective{Text: "mend the cache"})
	require.Len(t, s.briefs, 3)
}

// A verdict about the provisional delivery of a run that was blocked before does not credit
// the memory that says that it was not delivered.
func TestVerdictCreditsNoFailure(t *testing.T) {
	t.Parallel()
	s := &script{judge: fail("no")}
	a := agent(t, s.host(), nil)
	r := run(t, a, arc.Objective{ID: "r", Text: "mend the door", Provisional: true})
	require.Equal(t, arc.Blocked, r.Status)
	failure := r.Learned[0]
	s.judge = nil
	r, err := a.In("").Retry(t.Context(), "r", "again")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	require.NoError(t, a.In("").Judge(t.Context(), "r", arc.Verdict{Right: true, Source: "qa"}))
	rec, err := a.In("").Memory().Get(t.Context(), failure)
	require.NoError(t, err)
	require.Zero(t, rec.Stats.Helped, "%q", rec.Content)
}

// The plan of provisional deliveries is a chunk once they were found right, and is none before,
// or where one was found wrong.
func TestProvisionalDeliveriesTeachOnceJudged(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), nil)
	deliver := func(id string) *arc.Report {
		return run(t, a, arc.Objective{ID: id, Text: "mend the cache", Provisional: true})
	}
	chunks := func(id string) []memory.Receipt {
		rs, err := a.In("").Chunk(t.Context(), id)
		require.NoError(t, err)
		return rs
	}
	for i, v := range []arc.Verdict{{}, {Right: true}, {Right: true}} {
		id := fmt.Sprint("run-", i)
		require.Zero(t, deliver(id).Fired)
		require.Empty(t, chunks(id), "to look makes none")
		require.NoError(t, a.In("").Judge(t.Context(), id, v))
		require.Len(t, chunks(id), min(i, 1))
	}
	require.Equal(t, 1, deliver("run-3").Fired, "two were right")
	require.NoError(t, a.In("").Judge(t.Context(), "run-2", arc.Verdict{Right: false}))
	require.Zero(t, deliver("run-4").Fired)
	made := chunks("run-1")[0].ID
	require.NoError(t, a.In("").Memory().Forget(t.Context(), made))
	require.NoError(t, a.In("").Judge(t.Context(), "run-1", arc.Verdict{Right: true, Source: "another"}))
	for r, err := range a.In("").Memory().All(t.Context()) {
		require.NoError(t, err)
		require.NotEqual(t, memory.Pattern, r.Kind, "what was forgotten stays so")
	}
}

// Marks of verdicts leave with the run that they are about.
func TestDeletedRunLeavesNoMarksOfVerdicts(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	s := &script{}
	a := agentOn(t, st, s.host(), &arc.Options{Maintain: -1})
	run(t, a, arc.Objective{ID: "judged", Text: "mend the door", Session: "s"})
	run(t, a, arc.Objective{ID: "other", Text: "mend the roof", Session: "s"})
	for _, right := range []bool{true, false} {
		require.NoError(t, a.In("").Judge(t.Context(), "judged", arc.Verdict{Right: right, Source: "qa"}))
	}
	require.NoError(t, a.In("").Delete(t.Context(), "judged"))
	require.NoError(t, a.Close())
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, e.Key, "judged/verdict", "%q", e.Key)
	}
}

// A run that was retried and delivered did not end blocked, and its tokens count once.
func TestRetriedRunEndsAsItDid(t *testing.T) {
	t.Parallel()
	good := false
	s := &script{
		judge: func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{Pass: good, Complaint: "no"}, nil },
		do: func(int, act.Work) (act.Result, error) {
			r := done(`"ok"`)
			r.Usage.TokensIn = 100
			return r, nil
		},
	}
	c := newClock()
	a := agent(t, s.host(), &arc.Options{Now: c.Now, Attempts: 1})
	for _, id := range []string{"one", "two", "three"} {
		good = false
		o := arc.Objective{ID: id, Text: "mend " + id, Situation: "it leaks", Budget: arc.Budget{CostUSD: 9}}
		require.Equal(t, arc.Blocked, run(t, a, o).Status)
		good = true
		c.Add(-time.Minute) // the clock was put back
		r, err := a.In("").Retry(t.Context(), id, "now")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
	}
	run(t, a, arc.Objective{Text: "mend it all", Situation: "it leaks"})
	require.NotContains(t, s.briefs[len(s.briefs)-1].Advice, "blocked")
	h, err := a.Health(t.Context(), "")
	require.NoError(t, err)
	require.EqualValues(t, 600, h.Unpriced)
	require.NotEmpty(t, export(t, a, "local"))
}

// Chunk returns no receipt for what an earlier attempt has taught.
func TestChunkIsNoFailure(t *testing.T) {
	t.Parallel()
	good := false
	s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{Pass: good, Complaint: "no"}, nil }}
	a := agent(t, s.host(), &arc.Options{Attempts: 1})
	o := arc.Objective{ID: "one", Text: "mend it", Provisional: true}
	require.Equal(t, arc.Blocked, run(t, a, o).Status)
	good = true
	r, err := a.In("").Retry(t.Context(), "one", "")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	got, err := a.In("").Chunk(t.Context(), "one")
	require.NoError(t, err)
	require.Empty(t, got, "no source has judged it")

	o = arc.Objective{ID: "two", Text: "mend it", Provisional: true, Tasks: []reason.Task{{Objective: "mend it"}}}
	require.Equal(t, arc.Delivered, run(t, a, o).Status)
	require.NoError(t, a.In("").Judge(t.Context(), "two", arc.Verdict{Right: true}))
	got, err = a.In("").Chunk(t.Context(), "two")
	require.NoError(t, err)
	require.Empty(t, got, "the plan is the host's")
}

func TestProvisionalPlanOfWhatDoesNotHold(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		for _, early := range []bool{true, false} {
			s := &script{}
			s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
				d := plan("ask where to send it")
				for _, h := range b.Memories {
					if h.Record.Kind == memory.Fact {
						if d = plan("send the parcel to Berlin"); named {
							d.Applied = []memory.ID{h.Record.ID}
						}
					}
				}
				return d, nil
			}
			a := agent(t, s.host(), &arc.Options{Learn: learn.Options{FireAfter: 1}})
			fact, err := a.In("").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the customer's parcels go to Berlin"})
			require.NoError(t, err)
			send := func(id string) *arc.Report {
				return run(t, a, arc.Objective{ID: id, Text: "send the parcel to the customer", Provisional: true})
			}
			forget := func(when bool) {
				if when == early {
					require.NoError(t, a.In("").Memory().Forget(t.Context(), fact.ID))
				}
			}
			require.Equal(t, "send the parcel to Berlin", send("r").Deliveries[0].Task.Objective)
			forget(true)
			require.NoError(t, a.In("").Judge(t.Context(), "r", arc.Verdict{Right: true, Source: "qa"}))
			if !early {
				require.Equal(t, 1, send("again").Fired)
			}
			forget(false)
			require.Zero(t, send("then").Fired, "named %t, early %t", named, early)
		}
	}
}
