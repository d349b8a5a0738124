package goal_test

import (
	"context"
	"fmt"
	"testing/fstest"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
)

// What is violated, and what would mend it.
func Example() {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	w := goal.NewWorld(nil)
	if err := w.Set("ci", goal.Snapshot{Data: map[string]any{"failing": 3}, At: now}); err != nil {
		fmt.Println(err)
		return
	}
	green := goal.Goal{
		ID: "ci.green", Severity: goal.High,
		Condition: goal.Condition{Selector: "domains.ci.data.failing", Test: goal.Threshold{Max: new(0.0)}},
	}
	v := green.Evaluate(w.State(now))
	fmt.Println(v.Status, v.Severity, v.Reason)

	course, err := goal.Plan(w.State(now), green, []goal.Action{
		{Name: "fix tests", Effects: []goal.Change{{Effect: reason.Effect{Domain: "ci", Path: "data.failing"}}}},
		{Name: "clean disk", Effects: []goal.Change{{Effect: reason.Effect{Domain: "disk", Path: "data.used"}}}},
	}, nil)
	for _, a := range course.Actions {
		fmt.Println(a.Name)
	}
	fmt.Println(err)

	// An hour later nobody has looked again.
	fmt.Println(green.Evaluate(w.State(now.Add(time.Hour))).Reason)
	// Output:
	// violated high domains.ci.data.failing is 3, not at most 0
	// fix tests
	// <nil>
	// unknown: domain "ci" was last read 1h0m0s ago, more than 10m0s
}

// The cheapest way, and what is missing where there is none.
func ExamplePlan() {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	w := goal.NewWorld(nil)
	if err := w.Set("site", goal.Snapshot{Data: map[string]any{"failing": 2, "version": 1}, At: now}); err != nil {
		fmt.Println(err)
		return
	}
	change := func(path string, op goal.Op, v any) []goal.Change {
		return []goal.Change{{Effect: reason.Effect{Domain: "site", Path: path}, Op: op, Value: v}}
	}
	passing := []goal.Condition{{Selector: "domains.site.data.failing", Test: goal.Threshold{Max: new(0.0)}}}
	actions := []goal.Action{
		{Name: "deploy", Pre: passing, Effects: change("data.version", goal.Sets, 2)},
		{Name: "fix a test", Effects: change("data.failing", goal.Adds, -1)},
		{Name: "rewrite", Effects: change("data.failing", goal.Sets, 0), Cost: 5},
	}
	green := goal.Goal{ID: "deployed", Condition: goal.Condition{
		Selector: "domains.site.data.version", Test: goal.Invariant{Operator: goal.Eq, Expected: 2},
	}}
	course, err := goal.Plan(w.State(now), green, actions, nil)
	for _, a := range course.Actions {
		fmt.Println(a.Name)
	}
	fmt.Println(course.Cost, err)

	_, err = goal.Plan(w.State(now), green, actions[:1], nil)
	fmt.Println(err)
	// Output:
	// fix a test
	// fix a test
	// deploy
	// 3 <nil>
	// goal: goal "deployed": no plan: what can make domains.site.data.version is equal to 2 cannot be done: "deploy" needs that domains.site.data.failing is at most 0, but domains.site.data.failing is 2, not at most 0, and no action changes domains.site.data.failing
}

// What is under way is assumed to work, until it is read or taken back.
func ExampleWorld_Expect() {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	w := goal.NewWorld(nil)
	if err := w.Set("queue", goal.Snapshot{Data: map[string]any{"jobs": 10}, At: now}); err != nil {
		fmt.Println(err)
		return
	}
	jobs := reason.Effect{Domain: "queue", Path: "data.jobs"}
	for worker, done := range map[string]int{"a": -3, "b": -5} {
		err := w.Expect(worker, []goal.Change{{Effect: jobs, Op: goal.Adds, Value: done}}, now, now.Add(time.Minute))
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	show := func(at time.Time) {
		r, err := w.State(at).Read("domains.queue.data.jobs")
		fmt.Println(r.Value, r.Expected, err)
	}
	show(now)
	w.Rollback("a") // it has failed
	show(now)
	show(now.Add(time.Minute)) // b had a minute
	// Output:
	// 2 true <nil>
	// 5 true <nil>
	// 10 false <nil>
}

// Goals come from a file, which may be mended while they are in use.
func ExampleGoals_Reload() {
	dir := fstest.MapFS{"goals.yaml": {Data: []byte(`
goals:
  - id: ci.green
    severity: high
    selector: domains.ci.data.failing
    max: 0
`)}}
	goals, err := goal.NewGoals()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(goals.Reload(dir, "goals.yaml"))
	dir["goals.yaml"].Data = []byte(`
goals:
  - id: ci.green
    severity: hihg
    selector: ci.failing
    maxx: 0
`)
	_, err = goals.Reload(dir, "goals.yaml")
	fmt.Println(err)
	for _, g := range goals.All() {
		fmt.Println(g.ID, g.Severity, g.Condition)
	}
	// Output:
	// true <nil>
	// goal: goals are kept as they were: line 4: goal "ci.green": unknown severity "hihg"
	// line 5: goal "ci.green": bad selector "ci.failing": want domains.<domain>.data.<keys>
	// line 6: goal "ci.green": unknown field "maxx"
	// ci.green high domains.ci.data.failing is at most 0
}

// Collectors read domains when they are due; a bad one spoils its own alone.
func ExampleWorld_Poll() {
	ctx := context.Background()
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	w := goal.NewWorld(nil)
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
	for _, d := range w.State(now).Domains() {
		fmt.Println(d.Name, d.Known, d.Err)
	}
	// Output:
	// ci false panic: no route to host
	// disk true <nil>
}
