package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/arc-learn/arc/next/act"
	"github.com/arc-learn/arc/next/internal/call"
	"github.com/arc-learn/arc/next/store"
)

// Handler does a job. Its context ends at the job's timeout, when the lease is lost, and when Dispatch has drained
// for long enough; it has the job's journal, so that steps (act.Step) that are done are not made again by a later
// attempt. A panic, and a Result that cannot be used, are errors like any other.
type Handler func(ctx context.Context, j Job) (Result, error)

const (
	poll     = time.Second // how often Dispatch looks what other processes have added, and asks Admit again
	sweeping = time.Hour
)

// errDrained ends the context of jobs that go on for too long after that of Dispatch has ended.
var errDrained = errors.New("queue: dispatch has ended")

// dispatch is a call of Dispatch.
type dispatch struct {
	*Queue
	ctx     context.Context // of the caller: no job is begun after it
	work    context.Context // of the handlers
	handler Handler
	free    chan struct{} // one for each worker that has nothing to do
}

// Dispatch calls h for jobs as they become due, n at a time, and renews their leases, until ctx ends. Then it lets
// the jobs under way end (Options.Drain), gives those back that do not, without a spent attempt, and returns nil
// once every handler has returned: one that ignores its context holds Dispatch, and others get its job. If the store
// is closed it begins no more jobs, and returns the error.
func (q *Queue) Dispatch(ctx context.Context, n int, h Handler) error {
	if n < 1 || h == nil {
		return fmt.Errorf("%w: dispatch needs a worker and a handler", ErrInvalid)
	}
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	d := &dispatch{Queue: q, ctx: ctx, work: work, handler: h, free: make(chan struct{}, n)}
	for range n {
		d.free <- struct{}{}
	}
	err := d.feed()
	drained := time.AfterFunc(max(0, q.o.Drain), func() { stop(errDrained) })
	for range n {
		<-d.free // each worker has ended its job
	}
	drained.Stop()
	return err
}

// feed claims jobs for the workers that are free until the context ends.
func (d *dispatch) feed() error {
	var swept time.Time
	for d.ctx.Err() == nil {
		if now := d.o.Now(); now.Sub(swept) >= sweeping {
			swept = now
			if _, err := d.Sweep(d.ctx); err != nil {
				d.o.Logger.Warn("queue: sweep", "error", err)
			}
		}
		select {
		case <-d.free:
			d.free <- struct{}{}
		case <-d.ctx.Done():
			return nil
		}
		news := d.listen()
		jobs, err := d.claim(d.ctx, d.admitted(len(d.free)))
		switch {
		case errors.Is(err, store.ErrClosed):
			return err
		case err != nil && d.ctx.Err() == nil:
			d.o.Logger.Warn("queue: claim", "error", err)
		}
		for _, j := range jobs {
			<-d.free
			go func() {
				defer func() { d.free <- struct{}{} }()
				d.run(j)
			}()
		}
		if len(jobs) == 0 {
			d.idle(news)
		}
	}
	return nil
}

// admitted returns how many of n jobs may be started now.
func (d *dispatch) admitted(n int) int {
	if d.o.Admit == nil {
		return n
	}
	most, err := call.Do(d.ctx, 0, func(context.Context) (int, error) { return d.o.Admit(), nil })
	if err != nil {
		d.o.Logger.Error("queue: admit", "error", err)
	}
	return min(n, most)
}

// idle waits until there may be something to claim.
func (d *dispatch) idle(news <-chan struct{}) {
	d.Queue.mu.Lock()
	next := d.index.next()
	d.Queue.mu.Unlock()
	wait := poll
	if until := next.Sub(d.o.Now()); !next.IsZero() && until < poll {
		wait = max(until, time.Millisecond)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-d.ctx.Done():
	case <-news:
	case <-timer.C:
		if err := d.g.Refresh(d.ctx); err != nil && d.ctx.Err() == nil {
			d.o.Logger.Warn("queue: refresh", "error", err)
		}
	}
}

// run has the handler do a job, renews its lease meanwhile, and ends it.
func (d *dispatch) run(j Job) {
	ctx, cancel := context.WithCancelCause(d.work)
	defer cancel(nil)
	res, err := Result{}, errDrained
	if d.ctx.Err() == nil {
		renewing, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { d.renew(renewing, j, cancel) })
		res, err = call.Do(act.WithJournal(ctx, d.journal(ctx, &j)), j.Timeout, func(ctx context.Context) (Result, error) {
			return d.handler(ctx, j)
		})
		stop()
		wg.Wait()
	}
	end, done := context.WithTimeout(context.WithoutCancel(d.ctx), d.o.Lease)
	defer done()
	switch {
	case errors.Is(context.Cause(ctx), ErrLost):
		err = ErrLost
	case err != nil && (err == errDrained || d.work.Err() != nil):
		err = d.Done(end, j, Result{State: Pending, At: d.o.Now()})
	case err != nil:
		err = d.Fail(end, j, err)
	default:
		if err = d.Done(end, j, res); errors.Is(err, ErrInvalid) {
			err = d.Done(end, j, Result{State: Blocked, Summary: err.Error(), Detail: res.Detail, Usage: res.Usage})
		}
	}
	if err != nil {
		d.o.Logger.Warn("queue: a job is not ended, and will be tried again", "job", j.ID, "error", err)
	}
}

// renew renews the lease of a job until ctx ends. The job is canceled when it is held no longer, and when nothing
// was renewed for two thirds of a lease, so before others may claim it.
func (d *dispatch) renew(ctx context.Context, j Job, cancel context.CancelCauseFunc) {
	expiry := time.AfterFunc(d.o.Lease*2/3, func() { cancel(ErrLost) })
	defer expiry.Stop()
	ticker := time.NewTicker(max(d.o.Lease/3, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch err := d.Heartbeat(ctx, j); {
		case err == nil:
			expiry.Reset(d.o.Lease * 2 / 3)
		case errors.Is(err, ErrLost):
			cancel(ErrLost)
		}
	}
}

// journal returns that of a job's round. A holder that has lost the job writes to it no more.
func (d *dispatch) journal(ctx context.Context, j *Job) act.Journal {
	_, rest, _ := parse(j.ID)
	prefix := j.Scope.Key(stepKind, rest+"/"+strconv.Itoa(j.Round)+"/")
	return act.NewJournal(d.g.Sub(prefix), &act.JournalOptions{Stage: func(*store.Batch) error {
		if errors.Is(context.Cause(ctx), ErrLost) {
			return ErrLost
		}
		return nil
	}})
}
