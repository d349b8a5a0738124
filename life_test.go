package arc_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func TestBlockedRunSaysItsCause(t *testing.T) {
	t.Parallel()
	decide := func(d reason.Decision, err error) *script {
		return &script{decide: func(int, reason.Brief) (reason.Decision, error) { return d, err }}
	}
	do := func(r act.Result, err error) *script {
		return &script{do: func(int, act.Work) (act.Result, error) { return r, err }}
	}
	circle := reason.Decision{Impasse: &reason.Impasse{Kind: "no_approach", Reason: "locked", Subgoal: "mend the cache"}}
	for cause, c := range map[arc.Cause]struct {
		s *script
		o arc.Objective
	}{
		arc.CauseGate:       {&script{judge: fail("no")}, arc.Objective{}},
		arc.CauseWorker:     {do(act.Result{}, errBoom), arc.Objective{}},
		arc.CausePermission: {do(act.Result{}, fmt.Errorf("403: %w", act.ErrDenied)), arc.Objective{}},
		arc.CauseModel:      {decide(reason.Decision{}, errBoom), arc.Objective{}},
		arc.CauseStuck:      {decide(circle, nil), arc.Objective{}},
		arc.CauseBudget:     {&script{judge: fail("no")}, arc.Objective{Budget: arc.Budget{Steps: 4}}},
		arc.CauseNoWorker:   {&script{}, arc.Objective{Tasks: []reason.Task{{Objective: "fly", Verify: "it flies", Skill: "fly"}}}},
	} {
		c.o.Text = "mend the cache"
		a := agent(t, c.s.host(), nil)
		r := run(t, a, c.o)
		require.Equal(t, arc.Blocked, r.Status, cause)
		require.Equal(t, cause, r.Cause, r.Reason)
		require.NotEmpty(t, r.Reason)
		require.Zero(t, r.Next)
		again, err := a.In("").Resume(t.Context(), r.ID)
		require.NoError(t, err)
		require.Equal(t, cause, again.Cause, "it is kept")
	}
}

// A person's no, or silence, is recorded as such: it costs the worker no rank,
// and the session no failure.
func TestMissingApprovalIsNoFailureOfTheWorker(t *testing.T) {
	for end, approve := range map[act.End]act.ApproverFunc{
		act.Refused:    func(context.Context, *act.Call) (bool, error) { return false, nil },
		act.Undecided:  func(context.Context, *act.Call) (bool, error) { return true, errBoom },
		act.Unanswered: func(ctx context.Context, _ *act.Call) (bool, error) { <-ctx.Done(); return true, nil },
		act.Denied:     func(context.Context, *act.Call) (bool, error) { return true, nil }, // and the service says 403
	} {
		t.Run(string(end), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{}
				h := s.host()
				h.Workers[0].Mode = act.Gated
				h.Approver = act.ApproverFunc(func(ctx context.Context, r *act.Call) (bool, error) {
					if r.Work.Objective == "deploy" {
						return true, nil
					}
					return approve(ctx, r)
				})
				s.do = func(_ int, w act.Work) (act.Result, error) {
					if w.Objective != "deploy" {
						return act.Result{}, &reason.ModelError{Status: 403}
					}
					return done(`1`), nil
				}
				a := agent(t, h, nil)
				score := func() float64 {
					ranking, err := a.In("").Rank(t.Context(), "release", reason.Task{Skill: "work"})
					require.NoError(t, err)
					return ranking[0].Parts.Mean
				}
				for range 5 {
					require.Equal(t, arc.Delivered, run(t, a, arc.Objective{Text: "deploy", Situation: "release", Session: "s"}).Status)
				}
				before := score()
				for range 5 {
					r := run(t, a, arc.Objective{Text: "deploy on a Friday", Situation: "release", Session: "s", Fresh: true})
					require.Equal(t, arc.Blocked, r.Status)
					require.Equal(t, end, r.LastEnd)
					cause := arc.CauseDenied
					if end == act.Denied {
						cause = arc.CausePermission
					}
					require.Equal(t, cause, r.Cause)
				}
				require.InDelta(t, before, score(), 0.01)
				now, err := a.In("").Assess(t.Context(), "s")
				require.NoError(t, err)
				require.Equal(t, "keep_going", now.Recommendation)
				require.Zero(t, now.Failures)
			})
		})
	}
}

