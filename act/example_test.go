package act_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// The five interceptors that a fleet puts around every attempt: two record what it took and what it claimed, one
// publishes the changes that it has made, and two stamp how far it reaches and who has a say. Each looks for what
// concerns it, and leaves any other attempt alone.
func ExampleAround() {
	cost := around(nil, func(c *act.Call, a act.Attempt) {
		if a.Usage != nil && a.Usage.CostUSD != nil {
			fmt.Printf("cost: %s %s took $%.2f, delivered: %t\n", c.Worker.Name, c.Task.Skill, *a.Usage.CostUSD, a.Outcome == rank.Delivered)
		}
	})
	confidence := around(nil, func(c *act.Call, a act.Attempt) {
		if a.Reflection != nil {
			fmt.Printf("confidence: %s claimed %v\n", c.Worker.Name, a.Reflection.Confidence)
		}
	})
	effects := around(nil, func(_ *act.Call, a act.Attempt) {
		if a.Outcome != rank.Delivered {
			return
		}
		for _, d := range a.Deltas {
			fmt.Printf("world: %s %s %s\n", d.Op, d.Path, d.Value)
		}
	})
	type stamp string // what the context holds reaches the executor
	blast := around(func(ctx context.Context, c *act.Call) context.Context {
		return context.WithValue(ctx, stamp("x-blast-radius"), c.Worker.Blast.String())
	}, nil)
	mode := around(func(ctx context.Context, c *act.Call) context.Context {
		return context.WithValue(ctx, stamp("x-hitl-mode"), c.Worker.Mode.String())
	}, nil)

	reviewer := act.ExecutorFunc(func(ctx context.Context, _ *act.Call) (*act.Result, error) {
		fmt.Println("sent with", ctx.Value(stamp("x-blast-radius")), ctx.Value(stamp("x-hitl-mode")))
		price := .02
		return &act.Result{
			Reflection: &iar.Reflection{Status: iar.Success, Confidence: .9, AlignmentCheck: map[string]any{"task": 1.}},
			Usage:      &reason.Usage{Calls: 1, CostUSD: &price},
			Deltas:     []reason.Delta{{Path: "reviews.open", Op: "inc", Value: json.RawMessage(`-1`)}},
		}, nil
	})
	runner, err := act.NewRunner([]act.Worker{{
		Name: "quinn", Skills: []string{"pr_review"}, Executor: reviewer, Blast: act.Repo, Gates: []act.Gate{act.NoGate},
	}}, nil, 0, nil, cost, confidence, effects, blast, mode)
	if err != nil {
		panic(err)
	}
	task := reason.Task{Objective: "review the open queue", Skill: "pr_review"}
	able, err := runner.Able(task)
	if err != nil {
		panic(err)
	}
	runner.Run(context.Background(), &act.Call{Worker: able[0], Task: task})
	// Output:
	// sent with repo autonomous
	// world: inc reviews.open -1
	// confidence: quinn claimed 0.9
	// cost: quinn pr_review took $0.02, delivered: true
}

// around makes an Around of what is done before and after an attempt.
func around(
	before func(ctx context.Context, c *act.Call) context.Context, after func(c *act.Call, a act.Attempt),
) act.Around {
	return act.Around(func(ctx context.Context, c *act.Call, next func(context.Context) act.Attempt) act.Attempt {
		if before != nil {
			ctx = before(ctx, c)
		}
		a := next(ctx)
		if after != nil {
			after(c, a)
		}
		return a
	})
}

// A step that is done is not made again when its attempt goes on, here after an outage.
func ExampleStep() {
	away := true
	ship := act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		label, err := act.Step(ctx, "label", c.Task.Objective, func(context.Context) (string, error) {
			fmt.Println("a label is bought")
			return "L-7", nil
		})
		if err != nil {
			return nil, err
		}
		if away {
			return nil, &reason.Error{Class: reason.Unavailable, Err: errors.New("the carrier is away")}
		}
		return &act.Result{Text: "shipped with " + label}, nil
	})
	runner, err := act.NewRunner([]act.Worker{{Name: "ship", Executor: ship, Gates: []act.Gate{act.NoGate}}}, nil, 0, nil)
	if err != nil {
		panic(err)
	}
	journal := act.NewJournal(store.NewGroup(store.NewMem()), "run/7/", nil, nil, nil)
	ctx := act.WithJournal(context.Background(), journal, nil)
	c := act.Call{Case: reason.Case{Run: "7"}, Attempt: 1, Task: reason.Task{Objective: "order A-7"}}
	c.Worker = runner.Workers()[0]
	for range 2 { // the same run and attempt
		a := runner.Run(ctx, &c)
		fmt.Printf("%s %q\n", a.Outcome, a.Text)
		away = false
	}
	// Output:
	// a label is bought
	// away ""
	// delivered "shipped with L-7"
}
