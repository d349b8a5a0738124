// Queue has an agent work through jobs by priority. What a job leads to is added in the commit that ends it,
// and a job with Cron comes each morning. An attempt that fails is made again within the job; a job that
// fails comes again after 30 s.
//
//	go run ./examples/queue
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/store"
)

func main() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	st := store.NewMem()

	broken := true
	work := act.ExecutorFunc(func(_ context.Context, c *act.Call) (*act.Result, error) {
		if c.Text == "mend the build" && broken {
			broken = false
			fmt.Println("  (the tests still fail)")
			return nil, errors.New("the tests still fail")
		}
		return &act.Result{Text: "did: " + c.Text}, nil
	})
	worker := act.Worker{Name: "worker", Executor: work, Gates: []act.Gate{act.NoGate}}
	agent, err := arc.New(ctx, st, arc.Host{Workers: []act.Worker{worker}}, nil)
	check(err)
	defer agent.Close()

	// The jobs are in the tenant's part of the agent's own store.
	q, err := queue.Open(ctx, store.NewGroup(store.Sub(st, store.Scope("").TenantPrefix())), nil)
	check(err)
	for _, d := range []queue.Draft{
		{Subject: "tidy up", Priority: 8},
		{Subject: "mend the build", Priority: 1, Key: "ci/4711"},
		{Subject: "mend the build", Priority: 1, Key: "ci/4711"}, // the same job
		{Subject: "write the report", Cron: "CRON_TZ=Europe/Berlin 0 7 * * 1-5"},
	} {
		j, added, err := q.Add(ctx, d)
		check(err)
		fmt.Printf("%-16s priority %d, added %-5v due %s\n", j.Subject, j.Priority, added, j.At.Format("15:04"))
	}

	run := queue.AgentHandler(agent, func(j queue.Job) arc.Objective {
		return arc.Objective{Text: j.Subject, Inputs: j.Input}
	})
	err = q.Dispatch(ctx, 1, func(ctx context.Context, j *queue.Job) ([]queue.Draft, error) {
		followups, err := run(ctx, j)
		fmt.Printf("  %s: %s\n", j.Subject, j.Summary)
		switch j.Subject {
		case "mend the build":
			followups = append(followups, queue.Draft{Subject: "tell the team", Priority: 2})
		case "tidy up":
			stop() // the last one: a service has none
		}
		return followups, err
	})
	if !errors.Is(err, context.Canceled) {
		check(err)
	}
	for j, err := range q.List(context.Background(), "", queue.Completed, queue.Pending) {
		check(err)
		fmt.Printf("%-16s %s\n", j.Subject, j.State)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
