package meta

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// history is what the rules need to know of a session.
type history struct {
	key    string // of the totals
	totals totals
	// tries are the failures since the last success of their goal, at most the
	// last kept. Those since the last success of any goal are at the end.
	tries          []failure
	goal, approach string // of the last outcome if it failed
	last           int64  // when that was, in nanoseconds since 1970
}

func (s *history) add(success bool, goal, approach string, at int64) {
	s.totals = s.totals.next(success)
	f := failureOf(goal, approach)
	if success {
		s.goal, s.approach = "", ""
		s.tries = slices.DeleteFunc(s.tries, func(t failure) bool { return t.goal == f.goal })
		return
	}
	s.goal, s.approach, s.last = goal, approach, at
	if len(s.tries) == kept {
		s.tries = slices.Delete(s.tries, 0, 1)
	}
	s.tries = append(s.tries, f)
}

// failures are those since the last success, at most the last kept.
func (s *history) failures() []failure {
	n := len(s.tries)
	return s.tries[n-min(n, int(s.totals.Failures)):]
}

// tried returns how often the goal has failed since it was last delivered: by
// the approach, and by any.
func (s *history) tried(f failure) (same, all int) {
	for _, t := range s.tries {
		if t.goal == f.goal {
			all++
			if t.approach == f.approach {
				same++
			}
		}
	}
	return same, all
}

// failure holds digests of a failure's texts, which may be long. Zero is an
// empty text. The goal's digest holds within this process.
type failure struct{ goal, approach uint64 }

var seed = maphash.MakeSeed()

func failureOf(goal, approach string) (f failure) {
	if goal != "" {
		f.goal = max(1, maphash.String(seed, goal))
	}
	if approach != "" {
		f.approach = max(1, approachKey(approach))
	}
	return f
}

// same reports whether two failures are of one approach.
func (f failure) same(g failure) bool {
	if f.approach != 0 && g.approach != 0 {
		return f.approach == g.approach
	}
	return f.goal == g.goal
}

// Release forgets that outcomes of these keys were recorded in a session, and
// episodes of those keys, and nothing else: what they count for stays. It is for
// keys that will not come again.
func (m *Monitor) Release(ctx context.Context, session string, outcomes, episodes []string) error {
	if m.j != nil {
		return m.j.Change(ctx, m.catch, func(base *Monitor) error { return base.Release(ctx, session, outcomes, episodes) })
	}
	return m.inSession(ctx, "release", session, func(*history) error {
		var markers []string
		for _, k := range outcomes {
			markers = append(markers, key.Join(m.space, "seen", session, k))
		}
		markers = append(markers, EpisodeKeys(m.opts.Tenant, episodes...)...)
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
	})
}

// EpisodeKeys are those under which a tenant's store has that episodes of these keys were
// recorded.
func EpisodeKeys(tenant string, episodes ...string) (keys []string) {
	for _, k := range episodes {
		keys = append(keys, key.Under(tenant, "meta", "episode", k))
	}
	return keys
}

// Forget removes a session with all its outcomes. What approaches have learned
// from them stays, which holds no text.
func (m *Monitor) Forget(ctx context.Context, session string) error {
	if m.j != nil {
		return m.j.Change(ctx, m.catch, func(base *Monitor) error { return base.Forget(ctx, session) })
	}
	return m.inSession(ctx, "forget", session, func(s *history) error {
		if err := m.w.Flush(ctx); err != nil {
			return err
		}
		ops := []store.Op{{Key: s.key, Delete: true}}
		for _, of := range [...]string{"slot", "seen"} {
			for e, err := range m.st.Scan(ctx, store.Range{Prefix: key.Prefix(m.space, of, session)}) {
				if err != nil {
					return err
				}
				ops = append(ops, store.Op{Key: e.Key, Delete: true})
			}
		}
		for group := range slices.Chunk(ops, forgotten) {
			if err := m.w.Add(ctx, group...); err != nil {
				return err
			}
		}
		m.sessions.Remove(session)
		return nil
	})
}

// forgotten is how many deletes join a group at once.
const forgotten = 256

// session returns a session, from the store unless it is in memory. The caller
// has the turn.
func (m *Monitor) session(ctx context.Context, name string) (*history, error) {
	if s, ok := m.sessions.Get(name); ok {
		return s, nil
	}
	s := &history{key: m.totalsKey(name)}
	found, err := m.decode(ctx, s.key, &s.totals)
	if err != nil {
		return nil, err
	}
	t := s.totals
	s.totals = totals{}
	for n := t.Outcomes - min(t.Outcomes, kept); n < t.Outcomes; n++ {
		var r record
		slot := m.slotKey(name, n)
		if found, err := m.decode(ctx, slot, &r); err != nil {
			return nil, err
		} else if !found || r.Number != n {
			return nil, fmt.Errorf("%w: %q is not outcome %d", store.ErrDamaged, slot, n)
		}
		s.add(r.Success, r.Goal, r.Approach, r.At)
	}
	if found && (!t.valid() || s.totals.Failures != min(t.Failures, kept)) {
		return nil, fmt.Errorf("%w: %q does not count the outcomes that are kept", store.ErrDamaged, s.key)
	}
	s.totals = t
	m.sessions.Add(name, s)
	return s, nil
}
