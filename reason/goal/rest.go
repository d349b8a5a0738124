package goal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/cooldown"
	"github.com/arc-learn/arc/reason"
)

// past is the last dispatch of a goal, or about a value, that may have changed something.
type past struct {
	ended   time.Time
	success bool
	suspect []cooldown.Key // done with success, of which nothing has shown so far
}

// noteLocked draws the consequences of an outcome of a goal about a value: what is to rest, and what has to be read.
func (c *Controller) noteLocked(o *Outcome, about reason.Effect) {
	// A refusal before the first step left the world unchanged.
	unchanged := o.End == Refused && o.Done == 0
	if !unchanged {
		c.mu.guard.End(courseKey(o.Goal, o.Actions), true, false, o.Ended) // counts as a turn of the goal
	}
	if o.End != Succeeded && len(o.Actions) > 0 {
		last := cooldown.Key{Goal: o.Goal, Action: o.Actions[min(o.Done, len(o.Actions)-1)]}
		c.mu.guard.Fail(last, o.Ended)
		if o.End == Refused {
			// Rest after a refusal: an immediate retry gets the same answer.
			c.mu.guard.Rest(last, o.Ended, c.o.Cooldown, "it was refused")
		}
	}
	if unchanged {
		return
	}
	p := &past{ended: o.Ended, success: o.End == Succeeded}
	if p.success {
		for _, action := range o.Actions {
			p.suspect = append(p.suspect, cooldown.Key{Goal: o.Goal, Action: action})
		}
	}
	c.mu.past[o.Goal] = p
	c.mu.about[about] = &past{ended: p.ended, success: p.success}
}

// lastLocked returns the last dispatch that may have changed what a goal is about: one of the goal, or of another
// goal about the same value. Nil: there was none.
func (c *Controller) lastLocked(g *Goal, at time.Time) *past {
	last := c.mu.past[g.ID]
	for _, p := range []*past{last, c.mu.about[g.place().effect()]} {
		if p == nil {
			continue
		}
		if p.ended.After(at) && at.Before(c.mu.latest) {
			p.ended = at // the clock was put back, and no goal waits until it has caught up
		}
		if last == nil || p.ended.After(last.ended) {
			last = p
		}
	}
	return last
}

// readSinceLocked reports whether the value of a verdict was read after t. A reading dated in the future (the clock
// was put back) does not count.
func (c *Controller) readSinceLocked(v *Verdict, t, at time.Time) bool {
	future := v.At.After(at) && !v.At.After(c.mu.latest)
	return v.At.After(t) && !future && !v.Expected
}

// awakeLocked returns the steps that need no rest for the goal. Until and why are the first rest to end among those
// that do and could change what the goal is about.
func (c *Controller) awakeLocked(g *Goal, steps []step, at time.Time) (out []step, until time.Time, why string) {
	for _, st := range steps {
		end, reason := c.mu.guard.Resting(cooldown.Key{Goal: g.ID, Action: st.Name}, at)
		if reason == "" {
			out = append(out, st)
			continue
		}
		about := slices.ContainsFunc(st.changes, func(x overlay) bool { return x.place.overlaps(g.place()) })
		if about && (why == "" || end.Before(until)) {
			until, why = end, fmt.Sprintf("%q rests: %s", st.Name, reason)
		}
	}
	return out, until, why
}

// suspectLocked counts what was done for a goal with success, and of which nothing has come, as failures.
func (c *Controller) suspectLocked(goal string, at time.Time) {
	if p := c.mu.past[goal]; p != nil {
		for _, k := range p.suspect {
			c.mu.guard.Fail(k, at)
		}
		p.suspect = nil
	}
}

// clearLocked says that a goal is met: what was done for it has helped.
func (c *Controller) clearLocked(goal string) {
	if p := c.mu.past[goal]; p != nil {
		p.suspect = nil
	}
}

// cooledLocked returns until when the effects of the last dispatch have to show; zero if they had time.
func (c *Controller) cooledLocked(g *Goal, last *past) time.Time {
	return last.ended.Add(cmp.Or(g.Cooldown, c.o.Cooldown))
}

// courseKey is a course of action as a whole; of one action, that action.
func courseKey(goal string, actions []string) cooldown.Key {
	return cooldown.Key{Goal: goal, Action: strings.Join(actions, " → ")}
}
