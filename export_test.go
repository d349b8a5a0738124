package arc

import (
	"context"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/outputs"
	"github.com/arc-learn/arc/store"
)

// What tests see of a run's state, and how they make its steps one by one.
type (
	State    = state
	Phase    = phase
	Delivery = delivery
	Output   = outputs.JSON
)

const (
	PhaseAssess, PhaseReason, PhaseAsk = phaseAssess, phaseReason, phaseAsk
	PhaseAct, PhaseVerify, PhaseLearn  = phaseAct, phaseVerify, phaseLearn
	PhaseEnd, PhaseDone                = phaseEnd, phaseDone

	EventAsked, EventSubgoal, EventLearned, EventDelivered = eventAsked, eventSubgoal, eventLearned, eventDelivered
)

// Own has the Agent close its store.
func (a *Agent) Own() { a.owned = true }

// Begin returns the state in which a run of the objective begins.
func (a *Agent) Begin(o Objective) (State, error) { return a.begin(o) }

// Step takes a run one step further, with what it learns on disk. The state
// given is not changed; on an error it still holds.
func (a *Agent) Step(ctx context.Context, s State) (State, error) {
	own, err := a.tenant(ctx, s.Objective.Scope)
	if err != nil {
		return s, err
	}
	defer a.handBack(own)
	t := &turn{a: a, own: own, s: s.fork(), veil: a.veilFor(nil)}
	if err := t.restore(ctx); err != nil {
		return s, err
	}
	if err := t.step(ctx); err != nil {
		return s, err
	}
	if t.learned {
		return t.s, a.w.Flush(ctx)
	}
	return t.s, nil
}

// LoadState returns a run of the default tenant as it was last committed.
func (a *Agent) LoadState(ctx context.Context, id string) (State, error) {
	s, _, err := a.load(ctx, a.o.Scope.Tenant(), id)
	return s, err
}

// Prune deletes what Options.Retention does not keep, in all tenants.
func (a *Agent) Prune(ctx context.Context) error { return a.prune(ctx, a.o.Now()) }

// DecodeState is a stored run.
func DecodeState(e store.Entry) (s State, err error) {
	err = codec.Decode(e, &s)
	return s, err
}

// IsRun reports whether a key is that of a run.
func IsRun(k string) bool {
	parts := key.Split(k)
	return len(parts) == 4 && parts[2] == runKeys
}

// Flush writes what waits to be written.
func (a *Agent) Flush(ctx context.Context) error { return a.w.Flush(ctx) }