// errAway is the error of a part whose server does not run.
var errAway = fmt.Errorf("ask: %w", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})

// realTime are options with the clock of the bubble.
func realTime() *arc.Options { return &arc.Options{Now: time.Now} }

// outage is a model that is away until the time given.
func outage(until time.Time) *script {
	return &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
		if time.Now().Before(until) {
			return reason.Decision{}, errAway
		}
		return plan(b.Objective), nil
	}}
}

// crowd runs n objectives at once, and returns their reports.
func crowd(t *testing.T, a *arc.Agent, n int) []*arc.Report {
	t.Helper()
	out := make([]*arc.Report, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			r, err := a.Run(t.Context(), arc.Objective{ID: fmt.Sprint("run-", i), Text: fmt.Sprint("mend package ", i)})
			if err == nil {
				out[i] = r
			}
		})
	}
	all.Wait()
	require.NotContains(t, out, (*arc.Report)(nil))
	return out
}

// kept is how a run stands in the store.
func kept(t *testing.T, a *arc.Agent, id string) arc.State {
	t.Helper()
	s, err := a.LoadState(t.Context(), id)
	require.NoError(t, err)
	return s
}

func TestModelThatIsAwayDelaysRuns(t *testing.T) {
	const runs = 20
	t.Run("open", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			a := agent(t, outage(start.Add(10*time.Minute)).host(), realTime())
			for _, r := range crowd(t, a, runs) {
				require.Equal(t, arc.Waiting, r.Status)
				require.Equal(t, arc.CauseModel, r.Cause)
				require.Contains(t, r.Reason, "refused")
				require.True(t, r.Next.After(time.Now()))
			}
			require.LessOrEqual(t, time.Since(start), 2*time.Minute, "nobody is kept for long")
			idle(16*time.Minute - time.Since(start))
			for i := range runs {
				require.Equal(t, arc.Delivered, kept(t, a, fmt.Sprint("run-", i)).Status)
			}
		})
	})
	t.Run("reopened", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st, s := store.NewMem(), outage(time.Now().Add(10*time.Minute))
			a, err := arc.New(t.Context(), st, s.host(), realTime())
			require.NoError(t, err)
			crowd(t, a, runs)
			require.NoError(t, a.Close())
			idle(15 * time.Minute)
			b := agentOn(t, st, s.host(), realTime())
			n, err := b.ResumeDue(t.Context())
			require.NoError(t, err)
			require.Equal(t, runs, n)
			for i := range runs {
				require.Equal(t, arc.Delivered, kept(t, b, fmt.Sprint("run-", i)).Status)
			}
			n, err = b.ResumeDue(t.Context())
			require.NoError(t, err)
			require.Zero(t, n)
			for e, err := range st.Scan(t.Context(), store.Range{}) {
				require.NoError(t, err)
				require.NotContains(t, e.Key, "due", "the index is empty")
			}
		})
	})
	t.Run("killed", func(t *testing.T) { // while they wait: whoever opens the store next goes on
		synctest.Test(t, func(t *testing.T) {
			st, s := store.NewMem(), outage(time.Now().Add(10*time.Minute))
			a := agentOn(t, st, s.host(), realTime())
			crowd(t, a, runs)
			b := agentOn(t, st, s.host(), realTime()) // beside a, which is not told
			idle(16 * time.Minute)
			for i := range runs {
				require.Equal(t, arc.Delivered, kept(t, b, fmt.Sprint("run-", i)).Status)
			}
			require.Len(t, s.work, runs, "each was done once")
		})
	})
}

