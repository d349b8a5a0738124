package arc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Begin returns the State in which a run of the objective begins. It writes
// nothing.
func (a *Agent) Begin(o Objective) (State, error) {
	if err := o.check(); err != nil {
		return State{}, err
	}
	if a.reasoner == nil && len(o.Tasks) == 0 {
		return State{}, fmt.Errorf("%w: no tasks, and the host has no reasoner", ErrObjective)
	}
	o = o.clone()
	setDefault(&o.Scope, a.o.Scope)
	err := o.Scope.Check()
	for _, scope := range slices.Concat(o.Also, o.Episodes) {
		err = errors.Join(err, scope.Check())
		if scope.Tenant() != o.Scope.Tenant() {
			err = errors.Join(err, fmt.Errorf("%w: a scope of another tenant", memory.ErrTenant))
		}
	}
	if err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrObjective, err)
	}
	san := a.o.Sanitizer
	o.Text, o.Inputs, o.Tasks = san.Sanitize(o.Text), san.JSON(o.Inputs), a.cleanTasks(o.Tasks)
	setDefault(&o.Attempts, a.o.Attempts)
	setDefault(&o.Situation, o.Text)
	o.Situation = san.Sanitize(o.Situation)
	o.Budget = o.Budget.or(a.o.Budget)
	now := a.o.Now().UTC()
	if o.ID == "" {
		o.ID = a.newID(now)
	}
	session := o.Session
	setDefault(&session, o.ID)
	return State{
		ID: o.ID, Session: session, Objective: o,
		Status: Running, Phase: PhaseContext, Started: now.UnixNano(),
		Goals: []Goal{{Text: o.Text, Situation: o.Situation}},
	}, nil
}

// Step takes a run one transition further and returns its new State. It
// commits nothing of the run itself: whoever calls it does, before the next
// Step; Run does all that. It calls the host's parts and learns; each of these
// effects carries a key, so that doing a Step again after a crash counts once.
// The State given is not changed. On an error (the context's, the store's) it
// still holds. A run that is Done or Asking stays as it is.
func (a *Agent) Step(ctx context.Context, s State) (State, error) {
	if err := alive(ctx); err != nil {
		return s, err
	}
	if s.Status != Running || len(s.Goals) == 0 {
		return s, nil
	}
	t := &turn{a: a, s: s.fork()}
	if err := t.step(ctx); err != nil {
		return s, err
	}
	if t.learned {
		if err := a.w.Flush(ctx); err != nil {
			return s, fmt.Errorf("learn: %w", err)
		}
	}
	return t.s, nil
}

// turn makes the steps of a run.
type turn struct {
	a       *Agent
	s       State
	watched bool    // somebody wants the events
	learned bool    // the last step has changed what is learned
	events  []Event // of the last step
}

func (t *turn) step(ctx context.Context) (err error) {
	s := &t.s
	t.events, t.learned = nil, false
	if why := s.Objective.Budget.spent(s, t.a.o.Now()); why != "" && s.Phase != PhaseSummary && s.Phase != PhaseLearn {
		s.Reason, s.Phase = why, PhaseSummary
	}
	switch s.Phase {
	case PhaseContext:
		err = t.context(ctx)
	case PhaseReason:
		err = t.reason(ctx)
	case PhaseAct:
		err = t.act(ctx)
	case PhaseVerify:
		err = t.verify(ctx)
	case PhaseLearn:
		err = t.learn(ctx)
	case PhaseSummary:
		err = t.summary(ctx)
	default:
		err = fmt.Errorf("run %q: unknown phase %q", s.ID, s.Phase)
	}
	s.Step++
	return err
}

