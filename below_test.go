package arc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// below is a worker that has another one do its task, in a run below its own, as who knows of nothing does.
func below(to **arc.Agent, name, worker string) act.Worker {
	return act.Worker{Name: name, ByName: true, Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
		func(ctx context.Context, c *act.Call) (*act.Result, error) {
			return call(*to, ctx, arc.Objective{Text: c.Task.Objective, Tasks: []reason.Task{{Objective: c.Task.Objective, Worker: worker}}})
		})}
}

// call has an objective reached in a run below the one of ctx.
func call(a *arc.Agent, ctx context.Context, o arc.Objective) (*act.Result, error) {
	r, err := a.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	if r.Status != arc.Delivered {
		return nil, fmt.Errorf("the run below is %s: %s", r.Status, r.Text)
	}
	return &act.Result{Text: r.Text}, nil
}

// team returns an Agent of a lead, who has a crew do it, who has a hand do it, and how to open it again.
func team(t *testing.T, st store.Store, hand act.Worker, o *arc.Options) (*arc.Agent, *[]string) {
	var a *arc.Agent
	hand.Name, hand.ByName, hand.Gates = "hand", true, []act.Gate{act.NoGate}
	first := below(&a, "lead", "crew")
	first.ByName = false
	a, story := agent(t, st, arc.Host{}, o)
	require.NoError(t, a.SetWorkers([]act.Worker{first, below(&a, "crew", "hand"), hand}))
	return a, story
}

// states are the runs of a scope by their IDs' depths.
func states(t *testing.T, v arc.View) (all []string) {
	t.Helper()
	for r, err := range v.Runs(t.Context()) {
		require.NoError(t, err)
		all = append(all, fmt.Sprint(strings.Count(r.ID, "/"), " ", r.Status))
	}
	return all
}

// A run below has the scope of the run above, and an ID by what it is for.
func TestBelowIsTheSameRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a *arc.Agent
		var made, up atomic.Int32
		hand := act.ExecutorFunc(func(_ context.Context, c *act.Call) (*act.Result, error) {
			if made.Add(1); c.Text == "fails" && made.Load() < 3 {
				return nil, errors.New("not yet")
			}
			return &act.Result{Text: c.Text + " for " + string(c.Scope)}, nil
		})
		top := act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
			time.Sleep(time.Second) // what ended before it is called has failed before
			up.Add(1)
			of := func(text string) arc.Objective {
				return arc.Objective{Text: text, Tasks: []reason.Task{{Objective: text, Worker: "hand"}}}
			}
			if c.Text == "twins" { // at once, and again
				said := make(chan string, 2)
				for range cap(said) {
					go func() {
						r, _ := call(a, ctx, of("twin"))
						said <- r.Text
					}()
				}
				require.Equal(t, <-said, <-said)
				_, err := a.Run(ctx, arc.Objective{ID: c.Run, Scope: c.Scope, Text: "itself"})
				require.ErrorIs(t, err, arc.ErrRunning)
				return call(a, ctx, of("twin"))
			}
			return call(a, ctx, of(c.Text))
		})
		a, _ = agent(t, nil, arc.Host{Workers: []act.Worker{
			{Name: "top", Executor: top, Gates: []act.Gate{act.NoGate}},
			{Name: "hand", ByName: true, Executor: hand, Gates: []act.Gate{act.NoGate}},
		}}, &arc.Options{Scope: "acme"})

		for _, scope := range []memory.Scope{"globex/zoe", "_"} {
			made.Store(0)
			r := run(t, a, arc.Objective{Text: "twins", Scope: scope})
			require.Equal(t, "twin for "+strings.Trim(string(scope), "_"), r.Text)
			require.EqualValues(t, 1, made.Load())
			require.Equal(t, []string{"0 delivered", "1 delivered"}, states(t, a.In(scope)))
		}
		require.Empty(t, states(t, a.In("acme")))

		made.Store(0)
		up.Store(0)
		require.Equal(t, "fails for acme", run(t, a, arc.Objective{ID: "7", Text: "fails", Scope: "acme/7"}).Text[:14])
		require.EqualValues(t, 2, up.Load())
		require.EqualValues(t, 3, made.Load())
		require.Equal(t, []string{"0 delivered", "1 delivered"}, states(t, a.In("acme/7")))

		long := run(t, a, arc.Objective{ID: strings.Repeat("ü", 120), Text: "long"})
		require.Equal(t, "long for acme", long.Text)
		require.Equal(t, []string{"1 delivered", "0 delivered"}, states(t, a.In("acme")))
	})
}

// A run that the scheduler has taken up is waited for by the attempt that has begun it, and by no other.
func TestBelowUnderWayIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, slow := store.NewMem(), true
		hand := act.ExecutorFunc(func(ctx context.Context, _ *act.Call) (*act.Result, error) {
			if slow {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			time.Sleep(7 * time.Second)
			return &act.Result{Text: "paid"}, nil
		})
		a, _ := team(t, st, act.Worker{Executor: hand}, nil)
		go func() { _, _ = a.Run(context.Background(), arc.Objective{ID: "top", Text: "pay"}) }()
		synctest.Wait()
		require.NoError(t, a.Close())
		slow = false
		a, story := team(t, st, act.Worker{Executor: hand}, nil)
		r, err := a.In("").Wait(t.Context(), "top")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status, "%v", *story)
		require.Equal(t, 1, r.Attempts)
	})
}

// A Shutdown that stops a run below says nothing of the attempt that has begun it.
func TestShutdownWithRunsBelow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, begun := store.NewMem(), make(chan bool, 9)
		hand := act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
			begun <- true
			time.Sleep(time.Second)
			return nil, errors.New("no")
		})
		a, _ := team(t, st, act.Worker{Executor: hand}, nil)
		go func() { _, _ = a.Run(context.Background(), arc.Objective{ID: "top", Text: "pay"}) }()
		<-begun
		require.NoError(t, a.Shutdown(t.Context()))
		for r, err := range a.In("").Runs(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, strings.Count(r.ID, "/") == 2, len(r.Failed) > 0, "%s: %v", r.ID, r.Failed)
		}
	})
}
