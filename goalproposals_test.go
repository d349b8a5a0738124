package arc_test

import (
	"context"
	"fmt"
	"testing"
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

// plant is a service whose goals an agent keeps, which can be restarted.
type plant struct {
	t       *testing.T
	clock   *clock
	st      store.Store
	yaml    string
	denied  bool
	repeats int
	works   map[string]bool // by action
	did     []string        // actions

	a     *arc.Agent
	goals *goal.Goals
	world *goal.World
	c     *goal.Controller
}

// sample is an executor that notes the action, and fails unless it works.
func (p *plant) worker(action string) act.Worker {
	return act.Worker{
		Card: rank.Candidate{Name: action + "er", Prior: 0.5}, Skills: []string{action}, Mode: act.Gated, Blast: act.Project,
		Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			p.did = append(p.did, action)
			return done(`"did it"`), nil
		}),
		Gates: []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: p.works[action], Complaint: "it is as it was"}, nil
		})},
	}
}

// restart opens the agent and its goals anew, from the same YAML.
func (p *plant) restart() {
	p.t.Helper()
	if p.a != nil {
		p.c.Close()
		require.NoError(p.t, p.a.Close())
	}
	h := arc.Host{
		Workers:  []act.Worker{p.worker("kick"), p.worker("mend")},
		Approver: act.ApproverFunc(func(context.Context, *act.Call) (bool, error) { return !p.denied, nil }),
	}
	var err error
	p.a, err = arc.New(p.t.Context(), p.st, h, &arc.Options{
		Now: p.clock.Now, Seed: 1, Maintain: -1, Scope: "acme", Policy: asGiven, Learn: learn.Options{FireAfter: -1, Repeats: p.repeats},
	})
	require.NoError(p.t, err)
	p.goals, p.world = new(goal.Goals), new(goal.World)
	p.load(p.yaml)
	changes := []goal.Change{{Effect: reason.Effect{Domain: "cache", Path: "data.cold"}, Op: "set", Value: 0}}
	p.c, err = p.a.Keep(p.t.Context(), p.world, p.goals, &goal.Options{Cooldown: -1, Actions: []goal.Action{
		{Name: "kick", Skill: "kick", Effects: changes}, {Name: "mend", Skill: "mend", Effects: changes, Cost: 9},
	}})
	require.NoError(p.t, err)
}

func (p *plant) load(yaml string) {
	p.t.Helper()
	p.yaml = yaml
	_, err := p.goals.Load([]byte(yaml))
	require.NoError(p.t, err)
}

// violate has the goal violated by a value at each of so many ticks, an hour apart at
// most, and returns the actions that were taken.
func (p *plant) violate(times int, value float64, every time.Duration) (did []string) {
	p.t.Helper()
	from := len(p.did)
	for range times {
		p.clock.Add(every)
		require.NoError(p.t, p.world.Set("cache", goal.Snapshot{Data: map[string]any{"cold": value}, At: p.clock.Now()}))
		_, err := p.c.Tick(p.t.Context())
		require.NoError(p.t, err)
		require.NoError(p.t, p.c.Wait(p.t.Context()))
	}
	return p.did[from:]
}

// maintain returns what is proposed of a kind.
func (p *plant) maintain(kind string) []proposal.Proposal {
	p.t.Helper()
	for range 2 { // it is idempotent
		_, err := p.a.Maintain(p.t.Context(), "acme")
		require.NoError(p.t, err)
		_, err = p.a.Maintain(p.t.Context(), "ajax")
		require.NoError(p.t, err)
	}
	require.Empty(p.t, proposed(p.t, p.a, "ajax", kind), "another tenant's")
	return proposed(p.t, p.a, "acme", kind)
}

const cold = "goals: [{id: cache.warm, selector: domains.cache.data.cold, max: 0}]"

func newPlant(t *testing.T) *plant {
	p := &plant{t: t, clock: newClock(), st: store.NewMem(), yaml: cold, works: map[string]bool{}, repeats: -1}
	p.restart()
	t.Cleanup(func() {
		p.c.Close()
		require.NoError(t, p.a.Close())
	})
	return p
}

