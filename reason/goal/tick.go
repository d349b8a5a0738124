package goal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/cooldown"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Report is what a [Controller.Tick] found and did.
type Report struct {
	At    time.Time
	Goals []Standing // in the order of the set
	Ended []Outcome  // kept before this tick, and in no report before, in that order
}

// Standing is how a goal stands with a [Controller].
type Standing struct {
	Verdict
	Doing    Doing
	Why      string    // why nothing is dispatched; "" if it is, or needs not be
	Dispatch string    // the key of what is in flight; "" if nothing is
	Until    time.Time // of InFlight: the end of the lease; of Resting: of the rest, zero if unknown
}

// Doing says what a [Controller] does about a goal.
type Doing string

// What is done about a goal.
const (
	Nothing  Doing = "nothing"   // it is met, unknown or disabled
	Began    Doing = "began"     // a dispatch was admitted with this tick
	InFlight Doing = "in_flight" // a dispatch is under way
	Resting  Doing = "resting"   // it is left alone for now
	Waiting  Doing = "waiting"   // something else has to end first
	Stuck    Doing = "stuck"     // nobody can do anything about it
)

// Tick evaluates all goals on the world as it is known, begins what is to be
// done about those that are violated, and returns how each stands. It does not
// poll the world. What it admits begins when it is over, and is not waited for.
// Ticks exclude one another.
//
// A goal is acted upon if it is violated by what was read (not merely
// expected), or unknown and says that this is to be acted upon; if nothing is
// in flight for it or for another goal about the same value; if that was read
// anew since the last such dispatch, whose cooldown after a success is over;
// and if a plan of actions that do not rest is there to meet it. What
// else is unknown is reported and left alone.
//
// The error is store.ErrClosed, that of ctx, or the store's, and goes with a
// Report of as far as it came; the next Tick takes it up from there.
func (c *Controller) Tick(ctx context.Context) (Report, error) {
	c.ticking.Lock()
	defer c.ticking.Unlock()
	at := c.o.Now().UTC().Round(0)
	r := Report{At: at}
	if ctx == nil {
		return r, errors.New("goal: tick: the context is nil")
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	defer c.launch(ctx)
	var errs []error
	if err := c.settle(ctx, at); errors.Is(err, store.ErrClosed) {
		return r, fmt.Errorf("goal: tick: %w", err)
	} else if err != nil { // of some goals: the marks of others still hold
		errs = append(errs, err)
	}
	r.Ended = c.told()
	c.mu.Lock()
	if at.After(c.mu.latest) {
		c.mu.latest = at
	}
	c.mu.Unlock()
	goals := c.goals.All()
	s, actions := c.world.State(at), c.actions()
	r.Goals = make([]Standing, len(goals))
	for i := range goals {
		r.Goals[i] = Standing{Verdict: Verdict{Severity: goals[i].Severity}, Doing: Nothing}
	}
	order := make([]int, len(goals))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(r.Goals[b].Severity.Rank(), r.Goals[a].Severity.Rank())
	})
	began := false
	for _, i := range order {
		st := &r.Goals[i]
		if began { // what is expected of it may serve this goal too
			s, began = c.world.State(at), false
		}
		st.Verdict = goals[i].Evaluate(s)
		if err := c.see(ctx, &goals[i], s, actions, st); err != nil {
			errs = append(errs, err)
		}
		began = st.Doing == Began
	}
	c.forget(goals)
	c.tell(ctx, &r)
	if err := errors.Join(errs...); err != nil {
		return r, fmt.Errorf("goal: tick: %w", err)
	}
	return r, nil
}

// forget drops what is known of goals that are gone, once it is too much.
func (c *Controller) forget(goals []Goal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if max(len(c.mu.past), len(c.mu.about)) <= 2*len(goals)+c.o.History {
		return
	}
	ids, about := make(map[string]bool), make(map[reason.Effect]bool)
	for i := range goals {
		ids[goals[i].ID], about[goals[i].Effect()] = true, true
	}
	maps.DeleteFunc(c.mu.past, func(id string, _ *past) bool { return !ids[id] })
	maps.DeleteFunc(c.mu.about, func(e reason.Effect, _ *past) bool { return !about[e] })
}

// told returns the outcomes that no report has told yet.
func (c *Controller) told() []Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := c.mu.ended
	c.mu.ended = nil
	return ended
}

