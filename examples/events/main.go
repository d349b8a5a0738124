// Events shows a run as it happens: each line is printed as soon as the step
// that it belongs to is committed.
//
//	go run ./examples/events
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

func main() {
	ctx := context.Background()
	agent, err := arc.Open(ctx, "", arc.Host{
		Reasoner: reason.ReasonerFunc(plan),
		Workers:  []act.Worker{{Card: rank.Candidate{Name: "cook"}, Executor: act.ExecutorFunc(cook)}},
		Gates:    []act.Gate{act.GateFunc(taste)},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range agent.Events(ctx, arc.Objective{ID: "dinner", Text: "make soup"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s", e.Seq, e.Kind)
		if e.Worker != "" {
			fmt.Printf(": %s, task %d, attempt %d", e.Worker, e.Task, e.Attempt)
		}
		if e.Text != "" {
			fmt.Printf(" (%s)", e.Text)
		}
		fmt.Println()
	}
	if err := agent.Close(); err != nil {
		log.Fatal(err)
	}
}

func plan(context.Context, reason.Brief) (reason.Decision, error) {
	return reason.Decision{
		Approach: "water first",
		Tasks:    []reason.Task{{Objective: "boil water"}, {Objective: "season it"}},
	}, nil
}

func cook(_ context.Context, w act.Work) (act.Result, error) {
	made := `"water"`
	if len(w.Lineage) > 0 {
		made = `"soup"`
	}
	if w.Complaint != "" {
		made = `"salted soup"`
	}
	return act.Result{
		Output:     []byte(made),
		Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.7, Summary: "cooked"},
	}, nil
}

func taste(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
	return act.Verdict{Pass: string(r.Output) != `"soup"`, Complaint: "it needs salt"}, nil
}
