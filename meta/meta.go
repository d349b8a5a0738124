// Package meta watches whether an approach is working: it keeps and assesses a small record of each session.
//
// An assessment is a function of the session's record, of the tenant's odds and of the [Try] that is under
// way. The rules of thumb are the first Arc's; beside them are the odds as counted so far, and what speaks
// for a fresh context, for a person or for giving up, each with its evidence in words. That nothing was
// recorded is evidence, too.
//
// [Arms] compare treated cases with those held out, by an interval that may be looked at any time.
package meta

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/store"
)

// A record has maxOutcomes outcomes, whose approaches are cut to maxText bytes.
const maxOutcomes, maxText = 64, 256

// Try is a try at a goal: one that has ended, for Record, or is under way, for Assess. Equal words are one.
type Try struct {
	Goal, Approach string           // in Assess, empty: those of the last try
	Reflections    []iar.Reflection // that the try has made; only their resonance is kept
	Delivered      bool             // for Record
}

// session is the record of a session.
type session struct {
	Failures  int         // since the last delivery
	Recent    []outcome   // the last 64, oldest first
	Resonance iar.Tracker // of the reflections
}

// outcome is how a try ended. Goal is a digest: it is compared alone, and its words may have to be forgotten.
type outcome struct {
	Goal, Approach string
	Delivered      bool
}

// add adds a try, and returns how many had failed at its goal before: by its approach, and by all.
func (s *session) add(t Try) (same, all int) {
	o := outcome{digest(t.Goal), cut(t.Approach), t.Delivered}
	by, same := s.failed(o.Goal, o.Approach)
	for _, r := range t.Reflections {
		s.Resonance.Record(o.Goal, r)
	}
	s.Failures++
	if o.Delivered {
		s.Failures = 0
	}
	s.Recent = append(s.Recent[max(0, len(s.Recent)+1-maxOutcomes):], o)
	return same, len(by)
}

// digest is that of a goal, "" of none.
func digest(goal string) string {
	if goal == "" {
		return ""
	}
	return codec.Digest(goal)
}

func cut(text string) string { return fence.Cut(text, maxText) }

// failed returns the approaches of the tries that failed at a goal since it was last delivered, the oldest
// first, and how many of these tries were by one of them.
func (s *session) failed(goal, approach string) (by []string, same int) {
	for _, o := range s.Recent {
		switch {
		case o.Goal != goal:
		case o.Delivered:
			by, same = nil, 0
		default:
			by = append(by, o.Approach)
			if o.Approach == approach {
				same++
			}
		}
	}
	return by, same
}

// Sessions are those of a tenant. It may be used concurrently.
type Sessions struct{ group *store.Group }

// New returns the sessions in a group: over the part of a tenant, see store.Sub, beside an Agent or a Layer.
func New(g *store.Group) *Sessions { return &Sessions{g} }

// Record adds a try that has ended to a session, which is made where it is missing.
func (s *Sessions) Record(ctx context.Context, scope store.Scope, name string, t Try) error {
	return s.group.Update(ctx, func(b *store.Batch) error { return s.Stage(ctx, b, scope, name, t) })
}

// Stage is Record for a step's batch, which begins where the group does.
func (s *Sessions) Stage(ctx context.Context, b *store.Batch, scope store.Scope, name string, t Try) error {
	key, err := sessionKey(scope, name)
	if err != nil {
		return err
	}
	var same, all int
	if err := change(ctx, b, key, func(s *session) { same, all = s.add(t) }); err != nil {
		return err
	}
	return change(ctx, b, oddsKey(scope), func(o *odds) { o.count(same, all, t.Delivered) })
}

// Assess assesses a session by what is stored of it, and by the try that is under way; the zero Try says
// nothing. Spent is the share of the budget that is used up, in [0,1]; of several budgets, the largest.
// Left are the approaches that are left to try: Evidence names those that have not failed, and says so
// where a session has no tries.
//
//   - PivotNow: three tries of the approach at the goal failed since it was last delivered; or of at least
//     five that were counted after as many failures under a quarter delivered, and another approach is
//     likelier to
//   - ConsiderPivot: the last try failed, and of the last 64, two at least, under 40 % delivered; or
//     resonance falls in a session that fails
//   - SlowDown: the last try failed, four fifths of the budget are spent, or resonance is low or falls
//   - "shift": resonance falls, in the try or over the session (see [iar.Findings])
//   - "fresh_context": two approaches failed at the goal in turn, or five tries by two approaches or more
//   - "ask_person": six tries by three approaches failed at the goal; or, counted from 20 tries of each,
//     neither another try nor another approach delivers in one case of ten
//   - "give_up": counted from 50 tries of each, neither does in one of twenty, and six tries failed
func (s *Sessions) Assess(
	ctx context.Context, scope store.Scope, name string, t Try, spent float64, left ...string,
) (Assessment, error) {
	key, err := sessionKey(scope, name)
	if err != nil {
		return Assessment{}, err
	}
	record, _, err := codec.Load[session](ctx, s.group.Store(), key)
	o, _, err2 := codec.Load[odds](ctx, s.group.Store(), oddsKey(scope))
	if err := cmp.Or(err, err2); err != nil {
		return Assessment{}, fmt.Errorf("meta: %w", err)
	}
	return assess(&record, &o, t, spent, left), nil
}

func sessionKey(scope store.Scope, name string) (string, error) {
	if err := errors.Join(scope.Check(), store.CheckID(name)); err != nil {
		return "", fmt.Errorf("meta: %w", err)
	}
	return scope.Key("session", name), nil
}

// oddsKey is that of the tenant's odds, which are counts without words.
func oddsKey(scope store.Scope) string { return store.Scope(scope.Tenant()).Key("odds", "all") }

// change stages a record as f changes it.
func change[T any](ctx context.Context, b *store.Batch, key string, f func(*T)) error {
	v, is, err := codec.Load[T](ctx, b, key)
	if err != nil {
		return fmt.Errorf("meta: %w", err)
	}
	f(&v)
	return codec.Put(b, key, &v, is)
}
