package goal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/cooldown"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal/internal/selector"
	"github.com/arc-learn/arc/store"
)

// Report is what a [Controller.Tick] found and did.
type Report struct {
	// At is the time of the tick, in UTC.
	At time.Time
	// Goals are in the order of the set. There are none before the first tick.
	Goals []Standing
	// Ended are the outcomes since the report before, in the order in which they were kept,
	// the last Options.History of them. One that was Unseen is there again once it was judged.
	Ended []Outcome
}

// Standing is how a goal stands with a [Controller].
type Standing struct {
	Verdict
	Doing Doing
	// Why says in words why nothing is dispatched. It is "" if something is, or needs
	// not be.
	Why string
	// Dispatch is the ID of what is in flight for the goal; "": nothing is.
	Dispatch string
	// Until is the end of the lease of Began and InFlight, and the end of the rest of
	// Resting; zero if that is unknown.
	Until time.Time
}

// Doing says what a [Controller] does about a goal.
type Doing string

// What is done about a goal.
const (
	// Nothing: the goal is met, unknown or disabled.
	Nothing Doing = "nothing"
	// Began: a dispatch was admitted with this tick.
	Began Doing = "began"
	// InFlight: a dispatch for the goal is under way.
	InFlight Doing = "in_flight"
	// Resting: the goal is left alone until its value is read anew, or until what could
	// be done about it has rested.
	Resting Doing = "resting"
	// Waiting: something else has to end first, such as a dispatch that changes the
	// same value, or one of Options.MaxInFlight.
	Waiting Doing = "waiting"
	// Stuck: no worker can do anything about it, or what is done is undone for another
	// goal. Why says what is missing, or which goal that is.
	Stuck Doing = "stuck"
)

// Tick evaluates all goals on the world as it is known, begins what is to be done
// about those that are violated, and returns how each stands. It does not poll the
// world. What it admits begins when it is over, and is not waited for. Ticks
// exclude one another.
//
// A goal is acted upon if it is violated by what was read, or unknown with
// ActOnUnknown. In addition nothing may be in flight for it, for another goal
// about the same value, or about a value that the plan would change; the value must
// have been read since the last such dispatch, whose cooldown after a success is over;
// and a plan of actions that do not rest must be there to meet it.
//
// Of two goals whose dispatches undo each other the less severe one is Stuck: each was met,
// and then violated by the first reading after a dispatch for the other, and for no third,
// twice in a row. It is acted upon again once it was met by itself, once one of the two wants
// something else or is gone, and after a restart.
//
// The error is store.ErrClosed, that of ctx, the store's, or that of the Runner's Judge. It
// comes with a Report of what was found until then, and the next Tick goes on from there.
func (c *Controller) Tick(ctx context.Context) (Report, error) {
	c.ticking.Lock()
	defer c.ticking.Unlock()
	r := Report{At: c.o.Now().UTC().Round(0)}
	if err := store.CheckContext(ctx); err != nil {
		return r, err
	}
	defer c.launch(ctx)
	err := c.bringUpToDate(ctx, r.At)
	if errors.Is(err, store.ErrClosed) {
		return r, fmt.Errorf("goal: tick: %w", err)
	}
	errs := []error{err} // of some goals: what is in flight of others is known
	// Not r.At: since then a dispatch may have ended.
	c.setClock(c.o.Now().UTC().Round(0))
	set, s := c.goals.current(), c.world.state(r.At)
	targets, steps := set.targets, c.available(set)
	r.Goals = make([]Standing, len(targets))
	c.keepThere(targets)
	for _, severity := range slices.Backward(severities) {
		for i := range targets {
			if t := &targets[i]; t.severity() == severity {
				r.Goals[i] = Standing{Verdict: t.evaluate(s), Doing: Nothing}
				errs = append(errs, c.actOn(ctx, t, s, steps, &r.Goals[i]))
			}
		}
	}
	errs = append(errs, c.keepJudged(ctx))
	c.mu.Lock()
	r.Ended, c.mu.ended = c.mu.ended, nil
	c.mu.Unlock()
	c.record(ctx, r)
	if err := errors.Join(errs...); err != nil {
		return r, fmt.Errorf("goal: tick: %w", err)
	}
	return r, nil
}

