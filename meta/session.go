package meta

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"

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

// session returns a session, from the store unless it is in memory. The caller
// has the turn.
func (m *Monitor) session(ctx context.Context, name string) (*history, error) {
	if s, ok := m.sessions.Get(name); ok {
		return s, nil
	}
	s, t := &history{key: m.totalsKey(name)}, totals{}
	found, err := m.decode(ctx, s.key, &t)
	if err != nil {
		return nil, err
	}
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
