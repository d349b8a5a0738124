package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Handler works on a job. It should return when ctx ends: at its timeout, when the
// lease is lost, or when the Dispatcher closes; a call that does not is left behind,
// and what it returns later is dropped. A panic is an error like others.
type Handler func(ctx context.Context, j Job) (Result, error)

// Gate holds jobs up, as a [Budget] or a [Breaker] does. It is safe for concurrent use.
type Gate interface {
	// Admit returns the last priority that may begin now: 10 for any, 0 for none.
	Admit(now time.Time) int
	// Ended is told of attempts: at first of those of the last day that are kept, by all
	// processes, then of each that the Dispatcher makes. One whose lease was lost, or whose
	// end the store did not take, has its Usage, and the State Active. What other processes
	// spend meanwhile, and whose attempts are given back, is not told.
	Ended(c Cycle)
}

// DispatchOptions configure a Dispatcher. The zero value, and nil, are ready.
type DispatchOptions struct {
	// Workers is how many jobs are worked on at a time, at most 4,096. 0: 1.
	Workers int
	// Gates are asked before each claim; the strictest counts.
	Gates []Gate
	// Route names the kind of model for jobs of a priority. nil: "strong" for 1 to 3,
	// "cheap" for others.
	Route func(priority int) string
	// Poll is how long a worker without a job waits at most before it looks again. 0:
	// one second.
	Poll time.Duration
	// Logger is told of what goes wrong. nil: discards.
	Logger *slog.Logger
}

// Dispatcher calls a Handler for the jobs of a Queue, until Close.
type Dispatcher struct {
	q       *Queue
	handler Handler
	o       DispatchOptions

	intake, work context.Context // work outlasts the intake
	stop, cancel context.CancelFunc
	all          sync.WaitGroup
}

const maxWorkers = 1 << 12

// Dispatch begins to call h for the jobs of the Queue. The error is that of an option,
// or of the store.
func (q *Queue) Dispatch(h Handler, opts *DispatchOptions) (*Dispatcher, error) {
	var o DispatchOptions
	if opts != nil {
		o = *opts
	}
	o.Workers, o.Poll = cmp.Or(o.Workers, 1), cmp.Or(o.Poll, time.Second)
	o.Gates, o.Logger = slices.Clone(o.Gates), guard.Logger(o.Logger)
	if o.Route == nil {
		o.Route = func(priority int) string {
			if priority <= 3 {
				return "strong"
			}
			return "cheap"
		}
	}
	switch {
	case h == nil:
		return nil, errors.New("queue: the handler is nil")
	case o.Workers < 0 || o.Poll < 0:
		return nil, errors.New("queue: an option is negative")
	case o.Workers > maxWorkers:
		return nil, fmt.Errorf("queue: %w", &store.LimitError{Field: "workers", Limit: maxWorkers, Got: o.Workers})
	case slices.ContainsFunc(o.Gates, func(g Gate) bool { return guard.IsNil(g) }):
		return nil, errors.New("queue: a gate is nil")
	}
	d := &Dispatcher{q: q, handler: h, o: o}
	d.work, d.cancel = context.WithCancel(context.Background())
	d.intake, d.stop = context.WithCancel(d.work)
	if len(o.Gates) > 0 {
		for c, err := range q.Cycles(d.work, q.o.Now().Add(-24*time.Hour)) {
			if err != nil {
				d.cancel()
				return nil, fmt.Errorf("queue: %w", err)
			}
			d.report(c)
		}
	}
	for range o.Workers {
		d.all.Go(d.toil)
	}
	return d, nil
}

