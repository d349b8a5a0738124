package arc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/register"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Filter selects the runs that View.Runs yields. The zero Filter selects all of the tenant.
type Filter struct {
	// Session selects the runs of a session. The session of a run without one is its ID.
	Session string
	// Status selects the runs with a status.
	Status Status
	// Scope selects the runs of a scope and of the scopes below it.
	Scope memory.Scope
	// Since and Until select by when a run began, both inclusive.
	Since, Until time.Time
	// After is the ID of the last run of the previous page: the runs behind it follow. If that
	// run was deleted since, the error is store.ErrNotFound.
	After string
	// Limit is the largest number of runs. 0: no limit.
	Limit int
}

// matching yields the runs of a tenant that pass the filter, the latest first.
func (a *Agent) matching(ctx context.Context, scope memory.Scope, f Filter) iter.Seq2[state, error] {
	return func(yield func(state, error) bool) {
		in, err := a.stretch(ctx, scope, &f)
		if err != nil {
			yield(state{}, err)
			return
		}
		n := 0
		for place, err := range in.Places(ctx, a.st, f.Scope) {
			if err != nil {
				yield(state{}, err)
				return
			}
			s, _, err := a.load(ctx, scope.Tenant(), register.ID(place))
			if errors.Is(err, store.ErrNotFound) || err == nil && !f.passes(&s) {
				continue // deleted meanwhile, or its status has changed
			}
			if !yield(s, err) || err != nil && !codec.Unreadable(err) {
				return
			}
			if n++; n == f.Limit {
				return
			}
		}
	}
}

// passes reports whether a run has the filter's status, session and scope.
func (f *Filter) passes(s *state) bool {
	return (f.Status == "" || s.Status == f.Status) && (f.Session == "" || s.Session == f.Session) &&
		s.Objective.Scope.Within(f.Scope)
}

// stretch checks the filter and turns it into a part of the index: one list for a session or a status,
// else the lists of all statuses, which are merged by time. The index has the latest runs first, so
// that From is the later end. Scopes are not in the index's keys: the entries' values name them.
func (a *Agent) stretch(ctx context.Context, scope memory.Scope, f *Filter) (in register.List, err error) {
	err = errors.Join(scope.Check(), key.CheckID("session", f.Session), key.CheckID("after", f.After))
	if f.Scope != "" {
		err = errors.Join(err, f.Scope.Check())
	}
	if f.Limit < 0 {
		err = errors.Join(err, fmt.Errorf("%w: limit is %d", memory.ErrQuery, f.Limit))
	}
	if f.Status != "" && !slices.Contains(statuses[:], f.Status) {
		err = errors.Join(err, fmt.Errorf("%w: unknown status %.70q", memory.ErrQuery, f.Status))
	}
	if err != nil {
		return in, fmt.Errorf("runs: %w", err)
	}
	tenant := scope.Tenant()
	in.To = register.End
	if !f.Until.IsZero() {
		in.From = register.At(f.Until)
	}
	if !f.Since.IsZero() {
		in.To = register.At(f.Since.Add(-1))
	}
	if f.After != "" {
		last, _, err := a.load(ctx, tenant, f.After)
		if err != nil {
			return in, fmt.Errorf("runs after %q: %w", f.After, err)
		}
		in.From = max(in.From, last.listed().Place())
	}
	switch {
	case f.Session != "":
		in.Prefixes = []string{register.OfSession(tenant, f.Session)}
		if s, _, err := a.load(ctx, tenant, f.Session); err == nil && s.Objective.Session == "" {
			in.Extra = s.listed().Place()
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			return in, err
		}
	case f.Status != "":
		in.Prefixes = []string{register.OfStatus(tenant, string(f.Status))}
	default:
		for _, status := range statuses {
			in.Prefixes = append(in.Prefixes, register.OfStatus(tenant, string(status)))
		}
	}
	return in, nil
}