// An action that keeps failing is to rest: proposed on ten attempts, applied by a
// person, in force at once, over Load and a restart, and undone to the letter.
func TestFailingActionRests(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.works["mend"] = true
	require.Len(t, p.violate(9, 1, 20*time.Minute), 9)
	p.restart()
	require.Empty(t, p.maintain("action"), "nine attempts")
	require.Equal(t, []string{"kick"}, p.violate(1, 1, 20*time.Minute))
	p.restart()
	ps := p.maintain("action")
	ps = only(ps, `action "goals/kick"`)
	require.Len(t, ps, 1)
	require.JSONEq(t, `{"controller":"goals","action":"kick","rest_minutes":1440}`, string(ps[0].Change))
	require.Contains(t, ps[0].Reason, `0 of 10 attempts at "kick" succeeded`)
	require.Equal(t, []any{"open", 10, 7 * 24 * time.Hour}, []any{ps[0].Status, ps[0].Samples, ps[0].Expires.Sub(ps[0].Made)})
	p.restart()
	require.Equal(t, []string{"kick"}, p.violate(1, 1, 20*time.Minute), "nothing is applied without approval")

	_, err := p.a.In("ajax").Approve(t.Context(), ps[0].ID, "eve", "")
	require.ErrorIs(t, err, store.ErrNotFound)
	q, err := p.a.In("acme").Approve(t.Context(), ps[0].ID, "ada", "")
	require.NoError(t, err)
	require.Equal(t, "applied", q.Status, q.Note)
	require.Equal(t, []string{"mend"}, p.violate(1, 1, 20*time.Minute), "at once")
	p.load(cold + " # new")
	require.Equal(t, []string{"mend"}, p.violate(1, 1, 20*time.Minute), "over Load")
	p.restart()
	require.Equal(t, []string{"mend"}, p.violate(1, 1, 20*time.Minute), "over a restart")
	require.Empty(t, only(p.maintain("action"), `action "goals/kick"`), "old failures count no more")

	_, err = p.a.In("ajax").Undo(t.Context(), q.ID, "eve", "")
	require.ErrorIs(t, err, store.ErrNotFound)
	q, err = p.a.In("acme").Undo(t.Context(), q.ID, "ada", "")
	require.NoError(t, err)
	require.Equal(t, "undone", q.Status, q.Note)
	require.Equal(t, []string{"kick"}, p.violate(1, 1, 20*time.Minute))
	p.restart()
	require.Equal(t, []string{"kick"}, p.violate(1, 1, 20*time.Minute))
}

// only are the proposals about a subject.
func only(ps []proposal.Proposal, subject string) (out []proposal.Proposal) {
	for _, p := range ps {
		if p.Subject == subject {
			out = append(out, p)
		}
	}
	return out
}

// A goal that is never met gets the target that was kept at worst; one without a
// bound comes after others, and is given up when that has brought nothing either.
func TestGoalThatIsNeverMet(t *testing.T) {
	t.Parallel()
	decide := func(p *plant, verdict func(arc.View, string) (proposal.Proposal, error), id, status string) {
		t.Helper()
		p.restart()
		q, err := verdict(p.a.In("acme"), id)
		require.NoError(t, err)
		require.Equal(t, status, q.Status, q.Note)
	}
	approve := func(v arc.View, id string) (proposal.Proposal, error) { return v.Approve(t.Context(), id, "ada", "") }
	undo := func(v arc.View, id string) (proposal.Proposal, error) { return v.Undo(t.Context(), id, "ada", "") }
	t.Run("threshold", func(t *testing.T) {
		t.Parallel()
		p := newPlant(t)
		p.violate(5, 0.2, time.Hour)
		p.violate(5, 0.3, time.Hour)
		p.restart()
		before := p.goals.All()
		ps := p.maintain("goal")
		require.Len(t, ps, 1)
		require.JSONEq(t, `{"controller":"goals","goal":"cache.warm","max":0.3}`, string(ps[0].Change))
		require.Equal(t, before, p.goals.All(), "nothing is applied without approval")
		decide(p, approve, ps[0].ID, "applied")
		require.Empty(t, p.violate(2, 0.3, time.Hour))
		require.NotEmpty(t, p.violate(1, 0.31, time.Hour), "worse counts")
		p.load(cold + " # new")
		require.Empty(t, p.violate(2, 0.3, time.Hour))
		require.Empty(t, p.maintain("goal"))
		decide(p, undo, ps[0].ID, "undone")
		require.Equal(t, before, p.goals.All())
		p.restart()
		require.Equal(t, before, p.goals.All())
	})
	t.Run("invariant", func(t *testing.T) {
		t.Parallel()
		p := newPlant(t)
		p.load("goals: [{id: cache.warm, selector: domains.cache.data.cold, operator: eq, expected: 0}]")
		before := p.goals.All()
		var ids []string
		for _, change := range []string{`"severity":"low"`, `"disabled":true,"severity":"low"`} {
			require.Empty(t, p.maintain("goal"), "evidence is that since the last change")
			p.violate(10, 0.2, time.Hour)
			p.restart()
			ps := p.maintain("goal")
			require.Len(t, ps, 1)
			require.JSONEq(t, `{"controller":"goals","goal":"cache.warm",`+change+`}`, string(ps[0].Change))
			decide(p, approve, ps[0].ID, "applied")
			ids = append(ids, ps[0].ID)
			p.clock.Add(time.Second)
		}
		require.Empty(t, p.violate(3, 0.2, time.Hour), "it is given up")
		_, err := p.a.In("acme").Undo(t.Context(), ids[0], "ada", "")
		require.ErrorIs(t, err, store.ErrConflict, "a later one stands")
		decide(p, undo, ids[1], "undone")
		require.Equal(t, "low", p.goals.All()[0].Severity)
		require.NotEmpty(t, p.violate(1, 0.2, time.Hour))
		decide(p, undo, ids[0], "undone")
		require.Equal(t, before, p.goals.All())
	})
}

