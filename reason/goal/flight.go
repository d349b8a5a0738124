package goal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/cooldown"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// The first parts of the keys of this package. A controller's name follows.
const (
	headKeys    = "goap/head"    // → head
	flightKeys  = "goap/flight"  // goal → flight
	outcomeKeys = "goap/outcome" // number → Outcome
)

// head counts the dispatches of a controller.
type head struct {
	Dispatches uint64 `cbor:"1,keyasint,omitempty"` // admitted so far
}

// flight is a dispatch that was admitted and has no outcome yet: the mark that
// its goal is in flight.
type flight struct {
	Dispatch Dispatch `cbor:"1,keyasint,omitempty"`
	Begun    bool     `cbor:"2,keyasint,omitempty"` // the dispatcher may have been called
	Resumed  int      `cbor:"3,keyasint,omitempty"` // times that it was gone on with
	// About is the value that the goal is about.
	About reason.Effect `cbor:"4,keyasint,omitzero"`
}

// maxResumed is how often a dispatch is gone on with, so that one that ends
// the process each time comes to an end itself.
const maxResumed = 3

// flying is a flight that this process sees to.
type flying struct {
	flight
	rev    store.Revision // of the mark
	cancel context.CancelCauseFunc
	// out is known and still to be kept; keeping says that somebody is at it.
	out     *Outcome
	keeping bool
	left    bool // nobody sees to it until it is adopted
	resume  bool // it is gone on with, rather than begun
}

// What cuts a dispatch off.
var (
	errClosing = errors.New("the controller is being closed")
	errLease   = errors.New("its lease has run out")
)

func (c *Controller) headKey() string              { return key.Join(headKeys, c.o.Name) }
func (c *Controller) flightKey(goal string) string { return key.Join(flightKeys, c.o.Name, goal) }
func (c *Controller) outcomeKey(n uint64) string {
	return key.Join(outcomeKeys, c.o.Name, fmt.Sprintf("%016x", n))
}

// admit marks the goal of d as in flight, once for all processes, and has d
// carried out. It fills Key and Number.
func (c *Controller) admit(ctx context.Context, d Dispatch, about reason.Effect, changes []Change) (string, error) {
	c.mu.Lock()
	next, rev := head{c.mu.next.Dispatches + 1}, c.mu.rev
	c.mu.Unlock()
	d.Number = next.Dispatches
	d.Key = c.o.Name + "/" + d.Goal + "/" + strconv.FormatUint(d.Number, 10)
	if len(d.Key) > maxDispatchKey {
		d.Key = c.o.Name + "/" + strconv.FormatUint(d.Number, 10)
	}
	f := &flying{flight: flight{Dispatch: d, About: about}}
	headOp, err := c.op(c.headKey(), &next, store.At(rev))
	if err != nil {
		return "", err
	}
	mark, err := c.op(c.flightKey(d.Goal), &f.flight, store.At(0))
	if err != nil {
		return "", err
	}
	at, err := c.st.Commit(context.WithoutCancel(ctx), headOp, mark)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.mu.doubt = true
		c.mu.blind = c.mu.blind || !errors.Is(err, store.ErrConflict) // it may have been written
		return "", fmt.Errorf("admit %q: %w", d.Key, err)
	}
	c.mu.next, c.mu.rev, f.rev = next, at, at
	if err := c.world.Expect(d.Key, changes, d.At, d.Until); err != nil {
		c.o.Logger.Error("effects cannot be expected", "dispatch", d.Key, "error", err)
	}
	c.holdLocked(f)
	return d.Key, nil
}

// maxDispatchKey leaves room for what follows a run in the keys of its attempts.
const maxDispatchKey = 192

func (c *Controller) op(k string, v any, cond store.Condition) (store.Op, error) {
	value, err := codec.Encode(k, v)
	return store.Op{Key: k, Value: value, If: cond}, err
}

// adopt takes over the flights in the store that are not flying here: those of
// a process that has ended, and those whose admission was in doubt.
func (c *Controller) adopt(ctx context.Context, at time.Time) error {
	e, err := c.st.Get(ctx, c.headKey())
	if errors.Is(err, store.ErrNotFound) {
		e, err = store.Entry{}, nil
	}
	if err != nil {
		return err
	}
	var next head
	if e.Rev != 0 {
		if err := codec.Decode(e, &next); err != nil {
			return err
		}
	}
	var found []*flying
	var damaged []error // their goals wait for somebody to look, and no others
	for e, err := range c.st.Scan(ctx, store.Range{Prefix: key.Prefix(flightKeys, c.o.Name)}) {
		if err != nil {
			return err
		}
		f := &flying{rev: e.Rev}
		if err := codec.Decode(e, &f.flight); err != nil {
			damaged = append(damaged, err)
			continue
		}
		found = append(found, f)
	}
	c.mu.Lock()
	c.mu.next, c.mu.rev, c.mu.doubt, c.mu.blind = next, e.Rev, len(damaged) > 0, false
	maps.DeleteFunc(c.mu.flying, func(_ string, f *flying) bool { return f.left })
	c.mu.Unlock()
	for _, f := range found {
		c.take(f, at)
	}
	return errors.Join(damaged...)
}

