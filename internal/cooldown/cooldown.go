// Package cooldown says when to leave an action alone.
//
// A [Loop] finds an action that keeps failing, a [Cooldown] remembers until when
// an action rests, and a [Guard] decides by both. All three go by the times that
// the caller passes, never by a clock, and forget what no longer matters. None
// may be used concurrently.
package cooldown

import (
	"bytes"
	"encoding/json"
	"time"
)

// Key is an action tried for a goal. Goals and actions count apart.
type Key struct{ Goal, Action string }

// Action names an action with arguments as JSON: those that differ in the order
// of fields and in spacing only give the same name. Text that is no JSON stands
// as it is.
func Action(name string, args json.RawMessage) string {
	if len(args) == 0 {
		return name
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil && !d.More() {
		if raw, err := json.Marshal(v); err == nil {
			args = raw
		}
	}
	return name + "\x00" + string(args)
}

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

// Remaining returns how long k still has to rest at a time: zero without a rest
// and from the very end of one. A time before the rest began means that the clock
// was set back; the rest begins again.
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

// nextSweep lets a map of n keys double before the next sweep, so that sweeping
// costs a constant time per key added.
func nextSweep(n int) int { return max(64, 2*n) }
