package goal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// bench is an Agent that keeps goals, in a bubble.
type bench struct {
	*testing.T
	agent *arc.Agent
	view  arc.View
	world *goal.World
	goals goal.Goals
	keep  *goal.Keeper

	mu      sync.Mutex
	failing any // what the collector of ci reads
	calls   []string
	ahead   atomic.Int64 // nanoseconds of the clock
}

const ci = "goals: [{id: ci, description: no test fails, selector: domains.ci.data.failing, max: 0}]"

type options struct {
	policy    rank.Policy
	proposals *proposal.Book
	daily     arc.Budget
	approvals time.Duration
}

// open opens a bench over a store, with a first reading. A worker without an executor mends what is failing.
func open(t *testing.T, st store.Store, document string, o *options, workers ...act.Worker) *bench {
	b := &bench{T: t, failing: 3}
	now := func() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }
	b.world = goal.NewWorld("acme", now)
	require.NoError(t, b.goals.Load([]byte(document)))
	require.NoError(t, b.world.Collect("ci", func(context.Context) (any, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return map[string]any{"failing": b.failing}, nil
	}, 30*time.Second, 0))
	for i := range workers {
		if workers[i].Executor == nil {
			workers[i].Executor = b.executor(workers[i].Name, 0, nil)
		}
		if workers[i].Gates == nil {
			workers[i].Gates = []act.Gate{act.NoGate}
		}
	}
	if o == nil {
		o = &options{}
	}
	var err error
	b.agent, err = arc.New(t.Context(), st, arc.Host{Workers: workers}, &arc.Options{OnEvent: b.world.OnEvent, Seed: 1,
		Daily: o.daily, ApprovalTimeout: o.approvals, Now: now})
	require.NoError(t, err)
	b.view = b.agent.In("acme")
	b.keep, err = goal.Open(store.NewGroup(store.Sub(st, "t/acme/")), b.agent, b.world, &b.goals, o.policy, o.proposals)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.agent.Close()) })
	_, _ = b.keep.Tick(t.Context()) // what is wrong the next one says, too
	<-time.After(30 * time.Second)
	return b
}

// executor has the collector read a value from now on, or fails.
func (b *bench) executor(name string, to any, err error) act.Executor {
	return act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
		b.mu.Lock()
		b.calls = append(b.calls, name)
		b.mu.Unlock()
		b.reads(to)
		return &act.Result{Text: "mended"}, err
	})
}

func (b *bench) reads(v any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failing = v
}

// breaks has the goal violated for two readings, two minutes later, and returns the run.
func (b *bench) breaks() string {
	b.Helper()
	b.reads(3)
	require.Empty(b, b.tick(2*time.Minute).Run)
	return b.tick(30 * time.Second).Run
}

// called returns who was called since it was asked last.
func (b *bench) called() (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	names, b.calls = b.calls, nil
	return names
}

func mender(name string) act.Worker {
	lowers := reason.Delta{Path: "ci.failing", Op: "inc", Value: json.RawMessage("-1")}
	return act.Worker{Name: name, Skills: []string{"mend"}, Effects: []reason.Delta{lowers}}
}

// tick ticks after a while, has what it begins end, and returns how the first goal stood.
func (b *bench) tick(after time.Duration) goal.Standing {
	b.Helper()
	<-time.After(after)
	all, err := b.keep.Tick(b.Context())
	require.NoError(b, err)
	synctest.Wait()
	return all[0]
}

// A violated goal has a worker called that has the effect. The next reading judges what it says to have done, and that
// changes who is first.
func TestViolatedToRanking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claims := mender("claims")
		claims.Prior = .9
		raises := mender("raises")
		raises.Effects[0].Value = json.RawMessage("1")
		works := mender("works")
		works.Prior = .5
		b := open(t, store.NewMem(), ci, nil, claims, works, raises, act.Worker{Name: "deploy"},
			act.Worker{Name: "paints", Effects: []reason.Delta{{Path: "ci.color", Op: "set"}}})
		claims.Executor, claims.Gates = b.executor("claims", 3, nil), []act.Gate{act.NoGate}
		require.NoError(t, b.agent.SetWorkers(append([]act.Worker{claims}, workers(b.agent, "works", "raises", "deploy", "paints")...)))
		book, err := b.view.Book(t.Context())
		require.NoError(t, err)

		silent := 0
		for b.tick(0); b.called()[0] == "claims"; b.tick(3 * time.Minute) { // too seldom for it to rest
			silent++
		}
		require.Positive(t, silent)
		require.Less(t, silent, 6)
		s := book.Stats("claims", "mend")
		require.Equal(t, []int{silent, 0}, []int{s.Judged, s.Delivered}, "it said that it had delivered, a reading says no")
		require.Equal(t, goal.Standing{
			Goal: "ci", Status: goal.Met, Reason: "domains.ci.data.failing is 0",
		}, b.tick(30*time.Second))
		for range 5 { // and from now on
			b.breaks()
			b.tick(30 * time.Second)
		}
		require.Equal(t, []string{"works", "works", "works", "works", "works"}, b.called())
		require.Equal(t, 6, book.Stats("works", "mend").Delivered)
	})
}

