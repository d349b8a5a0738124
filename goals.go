package arc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
)

// Keep returns a Controller that keeps goals by this agent's workers, over the
// agent's store. What can be done about a goal follows from the workers' Skills
// and Effects, and from the actions of opts, which may be nil; its zero Now,
// Logger and Sanitizer are the agent's, and a zero Lease is as long as an
// approval, an attempt and a gate may take together.
//
// A dispatch is a run whose ID is the dispatch's key, with the steps as
// Objective.Tasks, one attempt each, and Once: the best-ranked worker that can
// bring the effect about is called exactly once, after the approvals that its
// Mode and Blast ask for, its gates decide, and what came of it is learned, in
// the situation "goal ID". What a human refuses, or does not answer in time, is
// [goal.Refused]. Deltas of delivered tasks change the world.
//
// Close the Controller before the Agent. The errors are those of goal.New.
func (a *Agent) Keep(ctx context.Context, w *goal.World, gs *goal.Goals, opts *goal.Options) (*goal.Controller, error) {
	var o goal.Options
	if opts != nil {
		o = *opts
	}
	if o.Now == nil {
		o.Now = a.o.Now
	}
	if o.Logger == nil {
		o.Logger = a.o.Logger
	}
	if o.Lease == 0 {
		o.Lease = a.o.ApprovalTTL + a.o.AttemptTimeout + a.o.GateTimeout
	}
	if o.Sanitizer == nil {
		o.Sanitizer = a.o.Sanitizer
	}
	k := keeper{a}
	return goal.New(ctx, a.st, w, gs, k, k, &o)
}

// keeper has goals kept by an agent: the catalog of its workers, and the
// dispatcher to them.
type keeper struct{ a *Agent }

// Skills implements goal.Catalog.
func (k keeper) Skills() []string { return k.a.runner.Skills() }

// Effects implements goal.Catalog.
func (k keeper) Effects() []reason.Effect { return k.a.runner.Effects() }

// Dispatch implements goal.Dispatcher.
func (k keeper) Dispatch(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
	o := Objective{ID: d.Key, Text: d.Text, Situation: "goal " + d.Goal, Inputs: d.Inputs, Attempts: 1, Once: true}
	for _, s := range d.Steps {
		o.Tasks = append(o.Tasks, s.Task)
	}
	r, err := k.a.Run(ctx, o)
	switch {
	case ctx.Err() != nil:
		return goal.Result{}, ctx.Err()
	case errors.Is(err, ErrObjective):
		return goal.Result{}, fmt.Errorf("%w: %w", goal.ErrRefused, err)
	case err != nil: // the run is cut off, and may be gone on with
		return goal.Result{}, fmt.Errorf("%w: %w", goal.ErrInterrupted, err)
	}
	return resultOf(r), nil
}

// Resume implements goal.Resumer: a run goes on by its id, and Once sees to it
// that nobody is called a second time.
func (k keeper) Resume(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
	return k.Dispatch(ctx, d)
}

// resultOf is what a run means for the goal that it was for.
func resultOf(r *Report) goal.Result {
	res := goal.Result{End: goal.Failed, Why: r.Reason, Worker: r.LastWorker, Done: len(r.Deliveries)}
	for _, d := range r.Deliveries {
		res.Deltas = append(res.Deltas, d.Deltas...)
	}
	switch {
	case r.Status == Delivered:
		res.End = goal.Succeeded
	case r.LastEnd == act.Interrupted:
		res.End = goal.Interrupted
	case r.LastEnd == act.Denied || r.Attempts == 0:
		res.End = goal.Refused
	}
	return res
}

// FleetDomain is the domain of [Agent.FleetCollector].
const FleetDomain = "agent_fleet_health"

