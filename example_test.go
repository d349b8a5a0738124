package arc_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// planner stands for a model: reason.LLM is the Reasoner over one.
type planner struct{}

func (planner) Decide(_ context.Context, b *reason.Brief) (*reason.Decision, error) {
	fmt.Println("  the planner thinks")
	return &reason.Decision{Tasks: []reason.Task{{Objective: "Refund it.", Skill: "refund", Inputs: b.Inputs}}}, nil
}

// What two runs had in common is done without thinking from the third on.
func ExampleAgent_Run() {
	ctx := context.Background()
	refund := act.ExecutorFunc(func(_ context.Context, c *act.Call) (*act.Result, error) {
		return &act.Result{Text: "refunded " + string(c.Task.Inputs)}, nil
	})
	agent, err := arc.New(ctx, store.NewMem(), arc.Host{ // arc.Open(ctx, dir, …) keeps it in a directory
		Reasoner: planner{},
		Workers:  []act.Worker{{Name: "shop", Skills: []string{"refund"}, Executor: refund, Gates: []act.Gate{act.NoGate}}},
	}, nil)
	if err != nil {
		panic(err)
	}
	defer agent.Close()
	for _, order := range []string{"SO-1041", "SO-1042", "SO-1043"} {
		inputs, _ := json.Marshal(map[string]string{"order": order})
		report, err := agent.Run(ctx, arc.Objective{Text: "Refund the order.", Inputs: inputs})
		if err != nil {
			panic(err)
		}
		fmt.Println(report.Status+":", report.Text)
	}
	// Output:
	//   the planner thinks
	// delivered: refunded {"order":"SO-1041"}
	//   the planner thinks
	// delivered: refunded {"order":"SO-1042"}
	// delivered: refunded {"order":"SO-1043"}
}
