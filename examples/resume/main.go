// Resume shows a run that is killed in the middle and goes on. A child process
// runs three tasks and is killed, as kill -9 does it, when it begins the
// second; the parent opens the same directory and resumes the run. The first
// task, whose outcome was committed, is not done again.
//
//	go run ./examples/resume
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// childDir names the variable that tells the child where to work.
const childDir = "ARC_RESUME_DIR"

var objective = arc.Objective{ID: "move", Text: "move house"}

func main() {
	var err error
	if dir := os.Getenv(childDir); dir != "" {
		err = child(context.Background(), dir)
	} else {
		err = parent(context.Background())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// child begins the run and does not live to see its end.
func child(ctx context.Context, dir string) error {
	agent, err := open(ctx, dir, func(task string) error {
		if task != "load" {
			return nil
		}
		fmt.Println("killed while doing:", task)
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		if err := self.Kill(); err != nil {
			return err
		}
		select {}
	})
	if err != nil {
		return err
	}
	_, err = agent.Run(ctx, objective)
	return errors.Join(err, agent.Close())
}

func parent(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "arc-resume-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	var killed *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &killed) {
		return fmt.Errorf("the child was not killed: %w", err)
	}

	agent, err := open(ctx, dir, func(string) error { return nil })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	fmt.Println("resumed")
	report, err := agent.In("").Resume(ctx, objective.ID)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d tasks, %d attempts\n", report.Status, len(report.Deliveries), report.Attempts)
	return nil
}

// open returns an agent for moving house, which calls begin when a task begins.
func open(ctx context.Context, dir string, begin func(task string) error) (*arc.Agent, error) {
	plan := func(context.Context, reason.Brief) (reason.Decision, error) {
		return reason.Decision{
			Approach: "one after the other",
			Tasks:    []reason.Task{{Objective: "pack"}, {Objective: "load"}, {Objective: "drive"}},
		}, nil
	}
	do := func(_ context.Context, w act.Work) (act.Result, error) {
		if err := begin(w.Task.Objective); err != nil {
			return act.Result{}, err
		}
		fmt.Println("done:", w.Task.Objective)
		out, err := json.Marshal(w.Task.Objective)
		return act.Result{
			Output:     out,
			Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "done"},
		}, err
	}
	return arc.Open(ctx, dir, arc.Host{
		Reasoner: reason.ReasonerFunc(plan),
		Workers: []act.Worker{{
			Card:     rank.Candidate{Name: "mover"},
			Executor: act.ExecutorFunc(do),
			Gates:    []act.Gate{act.NoGate},
		}},
	}, nil)
}
