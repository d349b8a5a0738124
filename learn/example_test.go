package learn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/arc-learn/arc"
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
	// thinks: no plan was learned of these words and inputs
	// refund {"id":"SO-1041"}
	// thinks: it was delivered once
	// refund {"id":"SO-1042"}
	// refund {"id":"SO-1043"}
	// order is "SO-7", which has another form than before <nil>
}

// All of a customer is erased by an Agent without workers, while the layer of that tenant is closed.
func ExampleLayer_erase() {
	ctx, st, options := context.Background(), store.NewMem(), &learn.Options{Scope: "acme"}
	layer, err := learn.New(ctx, st, options)
	check(err)
	c := learn.Case{Scope: "acme/anna", Text: "Where is my order?", Actor: "anna"}
	advice, err := layer.Before(ctx, c)
	check(err)
	_, err = layer.After(ctx, advice, learn.Outcome{Verdict: learn.Delivered, Plan: &reason.Plan{
		Calls: []reason.PlanCall{{Name: "lookup", Inputs: json.RawMessage(`{"who":"anna"}`)}},
	}})
	check(err)

	check(layer.Close())
	agent, err := arc.New(ctx, st, arc.Host{}, nil)
	check(err)
	check(agent.In("acme/anna").Erase(ctx))
	check(agent.Close())
	layer, err = learn.New(ctx, st, options)
	check(err)
	defer layer.Close()

	_, err = layer.Judge(ctx, "acme/anna", advice.ID, learn.Failed, "it never came")
	fmt.Println(errors.Is(err, store.ErrNotFound))
	for range st.Scan(ctx, store.Range{Prefix: store.Scope("acme").TenantPrefix()}) {
		fmt.Println("there is something left")
	}
	// Output: true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
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
