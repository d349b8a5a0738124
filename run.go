package arc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Run runs an objective until it is delivered, blocked, or has a question, and
// returns its report. An objective whose ID has been run before goes on from
// its last commit. The error is ErrObjective, ErrRunning, the context's, or the
// store's: the run can then be resumed. A run that is BLOCKED is not an error.
func (a *Agent) Run(ctx context.Context, o Objective) (*Report, error) {
	return a.start(ctx, o, nil)
}

// Events is Run as a stream: it yields what happens, and ends when the run
// does. An error is the last thing yielded. Breaking out of the loop stops the
// run at its last commit; View.Resume goes on.
func (a *Agent) Events(ctx context.Context, o Objective) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_, err := a.start(ctx, o, func(e Event) bool { return yield(e, nil) })
		if err != nil && !errors.Is(err, errLeft) {
			yield(Event{}, err)
		}
	}
}

// Think reasons about an objective and returns the decision, once it can be
// acted on. It executes, learns and keeps nothing. With an error, the Decision
// has the Usage alone.
func (a *Agent) Think(ctx context.Context, o Objective) (reason.Decision, error) {
	if err := alive(ctx); err != nil {
		return reason.Decision{}, err
	}
	s, err := a.begin(o)
	if err != nil {
		return reason.Decision{}, err
	}
	t := &turn{a: a, s: s}
	if !o.Fresh {
		t.s.Phase = phaseRecall
		if _, err := t.enter(ctx, func(t *turn, ctx context.Context) (phase, error) { return "", t.search(ctx) }); err != nil {
			return reason.Decision{}, err
		}
		if t.s.Assessment, err = a.monitor.Assess(ctx, s.Session); err != nil {
			return reason.Decision{}, fmt.Errorf("assess: %w", err)
		}
	}
	t.s.Phase = phaseReason
	b := t.brief()
	var used reason.Usage
	for refused := 1; ; refused++ {
		var d reason.Decision
		_, err := t.enter(ctx, func(t *turn, ctx context.Context) (next phase, err error) {
			d, err = a.deliberate(ctx, b, s.Objective.Budget.Wall)
			t.did.used = d.Usage
			return "", err
		})
		used = used.Add(d.Usage)
		d.Usage = used
		if err == nil || ctx.Err() != nil || refused >= a.o.Refusals {
			return d, err
		}
		if answered(err) {
			b.Complaint = a.o.Sanitizer.Sanitize(err.Error())
		}
	}
}

func (a *Agent) start(ctx context.Context, o Objective, yield func(Event) bool) (*Report, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s, err := a.begin(o)
	if err != nil {
		return nil, err
	}
	ctx, err = a.enter(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	defer a.leave(s.ID)
	var rev store.Revision
	if o.ID != "" {
		old, at, err := a.load(ctx, o.ID)
		switch {
		case err == nil:
			s, rev = old, at
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	return a.drive(ctx, s, rev, yield)
}

// reopen goes on with a run as change leaves it, which is committed first.
func (a *Agent) reopen(ctx context.Context, id string, change func(state) (state, error)) (*Report, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	if err := key.CheckID("id", id); err != nil {
		return nil, err
	}
	ctx, err := a.enter(ctx, id)
	if err != nil {
		return nil, err
	}
	defer a.leave(id)
	s, rev, err := a.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if change != nil {
		if s, err = change(s); err != nil {
			return nil, err
		}
		if rev, err = a.commit(context.WithoutCancel(ctx), a.st, &s, rev); err != nil {
			return nil, err
		}
	}
	return a.drive(ctx, s, rev, nil)
}

func alive(ctx context.Context) error {
	if ctx == nil {
		return errors.New("arc: the context is nil")
	}
	return ctx.Err()
}

// begin returns the state in which a run of the objective begins. It writes
// nothing.
func (a *Agent) begin(o Objective) (state, error) {
	if err := o.check(); err != nil {
		return state{}, err
	}
	if a.reasoner == nil && len(o.Tasks) == 0 {
		return state{}, fmt.Errorf("%w: no tasks, and the host has no reasoner", ErrObjective)
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
		return state{}, fmt.Errorf("%w: %w", ErrObjective, err)
	}
	san := a.o.Sanitizer
	o.Text, o.Inputs, o.Tasks = san.Sanitize(o.Text), san.JSON(o.Inputs), cleanTasks(san, o.Tasks)
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
	return state{
		ID: o.ID, Session: session, Objective: o,
		Status: Running, Phase: phaseAssess, Started: now.UnixNano(),
		Aims: []aim{{Text: o.Text, Situation: o.Situation}},
	}, nil
}

// newID returns a UUIDv7 whose random part comes from the seed.
func (a *Agent) newID(now time.Time) string {
	a.mu.Lock()
	a.mu.ids++
	n := a.mu.ids
	a.mu.Unlock()
	var r rand.PCG
	r.Seed(a.o.Seed, n)
	ms := uint64(now.UnixMilli())
	hi, lo := r.Uint64(), r.Uint64()
	var id uuid.UUID
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[7] = 0x70|byte(hi&0x0f), byte(hi>>8)
	for i := range 8 {
		id[8+i] = byte(lo >> (8 * i))
	}
	id[8] = 0x80 | id[8]&0x3f
	return id.String()
}

// reportOf returns the report of a run with its deliveries.
func (a *Agent) reportOf(ctx context.Context, s *state) (*Report, error) {
	r := newReport(s)
	var err error
	r.Deliveries, err = a.lineage(ctx, s)
	return r, err
}