// Close takes in no more jobs, and waits until those under way have ended. When ctx
// ends they are canceled and given back, without an attempt spent, and Close returns the
// error of ctx: within a second, whatever hangs.
func (d *Dispatcher) Close(ctx context.Context) error {
	if ctx == nil {
		return store.CheckContext(ctx)
	}
	d.stop()
	done := make(chan struct{})
	go func() {
		d.all.Wait()
		d.cancel()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	d.cancel()
	last := time.NewTimer(time.Second)
	defer last.Stop()
	select {
	case <-done:
		return ctx.Err()
	case <-last.C:
		return fmt.Errorf("%w: the store hangs", ctx.Err())
	}
}

// toil works on one job after another.
func (d *Dispatcher) toil() {
	for d.intake.Err() == nil {
		pause := d.step()
		if pause <= 0 {
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-d.intake.Done():
		case <-d.q.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// step works on the next job, or returns how long to wait for one.
func (d *Dispatcher) step() time.Duration {
	now := d.q.o.Now()
	upTo := d.admitted(now)
	if upTo < 1 {
		return d.o.Poll
	}
	l, due, err := d.q.claimNext(d.intake, upTo)
	switch {
	case errors.Is(err, ErrEmpty):
		if due == 0 {
			return d.o.Poll
		}
		return min(max(time.Duration(due-now.UnixNano()), time.Millisecond), d.o.Poll)
	case err != nil:
		if d.intake.Err() == nil {
			d.o.Logger.Error("no job could be claimed", "error", err.Error())
		}
		return d.o.Poll
	}
	d.q.poke() // there may be another, for another worker
	d.do(l)
	return 0
}

// admitted is the last priority that every gate admits.
func (d *Dispatcher) admitted(now time.Time) int {
	upTo := priorities
	for _, g := range d.o.Gates {
		if err := guard.Call(func() { upTo = min(upTo, g.Admit(now)) }); err != nil {
			d.o.Logger.Error("a gate failed, and admits none", "error", err.Error())
			return 0
		}
	}
	return upTo
}

// do works on a job that was claimed.
func (d *Dispatcher) do(l *Lease) {
	ctx, cancel := context.WithCancelCause(d.work)
	defer cancel(nil)
	d.all.Go(func() { d.renew(ctx, cancel, l) })
	j := l.Job
	if err := guard.Call(func() { l.model = d.o.Route(j.Priority) }); err != nil {
		d.o.Logger.Error("no model by priority", "error", err.Error())
	}
	j.Model = cmp.Or(j.Model, l.model)
	type outcome struct {
		Result
		err error // beside which the Usage counts
	}
	o, err := guard.Do(context.WithValue(ctx, jobIn{}, j), j.Timeout, func(ctx context.Context) (outcome, error) {
		r, err := d.handler(ctx, j)
		return outcome{r, err}, nil
	})
	if err == nil {
		err = o.err
	}
	if d.work.Err() != nil && err != nil {
		err = errCutOff
	}
	now, lost := l.Job, ErrLost
	if context.Cause(ctx) != ErrLost {
		now, lost = d.finish(l, o.Result, err)
	}
	if lost != nil { // what it has cost is spent
		d.o.Logger.Error("a job could not be ended: its lease was lost, or will expire", "job", j.ID, "error", lost.Error())
		if now, now.Error = l.Job, lost.Error(); o.Usage.Valid() {
			now.Usage = now.Usage.Add(o.Usage)
		}
	}
	if len(d.o.Gates) > 0 {
		d.report(l.cycle(&now))
	}
}

// finish ends the lease, which is tried again while the store is in trouble.
func (d *Dispatcher) finish(l *Lease, r Result, why error) (Job, error) {
	ctx := context.WithoutCancel(d.work)
	for tries := 0; ; tries++ {
		j, err := l.End(ctx, r, why)
		if errors.Is(err, ErrLost) && tries > 0 { // perhaps by an end that was not answered
			if is, no := d.q.Get(ctx, l.Job.ID); no == nil && is.Token == l.Job.Token && is.Error != errExpired.Error() {
				return is, nil
			}
		}
		if err == nil || errors.Is(err, ErrLost) || tries == 3 || d.work.Err() != nil {
			return j, err
		}
		timer := time.NewTimer(time.Second << tries)
		select {
		case <-timer.C:
		case <-d.work.Done():
		}
		timer.Stop()
	}
}

// report tells the gates how an attempt has ended.
func (d *Dispatcher) report(c Cycle) {
	for _, g := range d.o.Gates {
		if err := guard.Call(func() { g.Ended(c) }); err != nil {
			d.o.Logger.Error("a gate failed", "error", err.Error())
		}
	}
}

// renew renews the lease of a job under way until ctx ends, and ends it when the lease is lost.
func (d *Dispatcher) renew(ctx context.Context, cancel context.CancelCauseFunc, l *Lease) {
	ticker := time.NewTicker(d.q.o.LeaseTTL / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := l.Beat(ctx); errors.Is(err, ErrLost) {
			cancel(ErrLost)
		} else if err != nil && ctx.Err() == nil {
			d.o.Logger.Error("a lease could not be renewed", "job", l.Job.ID, "error", err.Error())
		}
	}
}

// ByModel returns a model that hands each call to the one that the Model of the job under
// way names, and to other where no job is, or none of these is named.
func ByModel(models map[string]reason.Model, other reason.Model) reason.Model {
	models = maps.Clone(models)
	return reason.ModelFunc(func(ctx context.Context, req *reason.Request) (*reason.Response, error) {
		m := other
		if j, ok := JobIn(ctx); ok && !guard.IsNil(models[j.Model]) {
			m = models[j.Model]
		}
		if guard.IsNil(m) {
			return nil, errors.New("queue: there is no model for the job")
		}
		return guard.Returned(m.Generate(ctx, req))
	})
}

// jobIn is the key of a handler's job in its context.
type jobIn struct{}

// JobIn returns the job that is worked on under a context, with its Model and Token: for
// what a handler calls, such as a reasoner or an executor.
func JobIn(ctx context.Context) (Job, bool) {
	j, ok := ctx.Value(jobIn{}).(Job)
	return j, ok
}
