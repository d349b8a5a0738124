package goal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal/internal/plain"
	"github.com/arc-learn/arc/reason/goal/internal/selector"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// flight is an open dispatch that this process sees to. It is in Controller.mu.flying
// from its admission, or adoption, until its outcome is kept:
//
//	admit     the entry is open in the store; the run begins when the tick is over
//	carry     a goroutine has it run or, if it was adopted, resumed
//	conclude  the outcome takes the place of the entry; a tick tries again if it failed
//
// A process may end between any two of these. The next one finds the entry open and
// adopts it: Resume goes on with the run, or says that there is none, and then Run
// begins it if its first lease is not over.
type flight struct {
	held
	about   selector.Place   // the value that the goal is about; zero: it names none
	touched []selector.Place // what it may change
	cancel  context.CancelCauseFunc
	// adopted says that another process has admitted the dispatch, and perhaps
	// begun its run; expired, that the lease of that process was over.
	adopted, expired bool
	out              *Outcome // known, and still to be kept
	closing          bool     // a goroutine is about to keep it
}

// Bounds of a dispatch.
const (
	// maxResumed is how often a run is resumed. One that ends the process each time comes
	// to an end by it.
	maxResumed = 3
	// maxDispatchID is in bytes. It leaves room for what follows a run in the keys of its
	// attempts.
	maxDispatchID = 192
	maxWhy        = 2 << 10 // bytes of the reason of an outcome
	judgeLimit    = 10 * time.Second
	hookLimit     = 10 * time.Second
	maxInputs     = 32 << 10 // bytes of the inputs
)

// What cuts a dispatch off.
var (
	errClosing = errors.New("the controller is being closed")
	errLease   = errors.New("nothing came of it within its lease")
)

// admit opens an entry for d, which is about a value, and lets its run begin when the
// tick is over. It fills in ID and Number.
func (c *Controller) admit(ctx context.Context, d Dispatch, about reason.Effect) (id string, err error) {
	c.mu.Lock()
	d.Number = c.mu.last + 1
	c.mu.Unlock()
	// The time keeps it from a run that a ledger had begun before this one.
	number := fmt.Sprintf("/%d-%s", d.Number, d.At.Format("20060102150405"))
	if d.ID = c.o.Name + "/" + d.Goal + number; len(d.ID) > maxDispatchID {
		d.ID = c.o.Name + number
	}
	f := &flight{held: held{open: open{Dispatch: d, About: about}, key: c.ledger.entryKey(d.Number, d.Goal)}}
	err = c.ledger.write(ctx, &f.held)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.mu.doubt = true // it may have been written
		return "", fmt.Errorf("admit %q: %w", d.ID, err)
	}
	c.mu.last = d.Number
	c.holdLocked(f)
	return d.ID, nil
}

// adopt takes over what is open in the store and not in flight here: what a process
// has left that has ended, and what was admitted by a commit in doubt. Goals with a
// damaged entry are left alone, and no others.
func (c *Controller) adopt(ctx context.Context, at time.Time) error {
	l, err := c.ledger.read(ctx)
	if err != nil {
		return err
	}
	var errs []error
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.last, c.mu.damaged, c.mu.doubt = l.last, l.damaged, false
	for _, err := range l.damaged {
		errs = append(errs, err)
	}
	for _, entry := range l.open {
		f := &flight{held: entry}
		if c.mu.closed || c.mu.flying[f.Dispatch.Goal] != nil {
			continue
		}
		if f.Resumed >= maxResumed {
			f.out = f.outcome(at, c.o.Sanitizer, Result{End: Interrupted, Why: "each process that went on with it has ended"})
			c.registerLocked(f) // the tick keeps the outcome
			continue
		}
		f.Resumed++
		f.adopted, f.expired = true, !at.Before(f.Dispatch.Until)
		f.Dispatch.Until = at.Add(c.o.Lease)
		c.holdLocked(f)
	}
	return errors.Join(errs...)
}

// registerLocked marks a flight as in flight here.
func (c *Controller) registerLocked(f *flight) {
	f.cancel, f.touched = func(error) {}, c.touched(f.About, f.actions())
	if p, err := selector.OfEffect(f.About); err == nil {
		f.about = p
	}
	c.mu.flying[f.Dispatch.Goal] = f
}

