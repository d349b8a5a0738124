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
	// Ended are the outcomes since the report before, in the order of their ends.
	Ended []Outcome
}

// Standing is how a goal stands with a [Controller].
type Standing struct {
	Verdict
	Doing    Doing
	Why      string // why nothing is dispatched; "" if it is, or needs not be
	Dispatch string // the ID of what is in flight; "": nothing is
	// Until is the end of the lease of Began and InFlight, and the end of the rest of
	// Resting; zero if that is unknown.
	Until time.Time
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
	Stuck    Doing = "stuck"     // no worker can do anything about it
)

// Tick evaluates all goals on the world as it is known, begins what is to be done
// about those that are violated, and returns how each stands. It does not poll the
// world. What it admits begins when it is over, and is not waited for. Ticks
// exclude one another.
//
// A goal is acted upon if it is violated by what was read, or unknown with
// ActOnUnknown. In addition nothing may be in flight for it, or for another goal
// about the same value; the value must have been read since the last such dispatch,
// whose cooldown after a success is over; and a plan of actions that do not rest
// must be there to meet it.
//
// The error is store.ErrClosed, that of ctx, or the store's. It comes with a Report
// of what was found until then, and the next Tick goes on from there.
func (c *Controller) Tick(ctx context.Context) (Report, error) {
	c.ticking.Lock()
	defer c.ticking.Unlock()
	r := Report{At: c.o.Now().UTC().Round(0)}
	if ctx == nil {
		return r, errors.New("goal: tick: the context is nil")
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	defer c.launch(ctx)
	var errs []error
	if err := c.settle(ctx, r.At); errors.Is(err, store.ErrClosed) {
		return r, fmt.Errorf("goal: tick: %w", err)
	} else if err != nil { // of some goals: what is in flight of others is known
		errs = append(errs, err)
	}
	goals := c.goals.All()
	c.mu.Lock()
	r.Ended, c.mu.ended = c.mu.ended, nil
	if r.At.After(c.mu.latest) {
		c.mu.latest = r.At
	}
	c.mu.Unlock()
	s, steps := c.world.state(r.At), c.available()
	r.Goals = make([]Standing, len(goals))
	for _, i := range bySeverity(goals) {
		st := &r.Goals[i]
		*st = Standing{Verdict: goals[i].evaluate(s), Doing: Nothing}
		if err := c.actOn(ctx, &goals[i], s, steps, st); err != nil {
			errs = append(errs, err)
		}
		if st.Doing == Began { // what is expected of it may serve another goal too
			s = c.world.state(r.At)
		}
	}
	c.record(ctx, &r)
	if err := errors.Join(errs...); err != nil {
		return r, fmt.Errorf("goal: tick: %w", err)
	}
	return r, nil
}

// bySeverity returns the indices of the goals, the most severe first.
func bySeverity(goals []Goal) []int {
	order := make([]int, len(goals))
	rank := make([]int, len(goals))
	for i := range goals {
		order[i], rank[i] = i, slices.Index(severities, goals[i].severity())
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank[b], rank[a]) })
	return order
}

// settle adopts what is open in the store, keeps outcomes that could not be kept
// before, and cuts off dispatches whose lease is over.
func (c *Controller) settle(ctx context.Context, at time.Time) error {
	c.mu.Lock()
	closed, doubt := c.mu.closed, c.mu.doubt || len(c.mu.damaged) > 0
	c.mu.Unlock()
	if closed {
		return store.ErrClosed
	}
	var errs []error
	if doubt {
		errs = append(errs, c.adopt(ctx, at))
	}
	var over []*flight
	c.mu.Lock()
	for _, goal := range slices.Sorted(maps.Keys(c.mu.flying)) {
		f := c.mu.flying[goal]
		switch {
		case f.out != nil && !f.closing:
			f.closing = true
			over = append(over, f)
		case f.out == nil && !at.Before(f.Dispatch.Until):
			f.cancel(errLease)
		}
	}
	c.mu.Unlock()
	for _, f := range over {
		errs = append(errs, c.conclude(ctx, f))
	}
	return errors.Join(errs...)
}