// keepThere drops what is known of how goals swing that are gone, or disabled. Of those that are gone it keeps
// the last dispatches as a restart would: of History goals.
func (c *Controller) keepThere(targets []target) {
	there := make(map[string]bool)
	for i := range targets {
		there[targets[i].ID] = !targets[i].Disabled
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.swings.Keep(there)
	if len(c.mu.past) <= len(targets)+c.o.History {
		return
	}
	gone := slices.DeleteFunc(slices.Collect(maps.Keys(c.mu.past)), func(goal string) bool {
		_, ok := there[goal]
		return ok
	})
	slices.SortFunc(gone, func(a, b string) int { return c.mu.past[b].ended.Compare(c.mu.past[a].ended) })
	for _, goal := range gone[min(len(gone), c.o.History):] {
		delete(c.mu.past, goal)
	}
}

// setClock takes in the time of a tick, or of an outcome. If the clock was put back, what
// has ended since ends now, so that no goal waits until it has caught up, and what was read
// since was read now, so that it is not taken for later than that.
func (c *Controller) setClock(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !at.Before(c.mu.latest) {
		c.mu.latest = at
		return
	}
	c.world.putBack(at, c.mu.latest)
	for _, p := range c.mu.past {
		if p.ended.After(at) {
			p.ended = at
		}
	}
}

// bringUpToDate adopts what is open in the store, keeps outcomes that could not be
// kept before, and cuts off dispatches whose lease is over.
func (c *Controller) bringUpToDate(ctx context.Context, at time.Time) error {
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
// which there is a worker, and a change of each effect of the catalog, by name. An
// effect that names no value of a world is passed over.
func (c *Controller) available(set *goalSet) []step {
	var skills []string
	var effects []reason.Effect
	if err := guard.Call(func() { skills, effects = c.catalog.Skills(), c.catalog.Effects() }); err != nil {
		c.o.Logger.Error("the catalog panicked", "error", veil.Error(c.o.Sanitizer, err))
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
		if change, err := a.Effects[0].overlay(); err == nil && !names[a.Name] {
			names[a.Name] = true
			out = append(out, step{Action: a, changes: []overlay{change}})
		}
	}
	for i := range out {
		out[i].rest = set.rest(out[i].Name)
	}
	slices.SortFunc(out, func(a, b step) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// hindrance is why nothing is begun for a goal.
type hindrance struct {
	doing Doing
	why   string
	until time.Time
}

// actOn decides what to do about a goal, begins it, and completes how the goal stands.
func (c *Controller) actOn(ctx context.Context, t *target, s state, steps []step, st *Standing) error {
	h := c.hindrance(t, s, st)
	var plan []*step
	if h == nil {
		plan, h = c.course(t, s, steps)
	}
	if h != nil {
		st.Doing, st.Why, st.Until = h.doing, h.why, h.until
		return nil
	}
	d := c.dispatch(t, &st.Verdict, plan, s.at)
	id, err := c.admit(ctx, d, t.is.place.Effect())
	if err != nil {
		st.Doing, st.Why = Waiting, err.Error()
		return err
	}
	st.Doing, st.Dispatch, st.Until = Began, id, d.Until
	return nil
}

// hindrance returns what keeps a goal from being acted upon; nil if nothing does. The
// first of these counts:
//
//	InFlight  a dispatch for it is under way
//	Nothing   it is not violated
//	Waiting   an entry of it in the ledger is damaged
//	Waiting   a dispatch is under way that may change its value
//	Resting   the cooldown of the last such dispatch, a success, is not over
//	Resting   no reading began since the last such dispatch ended
//	Stuck     it and a goal above it undo each other
//
// It judges the last dispatch of the goal by the reading that the goal is decided by.
func (c *Controller) hindrance(t *target, s state, st *Standing) *hindrance {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st.Status != Unknown {
		rank := slices.Index(severities, st.Severity)
		c.mu.swings.See(t.ID, t.Condition.String(), rank, st.Status == Met, st.At, c.succeededLocked())
	}
	if f := c.mu.flying[t.ID]; f != nil {
		st.Dispatch = f.Dispatch.ID
		return &hindrance{InFlight, "a dispatch is under way", f.Dispatch.Until}
	}
	unread := st.Status == Unknown && t.ActOnUnknown && !t.Disabled && s.domains[t.is.place.Domain].tried
	own := c.mu.past[t.ID]
	if st.Status != Violated && !unread {
		if st.Status == Met && own != nil && st.At.After(own.ended) {
			c.judgeLocked(own, t, Met)
		}
		return &hindrance{doing: Nothing}
	}
	if err := c.mu.damaged[t.ID]; err != nil {
		return &hindrance{doing: Waiting, why: err.Error()}
	}
	if f := c.flyingLocked(t.is.place, nil); f != nil {
		return &hindrance{doing: Waiting, why: fmt.Sprintf("dispatch %s is about the same value", f.Dispatch.ID)}
	}
	last := c.lastLocked(t)
	if last == nil {
		return nil
	}
	until := last.ended.Add(cmp.Or(t.Cooldown, c.o.Cooldown))
	if (last.success || unread) && s.at.Before(until) {
		return &hindrance{Resting, "its effects have to show first", until}
	}
	if !unread && !st.At.After(last.ended) {
		return &hindrance{doing: Resting, why: "it was not read since the last dispatch"}
	}
	c.judgeLocked(own, t, st.Status)
	if other := c.mu.swings.Above(t.ID); other != "" {
		return &hindrance{doing: Stuck, why: fmt.Sprintf("it and goal %q undo each other", other)}
	}
	return nil
}

// wanted says in words what a goal wants, without secrets.
func (c *Controller) wanted(t *target) string { return c.o.Sanitizer.Sanitize(t.Condition.String()) }

// stillUnknown is why a success of a goal with ActOnUnknown came to nothing.
const stillUnknown = "no reading after it shows how the goal stands"

// judgeLocked says of an outcome that is Unseen, if p has one, how the goal stands since.
// Each of its actions came to nothing if it is not met. One that was to bring about something else
// than the goal wants now stays Unseen.
func (c *Controller) judgeLocked(p *past, t *target, now Status) {
	if p == nil || p.unseen == nil || p.unseen.Want != "" && p.unseen.Want != c.wanted(t) {
		return
	}
	out := *p.unseen
	p.unseen = nil
	switch now {
	case Met:
		out.End = Succeeded
	case Violated:
		out.Why = "a reading after it shows the goal violated"
	default:
		out.Why = stillUnknown
	}
	if now != Met {
		c.failLocked(&out)
	}
	c.mu.judged = append(c.mu.judged, out)
}

// failLocked counts each action of an outcome as one that came to nothing.
func (c *Controller) failLocked(o *Outcome) {
	for _, action := range o.Actions {
		c.noteFailureLocked(cooldown.Key{Goal: o.Goal, Action: action}, o.Ended)
	}
}

// noteFailureLocked counts an action of a dispatch that ended at a time, and came to
// nothing, whenever that became known: a restart has no other time of it.
func (c *Controller) noteFailureLocked(k cooldown.Key, ended time.Time) {
	c.mu.guard.Fail(k, ended)
	if ended.After(c.mu.failed[k.Action]) {
		c.mu.failed[k.Action] = ended
	}
}

// restsLocked returns until when a step rests by an override, if it does.
func (c *Controller) restsLocked(st *step, at time.Time) (until time.Time, rests bool) {
	failed, ok := c.mu.failed[st.Name]
	if !ok || st.rest <= 0 {
		return until, false
	}
	if failed.After(at) { // the clock was put back
		failed = at
		c.mu.failed[st.Name] = at
	}
	until = failed.Add(st.rest)
	return until, until.After(at)
}

// course returns the course of action for a goal, or what hinders it: no action helps,
// those that would rest, or there is no room for one more dispatch.
func (c *Controller) course(t *target, s state, steps []step) ([]*step, *hindrance) {
	c.mu.Lock()
	awake, rest := c.awakeLocked(t, steps, s.at)
	c.mu.Unlock()
	plan, err := cheapestCourse(s, t, awake)
	if err == nil && len(plan) == 0 {
		err = errNoPlan // it is unknown, and met by what is known without its age
	}
	if err != nil {
		return plan, cmp.Or(rest, &hindrance{doing: Stuck, why: err.Error()})
	}
	var names []string
	for _, x := range plan {
		names = append(names, x.Name)
	}
	would := c.touched(t.is.place.Effect(), names)
	c.mu.Lock()
	defer c.mu.Unlock()
	until, why := c.mu.guard.Resting(courseKey(t.ID, names), s.at)
	other := c.flyingLocked(t.is.place, would)
	switch {
	case why != "":
		return plan, &hindrance{Resting, why, until}
	case other != nil:
		why = fmt.Sprintf("dispatch %s is about what it would change", other.Dispatch.ID)
		return plan, &hindrance{doing: Waiting, why: why}
	case c.mu.doubt:
		return plan, &hindrance{doing: Waiting, why: "what is in flight has to be read from the store first"}
	case len(c.mu.flying) >= c.o.MaxInFlight:
		return plan, &hindrance{doing: Waiting, why: fmt.Sprintf("%d dispatches are in flight", len(c.mu.flying))}
	}
	return plan, nil
}

// awakeLocked returns the steps that need no rest for the goal. Rest is the first rest
// to end among those that do and bear on the goal; nil: there is none.
func (c *Controller) awakeLocked(t *target, steps []step, at time.Time) (awake []step, rest *hindrance) {
	for _, st := range steps {
		until, why := c.mu.guard.Resting(cooldown.Key{Goal: t.ID, Action: st.Name}, at)
		if later, rests := c.restsLocked(&st, at); rests && later.After(until) {
			until, why = later, fmt.Sprintf("it is to rest for %v once it came to nothing", st.rest)
		}
		if why == "" {
			awake = append(awake, st)
		} else if st.bearsOn(t.is.place) && (rest == nil || until.Before(rest.until)) {
			rest = &hindrance{Resting, fmt.Sprintf("%q rests: %s", st.Name, why), until}
		}
	}
	return awake, rest
}

// dispatch puts a course of action into a dispatch.
func (c *Controller) dispatch(t *target, v *Verdict, steps []*step, at time.Time) Dispatch {
	text := t.ID
	if t.Description != "" {
		text += ": " + t.Description
	}
	inputs, err := json.Marshal(map[string]any{
		"goal": t.ID, "selector": t.Selector, "actual": v.Actual, "reason": v.Reason,
	})
	if inputs = c.o.Sanitizer.JSON(inputs); err != nil || len(inputs) > maxInputs {
		inputs = nil // the text has the essence
	}
	d := Dispatch{
		Goal: t.ID, Severity: v.Severity, Text: c.o.Sanitizer.Sanitize(text + " (" + v.Reason + ")"),
		Inputs: inputs, At: at, Until: at.Add(c.o.Lease),
	}
	want := c.wanted(t)
	for _, a := range steps {
		task := reason.Task{Objective: a.Name + ", for goal " + t.ID, Delta: want, Verify: want, Skill: a.Skill}
		if a.Skill == "" {
			task.Effect = new(a.Effects[0].Effect)
		}
		d.Steps = append(d.Steps, Step{Action: a.Name, Task: task})
	}
	return d
}

// past is the last dispatch of a goal that may have changed something.
type past struct {
	touched []selector.Place
	ended   time.Time
	success bool     // by its steps
	unseen  *Outcome // nil: it was judged, or there is nothing to see
}

// touched returns what a dispatch may change: the value that it is about, and what its
// actions set or add to. A catalog's effect names a whole domain perhaps, and counts for
// no other value than that.
func (c *Controller) touched(about reason.Effect, actions []string) (out []selector.Place) {
	if p, err := selector.OfEffect(about); err == nil {
		out = append(out, p)
	}
	for _, st := range c.steps {
		for _, x := range st.changes {
			if x.op != alters && slices.Contains(actions, st.Name) {
				out = append(out, x.place)
			}
		}
	}
	return out
}

// flyingLocked returns the first flight, by goal, that may change a value, or is about one
// of those that would be changed; nil: there is none.
func (c *Controller) flyingLocked(value selector.Place, changed []selector.Place) (first *flight) {
	for goal, f := range c.mu.flying {
		if first != nil && first.Dispatch.Goal < goal {
			continue
		}
		if touches(f.touched, value) || touches(changed, f.about) {
			first = f
		}
	}
	return first
}

func touches(touched []selector.Place, p selector.Place) bool {
	return slices.ContainsFunc(touched, p.Overlaps)
}

// noteLocked draws the consequences of an outcome: what is to rest, and what has to be
// read.
func (c *Controller) noteLocked(o *Outcome, touched []selector.Place) {
	// A refusal before the first step left the world unchanged.
	unchanged := o.End == Refused && o.Done == 0
	if !unchanged {
		c.mu.guard.End(courseKey(o.Goal, o.Actions), o.Ended) // counts as a turn of the goal
	}
	success := o.End == Succeeded || o.End == Unseen
	if !success && len(o.Actions) > 0 {
		last := cooldown.Key{Goal: o.Goal, Action: o.Actions[min(o.Done, len(o.Actions)-1)]}
		c.noteFailureLocked(last, o.Ended)
		if o.End == Refused {
			// Rest after a refusal: an immediate retry gets the same answer.
			c.mu.guard.Rest(last, o.Ended, c.o.Cooldown, "it was refused")
		}
	}
	if unchanged {
		return
	}
	p := &past{touched: touched, ended: o.Ended, success: success}
	c.mu.past[o.Goal] = p
	switch {
	case o.End != Unseen:
	case o.Why == "":
		p.unseen = o
	default: // it was judged before the restart
		c.failLocked(o)
	}
}

// lastLocked returns the last dispatch that may have changed what a goal is about; nil:
// there was none. Of those that ended together a success counts, whose effects have to
// show.
func (c *Controller) lastLocked(t *target) (last *past) {
	for goal, p := range c.mu.past {
		if goal != t.ID && !touches(p.touched, t.is.place) {
			continue
		}
		if last == nil || p.ended.After(last.ended) || p.ended.Equal(last.ended) && p.success {
			last = p
		}
	}
	return last
}

// succeededLocked yields the ends of the last dispatches that succeeded by their steps, by goal.
func (c *Controller) succeededLocked() iter.Seq2[string, time.Time] {
	return func(yield func(string, time.Time) bool) {
		for goal, p := range c.mu.past {
			if p.success && !yield(goal, p.ended) {
				return
			}
		}
	}
}

// courseKey is a course of action as a whole; of one action, that action.
func courseKey(goal string, actions []string) cooldown.Key {
	return cooldown.Key{Goal: goal, Action: strings.Join(actions, " → ")}
}
