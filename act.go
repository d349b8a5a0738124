package arc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/consent"
	"github.com/arc-learn/arc/internal/detach"
	"github.com/arc-learn/arc/internal/outputs"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// act lets the worker make the attempt that assign has chosen. The step before has committed
// state.Current, so that a process that dies in here leaves an attempt without an end. A run that
// is resumed makes it again under the same key, or, if its Objective is Once, counts it as
// interrupted (wake).
//
// What follows depends on how the attempt ended:
//
//   - Finished: the gates verify its output.
//   - Away: another worker makes the attempt, which costs none of Objective.Attempts. An Objective
//     that is Once has no other worker: there, Away is a failure.
//   - InputRequired: the reasoner or a person answers, and the same attempt goes on.
//   - Pending: the run waits until a person has ruled about it.
//   - Canceled: the caller's ctx has ended. Only what the attempt has cost is kept, if it has cost
//     anything; the attempt is made again by a Resume.
//   - All others are failures, from which the run learns.
func (t *turn) act(ctx context.Context) (phase, error) {
	if why := t.lacks(); why != "" {
		return t.block(CauseSecret, why), nil
	}
	c := t.s.Current
	at, err := t.attempt(ctx)
	t.heard = t.own.breakers.Heard(c.Worker, broke(&at), at.End == act.Finished, t.a.o.Now())
	switch {
	case err != nil:
		return "", err
	case at.End == act.Canceled:
		if at.Result.Usage == (act.Usage{}) {
			return "", ctx.Err()
		}
		t.s.Usage, t.did.used = t.s.Usage.Add(at.Result.Usage), at.Result.Usage
		return phaseAct, t.charge(ctx, &at) // the commit keeps what it has cost
	case at.End == act.Pending:
		return t.pend(), nil
	case at.End == act.InputRequired && t.asked(&at):
		return phaseAsk, t.charge(ctx, &at)
	}
	if at.End == act.Away && !t.s.Objective.Once {
		t.note(&at, outputs.JSON{})
		t.away(at.After)
		return phaseAssign, t.charge(ctx, &at)
	}
	t.s.Attempts++
	t.s.Wait.Tries = 0
	t.s.aim().back(c.Worker)
	// A small output lies in the run's own record, and costs no commit. A larger one is a record
	// of its own, written before the run's, so that a run in the store never names an output that
	// is not there. An output that no run names is overwritten by the next try of its attempt.
	t.output, t.did.stack = at.Result.Output, at.Stack
	out := outputs.JSON{Inline: t.output}
	if len(t.output) > outputs.Max {
		kept := t.veil.JSON("", t.output)
		out, err = outputs.Store(ctx, t.a.st, t.own.name, c.Key, kept)
		out.Marked = string(t.veil.San.RevealJSON(kept)) != string(t.output)
	}
	if limit, ok := errors.AsType[*store.LimitError](err); ok {
		at = act.Attempt{End: act.Malformed, Complaint: "output: " + limit.Error(), Wall: at.Wall}
	} else if err != nil {
		return "", fmt.Errorf("store the output: %w", err)
	}
	t.note(&at, out)
	if at.End != act.Finished {
		return phaseLearn, nil
	}
	return phaseVerify, nil
}

// charge counts what an attempt has cost that is made again. The attempt is no evidence about its
// worker.
func (t *turn) charge(ctx context.Context, at *act.Attempt) error {
	s, g, u := &t.s, t.s.aim(), at.Result.Usage
	if u == (act.Usage{}) {
		return nil
	}
	now := t.a.o.Now()
	err := t.own.book.Observe(context.WithoutCancel(ctx), rank.Sample{
		Key:       fmt.Sprintf("%s/%s/%d", s.Current.Key, at.End, now.UnixNano()),
		Candidate: s.Current.Worker, Unknown: true, Reason: t.veil.Hide(at.Complaint), At: now.UTC(),
		Situation: learn.Situation(g.Tasks[g.Next].Skill, t.veil.Hide(g.Situation)),
		Wall:      at.Wall, CostUSD: min(u.CostUSD, rank.MaxCostUSD), APICostUSD: min(u.APICostUSD, rank.MaxCostUSD),
		TokensIn: min(u.TokensIn, rank.MaxTokens), TokensOut: min(u.TokensOut, rank.MaxTokens),
	})
	if err != nil {
		return fmt.Errorf("what attempt %d has cost: %w", s.Attempts+1, err)
	}
	return nil
}

