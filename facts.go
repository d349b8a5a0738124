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

// scopedTo returns that of a scope. The last one stays at hand: most runs ask for it.
func (a *Agent) scopedTo(scope memory.Scope) (*scoped, error) {
	if last := a.last.Load(); last != nil && last.scope == scope {
		return last, nil
	}
	me, err := identity.New(a.bank, scope, &identity.Options{Now: a.o.Now, Seed: a.o.Seed, Sanitizer: a.o.Sanitizer})
	if err != nil {
		return nil, err
	}
	of := &scoped{scope, me, []memory.Scope{scope + "/episodes"}}
	if a.o.Name != "" {
		of.episodes = append(of.episodes, of.episodes[0]+"/"+memory.Scope(a.o.Name))
	}
	of.episodes = slices.DeleteFunc(of.episodes, func(s memory.Scope) bool { return s.Check() != nil })
	a.last.Store(of)
	return of, nil
}

// identity is that of a scope.
func (a *Agent) identity(scope memory.Scope) (*identity.Identity, error) {
	of, err := a.scopedTo(scope)
	if err != nil {
		return nil, err
	}
	return of.identity, nil
}

// project returns what is worth telling for the aim of the person or project of the
// scope: at most 10 facts and 1,000 tokens. One that has faded is for a human to
// confirm or remove.
func (t *turn) project(ctx context.Context) (facts []memory.Hit, err error) {
	g := t.s.aim()
	var p identity.Projection
	task := g.Text
	if g.Situation != task {
		task = g.Situation + "\n" + task
	}
	me, err := t.a.identity(t.s.Objective.Scope)
	if err == nil {
		p, err = me.Project(ctx, task, identity.Budget{})
	}
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	faded := func(h memory.Hit) bool { return h.Parts.Effectiveness < identity.DemoteBelow }
	return slices.DeleteFunc(p.Hits(), faded), nil
}

// retell finds those again of the facts that were told for the aim that still are worth it.
func (t *turn) retell(ctx context.Context) error {
	told := t.s.aim().Facts
	if len(told) == 0 {
		return nil
	}
	facts, err := t.project(ctx)
	t.shown.facts = slices.DeleteFunc(facts, func(h memory.Hit) bool { return !slices.Contains(told, h.Record.ID) })
	return err
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