// settle brings flights to an end that are over, and takes over those that
// nobody sees to.
func (c *Controller) settle(ctx context.Context, at time.Time) error {
	c.mu.Lock()
	closed, doubt := c.mu.closed, c.mu.doubt
	c.mu.Unlock()
	if closed {
		return store.ErrClosed
	}
	var errs []error
	if doubt {
		errs = append(errs, c.adopt(ctx, at))
	}
	var over []*flying
	c.mu.Lock()
	for _, goal := range slices.Sorted(maps.Keys(c.mu.flying)) {
		f := c.mu.flying[goal]
		switch {
		case f.out != nil && !f.keeping:
			f.keeping = true
			over = append(over, f)
		case f.out == nil && !at.Before(f.Dispatch.Until):
			f.cancel(errLease)
		}
	}
	c.mu.Unlock()
	for _, f := range over {
		errs = append(errs, c.keep(ctx, f))
	}
	return errors.Join(errs...)
}

// actions are what can be done at present: those of the options that somebody
// can do, and whatever the catalog's effects allow besides. An effect that names
// no value of a world is none of its.
func (c *Controller) actions() []Action {
	var skills []string
	var effects []reason.Effect
	if err := guard.Call(func() { skills, effects = c.catalog.Skills(), c.catalog.Effects() }); err != nil {
		c.o.Logger.Error("the catalog panicked", "error", err)
		return nil
	}
	var out []Action
	names := make(map[string]bool)
	for _, a := range c.o.Actions {
		names[a.Name] = true
		if a.Skill != "" && slices.Contains(skills, a.Skill) || a.Skill == "" && slices.Contains(effects, a.Effects[0].Effect) {
			out = append(out, a)
		}
	}
	for _, e := range effects {
		a := Action{Name: "change " + e.Domain + " " + e.Path, Effects: []Change{{Effect: e}}}
		if !names[a.Name] && a.Check() == nil {
			names[a.Name] = true
			out = append(out, a)
		}
	}
	return out
}

// see decides what to do about a goal, and does it.
func (c *Controller) see(ctx context.Context, g *Goal, s State, actions []Action, st *Standing) error {
	if ready := c.ready(g, s, st); !ready {
		return nil
	}
	actions, resting := c.rested(g, actions, s.At())
	course, err := Plan(s, *g, actions, c.o.Limits)
	if err == nil && len(course.Actions) == 0 {
		err = ErrNoPlan // it is met only by what is expected
	}
	if err != nil {
		st.Doing, st.Why = Stuck, err.Error()
		if resting.why != "" {
			st.Doing, st.Why, st.Until = Resting, resting.why, resting.until
		}
		return nil
	}
	d := c.dispatchOf(g, &st.Verdict, course.Actions, s.At())
	if until, why := c.resting(course.Actions, g.ID, s.At()); why != "" {
		st.Doing, st.Why, st.Until = Resting, why, until
		return nil
	}
	if why := c.crowded(); why != "" {
		st.Doing, st.Why = Waiting, why
		return nil
	}
	var changes []Change
	for _, a := range course.Actions {
		changes = append(changes, a.Effects...)
	}
	k, err := c.admit(ctx, d, g.Effect(), changes)
	if err != nil {
		st.Doing, st.Why = Waiting, err.Error()
		return err
	}
	st.Doing, st.Dispatch, st.Until = Began, k, d.Until
	return nil
}

// ready reports whether a goal is to be acted upon, as far as that is for the
// goal to say, and fills in why not.
func (c *Controller) ready(g *Goal, s State, st *Standing) bool {
	at := s.At()
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.mu.flying[g.ID]; f != nil {
		st.Doing, st.Dispatch, st.Until = InFlight, f.Dispatch.Key, f.Dispatch.Until
		st.Why = "a dispatch is under way"
		return false
	}
	violated := st.Status == Violated
	unread := st.Status == Unknown && g.ActOnUnknown && !g.Disabled && s.tried(g.Effect().Domain)
	last := c.lastLocked(g, at)
	read := last == nil || c.anewLocked(st, last.ended, at)
	if !violated && !unread {
		if own := c.mu.past[g.ID]; own != nil && st.Status == Met && read {
			own.suspect = nil
		}
		return false
	}
	rest := func(why string, until time.Time) bool {
		st.Doing, st.Why, st.Until = Resting, why, until
		return false
	}
	if st.Expected {
		return rest("a change is under way: it is violated by what is expected, and has to be read", time.Time{})
	}
	for _, f := range c.mu.flying {
		if f.About == g.Effect() {
			st.Doing, st.Why = Waiting, fmt.Sprintf("dispatch %s is about the same value", f.Dispatch.Key)
			return false
		}
	}
	if last == nil {
		return true
	}
	cool := cmp.Or(g.Cooldown, c.o.Cooldown)
	if until := last.ended.Add(cool); (last.success || unread) && at.Before(until) {
		return rest("its effects have to show first", until)
	}
	if !read && violated {
		return rest("it was not read since the last dispatch", time.Time{})
	}
	if own := c.mu.past[g.ID]; own != nil {
		for _, k := range own.suspect {
			c.mu.guard.Fail(k, at) // it succeeded, and nothing has come of it
		}
		own.suspect = nil
	}
	return true
}

