package arc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/wait"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// reason asks the reasoner, and takes up its decision.
func (t *turn) reason(ctx context.Context) (phase, error) {
	wall := t.s.Objective.Budget.left(t.s.spent(t.a.o.Now()))
	d, err := t.a.deliberate(ctx, t.brief(), wall)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	t.s.Deliberations++
	t.s.Usage = t.s.Usage.Add(d.Usage)
	t.did.used, t.did.fault = d.Usage, err
	if err != nil {
		return t.refuse(err), nil
	}
	g := t.s.aim()
	g.Complaint = ""
	g.Utilized = g.applied(d.Applied)
	switch {
	case d.Impasse != nil:
		t.emit(EventDecided, Event{Text: string(d.Impasse.Kind) + ": " + d.Impasse.Reason, IDs: g.Utilized})
		return t.subgoal(d.Impasse), nil
	case len(d.Questions) > 0:
		return t.ask(d.Questions...), nil
	}
	g.follow(d.Tasks, d.Approach, "")
	t.emit(EventDecided, Event{Text: d.Approach, IDs: g.Utilized})
	return phaseAssess, nil
}

// brief is what the reasoner is told.
func (t *turn) brief() reason.Brief {
	s, g := &t.s, t.s.aim()
	b := reason.Brief{
		Run: s.ID, Session: s.Session,
		Objective: g.Text, Situation: g.Situation, Inputs: slices.Clone(s.Objective.Inputs),
		Memories: t.hits, Skills: t.a.runner.Skills(), Lineage: cloneDeliveries(t.lineage),
		Failed: g.Failed, Answers: g.Answers, Avoid: g.Avoid, Complaint: g.Complaint,
		Advice: advice(&s.Assessment),
	}
	for _, above := range s.Aims[:len(s.Aims)-1] {
		b.Goals = append(b.Goals, above.Text)
	}
	return b
}

// deliberate returns a decision that can be acted on, within wall, if that is
// more than 0. With an error it returns the usage alone.
func (a *Agent) deliberate(ctx context.Context, b reason.Brief, wall time.Duration) (reason.Decision, error) {
	if a.reasoner == nil {
		return reason.Decision{}, errors.New("the host has no reasoner")
	}
	limit := a.o.ReasonTimeout
	if wall > 0 {
		limit = min(limit, wall)
	}
	var refused error // with a decision whose usage counts
	d, err := guard.Do(ctx, limit, func(limited context.Context) (reason.Decision, error) {
		d, err := a.consult(ctx, limited, b)
		if err != nil && limited.Err() != nil {
			err = guard.ErrTime
		}
		refused = err
		return d, nil
	})
	if err != nil {
		return reason.Decision{}, err
	}
	used := reason.Decision{Usage: d.Usage}
	if !d.Usage.Valid() {
		used = reason.Decision{}
	}
	if refused == nil {
		refused = d.Check()
	}
	if refused != nil {
		return used, refused
	}
	cleanDecision(a.o.Sanitizer, &d)
	if why := a.unable(d.Tasks); why != "" {
		return used, fmt.Errorf("%w: %s", reason.ErrDecision, why)
	}
	if a.o.Pivot == PivotAuto && len(d.Tasks) > 0 && len(b.Answers) == 0 && // a human may have said to go on
		slices.ContainsFunc(b.Avoid, func(s string) bool { return same(s, d.Approach) }) {
		return used, fmt.Errorf("%w: the approach %q is to be avoided, since it keeps failing: "+
			"take another, or say what is in the way", reason.ErrDecision, d.Approach)
	}
	return d, nil
}

// consult asks the reasoner until it answers or fails for good. Waiting for a
// model that is busy is not held against the aim: nothing is wrong with what was
// decided. A wait that does not end before the deadline of limited is not begun;
// one that outlasts the run's own context stops the run, to be resumed.
func (a *Agent) consult(ctx, limited context.Context, b reason.Brief) (d reason.Decision, err error) {
	p := wait.Policy{Again: reason.Retryable, Waiting: func(d time.Duration) {
		a.o.Logger.InfoContext(ctx, "the reasoner is asked again later", "run", b.Run, "wait", d)
	}}
	end, _ := limited.Deadline()
	if stop, ok := ctx.Deadline(); !ok || end.Before(stop) {
		p.End = end
	}
	var used reason.Usage
	err = wait.Retry(limited, p, func() (err error) {
		if d, err = a.reasoner.Reason(limited, b); err == nil || d.Usage.Valid() {
			used = used.Add(d.Usage)
		}
		return err
	})
	if err != nil || d.Usage.Valid() {
		d.Usage = used
	}
	return d, err
}

// refuse counts a deliberation that led to nothing.
func (t *turn) refuse(err error) phase {
	g := t.s.aim()
	g.Refused++
	why := clip(t.a.o.Sanitizer.Sanitize(err.Error()))
	if replied(err) {
		g.Complaint = why
	}
	t.emit(EventRefused, Event{Text: why})
	if g.Refused >= t.a.o.Refusals {
		return t.block("no decision could be acted on: " + why)
	}
	return phaseReason
}

// replied reports whether err is about what a reasoner has said. A model that
// was not reached has said nothing, and there is nothing to mend in it.
func replied(err error) bool {
	_, large := errors.AsType[*store.LimitError](err)
	return large || !errors.Is(err, reason.ErrModel)
}

// Bounds of subgoals, besides their texts being distinct.
const (
	maxDepth    = 16
	maxSubgoals = 64
)

// subgoal enters the subgoal of an impasse, unless that would go in a circle.
func (t *turn) subgoal(imp *reason.Impasse) phase {
	why := ""
	switch {
	case slices.ContainsFunc(t.s.Aims, func(g aim) bool { return same(g.Text, imp.Subgoal) }):
		why = "the subgoal is one of the goals above it"
	case slices.ContainsFunc(t.s.Subgoals, func(s string) bool { return same(s, imp.Subgoal) }):
		why = "the subgoal was tried before"
	case len(t.s.Aims) >= maxDepth:
		why = fmt.Sprintf("subgoals are nested %d deep", maxDepth)
	case len(t.s.Subgoals) >= maxSubgoals:
		why = fmt.Sprintf("there were %d subgoals", maxSubgoals)
	}
	if why != "" {
		return t.block(fmt.Sprintf("impasse %s (%s), and %s", imp.Kind, imp.Reason, why))
	}
	t.s.Subgoals = appendTo(t.s.Subgoals, imp.Subgoal)
	t.s.Aims = appendTo(t.s.Aims, aim{
		Text: imp.Subgoal, Situation: imp.Subgoal, Impasse: imp.Kind, Number: len(t.s.Subgoals),
	})
	t.hits = nil
	t.emit(eventSubgoal, Event{Text: imp.Subgoal})
	return phaseAssess
}
