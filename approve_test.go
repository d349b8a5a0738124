package arc_test

import (
	"context"
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
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// gated is a host of one worker, which counts its calls.
func gated(calls *atomic.Int64, mode act.Mode) arc.Host {
	return arc.Host{Gates: []act.Gate{act.NoGate}, Workers: []act.Worker{{
		Card: rank.Candidate{Name: "deployer"}, Mode: mode, Skills: []string{"work"},
		Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { calls.Add(1); return done(`"deployed"`), nil }),
	}}}
}

// waiting returns the approvals of a scope.
func waiting(t *testing.T, a *arc.Agent, scope memory.Scope) (out []arc.Approval) {
	t.Helper()
	for p, err := range a.In(scope).Approvals(t.Context()) {
		require.NoError(t, err)
		out = append(out, p)
	}
	return out
}

// rest lets time pass, and all that is due in it happen.
func rest(d time.Duration) {
	idle(d)
	synctest.Wait()
}

// ruling is what ada says to the first attempt of the run.
func ruling(allow bool) arc.Ruling {
	return arc.Ruling{Run: "run", Attempt: 1, Allow: allow, By: "ada", Note: "on Monday"}
}

// Without an Approver an attempt waits for what a human says, in another process even.
func TestApprovals(t *testing.T) {
	for name, c := range map[string]struct {
		mode   act.Mode
		say    []arc.Ruling
		status arc.Status
		reason string
		after  time.Duration
	}{
		"allowed":           {mode: act.Gated, say: []arc.Ruling{ruling(true)}, status: arc.Delivered},
		"refused":           {mode: act.Gated, say: []arc.Ruling{ruling(false)}, status: arc.Blocked, reason: "approval was refused by ada: on Monday"},
		"silence denies":    {mode: act.Gated, status: arc.Blocked, reason: "no answer in time", after: 24 * time.Hour},
		"silence proceeds":  {mode: act.Veto, status: arc.Delivered, after: 24 * time.Hour},
		"a veto":            {mode: act.Veto, say: []arc.Ruling{ruling(false)}, status: arc.Blocked, reason: "approval was refused by ada: on Monday"},
		"one of two":        {mode: act.Compound, say: []arc.Ruling{ruling(true), ruling(true)}, status: arc.Blocked, reason: "no answer in time", after: 24 * time.Hour},
		"one in disguise":   {mode: act.Compound, say: []arc.Ruling{ruling(true), {Run: "run", Attempt: 1, Allow: true, By: " a\u200bda "}}, status: arc.Blocked, reason: "no answer in time", after: 24 * time.Hour},
		"both":              {mode: act.Compound, say: []arc.Ruling{ruling(true), {Run: "run", Attempt: 1, Allow: true, By: "bob"}}, status: arc.Delivered},
		"one against":       {mode: act.Compound, say: []arc.Ruling{ruling(true), {Run: "run", Attempt: 1, By: "bob"}}, status: arc.Blocked, reason: "approval was refused by bob"},
		"soon":              {mode: act.Gated, status: arc.Waiting, after: 23 * time.Hour},
		"allowed after all": {mode: act.Gated, say: []arc.Ruling{ruling(true)}, status: arc.Delivered, after: 30 * 24 * time.Hour},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var calls atomic.Int64
					st := store.NewMem()
					open := func() *arc.Agent {
						a, err := arc.New(t.Context(), st, gated(&calls, c.mode), realTime())
						require.NoError(t, err)
						return a
					}
					a := open()
					r := run(t, a, arc.Objective{ID: "run", Text: "deploy", Tasks: chore, Once: true})
					require.Equal(t, arc.Waiting, r.Status)
					require.Equal(t, arc.CauseApproval, r.Cause)
					require.Equal(t, fmt.Sprintf("deployer: the worker's mode is %v", c.mode), r.Reason)
					require.Equal(t, r.Next, r.Approval.Until)
					require.Equal(t, 24*time.Hour, r.Approval.Until.Sub(r.Approval.Asked))
					require.Equal(t, []arc.Approval{*r.Approval}, waiting(t, a, ""))
					require.Equal(t, r.Scope, r.Approval.Scope, "a run's id is unique in its tenant only")
					for _, say := range c.say {
						if restart {
							require.NoError(t, a.Close())
							rest(time.Hour)
							a = open()
						}
						require.Zero(t, calls.Load())
						require.NoError(t, a.In("").Rule(t.Context(), say))
					}
					if restart {
						require.NoError(t, a.Close())
						rest(c.after)
						a = open()
					} else {
						rest(c.after)
					}
					rest(10 * time.Second)
					r, err := a.In("").Resume(t.Context(), "run")
					require.NoError(t, err)
					require.Equal(t, c.status, r.Status)
					require.Contains(t, r.Reason, c.reason)
					require.EqualValues(t, map[bool]int{true: 1}[c.status == arc.Delivered], calls.Load())
					if c.status != arc.Waiting {
						require.Empty(t, waiting(t, a, ""))
						require.ErrorIs(t, a.In("").Rule(t.Context(), ruling(true)), arc.ErrLate)
					}
					require.NoError(t, a.Close())
				})
			})
		}
	}
}

