package arc_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Whatever a worker does, it is an attempt that failed, and the next one
// counts.
func TestWorkerThatMisbehavesHasFailedAnAttempt(t *testing.T) {
	for name, do := range map[string]func() (act.Result, error){
		"error":            func() (act.Result, error) { return act.Result{}, errBoom },
		"result and error": func() (act.Result, error) { return done(`1`), errBoom },
		"panic":            func() (act.Result, error) { panic("boom") },
		"panic error":      func() (act.Result, error) { panic(errBoom) },
		"panic nil":        func() (act.Result, error) { panic(nil) },
		"goexit":           func() (act.Result, error) { runtime.Goexit(); return act.Result{}, nil },
		"nothing":          func() (act.Result, error) { return act.Result{}, nil },
		"canceled":         func() (act.Result, error) { return act.Result{}, context.Canceled },
		"deadline":         func() (act.Result, error) { return act.Result{}, context.DeadlineExceeded },
		"hang":             func() (act.Result, error) { idle(time.Hour); return done(`1`), nil },
		"not JSON":         func() (act.Result, error) { return done(`{"a":`), nil },
		"too large":        func() (act.Result, error) { return done(`"` + strings.Repeat("x", 1<<20) + `"`), nil },
		"confidence NaN":   func() (act.Result, error) { r := done(`1`); r.Reflection.Confidence = math.NaN(); return r, nil },
		"confidence 90":    func() (act.Result, error) { r := done(`1`); r.Reflection.Confidence = 90; return r, nil },
		"unknown status":   func() (act.Result, error) { r := done(`1`); r.Reflection.Status = "OK"; return r, nil },
		"says failure":     func() (act.Result, error) { r := done(`1`); r.Reflection.Status = iar.Failure; return r, nil },
		"grows": func() (act.Result, error) { // when the secrets are taken out
			return done(`"` + strings.Repeat("pwd=x1 ", 70_000) + `"`), nil
		},
		"negative usage": func() (act.Result, error) { r := done(`1`); r.Usage.TokensIn = -1; return r, nil },
		"bad delta": func() (act.Result, error) {
			r := done(`1`)
			r.Deltas = []act.Delta{{Value: []byte("{")}}
			return r, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{do: func(n int, w act.Work) (act.Result, error) {
					if n == 1 {
						return do()
					}
					return done(`"second"`), nil
				}}
				a := agent(t, s.host(), &arc.Options{AttemptTimeout: time.Minute})
				r := run(t, a, arc.Objective{Text: "mend the cache"})
				require.Equal(t, arc.Delivered, r.Status, r.Reason)
				require.Equal(t, 2, r.Attempts)
				require.NotEmpty(t, s.work[1].Complaint)
				require.JSONEq(t, `"second"`, string(r.Deliveries[0].Output))
				idle(2 * time.Hour) // let the one that hangs end
			})
		})
	}
}

func TestReasonerThatMisbehavesIsAskedAgainAndThenBlocks(t *testing.T) {
	for name, decide := range map[string]func() (reason.Decision, error){
		"error":          func() (reason.Decision, error) { return reason.Decision{}, errBoom },
		"panic":          func() (reason.Decision, error) { panic("boom") },
		"goexit":         func() (reason.Decision, error) { runtime.Goexit(); return reason.Decision{}, nil },
		"hang":           func() (reason.Decision, error) { idle(time.Hour); return plan("late"), nil },
		"nothing":        func() (reason.Decision, error) { return reason.Decision{}, nil },
		"no objective":   func() (reason.Decision, error) { return plan(" "), nil },
		"unknown skill":  func() (reason.Decision, error) { d := plan("x"); d.Tasks[0].Skill = "fly"; return d, nil },
		"unknown effect": func() (reason.Decision, error) { d := plan("x"); d.Tasks[0].Effect = &reason.Effect{}; return d, nil },
		"both":           func() (reason.Decision, error) { d := plan("x"); d.Questions = []string{"?"}; return d, nil },
		"unclear":        func() (reason.Decision, error) { d := plan("x"); d.Complexity = reason.Unclear; return d, nil },
		"unknown impasse": func() (reason.Decision, error) {
			return reason.Decision{Impasse: &reason.Impasse{Kind: "sad", Subgoal: "x"}}, nil
		},
		"no subgoal": func() (reason.Decision, error) {
			return reason.Decision{Impasse: &reason.Impasse{Kind: "conflict"}}, nil
		},
		"65 tasks":       func() (reason.Decision, error) { return reason.Decision{Tasks: make([]reason.Task, 65)}, nil },
		"huge":           func() (reason.Decision, error) { return plan(strings.Repeat("x", 1<<20)), nil },
		"empty question": func() (reason.Decision, error) { return reason.Decision{Questions: []string{""}}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{decide: func(int, reason.Brief) (reason.Decision, error) { return decide() }}
				r := run(t, agent(t, s.host(), &arc.Options{ReasonTimeout: time.Minute}), arc.Objective{Text: "mend the cache"})
				require.Equal(t, arc.Blocked, r.Status)
				require.Equal(t, []int{3, 0}, []int{r.Deliberations, r.Attempts})
				idle(4 * time.Hour) // let those that hang end
				s.mu.Lock()
				defer s.mu.Unlock()
				require.NotEmpty(t, s.briefs[1].Complaint)
				require.Contains(t, r.Reason, s.briefs[1].Complaint)
			})
		})
	}
}

