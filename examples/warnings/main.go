// Warnings is an agent that makes a mistake once: what a gate refused in one run,
// and what passed instead, is told to the worker of the next.
//
//	go run ./examples/warnings
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

// export writes a table as its customer wants it, if it is told how.
func export(_ context.Context, w act.Work) (act.Result, error) {
	separator := ","
	if w.Complaint != "" {
		separator = ";" // a model would read the complaint
	}
	for _, known := range w.Warnings {
		if known.Instead == "" {
			continue // nothing has passed yet
		}
		fmt.Printf("  warned: %s was refused, since %s; %s passed\n", known.Refused, known.Why, known.Instead)
		separator = ";"
	}
	said := iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "exported"}
	return act.Result{Output: fmt.Appendf(nil, "%q", separator), Reflection: said}, nil
}

// read is what the customer's reader does.
func read(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
	return act.Verdict{Pass: string(r.Output) == `";"`, Complaint: "a comma is a decimal point here"}, nil
}

// plan makes a plan of one task.
func plan(_ context.Context, b reason.Brief) (reason.Decision, error) {
	return reason.Decision{Approach: "export it", Tasks: []reason.Task{{Objective: b.Objective}}}, nil
}

func main() {
	agent, err := arc.Open(context.Background(), "", arc.Host{ // "" keeps it in memory
		Reasoner: reason.ReasonerFunc(plan),
		Workers:  []act.Worker{{Card: rank.Candidate{Name: "exporter"}, Executor: act.ExecutorFunc(export)}},
		Gates:    []act.Gate{act.GateFunc(read)},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, table := range []string{"orders", "returns", "customers"} {
		fmt.Println("export", table)
		report, err := agent.Run(context.Background(), arc.Objective{
			Text: "export " + table, Situation: "a partner wants a table",
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(" ", report.Status, "attempts:", report.Attempts)
	}
}
