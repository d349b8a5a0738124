package goal_test

import (
	"context"
	"fmt"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// What is violated, and what is not known.
func Example() {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	w := new(goal.World)
	if err := w.Set("ci", goal.Snapshot{Data: map[string]any{"failing": 3}, At: now}); err != nil {
		fmt.Println(err)
		return
	}
	green := goal.Goal{
		ID: "ci.green", Severity: "high",
		Condition: goal.Condition{Selector: "domains.ci.data.failing", Max: new(0.0)},
	}
	fmt.Println(inShort(green.Evaluate(w, now)))
	// An hour later it was not read again.
	fmt.Println(inShort(green.Evaluate(w, now.Add(time.Hour))))
	// Output:
	// to be mended: domains.ci.data.failing is 3, not at most 0
	// nothing is known: unknown: domain "ci" was last read 1h0m0s ago, more than 10m0s
}

// inShort says how a goal stands.
func inShort(v goal.Verdict) string {
	words := map[goal.Status]string{goal.Met: "fine", goal.Violated: "to be mended", goal.Unknown: "nothing is known"}
	return words[v.Status] + ": " + v.Reason
}

// Goals come from a file, which may be mended while they are in use.
func ExampleGoals_Load() {
	var goals goal.Goals
	fmt.Println(goals.Load([]byte(`
goals:
  - id: ci.green
    severity: high
    selector: domains.ci.data.failing
    max: 0
`)))
	_, err := goals.Load([]byte(`
goals:
  - id: ci.green
    severity: hihg
    selector: ci.failing
    max: 0
`))
	fmt.Println(err)
	for _, g := range goals.All() {
		fmt.Println(g.ID, g.Severity, g.Condition)
	}
	// Output:
	// true <nil>
	// goals are kept as they were: line 4: goal "ci.green": unknown severity "hihg"
	// line 5: goal "ci.green": bad selector "ci.failing": want domains.<domain>.data.<keys>
	// ci.green high domains.ci.data.failing is at most 0
}

// Collectors read domains when they are due; a bad one spoils its own alone.
func ExampleWorld_Poll() {
	ctx := context.Background()
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	w := new(goal.World)
	for name, read := range map[string]func(context.Context) (any, error){
		"disk": func(context.Context) (any, error) { return map[string]any{"used": 0.93}, nil },
		"ci":   func(context.Context) (any, error) { panic("no route to host") },
	} {
		if err := w.Collect(goal.Collector{Domain: name, Every: 30 * time.Second, Read: read}); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Poll(ctx, now); err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range w.Domains(now) {
		fmt.Println(d.Name, d.Known, d.Err)
	}
	// Output:
	// ci false panic: no route to host
	// disk true <nil>
}

// ops is a Catalog of one skill, and a Runner that does what it is asked for.
type ops struct{}

var (
	_ goal.Catalog = ops{}
	_ goal.Runner  = ops{}
)

func (ops) Skills() []string         { return []string{"ops"} }
func (ops) Effects() []reason.Effect { return nil }

func (ops) Run(_ context.Context, d goal.Dispatch) (goal.Result, error) {
	for _, s := range d.Steps {
		perform(s)
	}
	return goal.Result{End: goal.Succeeded, Worker: "pager"}, nil
}

func perform(s goal.Step) { fmt.Println("doing:", s.Action) }

func (ops) Resume(context.Context, goal.Dispatch) (goal.Result, error) {
	return goal.Result{}, store.ErrNotFound // it keeps no runs
}

func (ops) Judge(context.Context, string, bool) error { return nil }

// Actions say what they change and need, and the cheapest course of them is dispatched. The report says what is done
// about each goal.
func ExampleController_Report() {
	ctx := context.Background()
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	w := new(goal.World)
	if err := w.Set("site", goal.Snapshot{Data: map[string]any{"failing": 2, "version": 1}, At: now}); err != nil {
		fmt.Println(err)
		return
	}
	change := func(path, op string, v any) []goal.Change {
		return []goal.Change{{Effect: reason.Effect{Domain: "site", Path: path}, Op: op, Value: v}}
	}
	green := []goal.Condition{{Selector: "domains.site.data.failing", Max: new(0.0)}}
	actions := []goal.Action{
		{Name: "deploy", Skill: "ops", Pre: green, Effects: change("data.version", "set", 2)},
		{Name: "fix a test", Skill: "ops", Effects: change("data.failing", "add", -1)},
		{Name: "rewrite", Skill: "ops", Effects: change("data.failing", "set", 0), Cost: 5},
	}
	goals, err := goal.NewGoals(
		goal.Goal{ID: "deployed", Condition: goal.Condition{Selector: "domains.site.data.version", Operator: "eq", Expected: 2}},
		goal.Goal{ID: "loved", Condition: goal.Condition{Selector: "domains.site.data.version", Min: new(3.0)}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	clock := func() time.Time { now = now.Add(time.Second); return now }
	c, err := goal.New(ctx, store.NewMem(), w, goals, ops{}, ops{}, &goal.Options{Actions: actions, Now: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for range 2 {
		if _, err := c.Tick(ctx); err != nil {
			fmt.Println(err)
			return
		}
		if err := c.Wait(ctx); err != nil {
			fmt.Println(err)
			return
		}
		for _, g := range c.Report().Goals {
			detail := map[goal.Doing]string{
				goal.Nothing: string(g.Status), goal.Began: g.Dispatch, goal.InFlight: g.Dispatch,
				goal.Resting: g.Why, goal.Waiting: g.Why, goal.Stuck: g.Why,
			}
			fmt.Printf("%s %s: %s\n", g.Goal, g.Doing, detail[g.Doing])
		}
	}
	for o, err := range c.Outcomes(ctx) {
		fmt.Println(o.Actions, o.End, o.Worker, err)
	}
	// Output:
	// doing: fix a test
	// doing: fix a test
	// doing: deploy
	// deployed began: goals/deployed/1-20260701120001
	// loved waiting: dispatch goals/deployed/1-20260701120001 is about the same value
	// deployed resting: its effects have to show first
	// loved resting: its effects have to show first
	// [fix a test fix a test deploy] unknown pager <nil>
}

// Run does it all until its context ends: it reads the world, looks at the goals,
// and has done what is to be done.
func ExampleController_Run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := new(goal.World)
	err := w.Collect(goal.Collector{Domain: "site", Every: time.Second, Read: func(context.Context) (any, error) {
		return map[string]any{"version": 1}, nil
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var goals goal.Goals
	if _, err := goals.Load([]byte("goals: [{id: deployed, selector: domains.site.data.version, min: 2}]")); err != nil {
		fmt.Println(err)
		return
	}
	ends := map[goal.End]int{}
	c, err := goal.New(ctx, store.NewMem(), w, &goals, ops{}, ops{}, &goal.Options{
		Every: 10 * time.Millisecond,
		Actions: []goal.Action{{Name: "deploy", Skill: "ops", Effects: []goal.Change{{
			Effect: reason.Effect{Domain: "site", Path: "data.version"}, Op: "set", Value: 2,
		}}}},
		Outcome: func(o goal.Outcome) {
			ends[o.End]++
			cancel()
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Run(ctx), ends)
	// Output:
	// doing: deploy
	// <nil> map[unknown:1]
}
