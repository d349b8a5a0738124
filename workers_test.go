package arc_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// crewOf are workers who can do a skill and count their calls.
func crewOf(calls map[string]*atomic.Int64, mode act.Mode, skill string, names ...string) (out []act.Worker) {
	for _, name := range names {
		if calls[name] == nil {
			calls[name] = new(atomic.Int64)
		}
		n := calls[name]
		out = append(out, act.Worker{
			Card: rank.Candidate{Name: name, Prior: 0.5}, Skills: []string{skill}, Mode: mode,
			Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { n.Add(1); return done(`"ok"`), nil }),
		})
	}
	return out
}

// A human allows what a worker does; if that is gone by then, it is not done, by
// whatever way the run goes on.
func TestApprovalOfAWorkerWhoIsGone(t *testing.T) {
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			calls := map[string]*atomic.Int64{}
			h := arc.Host{Gates: []act.Gate{act.NoGate}, Workers: crewOf(calls, act.Gated, "work", "old")}
			st := store.NewMem()
			a, err := arc.New(t.Context(), st, h, realTime())
			require.NoError(t, err)
			o := arc.Objective{ID: "run", Text: "deploy", Tasks: []reason.Task{{Objective: "deploy", Skill: "work"}}}
			r, err := a.Run(t.Context(), o)
			require.NoError(t, err)
			require.NotNil(t, r.Approval)
			h.Workers = crewOf(calls, act.Gated, "work", "new")
			if restart {
				require.NoError(t, a.Close())
				a, err = arc.New(t.Context(), st, h, realTime())
				require.NoError(t, err)
			} else {
				require.NoError(t, a.SetWorkers(h.Workers))
			}
			defer a.Close()
			require.NoError(t, a.In("").Rule(t.Context(), ruling(true)))
			synctest.Wait()
			r, err = a.In("").Resume(t.Context(), "run")
			require.NoError(t, err)
			require.Zero(t, calls["old"].Load())
			require.Zero(t, calls["new"].Load(), "its attempt was not allowed")
			require.NotEqual(t, arc.Delivered, r.Status)
		})
	}
}

// A worker who is gone before its attempt is not blamed for it.
func TestWorkerWhoIsGoneIsNotBlamed(t *testing.T) {
	for _, other := range []string{"new", ""} {
		synctest.Test(t, func(t *testing.T) {
			calls := map[string]*atomic.Int64{}
			h := arc.Host{Gates: []act.Gate{act.NoGate}, Workers: crewOf(calls, act.Gated, "work", "old")}
			a, err := arc.New(t.Context(), store.NewMem(), h, realTime())
			require.NoError(t, err)
			defer a.Close()
			o := arc.Objective{ID: "run", Text: "deploy", Tasks: []reason.Task{{Objective: "deploy", Skill: "work"}}}
			_, err = a.Run(t.Context(), o)
			require.NoError(t, err)
			status := arc.Delivered
			if h.Workers = crewOf(calls, 0, "work", other); other == "" {
				h.Workers, status = crewOf(calls, 0, "play", "else"), arc.Blocked
			}
			require.NoError(t, a.SetWorkers(h.Workers))
			require.NoError(t, a.In("").Rule(t.Context(), ruling(true)))
			synctest.Wait()
			r, err := a.In("").Resume(t.Context(), "run")
			require.NoError(t, err)
			require.Equal(t, status, r.Status, r.Reason)
			sums, err := a.In("").Costs(t.Context(), time.Time{})
			require.NoError(t, err)
			for _, sum := range sums {
				require.Equal(t, sum.Successes, sum.Known, sum.Candidate)
			}
		})
	}
}

