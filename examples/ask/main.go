// Ask shows a run that stops for a human: the reasoner cannot tell what is
// meant, the run waits with a question, and goes on with the answer.
//
//	go run ./examples/ask
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// capitals are the cities that the worker knows the way to.
var capitals = map[string]string{"France": "Paris", "Italy": "Rome"}

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run books a trip to a capital, and reads the answers to its questions from
// in.
func run(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	agent, err := arc.Open(ctx, "", arc.Host{
		Reasoner: reason.ReasonerFunc(decide),
		Workers:  []act.Worker{{Card: rank.Candidate{Name: "booker"}, Executor: act.ExecutorFunc(book)}},
		Gates:    []act.Gate{act.GateFunc(booked)},
	}, &arc.Options{Pivot: arc.PivotAuto, Attended: true}) // a run that is stuck asks, too
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()

	report, err := agent.Run(ctx, arc.Objective{ID: "trip", Text: "book a trip to the capital"})
	lines := bufio.NewScanner(in)
	for err == nil && report.Status == arc.Asking {
		for _, q := range report.Questions {
			fmt.Fprintln(out, "?", q)
		}
		if !lines.Scan() {
			fmt.Fprintln(out, "no answer: the run waits for one")
			return lines.Err()
		}
		fmt.Fprintln(out, ">", lines.Text())
		report, err = agent.In("").Answer(ctx, "trip", lines.Text())
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s\n", report.Status, report.Deliveries[0].Output)
	return nil
}

// decide makes a task of the last answer, and asks as long as there is none
// that it knows.
func decide(_ context.Context, b reason.Brief) (reason.Decision, error) {
	question := "The capital of which country?"
	if n := len(b.Answers); n > 0 {
		country := b.Answers[n-1].Text
		if capitals[country] != "" {
			inputs, err := json.Marshal(country)
			return reason.Decision{
				Approach: "book",
				Tasks:    []reason.Task{{Objective: b.Objective, Inputs: inputs}},
			}, err
		}
		question = "I know no country of that name. Which one?"
	}
	return reason.Decision{Complexity: reason.Unclear, Questions: []string{question}}, nil
}

func book(_ context.Context, w act.Work) (act.Result, error) {
	var country string
	if err := json.Unmarshal(w.Task.Inputs, &country); err != nil {
		return act.Result{}, err
	}
	ticket, err := json.Marshal("a ticket to " + capitals[country])
	return act.Result{
		Output:     ticket,
		Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "booked"},
	}, err
}

func booked(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
	return act.Verdict{Pass: len(r.Output) > 0, Complaint: "there is no ticket"}, nil
}
