package arc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Filter says which runs View.Runs yields. The zero Filter is all of the tenant.
type Filter struct {
	// Session the runs are of; a run without one is of the session of its ID.
	Session string
	// Status the runs have.
	Status Status
	// Scope the runs are in, or below.
	Scope memory.Scope
	// Since and Until bound when the runs began, both included.
	Since, Until time.Time
	// After is the ID of a run: those yielded come behind it in order, as on
	// the page that follows the one it was the last of. A run that was deleted
	// since is store.ErrNotFound.
	After string
	// Limit is the largest number of runs. 0: all.
	Limit int
}

// listedAtOnce is how many places are read at a time.
const listedAtOnce = 128

// stretch is what matching goes through: the places behind from, up to to.
type stretch struct {
	prefixes []string
	from, to string
	extra    string // place of a run that no index has
}

// matching yields the runs of a tenant that pass the filter, the latest first.
func (a *Agent) matching(ctx context.Context, scope memory.Scope, f Filter) iter.Seq2[state, error] {
	return func(yield func(state, error) bool) {
		in, err := a.stretch(ctx, scope, &f)
		if err != nil {
			yield(state{}, err)
			return
		}
		for n := 0; ; {
			places, err := a.places(ctx, &in, f.Scope)
			if err != nil {
				yield(state{}, err)
				return
			}
			for _, place := range places {
				in.from = place
				s, _, err := a.load(ctx, scope.Tenant(), idAt(place))
				if errors.Is(err, store.ErrNotFound) || err == nil && !f.passes(&s) {
					continue // deleted, or of another status, since
				}
				if !yield(s, err) || err != nil && !codec.Unreadable(err) {
					return
				}
				if n++; n == f.Limit {
					return
				}
			}
			if len(places) == 0 {
				return
			}
		}
	}
}

// passes reports whether a run is of the status, session and scope.
func (f *Filter) passes(s *state) bool {
	return (f.Status == "" || s.Status == f.Status) && (f.Session == "" || s.Session == f.Session) &&
		s.Objective.Scope.Within(f.Scope)
}

// stretch checks the filter and turns it into places.
func (a *Agent) stretch(ctx context.Context, scope memory.Scope, f *Filter) (in stretch, err error) {
	err = errors.Join(scope.Check(), key.CheckID("session", f.Session), key.CheckID("after", f.After))
	if f.Scope != "" {
		err = errors.Join(err, f.Scope.Check())
	}
	if f.Limit < 0 {
		err = errors.Join(err, fmt.Errorf("limit: %d is negative", f.Limit))
	}
	if f.Status != "" && !slices.Contains(statuses[:], f.Status) {
		err = errors.Join(err, fmt.Errorf("unknown status %q", f.Status))
	}
	if err != nil {
		return in, fmt.Errorf("runs: %w", err)
	}
	tenant := scope.Tenant()
	in.to = behindAll
	if !f.Until.IsZero() {
		in.from = (&state{Started: nanoseconds(f.Until)}).place()
		in.from = in.from[:len(in.from)-1] // before the first of that time
	}
	if !f.Since.IsZero() {
		in.to = (&state{Started: nanoseconds(f.Since) - 1}).place()
	}
	if f.After != "" {
		last, _, err := a.load(ctx, tenant, f.After)
		if err != nil {
			return in, fmt.Errorf("runs after %q: %w", f.After, err)
		}
		in.from = max(in.from, last.place())
	}
	switch {
	case f.Session != "":
		in.prefixes = []string{key.Under(tenant, sessionKeys, f.Session, "")}
		if s, _, err := a.load(ctx, tenant, f.Session); err == nil && s.Objective.Session == "" {
			in.extra = s.place()
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			return in, err
		}
	case f.Status != "":
		in.prefixes = []string{key.Under(tenant, statusKeys, string(f.Status), "")}
	default:
		for _, status := range statuses {
			in.prefixes = append(in.prefixes, key.Under(tenant, statusKeys, string(status), ""))
		}
	}
	return in, nil
}

// behindAll is greater than every place.
const behindAll = "~"

// idAt is the id in a place.
func idAt(place string) string { return place[strings.IndexByte(place, 0)+1:] }

// nanoseconds is the opposite of at, within what an int64 can say.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64+1)):
		return math.MinInt64 + 1
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// places returns the next places of a stretch, in order; none at its end. It passes
// over runs that an index tells are out of scope.
func (a *Agent) places(ctx context.Context, in *stretch, scope memory.Scope) ([]string, error) {
	var out []string
	last := in.to // up to where all prefixes were read
	for _, prefix := range in.prefixes {
		n := 0
		for e, err := range a.st.Scan(ctx, store.Range{Prefix: prefix, After: prefix + in.from}) {
			if err != nil {
				return nil, err
			}
			place := e.Key[len(prefix):]
			if place >= last {
				break
			}
			if len(e.Value) > 0 && !memory.Scope(e.Value).Within(scope) {
				continue
			}
			out = append(out, place)
			if n++; n == listedAtOnce {
				last = place + "\x00"
				break
			}
		}
	}
	if in.extra > in.from {
		out = append(out, in.extra)
	}
	out = slices.DeleteFunc(out, func(place string) bool { return place >= last })
	slices.Sort(out)
	return slices.Compact(out), nil
}
