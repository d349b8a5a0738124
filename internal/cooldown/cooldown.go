// Package cooldown says when to leave an action alone: because it keeps
// failing ([Loop]), or because it was just tried ([Cooldown]).
//
// Both go by the times that they are told, never by a clock, and forget what
// no longer matters. Neither may be used concurrently.
package cooldown

import "time"

// Key is an action tried for a goal. What one goal or action does never counts
// for another.
type Key struct{ Goal, Action string }

// Cooldown remembers until when each action has to rest. The zero Cooldown is
// ready.
type Cooldown struct {
	until map[Key]rest
	sweep int // number of keys at which to look for expired ones
}

type rest struct{ begin, end time.Time }

// Start lets k rest from at for d. A shorter rest does not cut a longer one
// short; a d of zero or less is ignored.
func (c *Cooldown) Start(k Key, at time.Time, d time.Duration) {
	if d <= 0 {
		return
	}
	end := at.Add(d)
	if end.Before(c.until[k].end) {
		return
	}
	if c.until == nil {
		c.until = make(map[Key]rest)
	}
	c.until[k] = rest{at, end}
	if len(c.until) < c.sweep {
		return
	}
	for k, r := range c.until {
		if !r.end.After(at) {
			delete(c.until, k)
		}
	}
	c.sweep = nextSweep(len(c.until))
}

// Remaining returns how long k still has to rest at that time; zero if it has
// not, as from the very end of its rest. A time before the rest began is that of
// a clock that was put back: it begins anew.
func (c *Cooldown) Remaining(k Key, at time.Time) time.Duration {
	r, ok := c.until[k]
	if !ok {
		return 0
	}
	if at.Before(r.begin) {
		r = rest{at, at.Add(r.end.Sub(r.begin))}
		c.until[k] = r
	}
	return max(0, r.end.Sub(at))
}

// nextSweep lets a map of n keys double before it is looked through again, so
// that looking through it costs a constant time per key added.
func nextSweep(n int) int { return max(64, 2*n) }