// lastLocked returns the last dispatch that may have changed what a goal is
// about, be it for the goal or for another about the same value; nil if there
// was none.
func (c *Controller) lastLocked(g *Goal, at time.Time) *past {
	last := c.mu.past[g.ID]
	for _, p := range []*past{last, c.mu.about[g.Effect()]} {
		if p == nil {
			continue
		}
		if p.ended.After(at) && at.Before(c.mu.latest) {
			p.ended = at // the clock was put back, which nothing has to wait out
		}
		if last == nil || p.ended.After(last.ended) {
			last = p
		}
	}
	return last
}

// anewLocked reports whether the reading that a standing goes by was begun
// after a time, and is no reading of before the clock was put back.
func (c *Controller) anewLocked(st *Standing, ended, at time.Time) bool {
	old := st.At.After(at) && !st.At.After(c.mu.latest)
	return st.At.After(ended) && !old && !st.Expected
}

// resting is until when, and why, something rests.
type resting struct {
	until time.Time
	why   string
}

// rested returns the actions that need no rest for the goal, and the first
// rest to end of those that do and could change what it is about.
func (c *Controller) rested(g *Goal, actions []Action, at time.Time) (out []Action, first resting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range actions {
		until, why := c.mu.guard.Resting(cooldown.Key{Goal: g.ID, Action: a.Name}, at)
		if why == "" {
			out = append(out, a)
			continue
		}
		about := slices.ContainsFunc(a.Effects, func(e Change) bool { return Overlaps(e.Effect, g.Effect()) })
		if about && (first.why == "" || until.Before(first.until)) {
			first = resting{until, fmt.Sprintf("%q rests: %s", a.Name, why)}
		}
	}
	return out, first
}

// resting returns until when and why a whole course rests for a goal.
func (c *Controller) resting(course []Action, goal string, at time.Time) (time.Time, string) {
	names := make([]string, len(course))
	for i := range course {
		names[i] = course[i].Name
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.guard.Resting(courseKey(goal, names), at)
}

// courseKey is a course of action as a whole; of one action, that action.
func courseKey(goal string, actions []string) cooldown.Key {
	return cooldown.Key{Goal: goal, Action: strings.Join(actions, " → ")}
}

// crowded returns why nothing can be begun at present, whatever it is.
func (c *Controller) crowded() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mu.blind:
		return "what is in flight has to be read from the store first"
	case len(c.mu.flying) >= c.o.MaxInFlight:
		return fmt.Sprintf("%d dispatches are in flight", len(c.mu.flying))
	}
	return ""
}

// dispatchOf puts a course of action into a dispatch.
func (c *Controller) dispatchOf(g *Goal, v *Verdict, course []Action, at time.Time) Dispatch {
	san := c.o.Sanitizer
	text := g.ID
	if g.Description != "" {
		text += ": " + g.Description
	}
	text = san.Sanitize(text + " (" + v.Reason + ")")
	inputs, err := json.Marshal(map[string]any{"goal": g.ID, "selector": g.Selector, "actual": v.Actual, "reason": v.Reason})
	if err != nil || len(inputs) > maxInputs {
		inputs = nil // for whoever needs it, the text has the essence
	}
	d := Dispatch{
		Goal: g.ID, Severity: v.Severity, Text: text, Inputs: san.JSON(inputs),
		At: at, Until: at.Add(c.o.Lease),
	}
	for _, a := range course {
		t := reason.Task{
			Objective: a.Name + ", for goal " + g.ID, Delta: g.Condition.String(), Verify: g.Condition.String(), Skill: a.Skill,
		}
		if a.Skill == "" {
			e := a.Effects[0].Effect
			t.Effect = &e
		}
		d.Steps = append(d.Steps, Step{Action: a.Name, Task: t})
	}
	return d
}

// maxInputs bounds the inputs of a dispatch, in bytes.
const maxInputs = 32 << 10
