// Cluster has three processes share the runs of one PostgreSQL database. Each works through the objectives
// that no other has begun. One is killed while it is at work: another takes up its run, which goes on after
// its last step.
//
//	ARC_POSTGRES=postgres://arc@localhost/arc go run .
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/postgres"
)

const orders = 9

func main() {
	if os.Getenv("ARC_POSTGRES") == "" {
		fmt.Println("ARC_POSTGRES names no database, as postgres://arc@localhost/arc does")
		return
	}
	if name := os.Getenv("ARC_PROCESS"); name != "" {
		check(process(name))
		return
	}
	// A schema of this program's own, so that it begins anew each time.
	schema := fmt.Sprint("cluster_", time.Now().Unix())
	var all []*exec.Cmd
	for _, name := range []string{"ann", "bob", "cleo"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "ARC_PROCESS="+name, "ARC_SCHEMA="+schema)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		check(cmd.Start())
		all = append(all, cmd)
	}
	time.Sleep(800 * time.Millisecond) // by then each is at work
	fmt.Println("(ann is killed; the others notice within 15 s)")
	check(all[0].Process.Kill())
	_ = all[0].Wait()
	for _, cmd := range all[1:] {
		check(cmd.Wait())
	}

	ctx := context.Background()
	st, err := postgres.Open(ctx, os.Getenv("ARC_POSTGRES"), &postgres.Options{Schema: schema})
	check(err)
	defer st.Close()
	agent, err := arc.New(ctx, st, host("the one that looks"), nil)
	check(err)
	defer agent.Close()
	for r, err := range agent.In("").Runs(ctx) {
		check(err)
		fmt.Printf("%s: %s, %s\n", r.ID, r.Status, r.Text)
	}
}

// process is one of the three: an Agent of its own on the database that all share.
func process(name string) error {
	ctx := context.Background()
	st, err := postgres.Open(ctx, os.Getenv("ARC_POSTGRES"), &postgres.Options{Schema: os.Getenv("ARC_SCHEMA")})
	if err != nil {
		return err
	}
	defer st.Close()
	agent, err := arc.New(ctx, st, host(name), &arc.Options{Process: name})
	if err != nil {
		return err
	}
	defer agent.Close()
	for n := range orders {
		id := fmt.Sprint("order-", n)
		_, err := agent.Run(ctx, arc.Objective{ID: id, Text: "pack and ship " + id})
		if errors.Is(err, arc.ErrRunning) {
			continue // another process has it, or was faster to begin it
		}
		if err != nil {
			return err
		}
	}
	for n := range orders { // a run whose process is gone is taken up by one that waits here
		if _, err := agent.In("").Wait(ctx, fmt.Sprint("order-", n)); err != nil {
			return err
		}
	}
	return nil
}

// host has a worker whose steps are kept, each under the run: whoever takes up the run does not pack again.
func host(process string) arc.Host {
	work := act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		packed, err := act.Step(ctx, "pack", nil, func(context.Context) (string, error) {
			fmt.Printf("%s packs %s\n", process, c.Run)
			return "packed by " + process, nil
		})
		if err != nil {
			return nil, err
		}
		select {
		case <-time.After(500 * time.Millisecond): // the lorry comes
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return &act.Result{Text: packed + ", shipped by " + process}, nil
	})
	return arc.Host{Workers: []act.Worker{{Name: "dock", Executor: work, Gates: []act.Gate{act.NoGate}}}}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
