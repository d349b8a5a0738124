package meta

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Release deletes the markers of a session's outcomes, and of episodes, whose keys
// will not come again. What they count for stays.
func (m *Monitor) Release(ctx context.Context, session string, outcomes, episodes []string) error {
	var markers []string
	for _, k := range outcomes {
		markers = append(markers, m.seenKey(session, k))
	}
	for _, k := range episodes {
		markers = append(markers, m.episodeKey(k))
	}
	for {
		some := markers[:min(len(markers), forgotten)]
		err := m.amend(ctx, "release", session, func(m *Monitor) error { return m.unmark(ctx, session, some) })
		if err != nil || len(some) == len(markers) {
			return err
		}
		markers = markers[len(some):]
	}
}

// unmark deletes markers. The caller has the turn.
func (m *Monitor) unmark(ctx context.Context, session string, markers []string) error {
	if err := checkName("session", session); err != nil {
		return err
	}
	var ops []store.Op
	for _, k := range markers {
		found, err := m.decode(ctx, k, nil)
		if err != nil {
			return err
		}
		if found {
			ops = append(ops, store.Op{Key: k, Delete: true})
		}
	}
	return m.w.Add(ctx, ops...)
}

// Forget removes a session with all its outcomes. The odds that they count in stay:
// these hold no text. What a commit has no room for goes with further ones: after an
// error a part may be left, for the next call.
func (m *Monitor) Forget(ctx context.Context, session string) (err error) {
	for more := true; more && err == nil; {
		err = m.amend(ctx, "forget", session, func(m *Monitor) (err error) {
			more, err = m.forgetSome(ctx, session)
			return err
		})
	}
	return err
}

// forgetSome removes as much of a session as fits a commit, the outcomes that are kept first,
// and reports whether there may be more. The caller has the turn.
func (m *Monitor) forgetSome(ctx context.Context, session string) (more bool, err error) {
	s, err := m.session(ctx, session)
	if err == nil {
		err = m.w.Flush(ctx)
	}
	if err != nil {
		return false, err
	}
	ops := []store.Op{{Key: s.Key, Delete: true}}
	for _, of := range [...]string{"slot", "seen"} {
		at := store.Range{Prefix: key.Prefix(m.space, of, session), Limit: forgotten}
		for e, err := range m.st.Scan(ctx, at) {
			if err != nil {
				return false, err
			}
			ops = append(ops, store.Op{Key: e.Key, Delete: true})
		}
	}
	m.sessions.Remove(session) // an error of Add may be that of others
	return len(ops) > forgotten, m.w.Add(ctx, ops...)
}

// forgotten is how many deletes of one kind a commit has, more than the outcomes of a
// session that are kept: a fold has room for them beside entries.
const forgotten = 2 * kept

// Retract takes the ending of a run from those of a scope.
func (m *Monitor) Retract(ctx context.Context, scope, run string) error {
	return m.amend(ctx, "retract", run, func(m *Monitor) error {
		past, err := m.endings(ctx, scope)
		left := slices.DeleteFunc(slices.Clone(past), func(e Ending) bool { return e.Run == run })
		if err != nil || len(left) == len(past) {
			return err
		}
		return m.replace(ctx, left)
	})
}

// EntriesBelow yields, as stored, the endings of a scope and of the scopes below it, and
// the trials of the experiments whose names begin so. It writes what is pending first,
// and ends after the first error.
func (m *Monitor) EntriesBelow(ctx context.Context, scope string, experiments ...string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := m.w.Flush(ctx); err != nil {
			yield(store.Entry{}, err)
			return
		}
		e, err := m.st.Get(ctx, m.pastKey(scope))
		if !errors.Is(err, store.ErrNotFound) && (!yield(e, err) || err != nil) {
			return
		}
		prefixes := []string{m.pastKey(scope + "/")}
		for _, name := range experiments {
			prefixes = append(prefixes, m.treatmentKey(name))
		}
		for _, prefix := range prefixes {
			for e, err := range m.st.Scan(ctx, store.Range{Prefix: prefix}) {
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// ForgetBelow removes what EntriesBelow yields, as Forget does.
func (m *Monitor) ForgetBelow(ctx context.Context, scope string, experiments ...string) (err error) {
	for more := true; more && err == nil; {
		err = m.amend(ctx, "forget", scope, func(m *Monitor) error {
			var ops []store.Op
			for e, err := range m.EntriesBelow(ctx, scope, experiments...) {
				if err != nil {
					return err
				}
				if ops = append(ops, store.Op{Key: e.Key, Delete: true}); len(ops) == forgotten {
					break
				}
			}
			more = len(ops) == forgotten
			return m.w.Add(ctx, ops...)
		})
	}
	return err
}