// FleetCollector reads how the agent's workers did over the last day, once a
// minute, as a domain of a world, so that goals can be about them:
//
//	selector: domains.agent_fleet_health.data.maxFailureRate1h
//
// The data is an object of "agents", a list by name of objects with
// "agentName", "successRate", "p50LatencyMs", "p95LatencyMs",
// "costPerSuccessfulOutcome", "totalCostUsd", "failureRate1h",
// "recentFailures" (the last ten, the latest first, each with its
// "correlationId") and "totalOutcomes"; "byName", the same by name;
// "maxFailureRate1h"; "totalCostUsd1d"; "orphanedSkillCount" and
// "orphanedSkills", those that were asked for and never delivered;
// "systemActors", who was sampled and is no worker any more, with "actor",
// "total", "success" and "failure"; "windowHours", 24; and "collectedAt", in
// Unix milliseconds. The figures are those of meta.Fleet.
func (a *Agent) FleetCollector() goal.Collector {
	return goal.Collector{Domain: FleetDomain, Every: time.Minute, Read: func(ctx context.Context) (any, error) {
		now := a.o.Now()
		samples := a.book.Samples(ctx, now.Add(-meta.FleetWindow))
		f, err := meta.NewFleet(now, samples, &meta.FleetOptions{Workers: a.runner.Workers()})
		if err != nil {
			return nil, err
		}
		return fleetHealth(now, &f), nil
	}}
}

// The fleet's health as JSON, in the names of the system whose goals it is to
// serve.
type (
	fleetJSON struct {
		Agents      []agentJSON          `json:"agents"`
		ByName      map[string]agentJSON `json:"byName"`
		FailureRate float64              `json:"maxFailureRate1h"`
		CostUSD     float64              `json:"totalCostUsd1d"`
		Orphans     int                  `json:"orphanedSkillCount"`
		Orphaned    []string             `json:"orphanedSkills"`
		Others      []actorJSON          `json:"systemActors"`
		Window      int                  `json:"windowHours"`
		At          int64                `json:"collectedAt"`
	}
	agentJSON struct {
		Name           string        `json:"agentName"`
		SuccessRate    float64       `json:"successRate"`
		P50            int64         `json:"p50LatencyMs"`
		P95            int64         `json:"p95LatencyMs"`
		CostPerSuccess float64       `json:"costPerSuccessfulOutcome"`
		CostUSD        float64       `json:"totalCostUsd"`
		FailureRate    float64       `json:"failureRate1h"`
		Failures       []failureJSON `json:"recentFailures"`
		Outcomes       int           `json:"totalOutcomes"`
	}
	failureJSON struct {
		ID string `json:"correlationId"`
	}
	actorJSON struct {
		Name    string `json:"actor"`
		Total   int    `json:"total"`
		Success int    `json:"success"`
		Failure int    `json:"failure"`
	}
)

func fleetHealth(now time.Time, f *meta.Fleet) fleetJSON {
	out := fleetJSON{
		Agents: []agentJSON{}, ByName: map[string]agentJSON{}, Others: []actorJSON{},
		FailureRate: f.MaxFailureRate, CostUSD: f.CostUSD,
		Orphans: len(f.Orphaned), Orphaned: append([]string{}, f.Orphaned...),
		Window: int(meta.FleetWindow / time.Hour), At: now.UnixMilli(),
	}
	for _, w := range f.Workers {
		x := agentJSON{
			Name: w.Name, SuccessRate: w.SuccessRate, P50: w.P50.Milliseconds(), P95: w.P95.Milliseconds(),
			CostPerSuccess: w.CostPerSuccess, CostUSD: w.CostUSD, FailureRate: w.FailureRate,
			Failures: []failureJSON{}, Outcomes: w.Known,
		}
		for _, key := range slices.Backward(w.Failures) {
			x.Failures = append(x.Failures, failureJSON{key})
		}
		out.Agents = append(out.Agents, x)
		out.ByName[w.Name] = x
	}
	for _, w := range f.Outsiders {
		out.Others = append(out.Others, actorJSON{w.Name, w.Known, w.Successes, w.Known - w.Successes})
	}
	return out
}
