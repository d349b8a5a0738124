package arc

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/workforce"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/fleet"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// Keep returns a Controller that keeps goals by means of this agent's workers, over the
// agent's store. The actions that can serve a goal are the workers' Skills and Effects, and
// the actions of opts, which may be nil. If zero, Now, Logger and Sanitizer of opts are the
// agent's, and Lease is as long as an attempt and all gates may take together, plus an
// approval if a worker may need one. Its Tenant is always that of Options.Scope: the
// dispatches are runs of that tenant.
//
// A dispatch is a run under the dispatch's ID, with the steps as Objective.Tasks, one attempt
// each, and Once set. The best-ranked worker that has the effect is called exactly once, after
// the approvals that its Mode and Blast require, and its gates decide. The outcome is learned
// in the situation "goal ID": a failure at once, a success when a reading shows the goal met.
// If a person refuses, or does not answer in time, the result is [goal.Refused]. A run that is
// Waiting is in flight until its lease ends; then it is given up. Deltas of delivered tasks
// change the world. A Controller that is opened after a crash resumes unfinished runs.
//
// Keep adds a domain to the world, unless the world has one of that name:
// agent_fleet_health, the statistics of the workers over the last day, read once a minute.
// So goals can be about workers:
//
//	selector: domains.agent_fleet_health.data.maxFailureRate1h
//
// The data is an object of "agents", a list by name of objects with "agentName",
// "successRate", "p50LatencyMs", "p95LatencyMs", "costPerSuccessfulOutcome",
// "totalCostUsd", "failureRate1h", "recentFailures" (the last ten, the latest
// first, each with its "correlationId" and "reason") and "totalOutcomes"; "byName", the same by
// name; "maxFailureRate1h"; "totalCostUsd1d"; "orphanedSkillCount" and
// "orphanedSkills", those that were asked for and never delivered; "systemActors",
// former workers that still have samples, with "actor", "total", "success" and
// "failure"; "windowHours", 24; and "collectedAt", in Unix milliseconds. The
// figures are those of package meta/fleet.
//
// Maintain makes proposals about a goal that is never met, and about an action that keeps
// failing: see [View.Proposals]. Approved proposals override gs.
//
// Close the Controller before the Agent. The errors are those of goal.New and World.Collect.
func (a *Agent) Keep(ctx context.Context, w *goal.World, gs *goal.Goals, opts *goal.Options) (*goal.Controller, error) {
	o := *cmp.Or(opts, new(goal.Options))
	if o.Now == nil {
		o.Now = a.o.Now
	}
	o.Logger = cmp.Or(o.Logger, a.o.Logger)
	// A dispatch must outlast the one attempt that it may make: a Controller whose lease ends before
	// would dispatch the goal again beside it.
	lease := max(0, a.o.AttemptTimeout) + a.runner.VerifyTimeout()
	if a.runner.Supervised() {
		lease += a.o.ApprovalTTL
	}
	o.Lease = cmp.Or(o.Lease, lease)
	o.Sanitizer = cmp.Or(o.Sanitizer, a.o.Sanitizer)
	o.Tenant = a.o.Scope.Tenant()
	o.Name = cmp.Or(o.Name, "goals")
	k := keeper{a, segment(o.Name)}
	c, err := goal.New(ctx, a.st, w, gs, k, k, &o)
	there := func(d goal.Domain) bool { return d.Name == workforce.Domain }
	if err == nil && !slices.ContainsFunc(w.Domains(o.Now()), there) {
		err = w.Collect(a.fleetCollector())
	}
	if err == nil {
		err = a.heedGoals(ctx, o.Name, kept{gs, c})
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// keeper connects goals to an agent: it is the catalog of the agent's workers, and runs dispatches.
type keeper struct {
	a    *Agent
	name string // of the controller, as a segment of a scope
}

// segment returns a name as a segment of a scope: other characters become "-".
func segment(name string) string {
	return strings.Map(func(r rune) rune {
		if memory.Scope(r).Check() != nil {
			return '-'
		}
		return r
	}, name)
}

// Skills implements goal.Catalog.
func (k keeper) Skills() []string { return k.a.runner.Skills() }

// Effects implements goal.Catalog.
func (k keeper) Effects() []reason.Effect { return k.a.runner.Effects() }

// Run implements goal.Runner.
func (k keeper) Run(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
	o := Objective{
		ID: d.ID, Text: d.Text, Situation: "goal " + d.Goal, Inputs: d.Inputs, Attempts: 1, Once: true, Actor: k.name,
		Provisional: true,
	}
	for _, s := range d.Steps {
		o.Tasks = append(o.Tasks, s.Task)
	}
	r, err := k.a.Run(ctx, o)
	if errors.Is(err, errStill) { // the run has not begun
		return goal.Result{End: goal.Refused, Why: err.Error()}, nil
	}
	r, err = k.awaited(ctx, d, r, err)
	return resultOf(ctx, r, err)
}

// Resume implements goal.Runner. Since the objective is Once, no worker is called a second time.
func (k keeper) Resume(ctx context.Context, d goal.Dispatch) (goal.Result, error) {
	r, err := k.a.In("").Resume(ctx, d.ID)
	if errors.Is(err, ErrRunning) && !errors.Is(err, errStill) { // the Agent has resumed it by itself
		r, err = k.a.In("").Report(ctx, d.ID)
	}
	r, err = k.awaited(ctx, d, r, err)
	return resultOf(ctx, r, err)
}

// awaited waits while the run of a dispatch waits: for a person who has to approve an attempt or
// answer its worker, or for a part that is away. Once the dispatch's lease is over the attempt
// is refused, or the run given up, so that the goal can be dispatched anew.
//
// It looks at the stored run once a second, since a ruling may come from another process. The run
// is refused only here: a Controller that is closed leaves it waiting, for the next to find.
func (k keeper) awaited(ctx context.Context, d goal.Dispatch, r *Report, err error) (*Report, error) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for err == nil && r.Status != Delivered && r.Status != Blocked {
		select {
		case <-look.C:
		case <-ctx.Done():
		}
		if ctx.Err() == nil {
			s, _, failed := k.a.load(ctx, k.a.o.Scope.Tenant(), d.ID)
			p := s.pending()
			waits := s.Status == Asking || s.Status == Waiting && p == nil || p != nil && !p.Decided(k.a.o.Now())
			if failed == nil && waits {
				continue
			}
			next, failed := k.a.In("").Resume(ctx, d.ID)
			if errors.Is(failed, ErrRunning) {
				continue // the wait is over
			}
			if failed == nil || ctx.Err() == nil {
				r, err = next, failed
				continue
			}
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) || !k.a.o.Now().Before(d.Until) {
			k.refuse(context.WithoutCancel(ctx), d.ID)
		}
		return nil, ctx.Err()
	}
	return r, err
}

// refuse ends a run's wait for a person or a part whose time is over. If the Agent looks just
// then whether that part is back, it ends the wait after that.
func (k keeper) refuse(ctx context.Context, id string) {
	r, err := k.a.In("").Report(ctx, id)
	switch {
	case err != nil:
	case r.Approval != nil:
		no := Ruling{Run: id, Attempt: r.Approval.Attempt, By: "goals", Note: "the time of its dispatch is over"}
		err = k.a.In("").Rule(ctx, no)
	default:
		for err = k.a.decline(ctx, k.a.o.Scope, id); errors.Is(err, ErrRunning); err = k.a.decline(ctx, k.a.o.Scope, id) {
			<-time.After(time.Second)
		}
	}
	if err != nil && !errors.Is(err, ErrLate) {
		k.a.o.Logger.Error("a run whose time is over was not ended", "run", id)
	}
}

// Judge implements goal.Runner: a reading shows what the run's gates could not see.
func (k keeper) Judge(ctx context.Context, id string, seen bool) error {
	v := Verdict{Right: seen, Source: "goals", Why: "a reading shows the goal met"}
	if !seen {
		v.Why = "a reading shows the goal violated"
	}
	err := k.a.In("").Judge(ctx, id, v)
	if errors.Is(err, store.ErrNotFound) {
		return nil // the run was deleted since
	}
	return err
}

// resultOf returns a run's outcome as the goal's Controller takes it.
func resultOf(ctx context.Context, r *Report, err error) (goal.Result, error) {
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.Is(err, store.ErrNotFound):
		return goal.Result{}, err
	case errors.Is(err, ErrObjective):
		return goal.Result{End: goal.Refused, Why: err.Error()}, nil
	default: // the run was interrupted
		return goal.Result{End: goal.Interrupted, Why: err.Error()}, nil
	}
	res := goal.Result{End: goal.Failed, Why: r.Reason, Worker: r.LastWorker, Done: len(r.Deliveries)}
	for _, d := range r.Deliveries {
		res.Deltas = append(res.Deltas, d.Deltas...)
	}
	switch {
	case r.Status == Delivered:
		res.End = goal.Succeeded
	case r.LastEnd == act.Interrupted:
		res.End = goal.Interrupted
	case r.LastEnd.Barred() || r.Attempts == 0:
		res.End = goal.Refused
	}
	return res, nil
}

// heedGoals makes the goals of a new controller follow the applied proposals.
func (a *Agent) heedGoals(ctx context.Context, name string, k kept) error {
	own, err := a.tenant(ctx, a.o.Scope)
	if err != nil {
		return err
	}
	defer a.handBack(own)
	return own.decides(ctx, func() error {
		a.mu.Lock()
		if a.mu.kept == nil {
			a.mu.kept = make(map[string]kept)
		}
		a.mu.kept[name] = k
		a.mu.Unlock()
		a.override(own)
		return nil
	})
}

// fleetCollector reads the statistics of the agent's workers over the last day.
func (a *Agent) fleetCollector() goal.Collector {
	return goal.Collector{Domain: workforce.Domain, Every: time.Minute, Read: func(ctx context.Context) (any, error) {
		now := a.o.Now()
		f, err := within(ctx, a.In(""), func(own *tenant) (fleet.Health, error) {
			return fleet.Measure(ctx, own.book, now, a.runner.Workers())
		})
		if err != nil {
			return nil, err
		}
		return workforce.Data(now, &f), nil
	}}
}
