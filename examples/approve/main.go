// Approve has a run wait for a person, over a restart of the program. The transfer is made once, also where
// the person answers twice.
//
//	go run ./examples/approve
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
)

// host has one worker, which moves money. Nobody answers at once: there is no Approver.
var host = arc.Host{Workers: []act.Worker{{
	Name: "transfer", Irreversible: true, Gates: []act.Gate{act.GateFunc(receipt)},
	AskAbove: map[string]float64{"usd": 100}, // smaller amounts go without asking
	Executor: act.ExecutorFunc(func(_ context.Context, c *act.Call) (*act.Result, error) {
		fmt.Printf("  (the bank moves %s)\n", c.Task.Inputs)
		return &act.Result{Text: "receipt 4711"}, nil
	}),
}}}

// receipt is the gate: a transfer without a receipt is none.
func receipt(_ context.Context, _ *act.Call, r *act.Result) (act.Verdict, error) {
	if r.Text == "" {
		return act.Verdict{Complaint: "there is no receipt"}, nil
	}
	return act.Verdict{Pass: true}, nil
}

func main() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "approve")
	check(err)
	defer os.RemoveAll(dir)

	fmt.Println("Monday:")
	agent := open(ctx, dir)
	for _, inputs := range []string{`{"to":"Ann","usd":20}`, `{"to":"Bo","usd":900}`} {
		r, err := agent.Run(ctx, arc.Objective{Text: "pay", Inputs: json.RawMessage(inputs)})
		check(err)
		fmt.Printf("  %s: %s\n", r.Status, r.Text)
	}
	check(agent.Close())

	fmt.Println("Tuesday, in another process:")
	agent = open(ctx, dir)
	defer agent.Close()
	view := agent.In("") // of the scope in Options, which is none here
	for r, err := range view.Unfinished(ctx) {
		check(err)
		a := r.Approvals[0]
		fmt.Printf("  %s %s? (%s)\n", a.Name, a.Inputs, a.Why[0])
		check(view.Decide(ctx, act.Ruling{Approval: a.ID, Allow: true, By: "Cy"}))
		r, err = view.Wait(ctx, r.ID)
		check(err)
		fmt.Printf("  %s: %s\n", r.Status, r.Text)
		// A second answer is an error: the transfer was made, and is not made again.
		fmt.Println("  again:", view.Decide(ctx, act.Ruling{Approval: a.ID, Allow: true, By: "Dee"}))
	}
}

func open(ctx context.Context, dir string) *arc.Agent {
	a, err := arc.Open(ctx, dir, host, nil)
	check(err)
	return a
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
