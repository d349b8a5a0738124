package arc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

var goalHistories = flag.Int("goal.histories", 150, "how many histories of goals to play through an agent")

// broken is a goal that nothing is broken in a domain.
func broken(domain string) goal.Goal {
	return goal.Goal{ID: domain + " works", Condition: goal.Condition{
		Selector: "domains." + domain + ".data.broken", Operator: "falsy",
	}}
}

// repairs is a worker that can mend a domain.
func repairs(name, domain string, e act.Executor) act.Worker {
	return act.Worker{
		Card: rank.Candidate{Name: name, Prior: 0.5}, Executor: e,
		Effects: []reason.Effect{{Domain: domain, Path: "data.broken"}},
	}
}

func keep(t *testing.T, a *arc.Agent, w *goal.World, opts *goal.Options, goals ...goal.Goal) *goal.Controller {
	t.Helper()
	gs, err := goal.NewGoals(goals...)
	require.NoError(t, err)
	c, err := a.Keep(t.Context(), w, gs, opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// A violated goal leads to one call of the worker that can mend it, and to one
// outcome, from which the ranking learns.
func TestKeepCallsWhoCanMendIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called []act.Work
		do := act.ExecutorFunc(func(_ context.Context, w act.Work) (act.Result, error) {
			called = append(called, w)
			r := done(`"mended"`)
			r.Deltas = []act.Delta{{Domain: "cache", Path: "data.broken", Value: []byte(`false`)}}
			return r, nil
		})
		never := act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { panic("not asked") })
		a := agent(t, arc.Host{
			Workers: []act.Worker{repairs("plumber", "pipes", never), repairs("fixer", "cache", do)}, Gates: []act.Gate{act.NoGate},
		}, &arc.Options{Now: time.Now})
		w := new(goal.World)
		c := keep(t, a, w, nil, broken("cache"), broken("pipes"))
		require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": true}, At: time.Now()}))
		rep, err := c.Tick(t.Context())
		require.NoError(t, err)
		require.Equal(t, []goal.Doing{goal.Began, goal.Nothing}, []goal.Doing{rep.Goals[0].Doing, rep.Goals[1].Doing})
		require.Equal(t, goal.Unknown, rep.Goals[1].Status, "what was not read is not acted upon")
		require.Equal(t, 20*time.Minute, rep.Goals[0].Until.Sub(rep.At), "an attempt and a gate have time")
		require.NoError(t, c.Wait(t.Context()))
		require.Len(t, called, 1)
		require.JSONEq(t, `{"goal":"cache works","selector":"domains.cache.data.broken","actual":true,
			"reason":"domains.cache.data.broken is true, not falsy"}`, string(called[0].Inputs))
		rep, err = c.Tick(t.Context())
		require.NoError(t, err)
		require.Equal(t, goal.Met, rep.Goals[0].Status, "the delta is in the world")
		require.Len(t, rep.Ended, 1)
		out := rep.Ended[0]
		require.Equal(t, []any{goal.Unseen, "fixer", 1, "goals/cache works/1-20000101000000"}, []any{out.End, out.Worker, out.Done, out.ID})
		run, err := a.In("").Resume(t.Context(), out.ID)
		require.NoError(t, err, "a dispatch is a run")
		require.Equal(t, arc.Delivered, run.Status)
		require.Equal(t, "fixer", run.LastWorker)
		require.Equal(t, act.Finished, run.LastEnd)
		standing := func() rank.Scored {
			ranking, err := a.In("").Rank(t.Context(), "goal cache works", reason.Task{Effect: &reason.Effect{Domain: "cache", Path: "data.broken"}})
			require.NoError(t, err)
			require.Equal(t, "fixer", ranking[0].Candidate.Name)
			return ranking[0]
		}
		before := standing()
		idle(time.Minute)
		require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": false}, At: time.Now()}))
		rep, err = c.Tick(t.Context())
		require.NoError(t, err)
		require.Equal(t, goal.Succeeded, rep.Ended[0].End)
		require.Greater(t, standing().Score, before.Score, "once a reading shows it")
	})
}

