package cooldown

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"
)

// keptFailures bounds the failures of a key that a Loop keeps, unless the number
// that makes a loop is larger.
const keptFailures = 256

// ErrLoop is the error of limits that no Loop can have.
var ErrLoop = errors.New("bad loop limits")

// Loop detects an action that fails at least a number of times within a window.
// A success in between changes nothing, so that Loop also finds an action which
// works and breaks in turn.
type Loop struct {
	max    int
	window time.Duration
	failed map[Key][]time.Time // in order
	sweep  int                 // number of keys at which to look for old ones
}

// NewLoop returns a Loop that allows fewer than max failures within window. It
// returns ErrLoop unless max is at least 1 and window positive.
func NewLoop(max int, window time.Duration) (*Loop, error) {
	if max < 1 || window <= 0 {
		return nil, fmt.Errorf("%w: %d failures in %v", ErrLoop, max, window)
	}
	return &Loop{max: max, window: window, failed: make(map[Key][]time.Time)}, nil
}

// Fail adds a failure of k.
func (l *Loop) Fail(k Key, at time.Time) {
	times := l.failed[k]
	i := sort.Search(len(times), func(i int) bool { return times[i].After(at) })
	times = slices.Insert(times, i, at)
	old := max(l.older(times, times[len(times)-1]), len(times)-max(keptFailures, l.max))
	l.failed[k] = append(times[:0], times[old:]...)
	if len(l.failed) < l.sweep {
		return
	}
	for k, times := range l.failed {
		if l.older(times, at) == len(times) {
			delete(l.failed, k)
		}
	}
	l.sweep = nextSweep(len(l.failed))
}

// Failures returns how many failures of k lie in the window that ends at that
// time, its beginning included. It counts 256, or the number that makes a
// loop if that is more, and no further.
func (l *Loop) Failures(k Key, at time.Time) int {
	times := l.failed[k]
	return len(times) - l.older(times, at)
}

// Looping reports whether k has failed too often in the window that ends at
// that time.
func (l *Loop) Looping(k Key, at time.Time) bool { return l.Failures(k, at) >= l.max }

// older returns how many of the times lie before the window that ends at that
// time. A failure later than that counts as in the window: a clock that was set
// back must not hide it.
func (l *Loop) older(times []time.Time, at time.Time) int {
	begin := at.Add(-l.window)
	return sort.Search(len(times), func(i int) bool { return !times[i].Before(begin) })
}