// take settles or goes on with a flight, unless it is flying here.
func (c *Controller) take(f *flying, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	goal := f.Dispatch.Goal
	if c.mu.flying[goal] != nil || c.mu.closed {
		return
	}
	_, resumes := c.dispatch.(Resumer)
	switch {
	case !f.Begun && at.Before(f.Dispatch.Until):
		c.holdLocked(f)
		return
	case f.Begun && resumes && f.Resumed < maxResumed:
		f.Resumed++
		f.Dispatch.Until, f.resume = at.Add(c.o.Lease), true
		c.holdLocked(f)
		return
	}
	c.mu.flying[goal] = f
	f.cancel = func(error) {}
	f.out = f.outcome(at, c.o.Sanitizer, Result{End: Interrupted, Why: "the process ended while it was under way"})
	if !f.Begun {
		f.out.End, f.out.Why = Refused, "it was not begun within its lease"
	}
	// It is kept with those that are left over.
}

// holdLocked marks a flight as flying here. It is launched when the tick is over:
// how fast it is must not decide what the tick finds.
func (c *Controller) holdLocked(f *flying) {
	f.cancel = func(error) {}
	c.mu.flying[f.Dispatch.Goal] = f
	c.mu.held = append(c.mu.held, f)
}

// launch has the flights that are held carried out, each in a goroutine of its
// own.
func (c *Controller) launch(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.mu.held
	c.mu.held = nil
	if c.mu.closed {
		return // the marks are there, for the next Controller of the name
	}
	for _, f := range held {
		// What was admitted outlives the tick that did: its own bounds are
		// the lease, and Close.
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		f.cancel = cancel
		if c.mu.busy++; c.mu.busy == 1 {
			c.mu.idle = make(chan struct{})
		}
		go func() {
			defer cancel(nil)
			c.fly(ctx, f)
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.mu.busy--; c.mu.busy == 0 {
				close(c.mu.idle)
			}
		}()
	}
}

// fly carries a flight out and keeps its outcome.
func (c *Controller) fly(ctx context.Context, f *flying) {
	if err := c.begin(ctx, f); err != nil {
		c.o.Logger.Error("a dispatch could not be begun", "dispatch", f.Dispatch.Key, "error", err)
		c.leave(f)
		return
	}
	res, err := c.call(ctx, f)
	if err != nil && context.Cause(ctx) == errClosing {
		c.leave(f) // for the next Controller of the name
		return
	}
	if err != nil {
		res = failure(ctx, err)
	}
	at := c.o.Now()
	c.change(f, &res, at)
	out := f.outcome(at, c.o.Sanitizer, res)
	c.mu.Lock()
	f.out, f.keeping = out, true
	c.mu.Unlock()
	if err := c.keep(ctx, f); err != nil {
		c.o.Logger.Error("an outcome could not be kept yet", "dispatch", f.Dispatch.Key, "error", err)
	}
}

// begin commits that the dispatcher is about to be called.
func (c *Controller) begin(ctx context.Context, f *flying) error {
	f.Begun = true
	mark, err := c.op(c.flightKey(f.Dispatch.Goal), &f.flight, store.At(f.rev))
	if err != nil {
		return err
	}
	f.rev, err = c.st.Commit(context.WithoutCancel(ctx), mark)
	return err
}

// leave lets go of a flight whose mark stays in the store.
func (c *Controller) leave(f *flying) {
	c.world.Rollback(f.Dispatch.Key)
	c.mu.Lock()
	defer c.mu.Unlock()
	f.left, c.mu.doubt = true, true
}

func (c *Controller) call(ctx context.Context, f *flying) (Result, error) {
	limit := f.Dispatch.Until.Sub(c.o.Now())
	if limit <= 0 {
		return Result{}, errLease
	}
	return guard.Do(ctx, limit, func(ctx context.Context) (Result, error) {
		d := f.Dispatch.clone()
		if r, ok := c.dispatch.(Resumer); ok && f.resume {
			return r.Resume(ctx, d)
		}
		return c.dispatch.Dispatch(ctx, d)
	})
}

// clone returns a copy that the dispatcher may do with as it likes.
func (d Dispatch) clone() Dispatch {
	d.Inputs, d.Steps = slices.Clone(d.Inputs), slices.Clone(d.Steps)
	for i := range d.Steps {
		if e := d.Steps[i].Task.Effect; e != nil {
			d.Steps[i].Task.Effect = new(*e)
		}
	}
	return d
}

// failure is what a dispatcher's error says.
func failure(ctx context.Context, err error) Result {
	r := Result{End: Failed, Why: err.Error()}
	switch {
	case context.Cause(ctx) == errLease, errors.Is(err, errLease), errors.Is(err, guard.ErrTime):
		r.End, r.Why = Interrupted, "nothing came of it within its lease"
	case errors.Is(err, ErrInterrupted):
		r.End = Interrupted
	case errors.Is(err, ErrRefused):
		r.End = Refused
	}
	return r
}

