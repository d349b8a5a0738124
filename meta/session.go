package meta

import (
	"hash/maphash"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
)

// history is what the rules need to know of a session.
type history struct {
	flush.Late // of the totals
	totals     totals
	// tries are the failures since the last success of their goal, of the outcomes
	// that are kept. Those since the last success of any goal are at the end.
	tries          []failure
	goal, approach string // of the last outcome if it failed
	user           string // whose words these are
	last           int64  // when that was, in nanoseconds since 1970
	unpacked       uint64 // outcomes that are not fresh
	era            int    // in which the session began; 0: before all
	salt           uint64 // of the digests of its outcomes
}

func newHistory(key string) *history {
	s := &history{salt: maphash.String(seed, key)}
	s.Late = flush.LateOf(key, func(buf []byte) ([]byte, error) { return codec.Append(buf, key, &s.totals) })
	return s
}

// add counts an outcome, which was of f if it failed.
func (s *history) add(r *record, f failure) {
	s.totals = s.totals.next(r.Success)
	if len(s.tries) > 0 && s.tries[0].number+kept <= r.Number { // as when the session is read again
		s.tries = slices.Delete(s.tries, 0, 1)
	}
	if r.Success {
		s.goal, s.approach, s.user = "", "", ""
		s.tries = slices.DeleteFunc(s.tries, func(t failure) bool { return t.goal == f.goal })
		return
	}
	s.goal, s.approach, s.user, s.last = r.Goal, r.Approach, r.User, r.At
	s.tries = append(s.tries, failure{f.goal, f.approach, r.Number})
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
// empty text. The goal's digest holds within this process. Number is the outcome's.
type failure struct{ goal, approach, number uint64 }

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

// entered is an outcome whose group is not written yet.
type entered struct {
	record
	session string
	of      *history
}

// keyBytes is the length of the outcome's two keys, at most.
func (e *entered) keyBytes(space string) int { return 2*(len(space)+len(e.session)) + len(e.Key) + 24 }