// A worker that does nothing and says success is not learned as good: another one
// is called for the goal.
func TestKeepLearnsWhoDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		works, calls := false, map[string]int{}
		worker := func(name string, do bool) act.Worker {
			return repairs(name, "cache", act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				calls[name]++
				works = works || do
				return done(`"mended"`), nil
			}))
		}
		a := agent(t, arc.Host{Workers: []act.Worker{worker("a talker", false), worker("fixer", true)}, Gates: []act.Gate{act.NoGate}},
			&arc.Options{Now: time.Now, Seed: 1})
		w := new(goal.World)
		c := keep(t, a, w, nil, broken("cache"))
		for range 100 {
			works = false
			for range 4 {
				require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": !works}, At: time.Now()}))
				_, err := c.Tick(t.Context())
				require.NoError(t, err)
				require.NoError(t, c.Wait(t.Context()))
				idle(5 * time.Minute)
			}
		}
		require.Positive(t, calls["a talker"])
		require.Greater(t, calls["fixer"], 3*calls["a talker"])
	})
}

// A worker that needs an approval is not called without one, and an approval
// that comes too late is none.
func TestKeepAsksForApprovals(t *testing.T) {
	for name, c := range map[string]struct {
		approve act.ApproverFunc
		end     goal.End
		why     string
	}{
		"given":   {func(context.Context, *act.Call) (bool, error) { return true, nil }, goal.Unseen, ""},
		"refused": {func(context.Context, *act.Call) (bool, error) { return false, nil }, goal.Refused, "refused"},
		"expired": {func(ctx context.Context, _ *act.Call) (bool, error) { <-ctx.Done(); return true, nil }, goal.Refused, "approval"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				h := arc.Host{Approver: c.approve, Gates: []act.Gate{act.NoGate}, Workers: []act.Worker{
					repairs("deployer", "cache", act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { calls++; return done(`1`), nil })),
				}}
				h.Workers[0].Mode, h.Workers[0].Blast = act.Gated, act.Public
				w := new(goal.World)
				keeper := keep(t, agent(t, h, &arc.Options{Now: time.Now, ApprovalTTL: 30 * time.Minute}), w, &goal.Options{Lease: time.Hour}, broken("cache"))
				require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": true}, At: time.Now()}))
				_, err := keeper.Tick(t.Context())
				require.NoError(t, err)
				require.NoError(t, keeper.Wait(t.Context()))
				for o, err := range keeper.Outcomes(t.Context()) {
					require.NoError(t, err)
					require.Equal(t, c.end, o.End)
					require.Contains(t, o.Why, c.why)
				}
				require.Equal(t, c.end == goal.Unseen, calls == 1)
			})
		})
	}
}

// What was done is not done again while its gate is away: the dispatch is in flight until
// its run ends, which the end of its lease has it do. One that the Agent goes on with as
// its Controller opens is waited for too.
func TestKeepWaitsForWhatIsAway(t *testing.T) {
	for i := range 8 { // names, and so ids of runs, by which the Agent looks for the gate at other times
		away, controller := []time.Duration{20 * time.Minute, 2 * time.Hour}[i%2], fmt.Sprint("goals", i)
		t.Run(fmt.Sprint(away, controller), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				back, calls := time.Now().Add(away), 0
				h := arc.Host{Workers: []act.Worker{
					repairs("fixer", "cache", act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { calls++; return done(`1`), nil })),
				}, Gates: []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
					idle(2 * time.Minute)
					if time.Now().Before(back) {
						return act.Verdict{}, act.Transient(errors.New("away"))
					}
					return act.Verdict{Pass: true}, nil
				})}}
				st, w := store.NewMem(), new(goal.World)
				require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": true}, At: time.Now()}))
				a := agentOn(t, st, h, &arc.Options{Now: time.Now, Patience: -1})
				opts := &goal.Options{Lease: time.Hour, Grace: -1, Name: controller}
				c := keep(t, a, w, opts, broken("cache"))
				for range 5 {
					_, err := c.Tick(t.Context())
					require.NoError(t, err)
					idle(time.Minute)
					require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": true}, At: time.Now()}))
				}
				c.Close()
				require.NoError(t, a.Close())

				a = agentOn(t, st, h, &arc.Options{Now: time.Now, Patience: -1})
				idle(15 * time.Second) // a try of the Agent is under way
				c = keep(t, a, w, opts, broken("cache"))
				_, err := c.Tick(t.Context())
				require.NoError(t, err)
				require.NoError(t, c.Wait(t.Context()))
				idle(2 * time.Hour)
				require.Equal(t, 1, calls)
				run, err := a.In("").Report(t.Context(), controller+"/cache works/1-20000101000000")
				require.NoError(t, err)
				as, err := a.In("").Assess(t.Context(), run.Session)
				require.NoError(t, err)
				require.Zero(t, as.Failures, "its outcome is unknown")
				for o, err := range c.Outcomes(t.Context()) {
					require.NoError(t, err)
					if away < time.Hour {
						require.Equal(t, []any{arc.Delivered, goal.Unseen}, []any{run.Status, o.End})
					} else {
						require.Equal(t, []any{arc.Blocked, arc.CauseInterrupted, goal.Interrupted}, []any{run.Status, run.Cause, o.End})
					}
				}
			})
		})
	}
}

