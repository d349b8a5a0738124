package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// lease is how long a replica that says nothing keeps what it has: runs, by
// Options.Lease, and jobs, by LeaseTTL. A real one has the defaults.
const lease = 5 * time.Second

func queueOptions() *queue.Options {
	return &queue.Options{LeaseTTL: lease, Backoff: time.Second, MaxAttempts: 10}
}

// replica is one process of the cluster: an agent that works on the jobs of all. It says
// on out what it does.
func replica(ctx context.Context, url, name string, out io.Writer) (err error) {
	st, err := postgres.Open(ctx, url, &postgres.Options{Schema: schema})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	agent, err := arc.New(ctx, st, host(out), &arc.Options{Replica: name, Lease: lease})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	q, err := queue.Open(ctx, st, queueOptions())
	if err != nil {
		return err
	}
	d, err := q.Dispatch(agent.QueueHandler(), &queue.DispatchOptions{Workers: 1, Poll: 200 * time.Millisecond})
	if err != nil {
		return err
	}
	look, home := time.NewTicker(200*time.Millisecond), ""
	defer look.Stop()
	for ctx.Err() == nil { // until it is killed
		if now := agent.Home(""); now != home { // of the tenant of all parcels
			home = now
			fmt.Fprintf(out, "knows-at-home %s\n", home)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
	return d.Close(context.WithoutCancel(ctx))
}

// host plans two tasks for each parcel: pack it, and send it. What is packed is not
// packed again, whoever goes on.
func host(out io.Writer) arc.Host {
	work := func(ctx context.Context, w act.Work) (act.Result, error) {
		verb := w.Task.Skill
		fmt.Fprintf(out, "%ss %s\n", verb, w.Objective)
		select {
		case <-time.After(400 * time.Millisecond):
		case <-ctx.Done():
			return act.Result{}, ctx.Err()
		}
		done := map[string]string{"pack": "packed", "send": "sent"}[verb]
		fmt.Fprintf(out, "%s %s\n", done, w.Objective)
		output, err := json.Marshal(done)
		said := iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: done}
		return act.Result{Output: output, Reflection: said}, err
	}
	return arc.Host{
		Reasoner: reason.ReasonerFunc(func(_ context.Context, b reason.Brief) (reason.Decision, error) {
			return reason.Decision{Approach: "pack, then send", Tasks: []reason.Task{
				{Objective: "pack it", Skill: "pack"}, {Objective: "send it", Skill: "send"},
			}}, nil
		}),
		Workers: []act.Worker{{
			Card: rank.Candidate{Name: "hands"}, Skills: []string{"pack", "send"}, Executor: act.ExecutorFunc(work),
		}},
		Gates: []act.Gate{act.GateFunc(func(_ context.Context, w act.Work, r act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: len(r.Output) > 2, Complaint: "nothing was done"}, nil
		})},
	}
}
