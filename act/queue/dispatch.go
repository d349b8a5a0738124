package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/store"
)

// Handler does a job: it says in j what came of it, and returns follow-ups, as [Queue.End] takes them. Its
// context ends when the lease is lost, and when Dispatch has drained for long enough; a handler that can hang
// sets a deadline itself. The context has the job's journal, so a later attempt does not make again the steps
// (act.Step) that are done. A panic is an error like any other, as is the end of its goroutine. A job that
// must not begin now, as where a budget is spent, is Pending with another At.
type Handler func(ctx context.Context, j *Job) (followups []Draft, err error)

// errDrained ends the context of jobs that go on for too long after that of Dispatch has ended.
var errDrained = errors.New("queue: dispatch has ended")

// dispatch is a call of Dispatch.
type dispatch struct {
	*Queue
	ctx     context.Context // of the caller: no job is begun after it
	work    context.Context // of the handlers
	handler Handler
	looking chan struct{} // held by the one worker without a job that looks for more
}

// Dispatch calls h for jobs as they become due, n at a time, and renews their leases, until ctx ends. Then it
// lets the jobs under way end for 30 s, gives those back that do not, without a spent attempt, and returns
// nil once every handler has returned: one that ignores its context holds Dispatch, and others get its job.
// If the store is closed it begins no more jobs, and returns the error. While there is nothing to do it looks
// every 2 s for what other processes have added; on PostgreSQL that is a transaction each time.
func (q *Queue) Dispatch(ctx context.Context, n int, h Handler) error {
	if n < 1 || h == nil {
		return fmt.Errorf("queue: %w: dispatch needs a worker and a handler", store.ErrInvalid)
	}
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	context.AfterFunc(ctx, func() { time.AfterFunc(drain, func() { stop(errDrained) }) })
	d := &dispatch{Queue: q, ctx: ctx, work: work, handler: h, looking: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	wg.Go(d.sweep)
	for range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				if j, err := d.next(); err == nil {
					var own sync.WaitGroup
					own.Go(func() { d.run(j) }) // a handler may end its goroutine
					own.Wait()
				} else if errors.Is(err, store.ErrClosed) {
					end(err)
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); errors.Is(err, store.ErrClosed) {
		return err
	}
	return nil
}

func (d *dispatch) sweep() {
	for d.ctx.Err() == nil {
		if _, err := d.Sweep(d.ctx, d.o.Now().Add(-retention)); err != nil && d.ctx.Err() == nil {
			d.o.Logger.Warn("queue: sweep", "error", err)
		}
		d.pause(sweeping, nil)
	}
}

func (d *dispatch) pause(t time.Duration, added <-chan struct{}) {
	select {
	case <-time.After(t):
	case <-added:
	case <-d.ctx.Done():
	}
}

// rest waits until it is worth to look again: for longer each time, but not beyond what is due here.
func (d *dispatch) rest(looks int) {
	d.mu.Lock()
	due, ok := d.index.waiting.Min()
	d.mu.Unlock()
	wait := min(poll<<min(looks-1, 8), maxPoll)
	if ok {
		wait = max(poll, min(wait, time.Unix(0, due.wake).Sub(d.o.Now())))
	}
	d.pause(wait, d.added)
}

// next claims a job. When there is none, one worker looks again and again, and the others wait for it.
func (d *dispatch) next() (Job, error) {
	for looks, told := 0, false; ; looks++ {
		j, err := d.Claim(d.ctx)
		if err == nil || errors.Is(err, store.ErrClosed) || d.ctx.Err() != nil {
			return j, err
		}
		away := !errors.Is(err, ErrEmpty)
		if away && !told { // once an outage
			d.o.Logger.Warn("queue: claim", "error", err)
		}
		told = away
		if looks > 0 {
			d.rest(looks)
			continue
		}
		select {
		case d.looking <- struct{}{}:
			defer func() { <-d.looking }()
		case <-d.ctx.Done():
		}
	}
}

// run has the handler do a job, renews its lease until that has ended, and ends it.
func (d *dispatch) run(j Job) {
	ctx, lost := context.WithCancelCause(d.work)
	defer lost(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	hold, release := context.WithCancel(context.WithoutCancel(d.ctx))
	defer release()
	wg.Go(func() { d.renew(hold, j, lost) })

	said, err := j, errDrained
	var followups []Draft
	defer func() {
		if err != nil && (err == errDrained || d.work.Err() != nil) {
			said = j
			said.State, said.At, err = Pending, d.o.Now(), nil
		}
		said.ID, said.Token, said.Scope = j.ID, j.Token, j.Scope
		if err = d.end(ctx, said, err, followups); err != nil {
			d.o.Logger.Warn("queue: a job is not ended, and will be tried again", "job", j.ID, "error", err)
		}
	}()
	if d.ctx.Err() == nil {
		held := func(*store.Batch) error { // a holder that has lost the job writes to its journal no more
			if errors.Is(context.Cause(ctx), ErrLost) {
				return ErrLost
			}
			return nil
		}
		with := act.WithJournal(ctx, act.NewJournal(d.g, j.steps, d.o.Now, held, nil), d.o.Sanitizer)
		handle := func(ctx context.Context) ([]Draft, error) { return d.handler(ctx, &said) }
		err = errors.New("queue: the handler has ended its goroutine")
		followups, err = call.Do(with, 0, handle)
	}
}

// end ends a job. While the outcome of that is unknown, and for as long as a lease lasts, it tries again.
func (d *dispatch) end(ctx context.Context, j Job, failure error, followups []Draft) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lease)
	defer done()
	for {
		err := d.End(ctx, j, failure, followups...)
		switch {
		case err == nil, errors.Is(err, ErrLost), errors.Is(err, store.ErrClosed), ctx.Err() != nil:
			return err
		case errors.Is(err, store.ErrInvalid): // what was said cannot be kept
			d.o.Logger.Warn("queue: a job is blocked", "job", j.ID, "error", err)
			j.State, j.Summary, failure, followups = Blocked, err.Error(), nil, nil
		default:
			time.Sleep(poll)
		}
	}
}

// renew renews the lease of a job until ctx ends. The job is canceled when it is held no longer, and when
// nothing was renewed for two thirds of a lease, so before others may claim it.
func (d *dispatch) renew(ctx context.Context, j Job, lost context.CancelCauseFunc) {
	expiry := time.AfterFunc(lease*2/3, func() { lost(ErrLost) })
	defer expiry.Stop()
	ticker := time.NewTicker(lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch err := d.Heartbeat(ctx, j); {
		case err == nil:
			expiry.Reset(lease * 2 / 3)
		case errors.Is(err, ErrLost):
			lost(ErrLost)
		}
	}
}