// emit reports an event of the turn.
func (t *turn) emit(kind EventKind, e Event) {
	t.s.Seq++
	if !t.watched {
		return
	}
	e.Kind, e.Seq, e.At, e.Run = kind, t.s.Seq, t.a.o.Now().UTC(), t.s.ID
	e.Goal = t.s.goal().Text
	if c := t.s.Current; c != nil {
		e.Task, e.Attempt, e.Worker = t.s.goal().Next+1, c.Number, c.Worker
	}
	t.events = append(t.events, e)
}

// context recalls what is known about the goal, and lets a chunk fire, unless
// the host has made the plan. If none does, it goes on to reason: recalling
// changes nothing, so it needs no commit of its own.
func (t *turn) context(ctx context.Context) error {
	t.s.Phase = PhaseReason
	g := t.s.goal()
	if !t.s.Objective.Fresh {
		if err := t.recall(ctx); err != nil {
			return err
		}
		t.emit(EventRecalled, Event{IDs: g.Recalled})
	}
	if tasks := t.s.Objective.Tasks; len(tasks) > 0 && t.s.Deliberations == 0 {
		if why := t.a.nobodyFor(tasks); why != "" {
			t.block(why)
			return nil
		}
		g.Tasks, g.Next, g.Tries, g.Fired = tasks, 0, 0, ""
		return t.prepare(ctx)
	}
	if t.s.Objective.Fresh {
		return t.reason(ctx)
	}
	chunk, ok := t.a.learner.Fire(t.s.hits, g.Situation, g.Text, g.Spent)
	if !ok || t.a.nobodyFor(chunk.Tasks) != "" {
		return t.reason(ctx)
	}
	g.Tasks, g.Next, g.Tries, g.Approach, g.Fired = chunk.Tasks, 0, 0, chunk.Approach, chunk.ID
	t.s.Fired++
	t.a.watch.fired(ctx)
	t.emit(EventFired, Event{IDs: []memory.ID{chunk.ID}, Text: chunk.Approach})
	return t.prepare(ctx)
}

func (t *turn) recall(ctx context.Context) error {
	ctx, p := t.a.watch.recalling(ctx, &t.s)
	err := t.search(ctx)
	p.recalled(t.s.goal(), err)
	return err
}

func (t *turn) search(ctx context.Context) error {
	o, g := &t.s.Objective, t.s.goal()
	ask := learn.Ask{Scope: o.Scope, Also: o.Also, Situation: g.Situation, Objective: g.Text}
	if t.a.o.Learn.Holdout > 0 {
		ask.GoalKey = t.s.goalKey()
	}
	hits, withheld, err := t.a.learner.Recall(ctx, ask)
	if err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	ids := make([]memory.ID, len(hits))
	for i := range hits {
		ids[i] = hits[i].Record.ID
	}
	if withheld {
		t.s.hits, g.Recalled, g.Withheld = nil, nil, ids
		return nil
	}
	t.s.hits, g.Recalled = hits, ids
	return nil
}

// memories returns the hits of the innermost goal.
func (t *turn) memories(ctx context.Context) ([]memory.Hit, error) {
	g := t.s.goal()
	if len(t.s.hits) == len(g.Recalled) {
		return t.s.hits, nil
	}
	t.s.hits = nil
	for _, id := range g.Recalled {
		rec, err := t.a.recordOf(ctx, &t.s.Objective, id)
		if errors.Is(err, store.ErrNotFound) {
			rec = memory.Record{ID: id} // forgotten since
		} else if err != nil {
			return nil, fmt.Errorf("recall: %w", err)
		}
		t.s.hits = append(t.s.hits, memory.Hit{Record: rec})
	}
	return t.s.hits, nil
}

// recordOf finds a recalled memory in the scopes of the objective.
func (a *Agent) recordOf(ctx context.Context, o *Objective, id memory.ID) (memory.Record, error) {
	rec, err := a.bank.In(o.Scope).Get(ctx, id)
	for _, scope := range o.Also {
		if !errors.Is(err, store.ErrNotFound) {
			break
		}
		rec, err = a.bank.In(scope).Get(ctx, id)
	}
	return rec, err
}