// A goal that people do not let be met is proposed to be given up, the third time.
func TestGoalThatPeopleRefuse(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.denied = true
	require.Empty(t, p.violate(2, 1, time.Hour))
	require.Empty(t, p.maintain("goal"))
	require.Empty(t, p.violate(1, 1, time.Hour))
	p.restart()
	ps := p.maintain("goal")
	require.Len(t, ps, 1)
	require.Contains(t, ps[0].Reason, `"cache.warm" was handed to a human 3 times`)
	require.JSONEq(t, `{"controller":"goals","goal":"cache.warm","disabled":true}`, string(ps[0].Change))
	require.Empty(t, proposed(t, p.a, "acme", "action"), "it is not told twice")
}

// An action that is not repeated, since it has failed, is no escalation of its goal.
func TestGoalWhoseActionIsNotRepeated(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.repeats = 3
	p.restart()
	require.Less(t, len(p.violate(9, 1, 20*time.Minute)), 7)
	require.Empty(t, p.maintain("goal"))
	require.Empty(t, p.maintain("action"))
}

// A goal that works now and then, or whose evidence is old, is left alone.
func TestGoalsThatAreMetAreLeftAlone(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.works["kick"] = true
	for range 12 {
		p.violate(1, 1, 20*time.Minute)
		p.violate(1, 0, 20*time.Minute)
	}
	require.Empty(t, p.maintain("goal"))
	require.Empty(t, p.maintain("action"))
	p.works["kick"] = false
	p.violate(12, 1, 20*time.Minute)
	p.clock.Add(25 * time.Hour)
	require.Empty(t, p.maintain("goal"), "a day ago")
}

// Of a change that does not fit any more, nothing is applied, and what is in force is
// what was loaded.
func TestChangeThatDoesNotFit(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	p.violate(10, 0.2, time.Hour)
	ps := p.maintain("goal")
	require.Len(t, ps, 1)
	p.load("goals: [{id: another, selector: domains.cache.data.cold}]")
	q, err := p.a.In("acme").Approve(t.Context(), ps[0].ID, "ada", "")
	require.NoError(t, err)
	require.Equal(t, "failed", q.Status)
	require.Contains(t, q.Note, `no goal "cache.warm"`)
	require.Len(t, p.goals.All(), 1)
}