// A gate that fails lets nothing pass, and the worker is not to blame.
func TestGateThatMisbehavesBlocksTheDelivery(t *testing.T) {
	for name, judge := range map[string]func() (act.Verdict, error){
		"error":          func() (act.Verdict, error) { return act.Verdict{}, errBoom },
		"pass and error": func() (act.Verdict, error) { return act.Verdict{Pass: true}, errBoom },
		"panic":          func() (act.Verdict, error) { panic("boom") },
		"goexit":         func() (act.Verdict, error) { runtime.Goexit(); return act.Verdict{}, nil },
		"hang":           func() (act.Verdict, error) { idle(time.Hour); return act.Verdict{Pass: true}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) { return judge() }}
				a := agent(t, s.host(), &arc.Options{GateTimeout: time.Minute})
				r := run(t, a, arc.Objective{Text: "mend the cache"})
				require.Equal(t, arc.Blocked, r.Status)
				require.Empty(t, r.Deliveries)
				ranking, err := a.In("").Rank(t.Context(), "mend the cache", reason.Task{Skill: "work"})
				require.NoError(t, err)
				require.Equal(t, 3, ranking[0].Samples)
				require.Zero(t, ranking[0].Parts.Known, "an outcome that nobody verified is unknown")
				idle(4 * time.Hour)
			})
		})
	}
}

func TestHookThatPanicsIsSurvived(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), &arc.Options{Hooks: arc.Hooks{
		Event: func(arc.Event) { panic("event") },
	}})
	require.Equal(t, arc.Delivered, run(t, a, arc.Objective{Text: "mend the cache"}).Status)
}

func TestWorkerThatIsDeniedIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	s := &script{do: func(n int, w act.Work) (act.Result, error) {
		if w.Task.Worker == "one" {
			return act.Result{}, fmt.Errorf("403: %w", act.ErrDenied)
		}
		return done(`1`), nil
	}, judge: fail("no")}
	r := run(t, agent(t, s.host("one", "two"), &arc.Options{Attempts: 4}), arc.Objective{Text: "mend the cache"})
	require.Equal(t, arc.Blocked, r.Status)
	require.Len(t, s.work, 4)
	for _, w := range s.work[1:] {
		require.Equal(t, "two", w.Task.Worker)
	}

	s = &script{do: func(int, act.Work) (act.Result, error) { return act.Result{}, act.ErrDenied }}
	r = run(t, agent(t, s.host("one", "two"), &arc.Options{Attempts: 9}), arc.Objective{Text: "mend the cache"})
	require.Equal(t, arc.Blocked, r.Status)
	require.Equal(t, 2, r.Attempts)
}

