package arc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// identity is that of a scope.
func (a *Agent) identity(scope memory.Scope) (*identity.Identity, error) {
	return identity.New(a.bank, scope, &identity.Options{Now: a.o.Now, Seed: a.o.Seed, Sanitizer: a.o.Sanitizer})
}

// project returns what is worth telling for the aim of the person or project of the
// scope: at most 10 facts and 1,000 tokens. One that has faded is for a human to
// confirm or remove.
func (t *turn) project(ctx context.Context) (facts []memory.Hit, err error) {
	g := t.s.aim()
	var p identity.Projection
	me, err := t.a.identity(t.s.Objective.Scope)
	if err == nil {
		p, err = me.Project(ctx, g.Situation+"\n"+g.Text, identity.Budget{})
	}
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	faded := func(h memory.Hit) bool { return h.Parts.Effectiveness < identity.DemoteBelow }
	return slices.DeleteFunc(p.Hits(), faded), nil
}

// confirm gives the facts that were of use for the aim, which is reached, their
// evidence: the word of a model, once a day. A fact that was rejected or removed
// since has none.
func (t *turn) confirm(ctx context.Context) error {
	g := t.s.aim()
	if len(g.Used) == 0 {
		return nil
	}
	me, err := t.a.identity(t.s.Objective.Scope)
	for _, id := range g.Used {
		if err == nil {
			_, err = me.Validate(ctx, id, identity.Validation{Key: "used", Reason: "of use in run " + t.s.ID, Weak: true})
		}
		if errors.Is(err, identity.ErrRejected) || errors.Is(err, store.ErrNotFound) {
			err = nil
		}
	}
	return err
}
