package tools_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

type Order struct {
	ID     string  `json:"id"`
	Amount float64 `json:"amount"`
}

func lookUp(_ context.Context, in struct {
	ID string `json:"id" jsonschema:"the id of the order, like A-7"`
}) (Order, error) {
	return Order{in.ID, 40}, nil
}

func refund(_ context.Context, o Order) (string, error) {
	return fmt.Sprintf("refunded $%v for %s", o.Amount, o.ID), nil
}

// A model with two tools, one of which cannot be undone and asks a person. In a program the store is that of
// badger.Open(ctx, dir, nil): then it goes on where it was, whenever it is stopped.
func Example() {
	find := tools.Func("find_order", "Returns an order.", lookUp)
	pay := tools.Func("refund", "Pays an order back.", refund)
	pay.Irreversible, pay.Mode = true, act.Gated
	support := act.Worker{Name: "support", Executor: tools.New(demo{}, nil, find, pay), Gates: []act.Gate{act.NoGate}}
	runner, err := act.NewRunner([]act.Worker{support}, func(_ context.Context, a act.Approval) (act.Ruling, error) {
		fmt.Printf("allow %s %s? yes\n", a.Name, a.Inputs)
		return act.Ruling{By: "anna", Allow: true}, nil
	}, 0, nil)
	if err != nil {
		panic(err)
	}
	show := func(e act.Event) {
		if e.Kind == "answer" && e.Text != "" {
			fmt.Println(e.Text)
		}
	}
	journal := act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, show)
	attempt := runner.Run(act.WithJournal(context.Background(), journal, nil), &act.Call{
		Case: reason.Case{Run: "1"}, Attempt: 1, Worker: runner.Workers()[0], Task: reason.Task{Objective: "Order A-7 came broken."},
	})
	fmt.Println(attempt.Outcome, len(attempt.Plan.Calls), "calls")
	// Output:
	// I look at the order.
	// allow refund {"amount":40,"id":"A-7"}? yes
	// You have your money back: refunded $40 for A-7.
	// delivered 2 calls
}

// demo stands for a model.
type demo struct{}

func (demo) Generate(_ context.Context, r *reason.Request) (*reason.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	answer := &reason.Response{Stop: "tools"}
	switch len(r.Messages) {
	case 1:
		answer.Text = "I look at the order."
		answer.Calls = []reason.ToolCall{{ID: "1", Name: "find_order", Inputs: json.RawMessage(`{"id":"A-7"}`)}}
	case 3:
		answer.Calls = []reason.ToolCall{{ID: "2", Name: "refund", Inputs: json.RawMessage(last.Text)}}
	default:
		answer.Text, answer.Stop = "You have your money back: "+last.Text+".", "end"
	}
	if answer.Text != "" {
		r.OnText(answer.Text)
	}
	return answer, nil
}