// Workers are replaced while runs go on: each attempt is one of a worker who was there.
func TestSetWorkersBesideRuns(t *testing.T) {
	t.Parallel()
	calls := map[string]*atomic.Int64{}
	crews := [2][]act.Worker{crewOf(calls, 0, "work", "a", "b"), crewOf(calls, 0, "work", "b", "c")}
	crews[1][0].Mode = act.Notification
	h := arc.Host{Gates: []act.Gate{act.NoGate}, Workers: crews[0]}
	a := agent(t, h, &arc.Options{Seed: 1, Maintain: -1})
	require.ErrorContains(t, a.SetWorkers(nil), "as before: no workers")
	require.ErrorContains(t, a.SetWorkers(append(crews[0], crews[0]...)), "given twice")
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 25 {
				o := arc.Objective{ID: fmt.Sprint(i, n), Text: "mend it", Tasks: []reason.Task{{Objective: "mend it", Skill: "work"}}}
				r, err := a.Run(t.Context(), o)
				if err != nil || r.Status != arc.Delivered {
					t.Error(r, err)
				}
				if err := a.SetWorkers(crews[n%2]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 100, calls["a"].Load()+calls["b"].Load()+calls["c"].Load())
	require.Positive(t, calls["c"].Load())
}

// A catalogue of actions is loaded again while the agent is at work; a bad one changes
// nothing.
func ExampleAgent_SetWorkers() {
	ctx := context.Background()
	says := func(text string) act.Executor {
		return act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			fmt.Println("  " + text)
			return done(`"ok"`), nil
		})
	}
	executors := &act.ActionOptions{Executors: map[string]act.Executor{"restart": says("restarts"), "page": says("pages a human")}}
	workers := func(text string) ([]act.Worker, error) {
		return act.LoadActions(fstest.MapFS{"actions.yaml": &fstest.MapFile{Data: []byte(text)}}, "actions.yaml", executors)
	}
	first, err := workers("actions: [{name: restarter, skills: [ops], executor: restart}]")
	if err != nil {
		fmt.Println(err)
		return
	}
	agent, err := arc.New(ctx, store.NewMem(), arc.Host{Workers: first, Gates: []act.Gate{act.NoGate}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	for _, text := range []string{
		"actions: [{name: restarter, skills: [ops], executor: restart}]",
		"actions:\n  - name: pager\n    skills: [ops]\n    executor: pages",
		"actions: [{name: pager, skills: [ops], executor: page}]",
	} {
		now, err := workers(text)
		if err == nil {
			err = agent.SetWorkers(now)
		}
		if err != nil {
			fmt.Println(err)
		}
		r, err := agent.Run(ctx, arc.Objective{Text: "the site is down", Tasks: []reason.Task{{Objective: "mend it", Skill: "ops"}}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Status, "by", r.LastWorker)
	}
	// Output:
	//   restarts
	// delivered by restarter
	// actions:
	// actions.yaml:4: action "pager": the host has no executor "pages"
	//   restarts
	// delivered by restarter
	//   pages a human
	// delivered by pager
}

// One chunk serves files of two kinds, and each kind has a worker of its own, called like the kind: the chunk
// fires for both, and the ranking chooses.
func TestAChunkServesKindsOfTwoWorkers(t *testing.T) {
	t.Parallel()
	kind := ""
	knows := func(*rank.Book) rank.Policy { // as one would that has learned it
		return rank.PolicyFunc(func(_ context.Context, _ rank.Situation, cs []rank.Candidate) (out []rank.Scored, _ error) {
			for _, c := range cs {
				out = append(out, rank.Scored{Candidate: c})
			}
			if out[0].Candidate.Name != kind {
				slices.Reverse(out)
			}
			return out, nil
		})
	}
	s := &script{}
	s.judge = func(act.Work, act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: s.work[len(s.work)-1].Task.Worker == kind, Complaint: "another kind"}, nil
	}
	a := agent(t, s.host("image", "text"), &arc.Options{Policy: knows})
	for i, k := range []string{"image", "text", "image", "text", "image"} {
		kind = k
		r := run(t, a, arc.Objective{
			Text: "convert " + k, Situation: "a file is to be converted", Inputs: fmt.Appendf(nil, `{"kind":%q}`, k),
		})
		require.Equal(t, arc.Delivered, r.Status, r.Reason)
		require.Equal(t, []int{min(1, i/2), 1}, []int{r.Fired, r.Attempts}, "%d: %s", i, k)
		require.Equal(t, k, r.Deliveries[0].Worker)
	}
}
