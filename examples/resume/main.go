// Resume kills a process in the middle of a task, and lets the next one finish it. What was done is not done
// again.
//
//	go run ./examples/resume
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
)

var (
	dir  = flag.String("dir", "", "of the agent; set by the program itself")
	dies = flag.Bool("dies", false, "the process ends after the second step")
)

// order makes three steps. Each is committed before the next begins.
func order(ctx context.Context, _ *act.Call) (*act.Result, error) {
	text := ""
	for _, name := range []string{"reserve the lamp", "charge $20", "print the label"} {
		made, err := act.Step(ctx, name, nil, func(context.Context) (string, error) {
			fmt.Println("  " + name)
			return name + ": done. ", nil
		}, act.Irreversible())
		if err != nil {
			return nil, err
		}
		text += made
		if name == "charge $20" && *dies {
			fmt.Println("  (the process is killed)")
			os.Exit(137) // what a kill -9 looks like: nothing is closed
		}
	}
	return &act.Result{Text: text}, nil
}

func main() {
	flag.Parse()
	if *dir == "" {
		twice()
		return
	}
	ctx := context.Background()
	agent, err := arc.Open(ctx, *dir, arc.Host{Workers: []act.Worker{{
		Name: "order", Executor: act.ExecutorFunc(order), Gates: []act.Gate{act.NoGate},
	}}}, nil)
	check(err)
	defer agent.Close()
	if *dies {
		_, err = agent.Run(ctx, arc.Objective{ID: "order/17", Text: "Order a lamp for Ann."})
		check(err)
	}
	// In the second process nobody asks for it: an open Agent goes on with what was running.
	r, err := agent.In("").Wait(ctx, "order/17")
	check(err)
	fmt.Printf("%s: %s\n", r.Status, r.Text)
}

// twice runs this program in two processes, one after the other.
func twice() {
	temp, err := os.MkdirTemp("", "resume")
	check(err)
	defer os.RemoveAll(temp)
	for _, args := range [][]string{{"-dir", temp, "-dies"}, {"-dir", temp}} {
		fmt.Println("A process:")
		cmd := exec.Command(os.Args[0], args...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		_ = cmd.Run() // the first one ends with a code of its own
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