// holdLocked registers a flight to be launched when the tick is over: how fast it is
// must not decide what the tick finds.
func (c *Controller) holdLocked(f *flight) {
	c.registerLocked(f)
	c.mu.held = append(c.mu.held, f)
}

// launch has the flights that are held carried out, each in a goroutine of its own.
func (c *Controller) launch(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.mu.held
	c.mu.held = nil
	if c.mu.closed {
		// They are open in the store, for the next Controller of the name.
		return
	}
	for _, f := range held {
		// What was admitted outlives the tick that did it: its own bounds are the
		// lease, and Close.
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		f.cancel = cancel
		if c.mu.busy++; c.mu.busy == 1 {
			c.mu.idle = make(chan struct{})
		}
		go func() {
			defer cancel(nil)
			c.carry(ctx, f)
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.mu.busy--; c.mu.busy == 0 {
				close(c.mu.idle)
			}
		}()
	}
}

// carry carries a flight out and keeps its outcome.
func (c *Controller) carry(ctx context.Context, f *flight) {
	if f.adopted {
		if err := c.ledger.write(ctx, &f.held); err != nil {
			c.logError("a dispatch could not be resumed", f.Dispatch.ID, err)
			c.abandon(f)
			return
		}
	}
	res, err := c.runOrResume(ctx, f)
	switch {
	case err != nil && context.Cause(ctx) == errClosing:
		c.abandon(f)
		return
	case err != nil && (context.Cause(ctx) == errLease || errors.Is(err, errLease) || errors.Is(err, guard.ErrTime)):
		res = Result{End: Interrupted, Why: errLease.Error()}
	case err != nil:
		res = Result{End: Failed, Why: err.Error()}
	}
	at := c.o.Now().UTC().Round(0)
	c.setClock(at)
	c.reportChanges(f, &res, at)
	out := f.outcome(at, c.o.Sanitizer, res)
	c.mu.Lock()
	f.out, f.closing = out, true
	c.mu.Unlock()
	if err := c.conclude(ctx, f); err != nil {
		c.logError("an outcome could not be kept yet", f.Dispatch.ID, err)
	}
}

// abandon lets go of a flight that stays open in the store.
func (c *Controller) abandon(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.flying, f.Dispatch.Goal)
	c.mu.doubt = true
}

// runOrResume runs a dispatch, or resumes the run of one that was adopted.
func (c *Controller) runOrResume(ctx context.Context, f *flight) (Result, error) {
	limit := min(f.Dispatch.Until.Sub(c.o.Now()), c.o.Lease) // the clock may have been put back
	if limit <= 0 {
		return Result{}, errLease
	}
	return guard.Do(ctx, limit, func(ctx context.Context) (Result, error) {
		if f.adopted {
			res, err := guard.Returned(c.runner.Resume(ctx, f.Dispatch))
			switch {
			case !errors.Is(err, store.ErrNotFound):
				return res, err
			case f.expired:
				return Result{End: Refused, Why: "it was not begun within its lease"}, nil
			}
		}
		return c.runner.Run(ctx, f.Dispatch)
	})
}

// reportChanges lets the world know what a flight has changed. A result that makes no
// sense becomes a failure.
func (c *Controller) reportChanges(f *flight, r *Result, at time.Time) {
	switch r.End {
	case Succeeded, Failed, Refused, Interrupted:
	default:
		r.End, r.Why = Failed, fmt.Sprintf("the runner returned the end %q", r.End)
	}
	if err := c.world.apply(r.Deltas, at); err != nil {
		c.logError("deltas cannot be applied", f.Dispatch.ID, err, "end", r.End)
		if r.End == Succeeded {
			r.End, r.Why, r.Done = Failed, "the runner returned bad deltas: "+err.Error(), len(f.Dispatch.Steps)
		}
	}
}

func (f *flight) actions() (names []string) {
	for _, s := range f.Dispatch.Steps {
		names = append(names, s.Action)
	}
	return names
}