func TestApprovalThatIsRefusedOrLateMeansNo(t *testing.T) {
	for name, approve := range map[string]act.ApproverFunc{
		"refused": func(context.Context, *act.Call) (bool, error) { return false, nil },
		"error":   func(context.Context, *act.Call) (bool, error) { return true, errBoom },
		"late":    func(ctx context.Context, _ *act.Call) (bool, error) { <-ctx.Done(); return true, nil },
		"panic":   func(context.Context, *act.Call) (bool, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{}
				h := s.host()
				h.Workers[0].Mode, h.Approver = act.Gated, approve
				r := run(t, agent(t, h, nil), arc.Objective{Text: "deploy"})
				require.Equal(t, arc.Blocked, r.Status)
				require.Empty(t, s.work, "nothing ran without the approval")
			})
		})
	}
	s := &script{}
	h := s.host()
	h.Workers[0].Blast = act.Fleet
	h.Approver = act.ApproverFunc(func(_ context.Context, r *act.Call) (bool, error) {
		return r.Blast == act.Fleet && r.Worker == "worker", nil
	})
	require.Equal(t, arc.Delivered, run(t, agent(t, h, &arc.Options{ApproveFrom: act.Repo}), arc.Objective{Text: "deploy"}).Status)
}

func TestBudgetEndsARun(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]arc.Budget{
		"steps": {Steps: 4}, "wall": {Wall: time.Minute}, "tokens": {Tokens: 100}, "cost": {CostUSD: 0.5},
	} {
		c := newClock()
		s := &script{judge: fail("no"), do: func(int, act.Work) (act.Result, error) {
			c.Add(time.Minute)
			r := done(`1`)
			r.Usage = act.Usage{TokensIn: 60, TokensOut: 40, CostUSD: 0.5}
			return r, nil
		}}
		r := run(t, agent(t, s.host(), &arc.Options{Attempts: 100, Now: c.Now}), arc.Objective{Text: "mend the cache", Budget: b})
		require.Equal(t, arc.Blocked, r.Status, name)
		require.Contains(t, r.Reason, "budget", name)
		require.Equal(t, 1, r.Attempts, name)
	}
}

func TestPivotPolicies(t *testing.T) {
	t.Parallel()
	for policy, check := range map[arc.PivotPolicy]func(*script, *arc.Report){
		arc.PivotFlag: func(s *script, r *arc.Report) {
			require.Equal(t, arc.Blocked, r.Status)
			require.Len(t, r.Pivots, 1)
			require.Contains(t, s.briefs[3].Advice, "pivot_now")
			require.Equal(t, []string{"just do it"}, s.briefs[3].Avoid)
		},
		arc.PivotAsk: func(s *script, r *arc.Report) {
			require.Equal(t, arc.Asking, r.Status)
			require.Len(t, r.Questions, 1)
			require.Len(t, s.briefs, 3)
		},
	} {
		s := &script{judge: fail("no")}
		a := agent(t, s.host(), &arc.Options{Pivot: policy, Attempts: 1})
		for i := range 3 {
			r := run(t, a, arc.Objective{Text: fmt.Sprintf("mend package %d", i), Session: "s"})
			require.Empty(t, r.Pivots)
		}
		check(s, run(t, a, arc.Objective{Text: "mend one more", Session: "s"}))
	}
}

// Wherever a run is interrupted by a failing disk, whether or not the write
// that failed has taken place, going on leads to where an uninterrupted run
// leads.
func TestInterruptedAnywhereEndsTheSame(t *testing.T) {
	t.Parallel()
	objectives := func(a *arc.Agent) (string, error) {
		var out strings.Builder
		for i := range 4 {
			r, err := a.Run(t.Context(), arc.Objective{ID: fmt.Sprint("run-", i), Session: "s", Text: fmt.Sprint("mend package ", i), Situation: situation})
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, "%s %d %d %d %v\n", r.Status, r.Attempts, r.Deliberations, r.Fired, r.Learned)
		}
		return out.String(), nil
	}
	host := func() arc.Host {
		s := &script{do: func(_ int, w act.Work) (act.Result, error) {
			return done(fmt.Sprint(w.Task.Worker == "two" && w.Run != "run-2")), nil
		}, judge: func(_ act.Work, r act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: string(r.Output) == "true", Complaint: "no"}, nil
		}}
		return s.host("one", "two")
	}
	whole := agent(t, host(), nil)
	want, err := objectives(whole)
	require.NoError(t, err)
	wantLearned := learnedBy(t, whole)
	for _, applied := range []bool{false, true} {
		for n := 1; ; n++ {
			st := store.NewMem()
			f := arctest.NewStore(st)
			f.FailNext(n-1, 1, applied)
			opts := &arc.Options{Now: newClock().Now, Seed: 1, Sanitizer: keyed()}
			a, err := arc.New(t.Context(), f, host(), opts)
			require.NoError(t, err)
			_, err = objectives(a)
			if f.Commits() < n {
				require.NoError(t, err)
				require.NoError(t, a.Close())
				require.Greater(t, n, 25)
				break
			}
			_ = a.Close() // it may report the failure once more
			b := agentOn(t, st, host(), opts)
			got, err := objectives(b)
			require.NoError(t, err)
			require.Equal(t, want, got, "commit %d, applied %v", n, applied)
			require.Equal(t, wantLearned, learnedBy(t, b), "commit %d, applied %v", n, applied)
		}
	}
}