// available returns what can be done at present: the actions of the options for
// which there is a worker, and a change of each effect of the catalog. An effect
// that names no value of a world is passed over.
func (c *Controller) available() []step {
	var skills []string
	var effects []reason.Effect
	if err := guard.Call(func() { skills, effects = c.catalog.Skills(), c.catalog.Effects() }); err != nil {
		c.o.Logger.Error("the catalog panicked", "error", err)
		return nil
	}
	var out []step
	names := make(map[string]bool)
	for _, st := range c.steps {
		names[st.Name] = true
		if st.Skill != "" && slices.Contains(skills, st.Skill) ||
			st.Skill == "" && slices.Contains(effects, st.Effects[0].Effect) {
			out = append(out, st)
		}
	}
	for _, e := range effects {
		a := Action{Name: "change " + e.Domain + " " + e.Path, Effects: []Change{{Effect: e}}}
		if some, err := compile([]Action{a}); err == nil && !names[a.Name] {
			names[a.Name] = true
			out = append(out, some...)
		}
	}
	return out
}

// actOn decides what to do about a goal, and begins it.
func (c *Controller) actOn(ctx context.Context, g *Goal, s state, steps []step, st *Standing) error {
	if !c.ready(g, s, st) {
		return nil
	}
	c.mu.Lock()
	awake, until, why := c.awakeLocked(g, steps, s.at)
	c.mu.Unlock()
	course, err := cheapestCourse(s, g, awake)
	if err == nil && len(course.steps) == 0 {
		err = errNoPlan // it is met only by what is expected
	}
	switch {
	case err != nil && why != "":
		st.set(Resting, why, until)
		return nil
	case err != nil:
		st.set(Stuck, err.Error(), time.Time{})
		return nil
	}
	var names []string
	var changes []overlay
	for _, x := range course.steps {
		names, changes = append(names, x.Name), append(changes, x.changes...)
	}
	if !c.free(courseKey(g.ID, names), s.at, st) {
		return nil
	}
	d := c.dispatch(g, &st.Verdict, course.steps, s.at)
	id, err := c.admit(ctx, d, g.place().effect(), changes)
	if err != nil {
		st.set(Waiting, err.Error(), time.Time{})
		return err
	}
	st.Doing, st.Dispatch, st.Until = Began, id, d.Until
	return nil
}

func (st *Standing) set(doing Doing, why string, until time.Time) {
	st.Doing, st.Why, st.Until = doing, why, until
}

// ready reports whether a goal is to be acted upon by what is known of it, and
// fills in why not.
func (c *Controller) ready(g *Goal, s state, st *Standing) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.mu.flying[g.ID]; f != nil {
		st.set(InFlight, "a dispatch is under way", f.Dispatch.Until)
		st.Dispatch = f.Dispatch.ID
		return false
	}
	unread := st.Status == Unknown && g.ActOnUnknown && !g.Disabled && s.domains[g.place().domain].tried
	own, last := c.mu.past[g.ID], c.lastLocked(g, s.at)
	read := last == nil || c.readSinceLocked(&st.Verdict, last.ended, s.at)
	if st.Status != Violated && !unread {
		if own != nil && st.Status == Met && read {
			own.suspect = nil // what was done for it has helped
		}
		return false
	}
	if err := c.mu.damaged[g.ID]; err != nil {
		st.set(Waiting, err.Error(), time.Time{})
		return false
	}
	if st.Expected {
		st.set(Resting, "a change is under way: it is violated by what is expected, and has to be read", time.Time{})
		return false
	}
	for _, f := range c.mu.flying {
		if f.About == g.place().effect() {
			st.set(Waiting, fmt.Sprintf("dispatch %s is about the same value", f.Dispatch.ID), time.Time{})
			return false
		}
	}
	if last == nil {
		return true
	}
	if until := last.ended.Add(cmp.Or(g.Cooldown, c.o.Cooldown)); (last.success || unread) && s.at.Before(until) {
		st.set(Resting, "its effects have to show first", until)
		return false
	}
	if !read && !unread {
		st.set(Resting, "it was not read since the last dispatch", time.Time{})
		return false
	}
	if own != nil {
		for _, k := range own.suspect { // it was done with success, and nothing has come of it
			c.mu.guard.Fail(k, s.at)
		}
		own.suspect = nil
	}
	return true
}