// outcome is how the flight ended.
func (f *flight) outcome(at time.Time, san *redact.Sanitizer, r Result) *Outcome {
	d := &f.Dispatch
	o := &Outcome{
		ID: d.ID, Number: d.Number, Goal: d.Goal, Severity: d.Severity, Actions: f.actions(),
		Done: min(max(0, r.Done), len(d.Steps)), End: r.End,
		Why: plain.Cut(san.Sanitize(r.Why), maxWhy), Worker: plain.Cut(san.Sanitize(r.Worker), maxWhy),
		At: d.At, Ended: at, About: f.About,
	}
	if len(d.Steps) > 0 {
		o.Want = d.Steps[0].Task.Verify
	}
	var in struct{ Actual any }
	_ = json.Unmarshal(d.Inputs, &in) // without any, there is no number
	if f, ok := in.Actual.(float64); ok {
		o.Actual = &f
	}
	if o.End == Succeeded { // by its steps: a reading has to show it, and has the Why
		o.End, o.Done, o.Why = Unseen, len(d.Steps), ""
	}
	return o
}

// logError writes what is wrong with a dispatch.
func (c *Controller) logError(what, dispatch string, err error, args ...any) {
	c.o.Logger.Error(what, append(args, "dispatch", dispatch, "error", veil.Error(c.o.Sanitizer, err))...)
}

// conclude keeps the outcome of a flight, draws the consequences, and tells the
// hook. It can be called again until it succeeds.
func (c *Controller) conclude(ctx context.Context, f *flight) error {
	saved, err := c.ledger.save(ctx, &f.held, f.out)
	c.mu.Lock()
	if f.closing = false; err == nil {
		delete(c.mu.flying, f.out.Goal)
	}
	if saved {
		c.noteLocked(f.out, f.touched)
		c.reportLocked(f.out)
	}
	c.mu.Unlock()
	switch {
	case err != nil:
		return fmt.Errorf("keep the outcome of %q: %w", f.out.ID, err)
	case !saved:
		c.o.Logger.Error("another controller has brought a dispatch to its end", "dispatch", f.out.ID, "lost", f.out.End)
	default:
		c.announce(f.out)
	}
	return nil
}

// reportLocked keeps an outcome for the next report, and drops what is over the history.
func (c *Controller) reportLocked(o *Outcome) {
	c.mu.ended = append(c.mu.ended, *o)
	c.mu.ended = c.mu.ended[max(0, len(c.mu.ended)-c.o.History):]
}

// announce hands an outcome to the hook.
func (c *Controller) announce(o *Outcome) {
	if c.o.Outcome == nil {
		return
	}
	if err := c.hook.Call(func() { c.o.Outcome(*o) }); err != nil {
		c.logError("a hook failed", o.ID, err)
	}
}

// keepJudged tells the Runner, the ledger and the hook what has become of outcomes that
// were Unseen. What fails is tried again by the next tick, and so is what is left when the
// Runner has taken its time for one.
func (c *Controller) keepJudged(ctx context.Context) error {
	c.mu.Lock()
	judged := c.mu.judged
	c.mu.judged = nil
	c.mu.Unlock()
	enough, cancel := context.WithTimeout(ctx, judgeLimit)
	defer cancel()
	var errs []error
	for i := range judged {
		o := &judged[i]
		if enough.Err() != nil { // the next tick goes on
			c.mu.Lock()
			c.mu.judged = append(judged[i:], c.mu.judged...)
			c.mu.Unlock()
			errs = append(errs, store.CheckContext(ctx))
			break
		}
		var err error
		if o.Why != stillUnknown { // else there is nothing to judge the run by
			err = c.tellRunner(ctx, o)
		}
		if err == nil {
			err = c.ledger.rejudge(ctx, o)
		}
		c.mu.Lock()
		if err != nil {
			errs = append(errs, fmt.Errorf("judge %q: %w", o.ID, err))
			c.mu.judged = append(c.mu.judged, *o)
			c.mu.judged = c.mu.judged[max(0, len(c.mu.judged)-c.o.History):] // as many as are kept
		} else {
			c.reportLocked(o)
		}
		c.mu.Unlock()
		if err == nil {
			c.announce(o)
		}
	}
	return errors.Join(errs...)
}

// tellRunner has the Runner judge a dispatch. While a call that was out of time has not
// returned, no other is made.
func (c *Controller) tellRunner(ctx context.Context, o *Outcome) error {
	var err error
	if lost := c.judge.Call(func() {
		ctx, cancel := context.WithTimeout(ctx, judgeLimit)
		defer cancel()
		err = guard.Error(c.runner.Judge(ctx, o.ID, o.End == Succeeded))
	}); lost != nil {
		return lost
	}
	return err
}
