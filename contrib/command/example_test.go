package command_test

import (
	"context"
	"fmt"
	"os"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/command"
	"github.com/arc-learn/arc/reason"
)

// A program does the task, and another one checks it. Both get the task as JSON on standard input.
func Example() {
	env := []string{"PATH=" + os.Getenv("PATH")}
	greet := act.Worker{
		Name:     "greet",
		Executor: command.New("", env, "sh", "-c", "cat >/dev/null; echo hello, Ann"),
		Gates:    []act.Gate{command.New("", env, "grep", "-q", "hello, Ann")},
	}
	runner, err := act.NewRunner([]act.Worker{greet}, nil, 0, nil)
	if err != nil {
		panic(err)
	}
	task := reason.Task{Objective: "greet Ann"}
	a := runner.Run(context.Background(), &act.Call{Attempt: 1, Worker: runner.Workers()[0], Task: task})
	fmt.Printf("%s %s\n", a.Outcome, a.Output)
	// Output: delivered "hello, Ann"
}