// workers are those of an Agent with these names.
func workers(a *arc.Agent, names ...string) (out []act.Worker) {
	for _, name := range names {
		for _, w := range a.Workers() {
			if w.Name == name {
				out = append(out, w)
			}
		}
	}
	return out
}

// The guards of seed 001: one run at a time, 90 seconds after a success, a reading since, three failures in five minutes.
func TestGuards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, store.NewMem(), ci, nil, mender("ann"))
		require.Contains(t, b.tick(0).Reason, "domains.ci.data.failing is 3, not at most 0")
		require.Equal(t, []string{"ann"}, b.called())
		b.reads(2)
		require.Contains(t, b.tick(89*time.Second+999*time.Millisecond).Reason, "has 1ms left to show")
		require.Contains(t, b.tick(time.Millisecond).Run, "goal/ci/000002", "1 ms before it was left alone")

		b = open(t, store.NewMem(), ci, nil, mender("ann"))
		book, err := b.view.Book(t.Context())
		require.NoError(t, err)
		b.tick(0)
		b.reads(1) // its effects take a minute to show
		b.tick(time.Minute)
		b.reads(0)
		require.Equal(t, goal.Met, b.tick(30*time.Second).Status)
		require.Equal(t, 1, book.Stats("ann", "mend").Delivered)

		b = open(t, store.NewMem(), ci, nil, mender("ann"))
		b.world.Collect("ci", func(context.Context) (any, error) { return map[string]any{"failing": 3}, nil }, time.Hour, 0)
		b.tick(0)
		require.Contains(t, b.tick(2*time.Minute).Reason, "it was not read since")
		b.called()
		require.NotEmpty(t, b.tick(time.Hour).Run)
	})
	synctest.Test(t, func(t *testing.T) {
		fails := mender("fails")
		b := open(t, store.NewMem(), ci, nil, fails)
		fails.Executor, fails.Gates = b.executor("fails", 3, errors.New("no")), []act.Gate{act.NoGate}
		require.NoError(t, b.agent.SetWorkers([]act.Worker{fails}))
		for range 3 {
			b.tick(30 * time.Second)
		}
		require.Len(t, b.called(), 6, "each run tries it twice")
		require.Contains(t, b.tick(30*time.Second).Reason, "rests")
		b.tick(9*time.Minute + 30*time.Second - time.Millisecond) // ten minutes after the last failure
		require.Empty(t, b.called())
		b.tick(time.Millisecond)
		require.Len(t, b.called(), 2)
		for range 6 { // never three in five minutes
			b.tick(150*time.Second + time.Millisecond)
		}
		require.Len(t, b.called(), 12)
		time.Sleep(time.Hour)
		for range 3 { // in five minutes
			require.NotEmpty(t, b.tick(150*time.Second).Run)
		}
		require.Contains(t, b.tick(150*time.Second).Reason, "rests")
	})
	synctest.Test(t, func(t *testing.T) { // the cases of loop-cooldown: of another goal, another action, no cooldown
		const two = `goals:
- {id: ci, selector: domains.ci.data.failing, max: 0, cooldown: 0s}
- {id: m, selector: domains.m.data.x, max: 0}`
		fails, other := mender("fails"), mender("other")
		fails.Prior, fails.Effects = 1, append(fails.Effects, reason.Delta{Path: "m.x"})
		b := open(t, store.NewMem(), two, nil, fails, other)
		fails.Executor, fails.Gates = b.executor("fails", 3, errors.New("no")), []act.Gate{act.NoGate}
		require.NoError(t, b.agent.SetWorkers([]act.Worker{fails}))
		for range 3 {
			b.tick(30 * time.Second)
		}
		require.Contains(t, b.tick(30*time.Second).Reason, "rests")
		require.NoError(t, b.world.Set("m", map[string]any{"x": 1}, 0))
		b.tick(time.Second)
		require.NoError(t, b.world.Set("m", map[string]any{"x": 1}, 0))
		all, err := b.keep.Tick(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, all[1].Run, "for another goal it does not rest")
		synctest.Wait()
		require.NoError(t, b.agent.SetWorkers([]act.Worker{fails, {Name: "other", Skills: other.Skills, Effects: other.Effects,
			Executor: b.executor("other", 2, nil), Gates: []act.Gate{act.NoGate}}}))
		b.called()
		for range 2 {
			require.NotEmpty(t, b.tick(30*time.Second).Run, "another action does not rest, and nothing cools down")
		}
		require.Equal(t, []string{"other", "other"}, b.called())
	})
}

