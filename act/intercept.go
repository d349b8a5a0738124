package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/store"
)

// Interceptor stands around every attempt, as middleware around an HTTP handler:
// those of a [Runner] see a call in their order, and what came of it in the opposite
// one. Within them the package asks for approvals, and checks the cost, the confidence
// and the deltas of the result.
//
// The methods may be called concurrently, have ten seconds, and may change the call or the
// attempt until they return.
type Interceptor interface {
	// Before is called before the attempt. It may change the Work, and raise the
	// Mode. With an error the attempt is not made, and ends as one of an executor
	// with that error.
	Before(ctx context.Context, c *Call) error
	// After is called whenever Before was: also for attempts that were refused, that
	// panicked, took too long or were canceled. An attempt that has finished fails if it
	// panics, or takes longer than ten seconds; one that ended otherwise stays as it is. It
	// may fail an attempt that has finished, and finish none: what it leaves is checked like
	// the executor's.
	After(ctx context.Context, c *Call, a *Attempt)
}

// interceptTimeout bounds each call of an Interceptor of the host's.
const interceptTimeout = 10 * time.Second

// foreign is an Interceptor of the host's, which may panic, hang, or end its goroutine.
type foreign struct{ Interceptor }

func (f foreign) Before(ctx context.Context, c *Call) error {
	// What a call that hangs does later must not reach the attempt.
	given := *c
	theirs, err := guard.Do(ctx, interceptTimeout, func(ctx context.Context) (Call, error) {
		theirs := given
		err := guard.Error(f.Interceptor.Before(ctx, &theirs), ErrDenied)
		return theirs, err
	})
	if err == nil {
		theirs.Worker, theirs.Mode, theirs.Blast = c.Worker, max(theirs.Mode, c.Mode), max(theirs.Blast, c.Blast)
		theirs.Allowed, theirs.Work.Key, theirs.by = c.Allowed, c.Work.Key, c.by
		*c = theirs
	}
	return err
}

func (f foreign) After(ctx context.Context, c *Call, a *Attempt) {
	call, given := *c, *a
	given.Result.own()
	theirs, err := guard.Do(context.WithoutCancel(ctx), interceptTimeout, func(ctx context.Context) (Attempt, error) {
		theirs := given
		f.Interceptor.After(ctx, &call, &theirs)
		return theirs, nil
	})
	if err == nil {
		if a.End != Finished {
			theirs.End = a.End
		}
		*a = theirs
		a.Result.own()
		if err := checkOutput(a.Result); err != nil {
			a.Result.Output = nil
			a.malformed(err)
		}
		a.checkUsage()
		a.checkReflection(&c.Work.Task)
		a.checkDeltas()
		return
	}
	if p, ok := errors.AsType[*guard.PanicError](err); ok {
		a.Stack = p.Stack
	}
	if a.End == Finished { // not of one that waits for approval, or was refused
		a.End, a.Err, a.Complaint = Failed, err, "an interceptor: "+err.Error()
	}
}

// doubtful is the rate of success below which a worker whose effects reach a
// repository or more is not left to itself.
const doubtful = 0.5

// demand raises the mode of a call to what its radius, its price and its odds ask for.
func (o *Options) demand(c *Call) {
	w := c.by
	raise := func(to Mode, why string, args ...any) {
		c.Mode = max(c.Mode, to)
		c.Why = append(c.Why, fmt.Sprintf(why, args...))
	}
	if w.Mode >= Veto {
		c.Why = append(c.Why, fmt.Sprintf("the worker's mode is %v", w.Mode))
	}
	if c.Blast >= o.ApproveFrom {
		raise(Gated, "its effects reach: %v", c.Blast)
	}
	if w.Irreversible {
		raise(Gated, "its effects cannot be taken back")
	}
	if above := o.ApproveAbove; above > 0 && c.CostUSD > above {
		raise(Gated, "it takes about $%.2f", c.CostUSD)
	}
	if c.Blast >= Repo && c.Success > 0 && c.Success < doubtful {
		raise(min(max(c.Mode+1, Veto), Compound), "%.0f %% of such attempts succeed", 100*c.Success)
	}
}

// approve asks for what the mode of a call demands.
func (o *Options) approve(ctx context.Context, c *Call) error {
	if c.Mode < Veto || c.Mode <= c.Allowed {
		return nil
	}
	if o.Approver == nil {
		return &barredError{Pending, errors.New("an approval is pending")}
	}
	asked := *c
	asked.Work.Secrets = nil
	ok, err := guard.Do(ctx, o.ApprovalTTL, func(ctx context.Context) (bool, error) {
		ok, err := guard.Returned(o.Approver.Approve(ctx, &asked))
		if err == nil {
			err = ctx.Err() // an answer that comes late is none
		}
		return ok, err
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, guard.ErrTime) && c.Mode == Veto:
		return nil
	case errors.Is(err, guard.ErrTime):
		return &barredError{Unanswered, fmt.Errorf("%w: approval: %w", ErrDenied, err)}
	case err != nil:
		return &barredError{Undecided, fmt.Errorf("%w: approval: %w", ErrDenied, err)}
	case !ok:
		return &barredError{Refused, fmt.Errorf("%w: approval was refused", ErrDenied)}
	}
	return nil
}

// barredError is why an attempt is not made, and how it has ended then.
type barredError struct {
	End End
	Err error
}

func (e *barredError) Error() string { return e.Err.Error() }
func (e *barredError) Unwrap() error { return e.Err }

// checkUsage drops a usage that is not valid.
func (a *Attempt) checkUsage() {
	if !a.Result.Usage.Valid() {
		a.Result.Usage = Usage{}
		a.malformed(errors.New("usage is negative or not a number"))
	}
}

// checkReflection validates the reflection of an attempt, which says how sure its
// worker is.
func (a *Attempt) checkReflection(t *Task) {
	if a.End != Finished {
		return
	}
	var v iar.Validator
	check := v.Content(a.Result.Reflection, iar.Context{Task: t.Objective})
	if !check.Valid {
		a.malformed(errors.New("malformed reflection: " + issues(check.Issues)))
		a.Result.Reflection = iar.Reflection{}
		return
	}
	a.Resonance = check.Resonance
	if s := a.Result.Reflection.Status; s == iar.Failure || s == iar.Skipped {
		a.End, a.Complaint = Failed, complaintOf(a.Result.Reflection)
	}
}

// checkDeltas checks what a result says to have changed in the world.
func (a *Attempt) checkDeltas() {
	var err error
	if n := len(a.Result.Deltas); n > maxDeltas {
		err = &store.LimitError{Field: "deltas of an executor", Limit: maxDeltas, Got: n}
	}
	for _, d := range a.Result.Deltas {
		err = cmp.Or(err, checkJSON("delta", d.Value))
	}
	if err != nil {
		a.malformed(err)
		a.Result.Deltas = nil
	}
}

// malformed has an attempt that finished end as one whose result is not valid.
func (a *Attempt) malformed(err error) {
	if a.End == Finished {
		a.End, a.Err, a.Complaint = Malformed, err, err.Error()
	}
}
