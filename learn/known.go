package learn

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Known returns what a scope has learned, for a person: its plans, in a Lessons scope also those that the
// scopes below it share, and its warnings. A suggestion has the ID that [Layer.Edit] takes, and as Name the
// words of its cases; it differs by why it does not fire for any of them, and by nothing if it does, whatever
// Rules are new: Before looks at those. One whose deliveries do not count any more has no calls.
func (l *Layer) Known(ctx context.Context, scope memory.Scope) (k reason.Known, err error) {
	st, scope := l.group.Store(), cmp.Or(scope, "_")
	err = scan(ctx, st, scope, planKind, func(key string, _ store.Entry, r *record) error {
		if r.Paths == nil {
			return nil // of one case
		}
		found, err := l.plans(ctx, &Case{Scope: scope, Lessons: scope}, &shape{}, key)
		for _, p := range found.Plans {
			k.Suggestions = append(k.Suggestions, p.known(scope, key+"/"+p.ID, r, found.Plans))
		}
		return err
	})
	return k, cmp.Or(err, scan(ctx, st, scope, warnKind, func(id string, _ store.Entry, _ *record) error {
		ws, err := l.warnings(ctx, &Case{Scope: scope, Lessons: scope}, &shape{}, id)
		k.Warnings = append(k.Warnings, ws...)
		return err
	}))
}

func (p *plan) known(scope memory.Scope, id string, r *record, all []*plan) reason.Suggestion {
	why := p.why
	for _, d := range p.Deliveries {
		if _, why = p.fire(&shape{in: d.in}, scope, all, nil); why == "" {
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

// Edit takes up what a person says of a plan, by the ID that [Layer.Known] gives, and reports whether that is
// new. Changed calls are suggested until a plan with them fires, which takes two deliveries; the former plan
// does not fire. nil: they are as they were. A retired plan neither fires nor is suggested, until that is
// taken back. What is said in a Lessons scope holds below it. An unknown id is store.ErrNotFound.
func (l *Layer) Edit(ctx context.Context, scope memory.Scope, id string, calls []reason.PlanCall, retired bool) (changed bool, err error) {
	key, of, _ := strings.Cut(id, "/")
	scope = cmp.Or(scope, "_")
	if l.clean != nil {
		calls, err = cleaned(l.clean, calls)
	}
	if err := cmp.Or(err, scope.Check(), store.CheckID(key)); err != nil {
		return false, fmt.Errorf("learn: %w", err)
	}
	for _, c := range calls {
		if _, err := schema.Read(c.Inputs); err != nil || c.Name == "" {
			return false, fmt.Errorf("learn: a call of the plan %q has no name, or inputs that are no JSON", id)
		}
	}
	found, err := l.plans(ctx, &Case{Scope: scope, Lessons: scope}, &shape{}, key)
	if err == nil && found.plan(of) == nil {
		err = fmt.Errorf("learn: no plan %q is known in %q: %w", id, scope, store.ErrNotFound)
	}
	if err != nil {
		return false, err
	}
	err = l.group.Update(ctx, func(b *store.Batch) error {
		return l.edit(ctx, b, scope, planKind, key, func(r *record) (bool, error) {
			p := r.of(of) // its deliveries stay where they are
			changed, p.Retired = p.Retired != retired, retired
			if !retired && calls != nil && !samePlan(p.Edit, calls) {
				p.Edit, p.Until, changed = calls, l.now(), true
			}
			return changed, nil
		})
	})
	return changed, err
}