func TestLeavingTheEventsStopsTheRunAtItsLastCommit(t *testing.T) {
	t.Parallel()
	for stop := 1; ; stop++ {
		s := &script{}
		a := agent(t, s.host(), nil)
		seen := 0
		for e, err := range a.Events(t.Context(), arc.Objective{ID: "run", Text: "mend the cache"}) {
			require.NoError(t, err)
			seen++
			require.Equal(t, seen, e.Seq)
			if seen == stop {
				break
			}
		}
		if seen < stop {
			return
		}
		r, err := a.In("").Resume(t.Context(), "run")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		require.Len(t, s.work, 1, "no attempt was repeated")
		require.Len(t, s.briefs, 1, "no decision was repeated")
	}
}

func TestCanceledRunGoesOnLater(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{do: func(n int, _ act.Work) (act.Result, error) {
		if n == 1 {
			cancel()
		}
		return done(`1`), nil
	}}
	a := agent(t, s.host(), nil)
	_, err := a.Run(ctx, arc.Objective{ID: "run", Text: "mend the cache"})
	require.ErrorIs(t, err, context.Canceled)
	r, err := a.In("").Resume(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, 1, r.Attempts)
}

func TestStepLeavesItsArgumentAlone(t *testing.T) {
	t.Parallel()
	s := &script{judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: w.Attempt == 2, Complaint: "again"}, nil
	}}
	a := agent(t, s.host(), nil)
	st, err := a.Begin(arc.Objective{ID: "run", Text: "mend the cache"})
	require.NoError(t, err)
	for st.Status == arc.Running {
		before := fmt.Sprintf("%+v", dump(t, st))
		one, err := a.Step(t.Context(), st)
		require.NoError(t, err)
		two, err := a.Step(t.Context(), st)
		require.NoError(t, err)
		require.Equal(t, dump(t, one), dump(t, two), "a Step made twice leads to the same State")
		require.Equal(t, before, fmt.Sprintf("%+v", dump(t, st)))
		st = one
	}
	require.Equal(t, arc.Delivered, st.Status)
}

func TestRunsOverlapAndShareNothingButMemory(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), nil)
	errs := make(chan error)
	for i := range 8 {
		go func() {
			for j := range 20 {
				r, err := a.Run(t.Context(), arc.Objective{ID: fmt.Sprintf("run-%d-%d", i, j), Text: "mend the cache", Scope: memory.Scope(fmt.Sprint("tenant-", i))})
				if err == nil && r.Status != arc.Delivered {
					err = errors.New(r.Reason)
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 8 {
		require.NoError(t, <-errs)
	}
	for i := range 8 {
		n := 0
		for _, err := range a.In(memory.Scope(fmt.Sprint("tenant-", i))).Memory().All(t.Context()) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 1, n)
	}
}

func TestLiveRunIsNotStartedTwice(t *testing.T) {
	t.Parallel()
	var a *arc.Agent
	s := &script{do: func(int, act.Work) (act.Result, error) {
		_, err := a.Run(t.Context(), arc.Objective{ID: "run", Text: "again"})
		if !errors.Is(err, arc.ErrRunning) {
			return act.Result{}, fmt.Errorf("got %v", err)
		}
		return done(`1`), nil
	}}
	a = agent(t, s.host(), nil)
	require.Equal(t, 1, run(t, a, arc.Objective{ID: "run", Text: "mend it"}).Attempts)
}

func TestShutdownWaitsAndThenCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{})
		h := (&script{}).host()
		h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, _ act.Work) (act.Result, error) {
			close(started)
			<-ctx.Done()
			return act.Result{}, ctx.Err()
		})
		st := store.NewMem()
		a, err := arc.New(t.Context(), st, h, &arc.Options{Grace: time.Minute})
		require.NoError(t, err)
		ended, closed := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := a.Run(t.Context(), arc.Objective{ID: "run", Text: "mend it"})
			ended <- err
		}()
		<-started
		begin := time.Now()
		go func() { closed <- a.Close() }()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Equal(t, time.Minute, time.Since(begin))
		require.NoError(t, <-closed)
		require.NoError(t, a.Close())
		_, err = a.Run(t.Context(), arc.Objective{Text: "too late"})
		require.ErrorIs(t, err, store.ErrClosed)

		// The attempt that was under way is made again, under the same key.
		s := &script{}
		r, err := agentOn(t, st, s.host(), nil).In("").Resume(t.Context(), "run")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
		require.Equal(t, 1, r.Attempts)
	})
}

func TestNewListsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	var typedNil *script
	_, err := arc.New(t.Context(), store.NewMem(), arc.Host{
		Reasoner: typedNil, Approver: act.ApproverFunc(nil),
		Workers: []act.Worker{{}, {Executor: act.ExecutorFunc(nil), Mode: 99}},
		Gates:   []act.Gate{nil},
	}, &arc.Options{Attempts: -1, Scope: "a//b", Pivot: 7})
	for _, part := range []string{"reasoner is nil", "approver is nil", "worker 0 has no name", "gate 0 is nil", "no executor", "unknown mode", "Attempts", "Scope", "Pivot"} {
		require.ErrorContains(t, err, part)
	}
	_, err = arc.New(t.Context(), nil, (&script{}).host(), nil)
	require.Error(t, err)
	//lint:ignore SA1012 that it is refused is the test
	_, err = arc.New(nil, store.NewMem(), (&script{}).host(), nil)
	require.Error(t, err)
	h := (&script{}).host()
	h.Gates = nil
	_, err = arc.New(t.Context(), store.NewMem(), h, nil)
	require.ErrorContains(t, err, "act.NoGate")
}

func TestObjectivesThatCannotBeRun(t *testing.T) {
	t.Parallel()
	a := agent(t, (&script{}).host(), nil)
	for name, o := range map[string]arc.Objective{
		"empty": {}, "blank": {Text: " \n"}, "long": {Text: strings.Repeat("x", 1<<20)},
		"id": {Text: "x", ID: "a\x00b"}, "long id": {Text: "x", ID: strings.Repeat("x", 257)},
		"inputs": {Text: "x", Inputs: []byte("{")}, "scope": {Text: "x", Scope: "a b"},
		"budget": {Text: "x", Budget: arc.Budget{CostUSD: math.NaN()}},
	} {
		_, err := a.Run(t.Context(), o)
		require.ErrorIs(t, err, arc.ErrObjective, name)
	}
	_, err := a.In("").Resume(t.Context(), "nobody")
	require.ErrorIs(t, err, store.ErrNotFound)
	for _, err := range a.In("").Runs(t.Context(), arc.Filter{}) {
		require.NoError(t, err)
	}
}

func TestSecretsDoNotReachTheStore(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	st := store.NewMem()
	s := &script{
		decide: func(_ int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective + secret)
			d.Approach, d.Reasoning = secret, secret
			d.Tasks[0].Inputs = []byte(`{"k":"` + secret + `"}`)
			return d, nil
		},
		do: func(n int, _ act.Work) (act.Result, error) {
			if n == 1 {
				panic(secret)
			}
			r := done(`{"k":"` + secret + `"}`)
			r.Reflection.Summary, r.Reflection.PotentialIssues = secret, []string{secret}
			r.Deltas = []act.Delta{{Domain: "d", Path: "p", Value: []byte(`"` + secret + `"`)}}
			return r, nil
		},
		judge: fail(secret),
	}
	a := agentOn(t, st, s.host(), nil)
	run(t, a, arc.Objective{Text: "use " + secret, Situation: "at " + secret, Inputs: []byte(`["` + secret + `"]`)})
	var all iter.Seq2[store.Entry, error] = st.Scan(t.Context(), store.Range{})
	n := 0
	for e, err := range all {
		require.NoError(t, err)
		require.NotContains(t, e.Key+string(e.Value), secret)
		n++
	}
	require.Greater(t, n, 3)
}