// Whatever a host calls, an attempt that a human has to allow is not made before one has.
func TestNoPathAroundAnApproval(t *testing.T) {
	resume := func(t *testing.T, a *arc.Agent) {
		_, err := a.In("").Resume(t.Context(), "run")
		require.NoError(t, err)
	}
	for name, path := range map[string]func(t *testing.T, a *arc.Agent){
		"resume": resume,
		"run": func(t *testing.T, a *arc.Agent) {
			_, err := a.Run(t.Context(), arc.Objective{ID: "run", Text: "deploy", Tasks: chore})
			require.NoError(t, err)
		},
		"events": func(t *testing.T, a *arc.Agent) {
			for _, err := range a.Events(t.Context(), arc.Objective{ID: "run", Text: "deploy", Tasks: chore}) {
				require.NoError(t, err)
			}
		},
		"due":  func(t *testing.T, a *arc.Agent) { _, err := a.ResumeDue(t.Context()); require.NoError(t, err) },
		"time": func(t *testing.T, a *arc.Agent) { rest(23 * time.Hour) },
		"silence": func(t *testing.T, a *arc.Agent) {
			rest(25 * time.Hour)
			_, err := a.In("").Retry(t.Context(), "run", "go on")
			require.NoError(t, err)
		},
		"answer": func(t *testing.T, a *arc.Agent) {
			_, err := a.In("").Answer(t.Context(), "run", "yes")
			require.ErrorIs(t, err, arc.ErrNotAsking)
		},
		"no name": func(t *testing.T, a *arc.Agent) {
			require.Error(t, a.In("").Rule(t.Context(), arc.Ruling{Run: "run", Attempt: 1, Allow: true}))
		},
		"a long one": func(t *testing.T, a *arc.Agent) {
			require.Error(t, a.In("").Rule(t.Context(), arc.Ruling{Run: "run", Attempt: 1, Allow: true, By: strings.Repeat("a", 1000)}))
		},
		"another attempt": func(t *testing.T, a *arc.Agent) {
			require.ErrorIs(t, a.In("").Rule(t.Context(), arc.Ruling{Run: "run", Attempt: 2, Allow: true, By: "ada"}), arc.ErrLate)
		},
		"another tenant": func(t *testing.T, a *arc.Agent) {
			require.Empty(t, waiting(t, a, "other"))
			require.ErrorIs(t, a.In("other").Rule(t.Context(), ruling(true)), store.ErrNotFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				a := agent(t, gated(&calls, act.Gated), realTime())
				run(t, a, arc.Objective{ID: "run", Text: "deploy", Tasks: chore})
				path(t, a)
				require.Zero(t, calls.Load())
				require.Len(t, waiting(t, a, ""), 1)
				resume(t, a)
				require.Zero(t, calls.Load())
			})
		})
	}
}

// What was allowed is one attempt: the next one is asked for again, and so is one that
// is to reach further than what was allowed.
func TestApprovalIsForOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		h := gated(&calls, act.Gated)
		h.Gates = []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: calls.Load() == 2, Complaint: "not yet"}, nil
		})}
		a := agent(t, h, realTime())
		r := run(t, a, arc.Objective{ID: "run", Text: "deploy", Tasks: chore})
		for n := 1; n <= 2; n++ {
			require.Equal(t, n, r.Approval.Attempt)
			require.NoError(t, a.In("").Rule(t.Context(), arc.Ruling{Run: "run", Attempt: n, Allow: true, By: "ada"}))
			rest(10 * time.Second)
			require.EqualValues(t, n, calls.Load())
			var err error
			r, err = a.In("").Resume(t.Context(), "run")
			require.NoError(t, err)
		}
		require.Equal(t, arc.Delivered, r.Status)
	})
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		st := store.NewMem()
		a, err := arc.New(t.Context(), st, gated(&calls, act.Gated), realTime())
		require.NoError(t, err)
		run(t, a, arc.Objective{ID: "run", Text: "deploy", Tasks: chore})
		require.NoError(t, a.In("").Rule(t.Context(), ruling(true)))
		require.NoError(t, a.Close())
		a, err = arc.New(t.Context(), st, gated(&calls, act.Compound), realTime())
		require.NoError(t, err)
		rest(10 * time.Second)
		require.Zero(t, calls.Load())
		require.Equal(t, act.Compound, waiting(t, a, "")[0].Mode)
		require.NoError(t, a.Close())
	})
}