// One reading acts on nothing: a poll in which all is wrong, between two in which all is well, calls nobody.
func TestFalseReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, store.NewMem(), ci, nil, mender("ann"))
		for range 3 {
			b.reads(0)
			require.Equal(t, goal.Met, b.tick(time.Minute).Status)
			b.reads(300)
			const twice = "domains.ci.data.failing is 300, not at most 0; one reading shows it, and the next has to, too"
			require.Equal(t, goal.Standing{Goal: "ci", Status: goal.Violated, Reason: twice}, b.tick(30*time.Second))
			require.Equal(t, twice, b.tick(29*time.Second).Reason, "the same reading")
		}
		require.Empty(t, b.called())
		require.NotEmpty(t, b.tick(time.Second).Run)
		require.Equal(t, []string{"ann"}, b.called())
	})
}

// Readings that do not hold until the next one are readings in a row all the same; those of what a goal wanted before
// are not.
func TestRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, store.NewMem(), ci, nil, mender("ann"))
		require.Equal(t, []string(nil), b.called())
		b.reads(0)
		b.tick(time.Minute)
		require.NoError(t, b.world.Collect("ci", func(context.Context) (any, error) {
			return map[string]any{"failing": 3}, nil
		}, 10*time.Minute, 5*time.Minute))
		require.Contains(t, b.tick(time.Second).Reason, "one reading shows it")
		require.Equal(t, goal.Unknown, b.tick(6*time.Minute).Status)
		require.NotEmpty(t, b.tick(4*time.Minute).Run)
		require.Equal(t, []string{"ann"}, b.called())
	})
	synctest.Test(t, func(t *testing.T) {
		b := open(t, store.NewMem(), ci, nil, act.Worker{Name: "spare"})
		require.Contains(t, b.tick(0).Reason, "no worker has an effect")
		require.NoError(t, b.goals.Load([]byte(strings.Replace(ci, "max: 0", "max: 50", 1))))
		b.reads(99)
		require.Contains(t, b.tick(time.Minute).Reason, "one reading shows it")
	})
}

// A run that waits for a person is in flight: it goes on when they have ruled, is canceled when the goal is met, and a
// no holds until then.
func TestPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gated := mender("ann")
		gated.Mode = act.Gated
		b := open(t, store.NewMem(), ci, nil, gated)
		asked := func() string {
			for r, err := range b.view.Unfinished(t.Context()) {
				require.NoError(t, err)
				return r.Approvals[0].ID
			}
			return ""
		}
		b.tick(0)
		require.NotEmpty(t, b.tick(time.Hour).Run)
		require.NoError(t, b.view.Decide(t.Context(), act.Ruling{Approval: asked(), By: "sue", Allow: true}))
		synctest.Wait()
		require.Equal(t, []string{"ann"}, b.called())
		require.Equal(t, goal.Met, b.tick(30*time.Second).Status)

		first := b.breaks()
		require.NotEmpty(t, asked())
		b.reads(0)
		require.Equal(t, goal.Met, b.tick(time.Minute).Status)
		r, err := b.view.Report(t.Context(), first)
		require.NoError(t, err)
		require.Equal(t, []any{arc.Canceled, ""}, []any{r.Status, asked()})

		b.breaks()
		require.NoError(t, b.view.Decide(t.Context(), act.Ruling{Approval: asked(), By: "sue", Note: "not now"}))
		synctest.Wait()
		held := b.tick(time.Minute)
		require.Contains(t, held.Reason, "was refused")
		require.Equal(t, held, b.tick(3*time.Hour))
		require.Empty(t, asked())
		b.reads(0)
		require.Equal(t, goal.Met, b.tick(time.Minute).Status)
		b.reads(3) // one reading is none
		b.tick(time.Minute)
		require.Equal(t, held.Run, b.tick(time.Minute).Run)
		b.reads(0)
		b.tick(time.Minute)
		require.Equal(t, goal.Standing{Goal: "ci", Status: goal.Met, Reason: "domains.ci.data.failing is 0"}, b.tick(time.Minute))
		require.NotEqual(t, held.Run, b.breaks())
		require.NotEmpty(t, asked(), "it was met, and is violated anew")
	})
}