// attempt makes the current attempt, unless a person has to approve it first: then it ends as
// Pending, which is committed before the attempt is made.
func (t *turn) attempt(ctx context.Context) (act.Attempt, error) {
	c := t.s.Current
	call := &t.call
	*call = act.Call{Worker: c.Worker, Work: t.workersOwn(), Once: t.s.Objective.Once}
	// A ruling holds for the one attempt that it is about: Permitted says whether it still does.
	if p := c.Approval; p != nil && !p.Closed {
		return act.Attempt{End: act.Pending}, nil // resumed too early
	} else if p != nil {
		ok, end, why := p.Permitted()
		if !ok {
			return act.Attempt{End: end, Complaint: why, Err: act.ErrDenied}, nil
		}
		call.Allowed = p.Mode
	}
	// What is known of the worker decides whether a person is asked, and is shown to that person.
	// It is read only where a person may be asked.
	if o := &t.a.o; o.ApproveAbove > 0 || t.a.runner.Reach(c.Worker) >= act.Repo {
		s, err := t.own.book.Stats(ctx, c.Worker, call.Work.Task.Skill)
		if err != nil {
			return act.Attempt{}, fmt.Errorf("approval: %w", err)
		}
		call.CostUSD = s.CostUSD
		if s.Known >= trusted {
			call.Success = max(s.SuccessRate, 1e-9) // 0 would mean not known
		}
	}
	at := t.a.runner.Execute(ctx, call)
	if at.End == act.Pending {
		now := t.a.o.Now()
		c.Approval = &consent.Ask{
			Mode: call.Mode, Blast: call.Blast, Why: call.Why, Success: call.Success, CostUSD: call.CostUSD,
			Asked: now.UnixNano(), Until: now.Add(min(t.a.o.ApprovalTTL, longestApproval)).UnixNano(),
			Need: t.a.runner.Approvers(c.Worker, call.Mode), Irreversible: call.Irreversible,
		}
	}
	return at, nil
}

// longestApproval bounds the wait for a person, so that adding it to a time cannot overflow.
const longestApproval = 100 * 365 * 24 * time.Hour

// broke reports whether the executor failed, which is the worker's fault at any task.
func broke(at *act.Attempt) bool {
	own := []act.End{act.Away, act.TimedOut, act.Panicked}
	return slices.Contains(own, at.End) || at.End == act.Failed && at.Err != nil
}

// trusted is how many outcomes a success rate has to be based on.
const trusted = 5

// pend makes the run wait for a person's approval, until the approval's own time is up. An attempt
// that is not approved by then is not made.
func (t *turn) pend() phase {
	c := t.s.Current
	p := c.Approval
	t.wait(CauseApproval, fmt.Sprintf("%s: %s", c.Worker, strings.Join(p.Why, "; ")), 0)
	t.s.Wait.Due, t.s.Wait.Tries = p.Until, 1
	t.pause = time.Duration(p.Until - t.s.Wait.Since)
	return phaseAct
}

// note records the outcome of the attempt in state.Current. Of the memories that the worker says it
// has used, or was misled by, only those count that it was given.
func (t *turn) note(at *act.Attempt, out outputs.JSON) {
	s, c := &t.s, t.s.Current
	c.End, c.Wrong, c.Wall, c.Resonance = at.End, t.clip(at.Complaint), at.Wall, at.Resonance
	c.Reflection, c.Output, c.Usage, c.Deltas = at.Result.Reflection, out, at.Result.Usage, at.Result.Deltas
	for _, d := range c.Deltas {
		t.veil.JSON(d.Domain+"."+d.Path, d.Value)
	}
	c.Utilized = s.aim().applied(at.Result.Utilized)
	c.Misled = s.aim().applied(at.Result.Misled)
	c.Used = among(s.aim().Facts, at.Result.Utilized)
	s.Usage = s.Usage.Add(c.Usage)
	if c.Reflection.Status != "" {
		s.Tracker = appendTo(s.Tracker[max(0, len(s.Tracker)+1-maxTracked):], iar.Entry{
			Task: c.Key, Status: c.Reflection.Status, Confidence: c.Reflection.Confidence, Resonance: c.Resonance,
		})
	}
	e := Event{Text: string(at.End), Wall: at.Wall}
	if c.Wrong != "" {
		e.Text += ": " + c.Wrong
	}
	t.emit(EventExecuted, e)
}

// workersOwn returns the current attempt as a worker sees it. It is a copy: some workers change
// their Work though the contract forbids it, and the next attempt must get what was recalled.
func (t *turn) workersOwn() act.Work {
	w := t.work()
	w.Inputs = slices.Clone(w.Inputs)
	detach.Task(&w.Task)
	all, n := detach.Hits(t.shown.Hits[:len(w.Memories)+len(w.Background)]), len(w.Memories)
	w.Memories, w.Background, w.Facts = all[:n:n], all[n:], detach.Hits(w.Facts)
	w.Warnings = t.warnings(w.Task.Skill)
	return w
}