// A dispatch of a goal waits for a human too, and is over with its lease.
func TestGoalsWaitForApprovals(t *testing.T) {
	for name, c := range map[string]struct {
		rule  func(arc.Approval) *arc.Ruling
		end   goal.End
		calls int
	}{
		"allowed": {func(p arc.Approval) *arc.Ruling {
			return &arc.Ruling{Run: p.Run, Attempt: p.Attempt, Allow: true, By: "ada"}
		}, goal.Unseen, 1},
		"refused": {func(p arc.Approval) *arc.Ruling { return &arc.Ruling{Run: p.Run, Attempt: p.Attempt, By: "ada"} }, goal.Refused, 0},
		"silence": {func(arc.Approval) *arc.Ruling { return nil }, goal.Interrupted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				h := arc.Host{Gates: []act.Gate{act.NoGate}, Workers: []act.Worker{
					repairs("deployer", "cache", act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { calls.Add(1); return done(`1`), nil })),
				}}
				h.Workers[0].Blast = act.Public
				a, w := agent(t, h, realTime()), new(goal.World)
				keeper := keep(t, a, w, &goal.Options{Lease: time.Hour}, broken("cache"))
				require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": true}, At: time.Now()}))
				_, err := keeper.Tick(t.Context())
				require.NoError(t, err)
				rest(time.Minute)
				all := waiting(t, a, "")
				require.Len(t, all, 1)
				require.Equal(t, act.Gated, all[0].Mode)
				if r := c.rule(all[0]); r != nil {
					require.NoError(t, a.In("").Rule(t.Context(), *r))
				}
				require.NoError(t, keeper.Wait(t.Context()))
				rest(time.Minute)
				for o, err := range keeper.Outcomes(t.Context()) {
					require.NoError(t, err)
					require.Equal(t, c.end, o.End, o.Why)
				}
				require.EqualValues(t, c.calls, calls.Load())
				require.Empty(t, waiting(t, a, ""), "nobody is asked any more")
				rest(48 * time.Hour)
				require.EqualValues(t, c.calls, calls.Load())
			})
		})
	}
}

// A host's own Interceptor has an attempt ask, and sees what came of it.
func ExampleHost_interceptors() {
	ctx := context.Background()
	a, err := arc.New(ctx, store.NewMem(), arc.Host{
		Workers: []act.Worker{{
			Card:     rank.Candidate{Name: "mailer"},
			Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { return done(`"sent"`), nil }),
		}},
		Gates:        []act.Gate{act.NoGate},
		Interceptors: []act.Interceptor{officeHours{}},
	}, &arc.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	r, err := a.Run(ctx, arc.Objective{ID: "mail", Text: "mail the customers", Tasks: chore})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Status, "|", r.Reason)
	for p, err := range a.In("").Approvals(ctx) {
		fmt.Println(p.Worker, p.Mode, p.Why, err)
	}
	// Output:
	// attempt pending
	// waiting | mailer: it is Sunday
	// mailer gated [it is Sunday] <nil>
}

// officeHours asks a human on Sundays, which it always is here.
type officeHours struct{}

func (officeHours) Before(_ context.Context, c *act.Call) error {
	c.Mode, c.Why = act.Gated, append(c.Why, "it is Sunday")
	return nil
}

func (officeHours) After(_ context.Context, _ *act.Call, a *act.Attempt) {
	fmt.Println("attempt", a.End)
}