// Gates are asked one after another, and each has its own time: a run that an Agent
// went on with is not taken for cut off while they are at it.
func TestSlowGatesKeepTheirRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s, checks := store.NewMem(), outage(time.Now().Add(10*time.Minute)), 0
		h := s.host()
		slow := act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
			checks++
			idle(9 * time.Minute)
			return act.Verdict{Pass: true}, nil
		})
		h.Gates, h.Workers[0].Gates = []act.Gate{slow, slow, slow}, []act.Gate{slow}
		a := agentOn(t, st, h, realTime())
		crowd(t, a, 1)
		b := agentOn(t, st, h, realTime()) // beside a, which is not told
		for range 60 {
			idle(time.Minute)
			_, err := b.ResumeDue(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, arc.Delivered, kept(t, a, "run-0").Status)
		require.Equal(t, 4, checks)
	})
}

func TestRunThatWaitsSurvivesAClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := store.NewMem(), outage(time.Now().Add(time.Minute))
		a, err := arc.New(t.Context(), st, s.host(), realTime())
		require.NoError(t, err)
		time.AfterFunc(40*time.Second, func() { _ = a.Close() })
		r := run(t, a, arc.Objective{ID: "run", Text: "mend the cache"})
		require.Equal(t, arc.Waiting, r.Status, "its caller holds on no longer")
		require.LessOrEqual(t, time.Until(r.Next), 40*time.Second)
		b := agentOn(t, st, s.host(), realTime())
		idle(time.Until(r.Next) + time.Second)
		require.Equal(t, arc.Delivered, kept(t, b, "run").Status)
	})
}

func TestCallerCanLeaveWhileARunWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := agent(t, outage(time.Now().Add(time.Minute)).host(), realTime())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		r, err := a.Run(ctx, arc.Objective{ID: "run", Text: "mend the cache"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "run", r.ID)
		require.Equal(t, arc.Running, r.Status)
		idle(time.Hour)
		require.Equal(t, arc.Running, kept(t, a, "run").Status, "it is the caller's to resume")
		r, err = a.In("").Resume(t.Context(), "run")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
	})
}

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for patience, want := range map[time.Duration]arc.Status{-1: arc.Waiting, 10 * time.Second: arc.Waiting, time.Minute: arc.Delivered} {
			start := time.Now()
			o := realTime()
			o.Patience = patience
			a := agent(t, outage(start.Add(20*time.Second)).host(), o)
			r := run(t, a, arc.Objective{ID: "run", Text: "mend the cache"})
			require.Equal(t, want, r.Status)
			require.LessOrEqual(t, time.Since(start), max(0, patience))
			require.Zero(t, kept(t, a, "run").Step-r.Steps)
			if want == arc.Waiting { // a host that knows better need not wait
				idle(20*time.Second - time.Since(start))
				r, err := a.In("").Resume(t.Context(), "run")
				if err != nil {
					require.ErrorIs(t, err, arc.ErrRunning)
					continue
				}
				require.Equal(t, arc.Delivered, r.Status)
			}
		}
	})
}

func TestWorkerThatIsAwayIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back, asked := time.Now().Add(time.Hour), map[string]int{}
		s := &script{do: func(_ int, w act.Work) (act.Result, error) {
			asked[w.Task.Worker]++
			if w.Task.Worker == "one" && time.Now().Before(back) {
				return act.Result{}, act.Transient(errAway)
			}
			return done(`1`), nil
		}}
		h := s.host("one", "two")
		h.Workers[0].Card.Prior = 1
		a := agent(t, h, realTime())
		two := reason.Decision{Approach: "twice", Tasks: []reason.Task{
			{Objective: "this", Verify: "the gate", Skill: "work", Worker: "one"}, {Objective: "that", Verify: "the gate", Skill: "work", Worker: "one"},
		}}
		s.decide = func(int, reason.Brief) (reason.Decision, error) { return two, nil }
		r := run(t, a, arc.Objective{Text: "mend the cache", Fresh: true})
		require.Equal(t, arc.Delivered, r.Status)
		require.Equal(t, 2, r.Attempts, "another worker makes the attempt")
		require.Equal(t, map[string]int{"one": 4, "two": 2}, asked, "it is not asked again at once")
		ranking, err := a.In("").Rank(t.Context(), "mend the cache", reason.Task{Skill: "work", Worker: "one"})
		require.NoError(t, err)
		for _, scored := range ranking {
			if scored.Candidate.Name == "one" {
				require.Zero(t, scored.Samples, "it is no failure of the worker's")
			}
		}
		h.Workers = h.Workers[:1]
		b := agent(t, h, realTime())
		r = run(t, b, arc.Objective{ID: "run", Text: "mend the cache", Attempts: 1})
		require.Equal(t, arc.Waiting, r.Status)
		require.Equal(t, arc.CauseWorker, r.Cause)
		require.Zero(t, r.Attempts)
		idle(time.Until(back) + 5*time.Minute + 10*time.Second)
		s1 := kept(t, b, "run")
		require.Equal(t, arc.Delivered, s1.Status)
		require.Equal(t, 2, s1.Attempts)
		require.LessOrEqual(t, time.Unix(0, s1.Ended).Sub(back), 5*time.Minute+7*time.Second)
		require.Less(t, s1.Step, 12, "to wait spends no steps")
	})
}

func TestWorkersThatAreAwayByTurnsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[string]int{}
		s := &script{do: func(_ int, w act.Work) (act.Result, error) {
			asked[w.Task.Worker]++
			return act.Result{}, &act.RateLimitError{After: time.Minute}
		}}
		a, start := agent(t, s.host("one", "two"), realTime()), time.Now()
		r := run(t, a, arc.Objective{ID: "run", Text: "mend the cache"})
		require.Equal(t, arc.Waiting, r.Status, "one may be asked again by when two has been, and is not")
		require.Equal(t, arc.CauseWorker, r.Cause)
		require.Equal(t, asked["one"], asked["two"])
		require.Less(t, time.Since(start), 10*time.Minute)
		require.Less(t, r.Steps, 12)
		require.Zero(t, r.Attempts)
	})
}

func TestGateThatIsAwayIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(time.Minute)
		s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) {
			if time.Now().Before(back) {
				return act.Verdict{}, errAway
			}
			return act.Verdict{Pass: true}, nil
		}}
		r := run(t, agent(t, s.host(), realTime()), arc.Objective{Text: "mend the cache"})
		require.Equal(t, arc.Delivered, r.Status)
		require.Len(t, s.work, 1, "the work is not done again")
	})
}

// A run that the Agent has gone on with by itself is the Agent's to finish.
func TestRunThatIsGoneOnWithSurvivesAClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, s := store.NewMem(), outage(time.Now().Add(10*time.Minute))
		var quick atomic.Bool
		s.do = func(int, act.Work) (act.Result, error) {
			if !quick.Load() {
				idle(time.Minute)
			}
			return done(`1`), nil
		}
		o := realTime()
		o.Grace = -1
		a, err := arc.New(t.Context(), st, s.host(), o)
		require.NoError(t, err)
		require.Equal(t, arc.Waiting, run(t, a, arc.Objective{ID: "run", Text: "mend the cache"}).Status)
		for kept(t, a, "run").Current == nil {
			idle(time.Second)
		}
		require.NoError(t, a.Close())
		quick.Store(true)
		b := agentOn(t, st, s.host(), o)
		s1 := kept(t, b, "run")
		require.Equal(t, arc.Waiting, s1.Status)
		require.Equal(t, arc.CauseInterrupted, s1.Cause)
		idle(5 * time.Second)
		require.Equal(t, arc.Delivered, kept(t, b, "run").Status)
		idle(time.Minute)
	})
}
