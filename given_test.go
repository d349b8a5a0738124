package arc_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// task is one that the workers of a script can take.
func task(objective string) reason.Task {
	return reason.Task{Objective: objective, Verify: "the gate", Skill: "work"}
}

// A host with plans of its own needs no reasoner.
func TestGivenPlanRunsWithoutAReasoner(t *testing.T) {
	t.Parallel()
	s := &script{judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: w.Attempt == 2, Complaint: "not yet"}, nil
	}}
	h := s.host()
	h.Reasoner = nil
	a := agent(t, h, &arc.Options{Replans: 3})
	r := run(t, a, arc.Objective{Text: "mend the cache", Tasks: []reason.Task{task("stop it"), task("start it")}})
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
	require.Equal(t, []int{4, 0}, []int{r.Attempts, r.Deliberations})
	require.Equal(t, []string{"stop it", "start it"}, []string{r.Deliveries[0].Task.Objective, r.Deliveries[1].Task.Objective})

	s.judge = fail("never")
	r = run(t, a, arc.Objective{Text: "mend the cache", Attempts: 5, Tasks: []reason.Task{task("stop it")}})
	require.Equal(t, arc.Blocked, r.Status)
	require.Equal(t, []int{5, 0}, []int{r.Attempts, r.Deliberations})
	require.Contains(t, r.Reason, "never")

	_, err := a.Run(t.Context(), arc.Objective{Text: "mend the cache"})
	require.ErrorIs(t, err, arc.ErrObjective)
	_, err = a.Think(t.Context(), arc.Objective{Text: "mend the cache"})
	require.ErrorIs(t, err, arc.ErrObjective)
}

func TestGivenPlanIsReplannedIfAllowed(t *testing.T) {
	t.Parallel()
	s := &script{judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: w.Task.Objective == "buy another", Complaint: "it is beyond repair"}, nil
	}, decide: func(int, reason.Brief) (reason.Decision, error) { return plan("buy another"), nil }}
	o := arc.Objective{Text: "have a working cache", Tasks: []reason.Task{task("mend it")}, Attempts: 1}
	r := run(t, agent(t, s.host(), nil), o)
	require.Equal(t, arc.Blocked, r.Status)
	require.Empty(t, s.briefs)
	r = run(t, agent(t, s.host(), &arc.Options{Replans: 1}), o)
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
	require.Len(t, s.briefs, 1)
	require.Contains(t, s.briefs[0].Failed[0].Complaint, "beyond repair")
}

// The plan of the host goes first, however well a chunk has done.
func TestGivenPlanGoesBeforeChunks(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), nil)
	for range 4 {
		run(t, a, arc.Objective{Text: "mend the cache of the service"})
	}
	fired := run(t, a, arc.Objective{Text: "mend the cache of the service"})
	require.Equal(t, 1, fired.Fired)
	r := run(t, a, arc.Objective{Text: "mend the cache of the service", Tasks: []reason.Task{task("look first"), task("mend")}})
	require.Zero(t, r.Fired)
	require.Len(t, r.Deliveries, 2)
}

func TestGivenPlanThatCannotBeRun(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), nil)
	bad := task("x")
	bad.Inputs = []byte("{")
	for name, o := range map[string]arc.Objective{
		"no objective": {Tasks: []reason.Task{{}}}, "65": {Tasks: make([]reason.Task, 65)},
		"inputs": {Tasks: []reason.Task{bad}}, "attempts": {Attempts: -1},
	} {
		o.Text = "mend the cache"
		_, err := a.Run(t.Context(), o)
		require.ErrorIs(t, err, arc.ErrObjective, name)
	}
	unable := task("x")
	unable.Effect = &reason.Effect{Domain: "moon", Path: "phase"}
	r := run(t, a, arc.Objective{Text: "mend the moon", Tasks: []reason.Task{task("a"), unable}})
	require.Equal(t, arc.Blocked, r.Status)
	require.Contains(t, r.Reason, "no worker can take task 2")
	require.Empty(t, s.work, "a plan that cannot be done is not begun")
	require.Empty(t, r.Learned)
}

// Work that must not be done twice is not, wherever the run is cut off: an
// attempt whose outcome was committed counts, and any other ends the run.
func TestOnceIsOnceWhereverItIsCutOff(t *testing.T) {
	t.Parallel()
	o := arc.Objective{ID: "run", Text: "pay the bill", Tasks: []reason.Task{task("pay")}, Attempts: 1, Once: true}
	ends := map[string]int{}
	for _, applied := range []bool{false, true} {
		for n := 1; ; n++ {
			s := &script{}
			st := store.NewMem()
			f := arctest.NewStore(st)
			f.FailNext(n-1, 1, applied)
			opts := &arc.Options{Now: newClock().Now, Seed: 1, Sanitizer: keyed()}
			a, err := arc.New(t.Context(), f, s.host("one", "two"), opts)
			require.NoError(t, err)
			_, err = a.Run(t.Context(), o)
			if f.Commits() < n {
				require.NoError(t, err)
				require.NoError(t, a.Close())
				break
			}
			_ = a.Close() // it may report the failure once more
			b := agentOn(t, st, s.host("one", "two"), opts)
			r := run(t, b, o)
			again := run(t, b, o)
			require.Equal(t, r, again, "a finished run stays as it is")
			require.LessOrEqual(t, len(s.work), 1, "commit %d, applied %v", n, applied)
			if r.Status == arc.Delivered {
				require.Len(t, s.work, 1)
			} else {
				require.Contains(t, r.Reason, "outcome unknown")
				ranking, err := b.In("").Rank(t.Context(), o.Text, o.Tasks[0])
				require.NoError(t, err)
				require.Zero(t, ranking[0].Parts.Known+ranking[1].Parts.Known, "nobody is to blame")
			}
			ends[string(r.Status)]++
		}
	}
	require.Len(t, ends, 2, "%v", ends)
}

// The same for an executor that is cut off in the middle, and without Once.
func TestOnceAfterTheContextEnded(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &script{do: func(n int, _ act.Work) (act.Result, error) {
			cancel()
			return done(fmt.Sprint(n)), ctx.Err()
		}}
		var executed []string
		a := agent(t, s.host(), &arc.Options{Hooks: arc.Hooks{Event: func(e arc.Event) {
			if e.Kind == arc.EventExecuted {
				executed = append(executed, e.Text)
			}
		}}})
		_, err := a.Run(ctx, arc.Objective{ID: "run", Text: "pay the bill", Tasks: []reason.Task{task("pay")}, Once: once})
		require.ErrorIs(t, err, context.Canceled)
		s.do = nil
		r, err := a.In("").Resume(t.Context(), "run")
		require.NoError(t, err)
		require.Equal(t, once, r.Status == arc.Blocked)
		require.Equal(t, 1, r.Attempts)
		require.Len(t, s.work, map[bool]int{true: 1, false: 2}[once])
		end := map[bool]act.End{true: act.Interrupted, false: act.Finished}[once]
		require.Len(t, executed, 1)
		require.Contains(t, executed[0], string(end))
	}
}
