package learn_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// A loop that the host keeps: what two cases had in common is done without thinking from the third on.
func ExampleLayer() {
	ctx := context.Background()
	layer, err := learn.New(ctx, store.NewMem(), nil) // learn.Open(ctx, dir, nil) keeps it in a directory
	if err != nil {
		panic(err)
	}
	defer layer.Close()
	for _, order := range []string{"SO-1041", "SO-1042", "SO-1043"} {
		inputs, _ := json.Marshal(map[string]string{"order": order})
		advice, err := layer.Before(ctx, learn.Case{Text: "Refund order " + order + ".", Inputs: inputs})
		if err != nil {
			panic(err)
		}
		plan := advice.Fires
		if plan == nil {
			fmt.Println("thinks:", advice.Why)
			plan = &reason.Plan{Calls: []reason.PlanCall{{Name: "refund", Inputs: json.RawMessage(`{"id":"` + order + `"}`)}}}
		}
		fmt.Printf("%s %s\n", plan.Calls[0].Name, plan.Calls[0].Inputs)
		if _, err := layer.After(ctx, advice, learn.Outcome{Verdict: learn.Delivered, Plan: plan}); err != nil {
			panic(err)
		}
	}
	why, err := layer.Why(ctx, learn.Case{Text: "Refund order SO-7.", Inputs: json.RawMessage(`{"order":"SO-7"}`)})
	fmt.Println(why, err)
	// Output:
	// thinks: no case of these words and inputs was delivered
	// refund {"id":"SO-1041"}
	// thinks: it was delivered once
	// refund {"id":"SO-1042"}
	// refund {"id":"SO-1043"}
	// order is "SO-7", which has another form than before <nil>
}

// The layer around a loop, as README.md has it. It is compiled and not run.
func ExampleLayer_around() {
	var (
		ctx         = context.Background()
		order, text string
		inputs      json.RawMessage
		loop        func(prompt string) ([]reason.PlanCall, string)
		check       func(answer string) (complaint string)
	)
	layer, err := learn.Open(ctx, "memory.arc", nil)
	// for each request:
	advice, err := layer.Before(ctx, learn.Case{Text: "Refund order " + order + ".", Inputs: inputs})
	calls, answer := loop(advice.Prompt() + text) // yours: memories, warnings and plans stand before what it is asked
	outcome := learn.Outcome{Verdict: learn.Delivered, Plan: &reason.Plan{Calls: calls}, Answer: answer}
	if complaint := check(answer); complaint != "" {
		outcome.Verdict, outcome.Complaint = learn.Failed, complaint
	}
	_, err = layer.After(ctx, advice, outcome)
	fmt.Println(err)
}