// change lets the world know what a flight has changed. A result that makes no
// sense becomes a failure.
func (c *Controller) change(f *flying, r *Result, at time.Time) {
	switch r.End {
	case Succeeded, Failed, Refused, Interrupted:
	default:
		r.End, r.Why = Failed, fmt.Sprintf("the dispatcher returned the end %q", short(string(r.End)))
	}
	if r.End == Succeeded {
		c.world.Settle(f.Dispatch.Key, at, at.Add(c.o.Lease))
	} else {
		c.world.Rollback(f.Dispatch.Key)
	}
	if len(r.Deltas) == 0 {
		return
	}
	if err := c.world.Apply(r.Deltas, at); err != nil {
		c.o.Logger.Error("deltas cannot be applied", "dispatch", f.Dispatch.Key, "end", r.End, "error", err)
		if r.End != Succeeded {
			return
		}
		c.world.Rollback(f.Dispatch.Key)
		r.End, r.Why, r.Done = Failed, "the dispatcher returned bad deltas: "+err.Error(), len(f.Dispatch.Steps)
	}
}

// outcome is how the flight ended.
func (f *flying) outcome(at time.Time, san *redact.Sanitizer, r Result) *Outcome {
	d := &f.Dispatch
	o := &Outcome{
		Key: d.Key, Number: d.Number, Goal: d.Goal, Severity: d.Severity,
		Done: min(max(0, r.Done), len(d.Steps)), End: r.End, Why: cut(san.Sanitize(r.Why)), Worker: cut(r.Worker),
		At: d.At, Ended: at.UTC().Round(0),
	}
	for _, s := range d.Steps {
		o.Actions = append(o.Actions, s.Action)
	}
	if o.End == Succeeded {
		o.Done = len(d.Steps)
	}
	return o
}

// maxWhy bounds what is kept of the reason of an outcome, in bytes.
const maxWhy = 2 << 10

func cut(s string) string {
	if len(s) > maxWhy {
		s = s[:maxWhy]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// keep takes the mark of a flight off and keeps its outcome, in one commit. It
// can be called again until it succeeds.
func (c *Controller) keep(ctx context.Context, f *flying) error {
	ctx = context.WithoutCancel(ctx)
	out := f.out
	put, err := c.op(c.outcomeKey(out.Number), out, store.At(0))
	if err != nil {
		return err
	}
	ops := []store.Op{{Key: c.flightKey(out.Goal), Delete: true, If: store.At(f.rev)}, put}
	if n := uint64(c.o.History); out.Number > n {
		ops = append(ops, store.Op{Key: c.outcomeKey(out.Number - n), Delete: true})
	}
	_, err = c.st.Commit(ctx, ops...)
	kept := err == nil
	if errors.Is(err, store.ErrConflict) {
		// An earlier commit took place although it reported an error, or
		// somebody else has brought the flight to an end.
		var e store.Entry
		e, err = c.st.Get(ctx, put.Key)
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		if kept = err == nil && bytes.Equal(e.Value, put.Value); err == nil && !kept {
			c.o.Logger.Error("somebody else has taken over", "dispatch", out.Key, "lost", out.End)
		}
	}
	c.mu.Lock()
	f.keeping = false
	if err != nil {
		c.mu.Unlock()
		return fmt.Errorf("keep the outcome of %q: %w", out.Key, err)
	}
	delete(c.mu.flying, out.Goal)
	if kept {
		c.noteLocked(out, f.About)
		c.mu.ended = append(c.mu.ended, *out)
		c.mu.ended = c.mu.ended[max(0, len(c.mu.ended)-c.o.History):]
	}
	c.mu.Unlock()
	if kept && c.o.Outcome != nil {
		o := *out
		o.Actions = slices.Clone(o.Actions)
		if err := c.hook.Call(func() { c.o.Outcome(o) }); err != nil {
			c.o.Logger.Error("a hook failed", "dispatch", o.Key, "error", err)
		}
	}
	return nil
}

// noteLocked draws the consequences of an outcome of a goal about a value: what
// is to rest.
func (c *Controller) noteLocked(o *Outcome, about reason.Effect) {
	nothing := o.End == Refused && o.Done == 0 // was done that could have changed anything
	if !nothing {
		c.mu.guard.End(courseKey(o.Goal, o.Actions), true, false, o.Ended) // as a turn of the goal's
	}
	if o.End != Succeeded && len(o.Actions) > 0 {
		last := cooldown.Key{Goal: o.Goal, Action: o.Actions[min(o.Done, len(o.Actions)-1)]}
		c.mu.guard.Fail(last, o.Ended)
		if o.End == Refused { // who said no is not asked again at once
			c.mu.guard.Rest(last, o.Ended, c.o.Cooldown, "it was refused")
		}
	}
	if nothing {
		return
	}
	a := &past{ended: o.Ended, success: o.End == Succeeded}
	if a.success {
		for _, action := range o.Actions {
			a.suspect = append(a.suspect, cooldown.Key{Goal: o.Goal, Action: action})
		}
	}
	c.mu.past[o.Goal] = a
	c.mu.about[about] = &past{ended: a.ended, success: a.success}
}