// What a person has refused, canceled, or left unanswered though it may have been done, is done by nobody: until the
// goal was met, was another one, or a person has the run go on. Silence counts for a day.
func TestHeld(t *testing.T) {
	no := func(b *bench, a act.Approval) {
		require.NoError(b, b.view.Decide(b.Context(), act.Ruling{Approval: a.ID, By: "sue", Note: "not before the audit"}))
	}
	silent := func(b *bench, a act.Approval) { <-time.After(time.Hour) }
	lost := &reason.Error{Class: reason.Unavailable, Err: errors.New("reset after the request was sent")}
	for name, test := range map[string]struct {
		worker act.Worker
		fails  error
		rules  func(*bench, act.Approval)
		calls  int // of the worker
		silent bool
		again  bool // a day later
	}{
		"no":                                 {worker: act.Worker{Mode: act.Gated}, rules: no},
		"veto":                               {worker: act.Worker{Mode: act.Veto}, rules: no},
		"no, it was done":                    {worker: act.Worker{Irreversible: true}, fails: lost, rules: no, calls: 1},
		"silence on what may have been done": {worker: act.Worker{Irreversible: true}, fails: lost, rules: silent, silent: true, calls: 1},
		"silence":                            {worker: act.Worker{Mode: act.Gated}, rules: silent, silent: true, again: true},
		"one of two": {worker: act.Worker{Mode: act.Compound}, silent: true, again: true, rules: func(b *bench, a act.Approval) {
			require.NoError(b, b.view.Decide(b.Context(), act.Ruling{Approval: a.ID, By: "sue", Allow: true}))
			silent(b, a)
		}},
		"cancel": {worker: act.Worker{Mode: act.Gated}, rules: func(b *bench, a act.Approval) {
			require.NoError(b, b.view.Cancel(b.Context(), a.Run, "we do it by hand"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, other := mender("first"), mender("other")
				first.Prior, first.Mode, first.Irreversible = .9, test.worker.Mode, test.worker.Irreversible
				b := open(t, store.NewMem(), ci, &options{approvals: time.Hour}, first, other)
				first.Executor, first.Gates = b.executor("first", 3, test.fails), []act.Gate{act.NoGate}
				require.NoError(t, b.agent.SetWorkers(append([]act.Worker{first}, workers(b.agent, "other")...)))
				b.tick(0)
				run := b.tick(time.Minute).Run // an outage is waited for before a person is asked
				for r, err := range b.view.Unfinished(t.Context()) {
					require.NoError(t, err)
					test.rules(b, r.Approvals[0])
				}
				synctest.Wait()
				require.Equal(t, run, b.tick(3*time.Hour).Run)
				if test.silent {
					require.Equal(t, test.again, b.tick(21*time.Hour).Run != run)
				}
				require.Len(t, b.called(), test.calls)
				require.NoError(t, b.goals.Load([]byte(strings.Replace(ci, "max: 0", "max: 1", 1))))
				_, err := b.keep.Tick(t.Context())
				require.ErrorContains(t, err, `goal: ci: its last run was for "domains.ci.data.failing is at most 0"`)
				require.NotEqual(t, run, b.tick(time.Minute).Run, "another goal")
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // a person has the run go on: no other one is begun beside it
		gated := mender("ann")
		gated.Mode = act.Gated
		b := open(t, store.NewMem(), ci, nil, gated)
		run := b.tick(0).Run
		rule := func(allow bool) {
			for r, err := range b.view.Unfinished(t.Context()) {
				require.NoError(t, err)
				ruling := act.Ruling{Approval: r.Approvals[0].ID, By: "sue", Allow: allow}
				require.NoError(t, b.view.Decide(t.Context(), ruling))
			}
			synctest.Wait()
		}
		rule(false)
		b.tick(time.Hour)
		_, err := b.view.Retry(t.Context(), run, "the audit is over")
		require.NoError(t, err)
		require.Equal(t, run, b.tick(time.Hour).Run)
		rule(true)
		require.Equal(t, []string{"ann"}, b.called())
		require.Equal(t, goal.Standing{Goal: "ci", Status: goal.Met, Reason: "domains.ci.data.failing is 0"}, b.tick(time.Minute))
	})
}

// A run that a person has judged is judged by no reading.
func TestJudgedByAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, store.NewMem(), ci, nil, mender("ann"))
		run := b.tick(0).Run
		require.NoError(t, b.view.Judge(t.Context(), run, learn.Failed, "it has deleted the tests"))
		require.Equal(t, goal.Met, b.tick(time.Minute).Status)
		r, err := b.view.Report(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, learn.Failed, r.Verdict)
	})
}

// A goal whose run finds the day's budget spent waits for the next day.
func TestSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dear := mender("dear")
		b := open(t, store.NewMem(), ci, &options{daily: arc.Budget{USD: 1}}, dear)
		dear.Gates = []act.Gate{act.NoGate}
		dear.Executor = act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.calls = append(b.calls, "dear")
			return &act.Result{Text: "tried", Usage: &reason.Usage{Calls: 1, CostUSD: new(2.0)}}, nil
		})
		require.NoError(t, b.agent.SetWorkers([]act.Worker{dear}))
		b.tick(0)
		spent := b.tick(2 * time.Minute).Run
		require.Contains(t, b.tick(23*time.Hour+50*time.Minute).Reason, "the budget is used up until the next day")
		require.Len(t, b.called(), 1)
		require.NotEqual(t, spent, b.tick(9*time.Minute).Run, "it is another day")
		require.Len(t, b.called(), 1)
	})
}

