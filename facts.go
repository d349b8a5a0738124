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

// scopedTo returns what is derived from a scope's name. It caches the last one.
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

// identity returns the identity of a scope.
func (a *Agent) identity(scope memory.Scope) (*identity.Identity, error) {
	of, err := a.scopedTo(scope)
	if err != nil {
		return nil, err
	}
	return of.identity, nil
}

// project returns the most useful facts about the scope's person or project for the aim: at most 10
// facts and 1,000 tokens. It leaves out faded facts, which a person should confirm or remove.
func (t *turn) project(ctx context.Context) (facts []memory.Hit, err error) {
	g := t.s.aim()
	var p identity.Projection
	task := g.Text
	if g.Situation != task {
		task = g.Situation + "\n" + task
	}
	me, err := t.a.identity(t.s.Objective.Scope)
	if err == nil {
		p, err = me.Project(ctx, task, identity.Budget{Confidence: identity.DemoteBelow, Strict: true})
	}
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	return p.Hits(), nil
}

// retell returns those of the facts told for the aim that would still be told: a fact that was
// corrected or removed while the run waited is not told again.
func (t *turn) retell(ctx context.Context) error {
	told := t.s.aim().Facts
	if len(told) == 0 {
		return nil
	}
	facts, err := t.project(ctx)
	t.shown.facts = slices.DeleteFunc(facts, func(h memory.Hit) bool { return !slices.Contains(told, h.Record.ID) })
	return err
}

// confirm records evidence for the facts that were used for the aim, which is reached: as a model's
// claim, once a day. Facts that were rejected or removed since are left out.
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