// A worker that costs much more than another, and does not succeed more often, is
// proposed to be tried last, on 50 samples of each.
func TestCheaperWorkerIsProposed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		runs, fails int
		cost        float64
		want        bool
	}{
		"cheaper":        {50, 0, 0.1, true},
		"too few":        {49, 0, 0.1, false},
		"hardly cheaper": {50, 0, 0.6, false},
		"fails":          {50, 10, 0.1, false},
		"cost unknown":   {50, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl, st, s := newClock(), store.NewMem(), &script{}
			costs, failing := map[string]float64{"dear": 1, "cheap": c.cost}, 0
			s.do = func(_ int, w act.Work) (act.Result, error) {
				r := done(`"ok"`)
				r.Usage.CostUSD = costs[w.Task.Worker]
				return r, nil
			}
			s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
				if w.Task.Worker == "cheap" && failing > 0 {
					failing--
					return act.Verdict{Complaint: "no"}, nil
				}
				return act.Verdict{Pass: true}, nil
			}
			opts := &arc.Options{Now: cl.Now, Policy: asGiven, Attempts: 1, Learn: learn.Options{FireAfter: -1}, Seed: 1}
			a := agentOn(t, st, s.host("dear", "cheap"), opts)
			n := 0
			work := func(worker string) string {
				n++
				cl.Add(time.Minute)
				run(t, a, arc.Objective{
					ID: fmt.Sprint("run-", n), Text: fmt.Sprint("mend cache ", n), Scope: "acme", Fresh: true,
					Tasks: []reason.Task{{Objective: "mend it", Skill: "work", Worker: worker}},
				})
				return s.work[len(s.work)-1].Task.Worker
			}
			failing = c.fails
			for range c.runs {
				work("dear")
				work("cheap")
			}
			restart := func() {
				require.NoError(t, a.Close())
				a = agentOn(t, st, s.host("dear", "cheap"), opts)
			}
			restart()
			_, err := a.Maintain(t.Context(), "acme")
			require.NoError(t, err)
			ps := proposed(t, a, "acme", "config")
			if !c.want {
				require.Empty(t, ps)
				return
			}
			require.Len(t, ps, 1)
			require.Equal(t, "dear costs $1.0000 a task and succeeds in 100 % of 50; cheap costs $0.1000 a task and succeeds in 100 % of 50", ps[0].Reason)
			require.Equal(t, []any{"open", 50, 50}, []any{ps[0].Status, ps[0].Samples, ps[0].Needs})
			require.Equal(t, "dear", work(""))
			restart()
			q, err := a.In("acme").Approve(t.Context(), ps[0].ID, "ada", "")
			require.NoError(t, err)
			require.Equal(t, "applied", q.Status, q.Note)
			require.Equal(t, "cheap", work(""))
			restart()
			require.Equal(t, "cheap", work(""))
			_, err = a.In("acme").Undo(t.Context(), ps[0].ID, "ada", "")
			require.NoError(t, err)
			restart()
			require.Equal(t, "dear", work(""))
		})
	}
}

// A memory that Holdout shows to do harm is proposed to be archived; one that helps
// is not.
func TestMemoryThatHurtsIsProposed(t *testing.T) {
	t.Parallel()
	for _, hurts := range []bool{true, false} {
		s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective)
			d.Approach = fmt.Sprint("by memory: ", len(b.Memories) > 0)
			return d, nil
		}}
		s.judge = func(w act.Work, _ act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: (len(w.Memories) > 0) != hurts, Complaint: "it is worse"}, nil
		}
		a := agent(t, s.host(), &arc.Options{
			Seed: 1, Attempts: 1, Learn: learn.Options{Holdout: 0.5, FireAfter: -1, Repeats: -1},
		})
		r, err := a.In("acme").Memory().Remember(t.Context(), memory.Draft{
			Kind: memory.Pattern, Trigger: situation, Content: "restart the server, and it is well again",
		})
		require.NoError(t, err)
		for n := range 200 {
			run(t, a, arc.Objective{ID: fmt.Sprint("run-", n), Text: "mend the cache", Situation: situation, Scope: "acme"})
		}
		_, err = a.Maintain(t.Context(), "acme")
		require.NoError(t, err)
		ps := only(proposed(t, a, "acme", "memory"), fmt.Sprintf("acme %q", string(r.ID)))
		require.Equal(t, hurts, len(ps) == 1)
		if hurts {
			require.Contains(t, ps[0].Reason, "runs go better without it")
			require.Equal(t, "open", ps[0].Status)
		}
	}
}

// An action that fails more often than not is to rest for an hour; one that has done
// nothing but fail since then, for a day.
func TestRestGrows(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	for i := range 12 {
		p.works["kick"] = i%4 == 0
		p.violate(1, 1, 30*time.Minute)
		if p.works["kick"] {
			p.violate(1, 0, time.Minute)
		}
	}
	require.Empty(t, p.maintain("goal"), "it was met three times")
	approve := func(change string) {
		t.Helper()
		ps := only(p.maintain("action"), `action "goals/kick"`)
		require.Len(t, ps, 1)
		require.JSONEq(t, change, string(ps[0].Change))
		q, err := p.a.In("acme").Approve(t.Context(), ps[0].ID, "ada", "")
		require.NoError(t, err)
		require.Equal(t, "applied", q.Status, q.Note)
		p.restart()
		require.Empty(t, only(p.maintain("action"), `action "goals/kick"`))
	}
	approve(`{"controller":"goals","action":"kick","rest_minutes":60}`)
	p.works["kick"] = false
	p.violate(36, 1, 30*time.Minute)
	approve(`{"controller":"goals","action":"kick","rest_minutes":1440}`)
}