// A host that reads the fleet's domain itself keeps its own collector.
func TestKeepLeavesTheHostsFleetAlone(t *testing.T) {
	t.Parallel()
	a := agent(t, arc.Host{Gates: []act.Gate{act.NoGate}, Workers: []act.Worker{repairs("fixer", "cache", act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { return done(`1`), nil }))}}, nil)
	w := new(goal.World)
	calls := 0
	require.NoError(t, w.Collect(goal.Collector{Domain: "agent_fleet_health", Read: func(context.Context) (any, error) { calls++; return 1, nil }}))
	keep(t, a, w, nil)
	require.NoError(t, w.Poll(t.Context(), time.Now()))
	require.Equal(t, 1, calls)
}

// A run that an agent of the version before was cut off in is resumed, although what marked it as in flight was a
// record of its own. The store is as that version left it when its process died during the only attempt.
func TestKeepResumesWhatTheVersionBeforeHasBegun(t *testing.T) {
	raw, err := os.ReadFile("testdata/goals-before.json")
	require.NoError(t, err)
	var before map[string][]byte
	require.NoError(t, json.Unmarshal(raw, &before))
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		for k, v := range before {
			_, err := st.Commit(t.Context(), store.Op{Key: k, Value: v})
			require.NoError(t, err)
		}
		calls := 0
		h := arc.Host{Gates: []act.Gate{act.NoGate}, Workers: []act.Worker{
			repairs("fixer", "cache", act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { calls++; return done(`1`), nil })),
		}}
		a, err := arc.New(t.Context(), st, h, &arc.Options{Now: time.Now})
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		w := new(goal.World)
		c := keep(t, a, w, nil, broken("cache"))
		defer c.Close()
		for range st.Scan(t.Context(), store.Range{Prefix: "goap/"}) {
			t.Error("the mark is still there, or an entry without a tenant")
		}
		require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": true}, At: time.Now()}))
		rep, err := c.Tick(t.Context())
		require.NoError(t, err)
		require.Equal(t, []any{goal.InFlight, "goals/cache works/1"}, []any{rep.Goals[0].Doing, rep.Goals[0].Dispatch})
		require.NoError(t, c.Wait(t.Context()))
		require.Zero(t, calls, "the attempt was made, and must not be made again")
		idle(time.Second)
		require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": true}, At: time.Now()}))
		rep, err = c.Tick(t.Context())
		require.NoError(t, err)
		require.Len(t, rep.Ended, 1)
		require.Equal(t, []any{"goals/cache works/1", goal.Interrupted, "fixer"}, []any{rep.Ended[0].ID, rep.Ended[0].End, rep.Ended[0].Worker})
		require.Equal(t, []any{goal.Began, "goals/cache works/2-20000101000001"}, []any{rep.Goals[0].Doing, rep.Goals[0].Dispatch})
		require.NoError(t, c.Wait(t.Context()))
		require.Equal(t, 1, calls)
	})
}

