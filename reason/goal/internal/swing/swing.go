// Package swing finds two goals that undo each other.
package swing

import (
	"cmp"
	"iter"
	"maps"
	"time"
)

// Swings are what is known of goals that are met and violated in turn, by goal.
type Swings map[string]*swing

type swing struct {
	want string // what was known of another condition counts no more
	rank int
	// met is of the last reading that showed the goal met, zero while it is violated, and
	// violated of the first reading after that.
	met, violated time.Time
	// by is the goal whose dispatch alone succeeded between these two readings, and times
	// how often in a row it was that one.
	by    string
	times int
}

// enough is how often two goals undo each other until it counts.
const enough = 2

// See takes in what a reading shows of a goal of a rank that wants something. Dispatched
// are the last dispatches that succeeded, by goal, with the times of their ends.
func (s Swings) See(goal, want string, rank int, met bool, at time.Time, dispatched iter.Seq2[string, time.Time]) {
	x := s[goal]
	if x == nil || x.want != want {
		x = &swing{want: want}
		s[goal] = x
	}
	x.rank = rank
	if met == !x.met.IsZero() { // as before
		if met {
			x.met = at
		}
		return
	}
	var own time.Time
	var by []string
	for other, ended := range dispatched {
		if other == goal {
			own = ended
		} else if !ended.Before(x.met) && ended.Before(at) {
			by = append(by, other)
		}
	}
	switch {
	case met && own.Before(x.violated), !met && len(by) != 1: // by itself, or by many
		x.times = 0
	case !met && x.by != by[0]:
		x.by, x.times = by[0], 1
	case !met:
		x.times++
	}
	if x.met = at; !met {
		x.met, x.violated = time.Time{}, at
	}
}

// Above returns the goal with which a goal swings, if that one goes first: it has the higher
// rank, or the same and the first name in the order of bytes. "": there is none.
func (s Swings) Above(goal string) string {
	x := s[goal]
	if x == nil || s[x.by] == nil {
		return ""
	}
	y := s[x.by]
	first := cmp.Or(cmp.Compare(y.rank, x.rank), cmp.Compare(goal, x.by)) > 0
	if !first || y.by != goal || min(x.times, y.times) < enough {
		return ""
	}
	return x.by
}

// Keep drops what is known of other goals than those that are there.
func (s Swings) Keep(there map[string]bool) {
	maps.DeleteFunc(s, func(goal string, _ *swing) bool { return !there[goal] })
}