// Each rest is longer than the one before, until the worker has helped.
func TestRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := mender("silent")
		b := open(t, store.NewMem(), ci, nil, silent)
		silent.Executor, silent.Gates = b.executor("silent", 3, nil), []act.Gate{act.NoGate}
		require.NoError(t, b.agent.SetWorkers([]act.Worker{silent}))
		tries := func() int {
			for range 6 * 60 {
				b.tick(time.Minute)
			}
			return len(b.called())
		}
		require.Equal(t, []int{18, 3}, []int{tries(), tries()}, "in six hours, and in six more")
		helps := silent
		helps.Executor = b.executor("silent", 0, nil)
		require.NoError(t, b.agent.SetWorkers([]act.Worker{helps}))
		for b.tick(time.Minute).Status == goal.Violated {
		}
		b.called()
		b.reads(3)
		require.NoError(t, b.agent.SetWorkers([]act.Worker{silent}))
		require.Equal(t, 18, tries(), "it has helped, and rests for ten minutes again at first")
	})
}

// A clock that was years ahead for a while has nobody wait for these years, and one that was set back by minutes
// has nobody called again at once.
func TestClockThatWasAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, store.NewMem(), ci, nil, mender("bo"))
		b.ahead.Store(int64(14 * 365 * 24 * time.Hour))
		require.NotEmpty(t, b.tick(30*time.Second).Run)
		require.Equal(t, goal.Met, b.tick(2*time.Minute).Status)
		b.ahead.Store(0)
		b.called()
		b.breaks()
		require.Equal(t, []string{"bo"}, b.called())
		b.reads(3)
		b.ahead.Store(int64(-time.Minute))
		b.tick(time.Second)
		b.tick(30 * time.Second)
		require.Empty(t, b.called())
	})
}

// What waits for a person for a goal that wants something else now, or is none any more, is not done after a yes,
// and no reading of the new goal judges what was done for the former.
func TestChangedGoal(t *testing.T) {
	for name, document := range map[string]string{
		"disabled": strings.Replace(ci, "max: 0", "max: 0, enabled: false", 1),
		"deleted":  "goals: []",
		"renamed":  strings.Replace(ci, "id: ci", "id: other", 1),
		"turned":   strings.Replace(ci, "max: 0", "min: 10", 1),
		"another":  strings.Replace(ci, "ci.data", "build.data", 1),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gated := mender("ann")
				gated.Mode = act.Gated
				b := open(t, store.NewMem(), ci, nil, gated)
				first := b.tick(0).Run
				require.NoError(t, b.goals.Load([]byte(document)))
				<-time.After(31 * time.Second)
				_, err := b.keep.Tick(t.Context())
				require.ErrorContains(t, err, `goal: ci: its last run was for "domains.ci.data.failing is at most 0"`)
				synctest.Wait()
				r, err := b.view.Report(t.Context(), first)
				require.NoError(t, err)
				require.Equal(t, arc.Canceled, r.Status)
				require.Empty(t, b.called())
				require.NoError(t, b.goals.Load([]byte(ci)))
				b.tick(time.Hour)
				require.NotContains(t, []string{"", first}, b.tick(time.Minute).Run, "it begins anew")
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := open(t, store.NewMem(), ci, nil, mender("ann"))
		b.tick(0)
		require.NoError(t, b.goals.Load([]byte(strings.Replace(ci, "max: 0", "min: 10", 1))))
		<-time.After(time.Minute)
		all, err := b.keep.Tick(t.Context())
		require.ErrorContains(t, err, "two Keepers have two documents")
		require.Equal(t, goal.Violated, all[0].Status)
		b.tick(time.Hour)
		book, err := b.view.Book(t.Context())
		require.NoError(t, err)
		s := book.Stats("ann", "mend")
		require.Equal(t, []int{1, 0}, []int{s.Attempts, s.Judged}, "it did what was wanted then")
	})
}

// What was in flight goes on after a restart: as the same run, whether it had begun or not.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		b := open(t, st, ci, nil, mender("ann"))
		require.NoError(t, b.agent.Shutdown(t.Context()))
		run := b.tick(0).Run // is claimed, and cannot begin
		require.Empty(t, b.called())
		require.NoError(t, b.agent.Close())

		hangs := mender("ann")
		entered := make(chan bool, 1)
		hangs.Executor = act.ExecutorFunc(func(ctx context.Context, _ *act.Call) (*act.Result, error) {
			entered <- true
			<-ctx.Done()
			return nil, ctx.Err()
		})
		b = open(t, st, ci, nil, hangs)
		require.Equal(t, run, b.tick(10*time.Second).Run)
		<-entered
		require.NoError(t, b.agent.Close())

		b = open(t, st, ci, nil, mender("ann")) // goes on by itself
		require.Equal(t, goal.Met, b.tick(30*time.Second).Status)
		require.Equal(t, []string{"ann"}, b.called())
		n := 0
		for r, err := range b.view.Runs(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, []any{run, arc.Delivered}, []any{r.ID, r.Status})
			n++
		}
		require.Equal(t, 1, n)
	})
}