// What came of goals is kept under the tenant, and erased with it.
func TestEraseTakesTheLedgerOfGoals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		h := arc.Host{Gates: []act.Gate{act.NoGate}, Workers: []act.Worker{
			repairs("fixer", "cache", act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { return done(`1`), nil })),
		}}
		a, err := arc.New(t.Context(), st, h, &arc.Options{Now: time.Now, Scope: "acme/ops"})
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		w := new(goal.World)
		c := keep(t, a, w, nil, broken("cache"))
		require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": true}, At: time.Now()}))
		_, err = c.Tick(t.Context())
		require.NoError(t, err)
		require.NoError(t, c.Wait(t.Context()))
		c.Close()
		texts := func() (n int) {
			for e := range st.Scan(t.Context(), store.Range{}) {
				n += strings.Count(e.Key+string(e.Value), "cache works")
			}
			return n
		}
		require.NotZero(t, texts())
		require.NoError(t, a.Erase(t.Context(), "acme"))
		require.Zero(t, texts())
	})
}

// How the workers do is a domain like any other.
func TestFleetHealthIsADomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := true
		a := agent(t, arc.Host{Gates: []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: good, Complaint: "no"}, nil
		})}, Workers: []act.Worker{{
			Card: rank.Candidate{Name: "gpt-4.1"}, Skills: []string{"deploy"},
			Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				r := done(`1`)
				r.Usage = act.Usage{TokensIn: 1000, TokensOut: 500}
				return r, nil
			}),
		}}}, &arc.Options{Now: time.Now, Attempts: 1})
		w := new(goal.World)
		keep(t, a, w, nil)
		keep(t, a, w, &goal.Options{Name: "others"}) // of the same world, which has the domain by then
		read := func(path string) any {
			require.NoError(t, w.Poll(t.Context(), time.Now()))
			g := goal.Goal{Condition: goal.Condition{Selector: "domains.agent_fleet_health.data." + path}}
			v := g.Evaluate(w, time.Now())
			require.NotEqual(t, goal.Unknown, v.Status, v.Reason)
			return v.Actual
		}
		require.Zero(t, read("maxFailureRate1h"))
		for range 4 {
			run(t, a, arc.Objective{Text: "deploy", Tasks: []reason.Task{{Objective: "deploy", Skill: "deploy"}}})
			good = false
		}
		idle(time.Minute)
		for path, want := range map[string]any{
			"maxFailureRate1h": 0.75, "totalCostUsd1d": 4 * 0.0105, "orphanedSkillCount": 0.0, "windowHours": 24.0,
			"agents.0.agentName": "gpt-4.1", "agents.0.successRate": 0.25, "agents.0.totalOutcomes": 4.0, "agents.0.p95LatencyMs": 0.0,
			`byName["gpt-4.1"].costPerSuccessfulOutcome`: 0.042, `byName["gpt-4.1"].failureRate1h`: 0.75, "systemActors": []any{},
		} {
			if f, ok := want.(float64); ok {
				require.InDelta(t, f, read(path), 1e-12, path)
				continue
			}
			require.Equal(t, want, read(path), path)
		}
		require.Len(t, read("agents.0.recentFailures"), 3)
		g := goal.Goal{ID: "fleet.no_agent_stuck", Condition: goal.Condition{
			Selector: "domains.agent_fleet_health.data.maxFailureRate1h", Max: new(0.5),
		}}
		require.Equal(t, goal.Violated, g.Evaluate(w, time.Now()).Status)
	})
}

// service is what is really the case while histories are played, whatever
// process is there to look after it.
type service struct {
	t     *testing.T
	seed  uint64
	mu    sync.Mutex
	truth map[string]bool // domains that are broken
	calls map[string]int  // of executors, by run
	busy  map[string]int  // executors at work, by objective
	calm  bool            // from now on, everything works
}

func (s *service) draw(what string) *rand.Rand {
	f := fnv.New64a()
	f.Write([]byte(what))
	return rand.New(rand.NewPCG(s.seed, f.Sum64()))
}

func (s *service) broken(domain string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.truth[domain]
}

func (s *service) set(domain string, broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.truth[domain] = broken
}

