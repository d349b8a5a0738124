package goap_test

import (
	"fmt"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goap"
)

// What is violated, and what would mend it.
func Example() {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	w := goap.NewWorld(nil)
	if err := w.Set("ci", goap.Snapshot{Data: map[string]any{"failing": 3}, At: now}); err != nil {
		fmt.Println(err)
		return
	}
	goal := goap.Goal{
		ID: "ci.green", Severity: goap.High,
		Condition: goap.Condition{Selector: "domains.ci.data.failing", Test: goap.Threshold{Max: new(0.0)}},
	}
	v := goal.Evaluate(w.State(now))
	fmt.Println(v.Status, v.Severity, v.Reason)

	course, err := goap.Plan(w.State(now), goal, []goap.Action{
		{Name: "fix tests", Effects: []goap.Change{{Effect: reason.Effect{Domain: "ci", Path: "data.failing"}}}},
		{Name: "clean disk", Effects: []goap.Change{{Effect: reason.Effect{Domain: "disk", Path: "data.used"}}}},
	}, nil)
	for _, a := range course.Actions {
		fmt.Println(a.Name)
	}
	fmt.Println(err)

	// An hour later nobody has looked again.
	fmt.Println(goal.Evaluate(w.State(now.Add(time.Hour))).Reason)
	// Output:
	// violated high domains.ci.data.failing is 3, not at most 0
	// fix tests
	// <nil>
	// unknown: domain "ci" was last read 1h0m0s ago, more than 10m0s
}