// Of two processes one dispatches a goal, also where the other has dispatched it in the middle of a tick.
func TestProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		a := open(t, st, ci, nil, mender("ann"))
		meanwhile := func() {}
		b := open(t, st, ci, &options{policy: policy(func() { meanwhile() })}, mender("ann"))
		for range 20 {
			a.reads(3)
			b.reads(3)
			var both sync.WaitGroup
			both.Go(func() { _, err := a.keep.Tick(t.Context()); require.NoError(t, err) })
			both.Go(func() { _, err := b.keep.Tick(t.Context()); require.NoError(t, err) })
			both.Wait()
			synctest.Wait()
			require.Len(t, append(a.called(), b.called()...), 1)
			time.Sleep(10 * time.Minute)
		}
		a.reads(3)
		b.reads(3)
		meanwhile = func() { a.tick(0) }
		require.Empty(t, b.tick(0).Run)
		require.Equal(t, []string{"ann"}, a.called())
		require.Empty(t, b.called())
	})
}

// policy is one that does something before it ranks.
type policy func()

func (p policy) Score(_ context.Context, _ rank.Task, cs []rank.Candidate) (out []rank.Scored, err error) {
	p()
	for _, c := range cs {
		out = append(out, rank.Scored{Candidate: c})
	}
	return out, nil
}

// stranger ranks somebody who was not asked for.
type stranger struct{}

func (stranger) Score(context.Context, rank.Task, []rank.Candidate) ([]rank.Scored, error) {
	return []rank.Scored{{Candidate: rank.Candidate{Name: "nobody"}}}, nil
}

func TestPolicyOfStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, store.NewMem(), ci, &options{policy: stranger{}}, mender("ann"))
		all, err := b.keep.Tick(t.Context())
		require.ErrorContains(t, err, "left out all")
		require.Empty(t, all[0].Run)
	})
}