// Execute is a worker that may do anything.
func (s *service) Execute(ctx context.Context, w act.Work) (act.Result, error) {
	r := s.draw(w.Key)
	what, lasts := r.IntN(12), time.Duration(r.IntN(20))*time.Second
	s.mu.Lock()
	if s.calm {
		what = 0
	}
	if s.calls[w.Run]++; s.calls[w.Run] > 1 {
		s.t.Errorf("an executor was called %d times for %s", s.calls[w.Run], w.Run)
	}
	if s.busy[w.Situation]++; s.busy[w.Situation] > 1 {
		s.t.Errorf("%d executors at work for %s", s.busy[w.Situation], w.Situation)
	}
	s.mu.Unlock()
	var cut bool
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
		cut = true
	}
	s.mu.Lock()
	s.busy[w.Situation]--
	s.mu.Unlock()
	domain := w.Task.Effect.Domain
	switch what {
	case 5:
		return act.Result{}, errBoom
	case 6:
		panic("boom")
	case 7:
		idle(time.Hour) // whatever its context says
	case 8: // a lie
		return done(`1`), nil
	case 9:
		return act.Result{}, act.ErrDenied
	}
	s.set(domain, false)
	if cut {
		return act.Result{}, ctx.Err()
	}
	res := done(`1`)
	if what == 4 {
		res.Deltas = []act.Delta{{Domain: domain, Path: "data.broken", Value: []byte("false")}}
	}
	return res, nil
}

// host are two workers for each domain, one of which needs an approval.
func (s *service) host() arc.Host {
	h := arc.Host{
		Gates: []act.Gate{act.GateFunc(func(_ context.Context, w act.Work, _ act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: !s.broken(w.Task.Effect.Domain), Complaint: "it is still broken"}, nil
		})},
		Approver: act.ApproverFunc(func(ctx context.Context, r *act.Call) (bool, error) {
			if s.draw("approve "+r.Work.Key).IntN(4) == 0 {
				<-ctx.Done()
			}
			return true, nil
		}),
	}
	for i := range 2 {
		domain := fmt.Sprint("d", i)
		h.Workers = append(h.Workers, repairs("one-"+domain, domain, s), repairs("two-"+domain, domain, s))
		h.Workers[2*i].Mode = act.Veto
	}
	return h
}

// mortal is a store as a process sees it that dies with a commit, before or
// after it has taken place.
type mortal struct {
	store.Store
	s    *service
	mu   sync.Mutex
	left int // commits until it dies; below 0: it does not
	dead bool
}

var errDead = errors.New("the process is dead")

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *mortal) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return 0, errDead
	}
	if m.left--; m.left != 0 {
		return m.Store.Commit(ctx, ops...)
	}
	m.dead = true
	if m.s.draw(ops[0].Key).IntN(2) == 0 {
		if _, err := m.Store.Commit(ctx, ops...); err != nil {
			return 0, err
		}
	}
	return 0, errDead
}

func (m *mortal) Get(ctx context.Context, key string) (store.Entry, error) {
	if m.isDead() {
		return store.Entry{}, errDead
	}
	return m.Store.Get(ctx, key)
}

