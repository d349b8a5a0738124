package goal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

func Example() {
	ctx := context.Background()
	var failing atomic.Int64 // tests, in a world of one number
	failing.Store(3)
	fixed := make(chan bool, 1)
	fix := act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
		failing.Store(0)
		fixed <- true
		return &act.Result{Text: "three tests repaired"}, nil
	})

	world := goal.NewWorld("acme", nil)
	_ = world.Collect("ci", func(context.Context) (any, error) {
		return map[string]int64{"failing": failing.Load()}, nil
	}, time.Nanosecond, time.Minute)
	goals := new(goal.Goals)
	err := goals.Load([]byte(`
goals:
  - id: ci.green
    description: no test fails on main
    severity: high
    selector: domains.ci.data.failing
    max: 0
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	st := store.NewMem()
	agent, err := arc.New(ctx, st, arc.Host{Workers: []act.Worker{{
		Name: "repairer", Executor: fix, Gates: []act.Gate{act.NoGate},
		Effects: []reason.Delta{{Path: "ci.failing", Op: "inc", Value: json.RawMessage("-1")}},
	}}}, &arc.Options{Scope: "acme", OnEvent: world.OnEvent})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	keeper, err := goal.Open(store.NewGroup(store.Sub(st, "t/acme/")), agent, world, goals, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 { // Keep does so every five seconds
		standings, err := keeper.Tick(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(standings[0].Status, standings[0].Reason)
		if run := standings[0].Run; run != "" {
			<-fixed
			report, err := agent.In("acme").Wait(ctx, run)
			fmt.Println(report.ID, report.Text, err)
		}
	}
	// Output:
	// violated domains.ci.data.failing is 3, not at most 0; one reading shows it, and the next has to, too
	// violated domains.ci.data.failing is 3, not at most 0
	// goal/ci.green/000001 three tests repaired <nil>
	// met domains.ci.data.failing is 0
}

// Each field of a goal, with its default.
func ExampleGoals_Load() {
	goals := new(goal.Goals)
	err := goals.Load([]byte(`
goals:
  - id: ci.green                         # at most 128 bytes
    description: no test fails on main   # for people, and for the worker
    severity: high                       # critical, high, medium (the default) or low
    selector: domains.ci.data.failing
    max: 0                               # a threshold: min, max or both, which are within
    cooldown: 90s                        # after a success, the default
  - id: bot.connected
    selector: domains.bot.data.state
    operator: in                         # an invariant: truthy (the default), falsy, eq, neq, in, not_in
    expected: [up, starting]
  - id: work.balanced
    type: distribution                   # threshold, invariant or distribution, as its fields say
    selector: domains.flow.data.work
    distribution: {feature: 0.6, defect: 0.4}
    tolerance: 0.2                       # 0.1 is the default
    enabled: false
`))
	fmt.Println(err)
	err = goals.Load([]byte("goals:\n  - id: ci.green\n    selector: domains.ci.data.failing\n    most: 0\n"))
	fmt.Println(err)
	// Output:
	// <nil>
	// goal: the goals stay as they were: yaml: line 4: field most not found in type goal.goal
}
