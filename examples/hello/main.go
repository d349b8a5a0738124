// Hello is a small agent that learns: the third time it does not ask.
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
	greet := func(context.Context, act.Work) (act.Result, error) {
		said := iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "said it"}
		return act.Result{Output: []byte(`"hello"`), Reflection: said}, nil
	}
	agent, err := arc.Open(context.Background(), "", arc.Host{ // "" keeps it in memory
		Reasoner: reason.ReasonerFunc(func(_ context.Context, b reason.Brief) (reason.Decision, error) {
			return reason.Decision{Approach: "just say it", Tasks: []reason.Task{{Objective: b.Objective}}}, nil
		}),
		Workers: []act.Worker{{Card: rank.Candidate{Name: "greeter"}, Executor: act.ExecutorFunc(greet)}},
		Gates: []act.Gate{act.GateFunc(func(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: string(r.Output) == `"hello"`, Complaint: "say hello"}, nil
		})},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		report, err := agent.Run(context.Background(), arc.Objective{Text: "greet the reader"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(report.Status, "asked:", report.Deliberations, "fired:", report.Fired)
	}
}