// Histories of goals that are kept by an agent whose workers misbehave and
// whose process dies now and then: no executor is called twice for a
// dispatch, every dispatch has one outcome, and in the end all goals are met.
func TestGoalHistoriesThroughAnAgent(t *testing.T) {
	ends := map[goal.End]int{}
	deaths := 0
	for seed := range uint64(*goalHistories) {
		synctest.Test(t, func(t *testing.T) {
			s := &service{t: t, seed: seed, truth: map[string]bool{}, calls: map[string]int{}, busy: map[string]int{}}
			defer func() {
				if t.Failed() {
					t.Logf("history %d", seed)
				}
				idle(2 * time.Hour) // let those that hang end
			}()
			outcomes, died := s.play()
			deaths += died
			for _, o := range outcomes {
				ends[o.End]++
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d histories, %d deaths: %v", *goalHistories, deaths, ends)
	require.Len(t, ends, 5)
}

func (s *service) play() (outcomes []goal.Outcome, died int) {
	st := store.NewMem()
	r := s.draw("history")
	var p *mortal
	var a *arc.Agent
	var c *goal.Controller
	w := new(goal.World)
	start := func(left int) {
		gs, err := goal.NewGoals(broken("d0"), broken("d1"))
		require.NoError(s.t, err)
		p = &mortal{Store: st, s: s, left: -1}
		a, err = arc.New(s.t.Context(), p, s.host(), &arc.Options{Seed: 1, Grace: -1, ApprovalTTL: 30 * time.Second})
		require.NoError(s.t, err)
		c, err = a.Keep(s.t.Context(), w, gs, &goal.Options{Lease: 2 * time.Minute, Grace: -1, Outcome: func(o goal.Outcome) {
			s.mu.Lock()
			defer s.mu.Unlock()
			outcomes = append(outcomes, o)
		}})
		require.NoError(s.t, err)
		p.left = left
	}
	stop := func() {
		c.Close()
		_ = a.Close() // its store may be dead
		synctest.Wait()
	}
	start(1 + r.IntN(60))
	defer func() { stop() }()
	for step := range 120 { // calm for longer than what rests has to
		if s.mu.Lock(); step == 40 {
			s.calm = true
		}
		if step < 40 && r.IntN(4) == 0 {
			s.truth[fmt.Sprint("d", r.IntN(2))] = true
		}
		s.mu.Unlock()
		for i := range 2 {
			if step < 40 && r.IntN(3) == 0 {
				continue // late
			}
			d := fmt.Sprint("d", i)
			require.NoError(s.t, w.Set(d, goal.Snapshot{At: time.Now(), Data: map[string]any{"broken": s.broken(d)}}))
		}
		if _, err := c.Tick(s.t.Context()); !p.isDead() {
			require.NoError(s.t, err)
		}
		idle(time.Duration(10+r.IntN(40)) * time.Second)
		if p.isDead() || step == 40 {
			stop()
			died++
			start(map[bool]int{true: 1 + r.IntN(60), false: -1}[step < 40])
		}
	}
	require.NoError(s.t, c.Wait(s.t.Context()))
	require.False(s.t, s.broken("d0") || s.broken("d1"), "a goal was forgotten")
	s.check(st, c)
	return outcomes, died
}

// check holds what is kept of the dispatches against what was done.
func (s *service) check(st store.Store, c *goal.Controller) {
	n := uint64(0)
	runs := map[string]bool{}
	for o, err := range c.Outcomes(s.t.Context()) {
		n++
		require.NoError(s.t, err)
		require.Equal(s.t, n, o.Number, "a dispatch has no outcome")
		runs[o.ID] = true
		if o.End == goal.Succeeded || o.End == goal.Unseen || o.End == goal.Failed {
			require.Equal(s.t, 1, s.calls[o.ID], "%+v", o)
		}
	}
	for run := range s.calls {
		require.True(s.t, runs[run], "%s was never admitted", run)
	}
	for range st.Scan(s.t.Context(), store.Range{Prefix: "tenant\x00local\x00goap/outcome"}) {
		n--
	}
	require.Zero(s.t, n, "a dispatch is left open")
}

// A dispatch is no run that is there already, such as one that was moved here with the data of its scope: the ledger of
// its tenant stays behind, and counts from 1 here.
func TestKeepIsNotServedByARunOfBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		h := arc.Host{Workers: []act.Worker{repairs("fixer", "cache", act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			calls++
			return done(`1`), nil
		}))}, Gates: []act.Gate{act.NoGate}}
		var file bytes.Buffer
		for i := range 2 {
			a := agentOn(t, store.NewMem(), h, &arc.Options{Now: time.Now, Scope: "acme/ops", Maintain: -1})
			if i == 1 {
				_, err := a.Import(t.Context(), &file)
				require.NoError(t, err)
			}
			w := new(goal.World)
			c := keep(t, a, w, nil, broken("cache"))
			idle(time.Minute)
			require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": true}, At: time.Now()}))
			_, err := c.Tick(t.Context())
			require.NoError(t, err)
			require.NoError(t, c.Wait(t.Context()))
			require.Equal(t, i+1, calls)
			require.NoError(t, a.Export(t.Context(), "acme/ops", &file))
		}
	})
}