// Keep ticks by itself, and ends with its context once its runs have stopped. Goals about one value wait for each other,
// the most severe one first.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const two = `goals:
- {id: low, selector: domains.ci.data.failing, max: 0, severity: low}
- {id: high, selector: domains.ci.data, operator: eq, expected: {failing: 0}, severity: high}`
		var told [][]goal.Standing
		b := open(t, store.NewMem(), two, nil, mender("ann"))
		tell := func(all []goal.Standing, err error) {
			require.NoError(t, err)
			told = append(told, all)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan bool)
		go func() { b.keep.Keep(ctx, 0, tell); close(ended) }()
		time.Sleep(57 * time.Second)
		synctest.Wait()
		require.Len(t, told, 3, "at first, when the run has ended, and when the goals are met")
		require.Equal(t, "goal/high/000001", told[0][0].Run)
		require.Contains(t, told[0][1].Reason, "the goal high is about the same value")
		require.Equal(t, []any{goal.Met, goal.Met}, []any{told[2][0].Status, told[2][1].Status})
		require.Len(t, b.called(), 1)
		stop()
		<-ended
	})
}

// Health says which goals are not met to whoever asks: here for the scope above, in another process.
func TestSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const two = `goals:
- {id: ci, selector: domains.ci.data.failing, max: 0}
- {id: disk, selector: domains.disk.data.used, max: 80}`
		st := store.NewMem()
		b := open(t, st, two, nil, act.Worker{Name: "spare"})
		require.NoError(t, b.world.Collect("disk", func(context.Context) (any, error) {
			return nil, errors.New("vault: no access with password=hunter2hunter2")
		}, 0, 0))
		other, err := arc.New(t.Context(), st, arc.Host{}, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, other.Close()) }()
		says := func(want string) {
			<-time.After(time.Hour)
			h, err := other.In("acme").Health(t.Context())
			require.NoError(t, err)
			_, goals, found := strings.Cut(h.Text(), "\ngoals of acme that are not met, as of ")
			require.True(t, found)
			n := len(time.DateTime)
			as, err := time.Parse(time.DateTime, goals[:n])
			require.NoError(t, err)
			require.LessOrEqual(t, time.Since(as), time.Minute)
			require.Equal(t, ":"+want, goals[n:])
		}
		ctx, stop := context.WithCancel(t.Context())
		var kept sync.WaitGroup
		kept.Go(func() { b.keep.Keep(ctx, 0, nil) })
		says("\n  ci: violated, no run\n  disk: unknown, no run") // a reading or an error of a host may have its secrets
		b.reads(0)
		require.NoError(t, b.world.Collect("disk", func(context.Context) (any, error) {
			return map[string]any{"used": 20}, nil
		}, 0, 0))
		says(" none")
		b.reads(3)
		damaged := store.Op{Key: memory.Scope("acme").Key("goal", "other"), Value: []byte("\xff\xff")}
		_, err = store.Sub(st, "t/acme/").Commit(t.Context(), damaged)
		require.NoError(t, err)
		says("\n  ci: violated, no run") // nobody knows what is under way, but how the goal stands
		stop()
		kept.Wait()
	})
}

// A run that was given up is in Health as one that failed, for seven days, and is not asked to be closed for good.
func TestGivenUpLeavesHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		breaks := mender("breaks")
		breaks.Executor = act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
			return nil, errors.New("no such branch")
		})
		st := &unwritten{Store: store.NewMem(), only: "//run/"}
		b := open(t, st, ci, nil, breaks)
		id := b.tick(0).Run
		r, err := b.view.Report(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, arc.Blocked, r.Status)
		b.reads(0)
		st.now.Store(true) // it is judged, if later
		<-time.After(30 * time.Second)
		_, err = b.keep.Tick(t.Context())
		require.ErrorContains(t, err, "the disk is full")
		st.now.Store(false)
		b.tick(30 * time.Second)
		r, err = b.view.Report(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, learn.Failed, r.Verdict)
		h, err := b.view.Health(t.Context())
		require.NoError(t, err)
		require.Equal(t, "failing", h.State)
		require.Contains(t, h.Text(), id)
		<-time.After(8 * 24 * time.Hour)
		h, err = b.view.Health(t.Context())
		require.NoError(t, err)
		require.NotContains(t, h.Text(), id)
	})
}

// unwritten is a store that is not written to while it is told so.
type unwritten struct {
	store.Store
	now  atomic.Bool
	only string // "": any key
}

func (u *unwritten) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	told := func(op store.Op) bool { return strings.Contains(op.Key, u.only) }
	if u.now.Load() && slices.ContainsFunc(ops, told) {
		return 0, errors.New("the disk is full")
	}
	return u.Store.Commit(ctx, ops...)
}

// Where Health cannot be written, that is told, and tried at each tick.
func TestUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &unwritten{Store: store.NewMem()}
		b := open(t, st, ci, nil, act.Worker{Name: "spare"})
		ctx, stop := context.WithCancel(t.Context())
		told := make(chan string, 99)
		var kept sync.WaitGroup
		kept.Go(func() { b.keep.Keep(ctx, 0, func(_ []goal.Standing, err error) { told <- fmt.Sprint(err) }) })
		<-time.After(2 * time.Second)
		require.Equal(t, "<nil>", <-told)
		st.now.Store(true)
		<-time.After(time.Hour)
		require.Contains(t, <-told, "the disk is full")
		require.Empty(t, told, "once")
		st.now.Store(false)
		<-time.After(5 * time.Second)
		require.Equal(t, "<nil>", <-told)
		stop()
		kept.Wait()
	})
}

// What is told once is told again, with the panic, where who is told of it panics.
func TestToldPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, store.NewMem(), ci, nil, act.Worker{Name: "spare"})
		ctx, stop := context.WithCancel(t.Context())
		var told []string
		var kept sync.WaitGroup
		kept.Go(func() {
			b.keep.Keep(ctx, 0, func(_ []goal.Standing, err error) {
				told = append(told, fmt.Sprint(err))
				if len(told) == 1 {
					panic("the pager is away")
				}
			})
		})
		<-time.After(time.Minute)
		stop()
		kept.Wait()
		require.Equal(t, []string{"<nil>", "panic: the pager is away", "<nil>"}, told)
	})
}

// The domains that a Keeper reads itself have the selectors of seed 001.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const document = `goals:
- {id: fleet.no_agent_stuck, selector: domains.agent_fleet_health.data.maxFailureRate1h, max: 0.5}
- {id: fleet.cost_under_budget, selector: domains.agent_fleet_health.data.totalCostUsd1d, max: 50}
- {id: fleet.no_skill_orphaned, selector: domains.agent_fleet_health.data.orphanedSkillCount, max: 0}
- {id: dear, selector: domains.agent_fleet_health.data.byName.gpt-4.1.costPerSuccessfulOutcome, max: 1}
- {id: first, selector: domains.agent_fleet_health.data.agents.0.agentName, operator: eq, expected: bob}
- {id: write, selector: domains.agent_fleet_health.data.skills.write.successRate, min: 0.5}
- {id: memory.healthy, selector: domains.memory_health.data.healthy}
- {id: memory.search_working, selector: domains.memory_health.data.searchWorking}
- {id: memory.clean, selector: domains.memory_health.data.quarantined, max: 0}
- {id: cold, selector: domains.agent_fleet_health.data.byName.cold.successRate, min: 0.5}
- {id: in vain, selector: domains.agent_fleet_health.data.byName.bob.costPerSuccessfulOutcome, max: 1}`
		b := open(t, store.NewMem(), document, nil, act.Worker{Name: "spare"})
		book, err := b.view.Book(t.Context())
		require.NoError(t, err)
		for i := range 4 {
			s := rank.Sample{Candidate: "gpt-4.1", Task: rank.Task{Skill: "write"}, Outcome: rank.Failed}
			if s.CostUSD = new(20.0); i == 0 {
				s.Outcome = rank.Delivered
			}
			require.NoError(t, book.Observe(t.Context(), s))
		}
		bob := rank.Sample{Candidate: "bob", Task: rank.Task{Skill: "sweep"}, Outcome: rank.Away}
		bob.CostUSD = new(5.0)
		require.NoError(t, book.Observe(t.Context(), bob))
		b.tick(time.Minute)
		var got []string
		for _, s := range b.goals.Evaluate(b.world) {
			got = append(got, fmt.Sprint(s.Status, ": ", s.Reason))
		}
		const fleet = "domains.agent_fleet_health.data."
		require.Equal(t, []string{
			"violated: " + fleet + "maxFailureRate1h is 1, not at most 0.5",
			"violated: " + fleet + "totalCostUsd1d is 85, not at most 50",
			"violated: " + fleet + "orphanedSkillCount is 1, not at most 0",
			"violated: " + fleet + "byName.gpt-4.1.costPerSuccessfulOutcome is 80, not at most 1",
			"met: " + fleet + "agents.0.agentName is bob",
			"violated: " + fleet + "skills.write.successRate is 0.25, not at least 0.5",
			"met: domains.memory_health.data.healthy is true", "met: domains.memory_health.data.searchWorking is true",
			"met: domains.memory_health.data.quarantined is 0",
			"unknown: unknown: there is no byName.cold.successRate in agent_fleet_health",
			"violated: " + fleet + "byName.bob.costPerSuccessfulOutcome is 5, not at most 1",
		}, got)
	})
}

// What nobody can mend is proposed, and a goal that a person has approved is kept.
func TestProposals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		book, err := proposal.Open(t.Context(), store.NewGroup(store.Sub(st, "t/acme/")), "acme", nil)
		require.NoError(t, err)
		b := open(t, st, ci, &options{proposals: book}, act.Worker{Name: "spare"})
		approve := func(p proposal.Proposal) {
			p, err := book.Propose(t.Context(), p)
			require.NoError(t, err)
			_, err = book.Decide(t.Context(), p.ID, proposal.Approved, "sue", "")
			require.NoError(t, err)
		}
		require.Contains(t, b.tick(0).Reason, "no worker has an effect")
		b.tick(30 * time.Second)
		news, err := book.Analyse(t.Context(), b.view, nil)
		require.NoError(t, err)
		require.Len(t, news, 1)
		require.Equal(t, []any{"action", "goal ci has no action"}, []any{news[0].Kind, news[0].Subject})
		require.Contains(t, news[0].Reason, "domains.ci.data.failing is 3, not at most 0")
		require.Contains(t, news[0].Change, "- id: goal_ci_has_no_action")

		approve(proposal.Proposal{Kind: "goal", Subject: "one", Change: "- id: calm\n  severity: high\n  selector: domains.ci.data.failing\n  max: 5\n"})
		require.Equal(t, "calm", b.tick(0).Goal)
		approve(proposal.Proposal{Kind: "goal", Subject: "two", Change: "- id: no selector"})
		all, err := b.keep.Tick(t.Context())
		require.ErrorContains(t, err, `the approved draft "two": line 2`)
		require.Len(t, all, 2)

		group := store.NewGroup(store.Sub(st, "t/acme/")) // of another process
		heard, err := proposal.Open(t.Context(), group, "acme", nil)
		require.NoError(t, err)
		keeper, err := goal.Open(group, b.agent, b.world, &b.goals, nil, heard)
		require.NoError(t, err)
		approve(proposal.Proposal{Kind: "goal", Subject: "three", Change: "- id: heard\n  selector: domains.ci.data"})
		all, _ = keeper.Tick(t.Context())
		require.Equal(t, "heard", all[2].Goal)

		b = open(t, st, ci, &options{proposals: book})
		figures, err := b.view.Book(t.Context())
		require.NoError(t, err)
		for range 10 {
			require.NoError(t, figures.Observe(t.Context(), rank.Sample{Candidate: "spare", Task: rank.Task{Skill: "v1.write"}, Outcome: rank.Failed}))
		}
		news, err = book.Analyse(t.Context(), b.view, nil)
		require.NoError(t, err)
		require.Equal(t, "success of v1.write", news[0].Subject)
		_, err = book.Decide(t.Context(), news[0].ID, proposal.Approved, "sue", "")
		require.NoError(t, err)
		<-time.After(time.Minute)
		all, _ = b.keep.Tick(t.Context())
		i := slices.IndexFunc(all, func(s goal.Standing) bool { return strings.HasPrefix(s.Goal, "success_of_v1_write_") })
		require.GreaterOrEqual(t, i, 0)
		require.Contains(t, all[i].Reason, "skills.v1.write.successRate is 0, not at least 0.5")
	})
}
