package cooldown

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// The rules of a Guard.
const (
	guardMax    = 3 // failures of an action within guardWindow that make a loop
	guardWindow = 5 * time.Minute
	guardRest   = 10 * time.Minute // after a loop, or two actions that undo each other
)

// Guard decides by the ends of actions which of them rest, and why: one that
// failed too often within a window, and two that alternate. It may not be used
// concurrently.
type Guard struct {
	loop   *Loop
	rests  map[Key]rest
	recent map[string][]done // by goal, at most turnsKept
	sweep  int               // number of keys at which to look for old ones
}

// rest is how long an action is left alone.
type rest struct {
	begin, end time.Time
	why        string
}

// done is an action that has ended.
type done struct {
	action string
	at     time.Time
}

// turnsKept is the number of a goal's last actions that show an alternation: two
// actions, twice each.
const turnsKept = 4

// NewGuard returns a Guard.
func NewGuard() *Guard {
	loop := &Loop{max: guardMax, window: guardWindow, failed: map[Key][]time.Time{}}
	return &Guard{loop: loop, rests: map[Key]rest{}, recent: map[string][]done{}}
}

// Resting returns until when and why k rests at a time; a zero time without a rest
// and from the very end of one. A time before the rest began means that the clock was
// set back; the rest begins again.
func (g *Guard) Resting(k Key, at time.Time) (until time.Time, why string) {
	r := g.rests[k]
	if at.Before(r.begin) {
		r.begin, r.end = at, at.Add(r.end.Sub(r.begin))
		g.rests[k] = r
	}
	if !r.end.After(at) {
		return time.Time{}, ""
	}
	return r.end, r.why
}

// End says that k ended, however it did.
func (g *Guard) End(k Key, at time.Time) {
	recent := append(g.recent[k.Goal], done{k.Action, at})
	recent = recent[max(0, len(recent)-turnsKept):]
	g.recent[k.Goal] = recent
	if other, ok := alternating(recent); ok {
		const why = "it alternates with another action of the goal"
		g.Rest(k, at, guardRest, why)
		g.Rest(Key{Goal: k.Goal, Action: other}, at, guardRest, why)
		delete(g.recent, k.Goal)
	}
	g.forget(at)
}

// Fail counts a failure of k, or a success whose effect did not show.
func (g *Guard) Fail(k Key, at time.Time) {
	g.loop.Fail(k, at)
	if g.loop.Looping(k, at) {
		g.Rest(k, at, guardRest, fmt.Sprintf("it came to nothing %d times in %v", g.loop.Failures(k, at), guardWindow))
	}
}

// Rest lets k rest from at for d, and says why. A shorter rest does not cut a
// longer one short; a d of zero or less is ignored.
func (g *Guard) Rest(k Key, at time.Time, d time.Duration, why string) {
	if until, _ := g.Resting(k, at); d <= 0 || at.Add(d).Before(until) {
		return
	}
	g.rests[k] = rest{at, at.Add(d), why}
	g.forget(at)
}

// alternating reports whether the last four actions are two in turn within the
// window. Other is the one of the two that did not end last.
func alternating(recent []done) (other string, ok bool) {
	if len(recent) < turnsKept || recent[turnsKept-1].at.Sub(recent[0].at) > guardWindow {
		return "", false
	}
	x, y := recent[turnsKept-1].action, recent[turnsKept-2].action
	return y, x != y && recent[1].action == x && recent[0].action == y
}

// forget drops what is over when the maps have doubled since the last time.
func (g *Guard) forget(at time.Time) {
	if len(g.rests)+len(g.recent) < max(1024, g.sweep) {
		return
	}
	maps.DeleteFunc(g.rests, func(_ Key, r rest) bool { return !r.end.After(at) })
	for goal, recent := range g.recent {
		if at.Sub(slices.MaxFunc(recent, func(x, y done) int { return x.at.Compare(y.at) }).at) > guardWindow {
			delete(g.recent, goal)
		}
	}
	g.sweep = nextSweep(len(g.rests) + len(g.recent))
}
