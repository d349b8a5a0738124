package arc

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/arc-learn/arc/internal/gist"
	"github.com/arc-learn/arc/internal/told"
	"github.com/arc-learn/arc/meta"
)

// end ends the run: as BLOCKED if it has a Reason, else as DELIVERED. Its commit is the last of the
// run before a Retry or a verdict, shared with learn where that comes before, so that a run is
// never seen as ended without what it has taught.
//
// A run that is blocked gets the assessment of its own signals as well, so that its Report says why
// even if no attempt was made after the last failure. A delivered run gets that of its session.
func (t *turn) end(ctx context.Context) (phase, error) {
	s := &t.s
	as, err := t.session(ctx)
	if err != nil {
		return "", fmt.Errorf("assess: %w", err)
	}
	if was := &s.Assessment; s.Reason != "" {
		with := as.With(t.signs())
		heard := as.Pivot || was.Pivot && was.Tries == with.Tries
		if as = with; with.Pivot && !heard {
			s.Assessment = with
			t.flag()
		}
	}
	s.Assessment, s.Ended, s.Current = as, t.a.o.Now().UnixNano(), nil
	s.Status = Delivered
	if s.Reason != "" {
		s.Status = Blocked
	}
	if err := t.conclude(ctx); err != nil {
		return "", err
	}
	if err := t.escalate(ctx); err != nil {
		return "", err
	}
	t.unpriced()
	t.shown = shown{}
	t.emit(EventFinished, Event{Text: string(s.Status)})
	return phaseDone, nil
}

// conclude records how the run ended, for later runs of the scope, if that is evidence about what
// was done.
func (t *turn) conclude(ctx context.Context) error {
	s, g := &t.s, &t.s.Aims[0]
	// A run that was cut short by a person, a missing secret or an absent part tells nothing about
	// its approach.
	switch s.Cause {
	case "", CauseGate, CauseWorker, CauseStuck, CauseBudget, CauseWorth:
	default:
		return nil
	}
	e := meta.Ending{
		Run: s.ID, Situation: t.veil.Hide(g.Situation), Approach: t.veil.Hide(g.Approach),
		Delivered: s.Status == Delivered, User: s.Objective.User,
	}
	if !e.Delivered && s.FailedBy != "" {
		e.Approach = t.veil.Hide(s.FailedBy)
	}
	return t.own.monitor.Conclude(ctx, string(s.Objective.Scope), e)
}

// escalate tells a person of a run that is given up, or asks because it is stuck: once a day for
// each kind of failure, also after a restart. A kind is the cause, the end of the last attempt,
// and the skill of the current task. The mark that a kind was told is stored before the event, with
// the run's step in it: the same step tells it again after a crash, and no other run does.
func (t *turn) escalate(ctx context.Context) error {
	s, g := &t.s, t.s.aim()
	cause, why := s.Cause, s.Reason
	if s.Status == Asking {
		cause, why = g.Cause, strings.Join(g.Questions, "\n")
	}
	if cause == "" || s.Escalated {
		return nil
	}
	var skill string
	if g.Next < len(g.Tasks) {
		skill = g.Tasks[g.Next].Skill
	}
	kind, step := gist.Sum(string(cause), string(s.Last.End), skill), gist.Sum(s.ID, strconv.Itoa(s.Step))
	first, err := told.First(ctx, t.a.st, t.own.name, t.a.o.Now(), kind, step)
	if s.Escalated = first; first {
		t.emit(eventEscalated, Event{Text: string(cause) + ": " + why})
	}
	return err
}