// Whatever the texts are that the host's parts give, a run ends, is kept, and
// can be read back.
func TestTextsOfAnyKindAreKept(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not UTF-8":  "a\xffb \xc3",
		"long":       strings.Repeat("ü", 20_000),
		"control":    "a\x00b\x1b[31m\r\n",
		"huge words": strings.Repeat("x", 60_000),
		"blank":      strings.Repeat(" ", 20),
	} {
		for _, pass := range []bool{true, false} {
			s := &script{
				decide: func(_ int, b reason.Brief) (reason.Decision, error) {
					d := plan("do: " + text)
					d.Approach, d.Reasoning = text, text
					return d, nil
				},
				do: func(n int, _ act.Work) (act.Result, error) {
					if n == 1 {
						return act.Result{}, errors.New(strings.Repeat(text, 5))
					}
					r := done(`1`)
					r.Reflection.Summary, r.Reflection.PotentialIssues = text[:len(text)/4], []string{text[:len(text)/4]}
					r.Deltas = []act.Delta{{Domain: text, Path: text, Value: []byte(`1`)}}
					r.Usage = act.Usage{TokensIn: math.MaxInt32, CostUSD: 1e300}
					return r, nil
				},
				judge: func(act.Work, act.Result) (act.Verdict, error) {
					return act.Verdict{Pass: pass, Complaint: strings.Repeat(text, 40)}, nil
				},
			}
			st := store.NewMem()
			o := arc.Objective{ID: strings.Repeat("i", 256), Text: "mend it: " + text, Situation: text}
			want := run(t, agentOn(t, st, s.host(), nil), o)
			require.Equal(t, pass, want.Status == arc.Delivered, "%s: %s", name, want.Reason)
			got, err := agentOn(t, st, s.host(), nil).In("").Resume(t.Context(), o.ID)
			require.NoError(t, err, name)
			require.Equal(t, want.Status, got.Status)
			require.Equal(t, want.Reason, got.Reason)
			require.Len(t, got.Deliveries, len(want.Deliveries))
			require.Less(t, len(s.work[1].Complaint), 5<<10, "a complaint is bounded")
		}
	}
}

// Two agents over one store: the one that comes second to a commit is told,
// and what the first has done stands.
func TestRunThatAnotherAgentMovedOnIsLeftToIt(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	var other *arc.Agent
	s := &script{do: func(n int, _ act.Work) (act.Result, error) {
		if n == 1 {
			r, err := other.In("").Resume(t.Context(), "run")
			if err != nil || r.Status != arc.Delivered {
				return act.Result{}, fmt.Errorf("the other agent: %v, %w", r, err)
			}
		}
		return done(`1`), nil
	}}
	other = agentOn(t, st, s.host(), nil)
	a := agentOn(t, st, s.host(), nil)
	_, err := a.Run(t.Context(), arc.Objective{ID: "run", Text: "mend the cache"})
	require.ErrorIs(t, err, arc.ErrRunning)
	r, err := a.In("").Resume(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, 1, r.Attempts)
}

func TestCloseReturnsThoughAWorkerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{})
		s := &script{do: func(int, act.Work) (act.Result, error) {
			close(started)
			idle(time.Hour) // whatever its context says
			return done(`1`), nil
		}}
		a, err := arc.New(t.Context(), store.NewMem(), s.host(), &arc.Options{Grace: time.Second})
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() {
			_, err := a.Run(t.Context(), arc.Objective{Text: "mend the cache"})
			ended <- err
		}()
		<-started
		begin := time.Now()
		require.NoError(t, a.Close())
		require.Equal(t, time.Second, time.Since(begin))
		require.ErrorIs(t, <-ended, context.Canceled)
		idle(2 * time.Hour)
	})
}

// A policy that panics ends the call, not the process; the run can be made
// with another one.
func TestPolicyThatPanicsIsAnError(t *testing.T) {
	t.Parallel()
	st, s := store.NewMem(), &script{}
	bad := func(*rank.Book) rank.Policy {
		return rank.PolicyFunc(func(context.Context, rank.Situation, []rank.Candidate) ([]rank.Scored, error) { panic("boom") })
	}
	a := agentOn(t, st, s.host(), &arc.Options{Policy: bad})
	_, err := a.Run(t.Context(), arc.Objective{ID: "r", Text: "mend it"})
	require.ErrorContains(t, err, "boom")
	require.NoError(t, a.Close())
	r := run(t, agentOn(t, st, s.host(), nil), arc.Objective{ID: "r", Text: "mend it"})
	require.Equal(t, arc.Delivered, r.Status)
}
