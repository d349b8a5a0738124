package learn

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

var braced = regexp.MustCompile(`\{([^{}]+)\}`)

// Known returns what a scope has learned, for a person: its plans, in a Lessons scope also those that the scopes below
// it share, and its warnings. A suggestion has the ID that [Layer.Edit] takes, and as Name the words of its cases; it
// differs by why it does not fire for any of them, and by nothing if it does. One whose deliveries do not count any more
// has no calls.
func (l *Layer) Known(ctx context.Context, scope memory.Scope) (k reason.Known, err error) {
	if err := scope.Check(); err != nil {
		return k, fmt.Errorf("learn: %w", err)
	}
	done, st := make(map[string]bool), l.group.Store()
	err = scan(ctx, st, scope, planKind, func(key string, _ store.Entry, r *record) error {
		if r.Paths == nil {
			return nil // of one case
		}
		plans, _, err := l.plans(ctx, &Case{Scope: scope, Lessons: scope}, key, "")
		for _, p := range plans {
			if id := key + "/" + p.ID; !done[id] { // the scope's own, and then not what scopes below it share
				done[id] = true
				k.Suggestions = append(k.Suggestions, p.known(id, r))
			}
		}
		return err
	})
	return k, cmp.Or(err, scan(ctx, st, scope, warnKind, func(id string, _ store.Entry, _ *record) error {
		ws, err := l.warnings(ctx, &Case{Scope: scope, Lessons: scope}, &shape{}, id)
		k.Warnings = append(k.Warnings, ws...)
		return err
	}))
}

func (p *plan) known(id string, r *record) reason.Suggestion {
	why := p.why
	for _, d := range p.Deliveries {
		if _, why = p.fire(&shape{in: d.in}, nil, nil); why == "" {
			break
		}
	}
	s := p.suggestion(&shape{}, r.Template)
	s.ID, s.Name, s.Differs, s.Delivered = id, strings.TrimPrefix(r.Situation+": "+r.Template, ": "), why, p.Delivered
	if len(r.Conditions) > 0 {
		s.Name += " (only where: " + strings.Join(r.Conditions, "; ") + ")"
	}
	return s
}

// Edit takes up what a person says of a plan, by the ID that [Layer.Known] gives, and reports whether that is new.
// Changed calls are suggested until a plan with them fires, which takes two deliveries; the former plan does not fire.
// nil: they are as they were. A retired plan neither fires nor is suggested, until that is taken back. What is said in a
// Lessons scope holds for the scopes below it. An unknown id is store.ErrNotFound.
func (l *Layer) Edit(ctx context.Context, scope memory.Scope, id string, calls []reason.PlanCall, retired bool) (changed bool, err error) {
	key, plan, _ := strings.Cut(id, "/")
	if err := cmp.Or(scope.Check(), store.CheckID(key)); err != nil {
		return false, fmt.Errorf("learn: %w", err)
	}
	for _, c := range calls {
		if _, err := decode(c.Inputs); err != nil || c.Name == "" {
			return false, fmt.Errorf("learn: a call of the plan %q has no name, or inputs that are no JSON", id)
		}
	}
	known, err := l.Known(ctx, scope)
	if err != nil {
		return false, err
	}
	is := slices.ContainsFunc(known.Suggestions, func(s reason.Suggestion) bool { return s.ID == id })
	err = l.group.Update(ctx, func(b *store.Batch) error {
		return edit(ctx, b, scope.Key(planKind, key), func(r *record) (bool, error) {
			if r.plan(plan) == nil && !is {
				return false, fmt.Errorf("learn: no plan %q is known in %q: %w", id, scope, store.ErrNotFound)
			}
			p := r.of(plan) // its deliveries stay where they are
			changed, p.Retired = p.Retired != retired, retired
			if !retired && calls != nil && !samePlan(p.Edit, calls) {
				p.Edit, changed = calls, true
				p.stop(stop{At: l.now()})
			}
			return changed, nil
		})
	})
	return changed, err
}