// free reports whether a course can begin: it does not rest as a whole, what is in
// flight is known, and is not too much.
func (c *Controller) free(course cooldown.Key, at time.Time, st *Standing) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until, why := c.mu.guard.Resting(course, at); why != "" {
		st.set(Resting, why, until)
		return false
	}
	switch {
	case c.mu.doubt:
		st.set(Waiting, "what is in flight has to be read from the store first", time.Time{})
	case len(c.mu.flying) >= c.o.MaxInFlight:
		st.set(Waiting, fmt.Sprintf("%d dispatches are in flight", len(c.mu.flying)), time.Time{})
	default:
		return true
	}
	return false
}

// dispatch puts a course of action into a dispatch.
func (c *Controller) dispatch(g *Goal, v *Verdict, steps []*step, at time.Time) Dispatch {
	san := c.o.Sanitizer
	text := g.ID
	if g.Description != "" {
		text += ": " + g.Description
	}
	inputs, err := json.Marshal(map[string]any{
		"goal": g.ID, "selector": g.Selector, "actual": v.Actual, "reason": v.Reason,
	})
	if err != nil || len(inputs) > maxInputs {
		inputs = nil // the text has the essence
	}
	d := Dispatch{
		Goal: g.ID, Severity: v.Severity, Text: san.Sanitize(text + " (" + v.Reason + ")"), Inputs: san.JSON(inputs),
		At: at, Until: at.Add(c.o.Lease),
	}
	for _, a := range steps {
		want := g.Condition.String()
		t := reason.Task{Objective: a.Name + ", for goal " + g.ID, Delta: want, Verify: want, Skill: a.Skill}
		if a.Skill == "" {
			t.Effect = new(a.Effects[0].Effect)
		}
		d.Steps = append(d.Steps, Step{Action: a.Name, Task: t})
	}
	return d
}

// past is the last dispatch of a goal, or about a value, that may have changed
// something.
type past struct {
	ended   time.Time
	success bool
	suspect []cooldown.Key // done with success, of which nothing has shown so far
}

// noteLocked draws the consequences of an outcome of a goal about a value: what is
// to rest, and what has to be read.
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

// lastLocked returns the last dispatch that may have changed what a goal is about:
// one of the goal, or of another goal about the same value. Nil: there was none.
func (c *Controller) lastLocked(g *Goal, at time.Time) *past {
	last := c.mu.past[g.ID]
	for _, p := range []*past{last, c.mu.about[g.place().effect()]} {
		if p == nil {
			continue
		}
		if p.ended.After(at) && at.Before(c.mu.latest) {
			// The clock was put back, and no goal waits until it has caught up.
			p.ended = at
		}
		if last == nil || p.ended.After(last.ended) {
			last = p
		}
	}
	return last
}

// readSinceLocked reports whether the value of a verdict was read after t. A
// reading dated in the future (the clock was put back) does not count.
func (c *Controller) readSinceLocked(v *Verdict, t, at time.Time) bool {
	future := v.At.After(at) && !v.At.After(c.mu.latest)
	return v.At.After(t) && !future && !v.Expected
}

// awakeLocked returns the steps that need no rest for the goal. Until and why are
// the first rest to end among those that do and could change what the goal is
// about.
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

// courseKey is a course of action as a whole; of one action, that action.
func courseKey(goal string, actions []string) cooldown.Key {
	return cooldown.Key{Goal: goal, Action: strings.Join(actions, " → ")}
}
