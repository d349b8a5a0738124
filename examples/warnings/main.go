// Warnings shows what becomes of a mistake: what the gate refused is told to the worker when such a case
// comes again, also a year later.
//
//	go run ./examples/warnings
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/store"
)

// write stands for a model: it does what it is told, and knows nothing of the house's customs.
func write(_ context.Context, c *act.Call) (*act.Result, error) {
	told := c.Complaint
	for _, w := range c.Warnings {
		told += " " + w.Complaint
	}
	var in struct{ Order string }
	if err := json.Unmarshal(c.Inputs, &in); err != nil {
		return nil, err
	}
	text := "We are sorry that it took so long."
	if strings.Contains(told, "order number") {
		text += " Your order is " + in.Order + "."
	}
	return &act.Result{Text: text}, nil
}

// names is the gate: a reply names the order.
func names(_ context.Context, c *act.Call, r *act.Result) (act.Verdict, error) {
	var in struct{ Order string }
	if err := json.Unmarshal(c.Inputs, &in); err != nil || !strings.Contains(r.Text, in.Order) {
		return act.Verdict{Complaint: "the reply lacks the order number"}, nil
	}
	return act.Verdict{Pass: true}, nil
}

func main() {
	ctx, now := context.Background(), time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	agent, err := arc.New(ctx, store.NewMem(), arc.Host{Workers: []act.Worker{{
		Name: "write", Executor: act.ExecutorFunc(write), Gates: []act.Gate{act.GateFunc(names)},
	}}}, &arc.Options{Now: func() time.Time { return now }})
	check(err)
	defer agent.Close()
	for _, order := range []string{"A-7471", "B-0093", "C-5518"} {
		inputs, _ := json.Marshal(map[string]string{"order": order})
		o := arc.Objective{Text: "Answer the complaint.", Situation: "complaint", Inputs: inputs}
		r, err := agent.Run(ctx, o)
		check(err)
		fmt.Printf("%s  attempts %d: %s\n", now.Format(time.DateOnly), r.Attempts, r.Text)
		now = now.AddDate(0, 6, 0)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
