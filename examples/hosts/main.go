// Hosts has one of everything that a host can plug into arc, each in a file of
// its own; docs/hosts.md shows them and says what arc promises to each.
//
//	go run ./examples/hosts
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"

	"go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run keeps a service at the number of replicas that it should have: as it is
// told, as a model decides, and as a goal asks for.
func run(ctx context.Context, out io.Writer) (err error) {
	svc := &service{}
	skills, err := loadSkills(files)
	if err != nil {
		return err
	}
	llm, err := reason.NewLLM(planner(&client{}), &reason.LLMOptions{Skills: skills})
	if err != nil {
		return err
	}
	host := arc.Host{
		Reasoner: decide(llm),
		Workers: []act.Worker{{
			Card: rank.Candidate{Name: "scaler", Prior: 0.5}, Executor: act.ExecutorFunc(svc.scale), Skills: []string{"scale"},
			Effects: []reason.Effect{{Domain: "web", Path: "data.replicas"}}, Mode: act.Gated, Blast: act.Fleet,
		}},
		Gates:    []act.Gate{act.GateFunc(svc.scaled)},
		Approver: act.ApproverFunc(onlySmall),
		Sources:  sources(svc, notes),
		Skills:   skills,
	}
	opts, err := options(out)
	if err != nil {
		return err
	}
	observed(opts, slog.DiscardHandler, tracenoop.NewTracerProvider(), noop.NewMeterProvider())
	st := &audited{Store: store.NewMem()}
	agent, err := arc.New(ctx, st, host, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Close(), st.Close()) }()
	for _, text := range []string{"scale web to 3", "web is slow in the evening", "scale web to 30"} {
		report, err := agent.Run(ctx, arc.Objective{Text: text})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s, %d replicas\n", text, report.Status, svc.replicas.Load())
	}
	if err := known(ctx, out, host.Sources, "why is the web slow?"); err != nil {
		return err
	}
	svc.replicas.Store(1) // something has gone wrong
	world := new(goal.World)
	controller, err := watch(ctx, agent, world, svc)
	if err != nil {
		return err
	}
	defer controller.Close()
	// controller.Run does this every five seconds.
	err = world.Poll(ctx, opts.Now())
	_, wrong := controller.Tick(ctx)
	if err := errors.Join(err, wrong, controller.Wait(ctx)); err != nil {
		return err
	}
	fmt.Fprintf(out, "goal of 2 replicas, after a failure: %d replicas\n", svc.replicas.Load())
	fmt.Fprintln(out, "the store saw commits:", st.commits.Load() > 0)
	return nil
}
