package cooldown

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Limits configure a [Guard]. Zero fields are the defaults.
type Limits struct {
	Max    int           // failures of an action within Window that make a loop; 0: 3
	Window time.Duration // 0: 5 minutes
	Rest   time.Duration // after a loop, or two actions that undo each other; 0: 10 minutes
	Settle time.Duration // after a success that changed something; 0: 90 seconds
}

// Guard decides by the ends of actions which of them rest, and why: one that
// failed too often within a window, two that alternate, and one whose success has
// to show first. It may not be used concurrently.
type Guard struct {
	o      Limits
	loop   *Loop
	rest   Cooldown
	why    map[Key]string
	recent map[string][]done // by goal, at most turnsKept
	sweep  int               // number of keys at which to look for old ones
}

// done is an action that has ended.
type done struct {
	action string
	at     time.Time
}

// turnsKept is the number of a goal's last actions that show an alternation: two
// actions, twice each.
const turnsKept = 4

// NewGuard returns a Guard. It returns ErrLoop for limits below zero.
func NewGuard(o Limits) (*Guard, error) {
	o.Max = cmp.Or(o.Max, defaultMax)
	o.Window = cmp.Or(o.Window, defaultWindow)
	o.Rest = cmp.Or(o.Rest, 10*time.Minute)
	o.Settle = cmp.Or(o.Settle, 90*time.Second)
	if min(o.Rest, o.Settle) < 0 {
		return nil, fmt.Errorf("%w: a negative time", ErrLoop)
	}
	loop, err := NewLoop(o.Max, o.Window)
	if err != nil {
		return nil, err
	}
	return &Guard{o: o, loop: loop, why: map[Key]string{}, recent: map[string][]done{}}, nil
}

// Resting returns until when and why k rests at a time; a zero time if it does
// not.
func (g *Guard) Resting(k Key, at time.Time) (until time.Time, why string) {
	if left := g.rest.Remaining(k, at); left > 0 {
		return at.Add(left), g.why[k]
	}
	delete(g.why, k)
	return time.Time{}, ""
}

// End says how k ended, and whether it changed anything.
func (g *Guard) End(k Key, success, changed bool, at time.Time) {
	switch {
	case !success:
		g.Fail(k, at)
	case changed:
		g.Rest(k, at, g.o.Settle, "its effects have to show first")
	}
	recent := append(g.recent[k.Goal], done{k.Action, at})
	recent = recent[max(0, len(recent)-turnsKept):]
	g.recent[k.Goal] = recent
	if other, ok := alternating(recent, g.o.Window); ok {
		const why = "it alternates with another action of the goal"
		g.Rest(k, at, g.o.Rest, why)
		g.Rest(Key{Goal: k.Goal, Action: other}, at, g.o.Rest, why)
		delete(g.recent, k.Goal)
	}
	g.forget(at)
}

// Fail counts a failure of k without an end, such as a success whose effect did
// not show.
func (g *Guard) Fail(k Key, at time.Time) {
	g.loop.Fail(k, at)
	if g.loop.Looping(k, at) {
		g.Rest(k, at, g.o.Rest, fmt.Sprintf("it came to nothing %d times in %v", g.loop.Failures(k, at), g.o.Window))
	}
}

// Rest lets k rest from at for d, and says why. A shorter rest does not cut a
// longer one short; a d of zero or less is ignored.
func (g *Guard) Rest(k Key, at time.Time, d time.Duration, why string) {
	if d <= 0 || d < g.rest.Remaining(k, at) {
		return
	}
	g.rest.Start(k, at, d)
	g.why[k] = why
}

// alternating reports whether the last four actions are two in turn within the
// window. Other is the one of the two that did not end last.
func alternating(recent []done, window time.Duration) (other string, ok bool) {
	if len(recent) < turnsKept || recent[turnsKept-1].at.Sub(recent[0].at) > window {
		return "", false
	}
	x, y := recent[turnsKept-1].action, recent[turnsKept-2].action
	return y, x != y && recent[1].action == x && recent[0].action == y
}

// forget drops what is over when the maps have doubled since the last time.
func (g *Guard) forget(at time.Time) {
	if len(g.why)+len(g.recent) < max(1024, g.sweep) {
		return
	}
	for k := range g.why {
		if g.rest.Remaining(k, at) == 0 {
			delete(g.why, k)
		}
	}
	for goal, recent := range g.recent {
		if at.Sub(slices.MaxFunc(recent, func(x, y done) int { return x.at.Compare(y.at) }).at) > g.o.Window {
			delete(g.recent, goal)
		}
	}
	g.sweep = nextSweep(len(g.why) + len(g.recent))
}