// TestCutOffThatCannotBeTakenBack: an attempt that a human has allowed, and that ends with its process, is asked
// about again if it cannot be taken back, and else made again.
func TestCutOffThatCannotBeTakenBack(t *testing.T) {
	for _, irreversible := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			st := store.NewMem()
			h := gated(&calls, act.Gated)
			h.Workers[0].Irreversible = irreversible
			h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, _ act.Work) (act.Result, error) {
				if calls.Add(1) == 1 {
					<-ctx.Done()
					return act.Result{}, ctx.Err()
				}
				return done(`"refunded"`), nil
			})
			open := func() *arc.Agent {
				a, err := arc.New(t.Context(), st, h, realTime())
				require.NoError(t, err)
				return a
			}
			a := open()
			require.Equal(t, arc.Waiting, run(t, a, arc.Objective{ID: "run", Text: "refund", Tasks: chore}).Status)
			require.NoError(t, a.In("").Rule(t.Context(), ruling(true)))
			rest(time.Minute)
			require.EqualValues(t, 1, calls.Load())
			now, cancel := context.WithCancel(t.Context())
			cancel()
			require.NoError(t, a.Shutdown(now))
			a = open()
			rest(time.Hour)
			r, err := a.In("").Report(t.Context(), "run")
			require.NoError(t, err)
			if irreversible {
				require.Equal(t, arc.Waiting, r.Status)
				require.EqualValues(t, 1, calls.Load())
				p := waiting(t, a, "")[0]
				require.Contains(t, p.Why, "it was allowed before, and cut off: it may have been made already")
				require.Empty(t, p.AllowedBy)
				require.NoError(t, a.In("").Rule(t.Context(), ruling(true)))
				rest(time.Hour)
				r, err = a.In("").Report(t.Context(), "run")
				require.NoError(t, err)
			}
			require.Equal(t, arc.Delivered, r.Status)
			require.EqualValues(t, 2, calls.Load())
			require.NoError(t, a.Close())
		})
	}
}

// stumbling is a store one of whose commits fails.
type stumbling struct {
	store.Store
	left atomic.Int64 // commits until then
}

func (s *stumbling) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if s.left.Add(-1) == 0 {
		return 0, errBoom
	}
	return s.Store.Commit(ctx, ops...)
}

// TestRefusalStandsWhereACommitFails: what a human has refused is not asked again, whichever commit fails.
func TestRefusalStandsWhereACommitFails(t *testing.T) {
	for n := range 8 {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			h := gated(&calls, act.Gated)
			h.Workers[0].Irreversible = true
			st := &stumbling{Store: store.NewMem()}
			o := realTime()
			o.Attempts = 1
			a, err := arc.New(t.Context(), st, h, o)
			require.NoError(t, err)
			require.Equal(t, arc.Waiting, run(t, a, arc.Objective{ID: "run", Text: "refund", Tasks: chore}).Status)
			st.left.Store(int64(n + 1))
			for a.In("").Rule(t.Context(), ruling(false)) != nil {
				rest(time.Second)
			}
			rest(time.Hour)
			require.Zero(t, calls.Load())
			require.Empty(t, waiting(t, a, ""), "commit %d", n)
			r, err := a.In("").Report(t.Context(), "run")
			require.NoError(t, err)
			require.Equal(t, arc.Blocked, r.Status, r.Reason)
			require.NoError(t, a.Close())
		})
	}
}

// A run that is Once and was resumed too early, by a caller who left, still waits for its approval.
func TestOnceWaitsForItsApproval(t *testing.T) {
	t.Parallel()
	st, s := &leaving{Store: store.NewMem()}, &script{}
	h := s.host()
	h.Workers[0].Mode = act.Gated
	a := agentOn(t, st, h, nil)
	o := arc.Objective{ID: "run", Text: "deploy", Tasks: chore, Once: true}
	require.Equal(t, arc.Waiting, run(t, a, o).Status)
	ctx, leave := context.WithCancel(t.Context())
	st.leave.Store(&leave)
	_, err := a.In("").Resume(ctx, "run")
	require.ErrorIs(t, err, context.Canceled)
	r, err := a.In("").Resume(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, arc.Waiting, r.Status, r.Reason)
	require.Equal(t, arc.CauseApproval, r.Cause)
}

// leaving has a caller leave once the next commit is made.
type leaving struct {
	store.Store
	leave atomic.Pointer[context.CancelFunc]
}

func (l *leaving) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := l.Store.Commit(ctx, ops...)
	if leave := l.leave.Swap(nil); leave != nil {
		(*leave)()
	}
	return rev, err
}

// An attempt of a worker in mode Notification asks nobody, and is announced before it is made.
func TestNotificationIsAnnounced(t *testing.T) {
	t.Parallel()
	for _, mode := range []act.Mode{act.Autonomous, act.Notification} {
		var calls atomic.Int64
		var told []act.Mode
		a := agent(t, gated(&calls, mode), &arc.Options{Hooks: arc.Hooks{Event: func(e arc.Event) {
			if e.Kind == arc.EventAttempt {
				require.Zero(t, calls.Load(), "before the attempt")
				told = append(told, e.Mode)
			}
			require.True(t, e.Mode == 0 || e.Kind == arc.EventAttempt, e.Kind)
		}}})
		r := run(t, a, arc.Objective{ID: "run", Text: "deploy", Tasks: plan("deploy").Tasks})
		require.Equal(t, arc.Delivered, r.Status, r.Reason)
		require.Equal(t, []act.Mode{mode}, told)
	}
}
