package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/arc-learn/arc/reason"
)

// TimeoutOptions are those of [Timeout].
type TimeoutOptions struct {
	Stuck int // so many calls that do not come back, and no further one is made; 0 or less: 8
}

// ErrStuck is the error of a call that was not made, because too many earlier
// ones have not come back. It goes away as they do.
var ErrStuck = errors.New("too many calls of the model do not come back")

// grace is how long a call may take to come back once its context has ended.
const grace = time.Second

// Timeout returns m with calls that end after limit, which is 2 minutes if it
// is 0 or less: for a stream, that is the time until its end. The error is a
// [reason.ModelError] that may be tried again.
//
// A call also ends then, and when its context does, if m ignores that: it runs
// in a goroutine of its own, which is left behind. Those that have not come back
// a second later are stuck; when there are too many, calls fail with [ErrStuck],
// so that they do not pile up.
func Timeout(m reason.Model, limit time.Duration, opts *TimeoutOptions) reason.Model {
	if limit <= 0 {
		limit = 2 * time.Minute
	}
	t := &timeout{limit: limit, most: 8}
	if opts != nil && opts.Stuck > 0 {
		t.most = opts.Stuck
	}
	return wrap(m, func(next call) call {
		return func(ctx context.Context, req *reason.Request) pieces {
			return func(yield func(*reason.Response, error) bool) { t.run(ctx, req, next, yield) }
		}
	})
}

type timeout struct {
	limit time.Duration
	most  int
	mu    struct {
		sync.Mutex
		stuck int
	}
}

// piece is one on its way from the goroutine of the call.
type piece struct {
	resp *reason.Response
	err  error
}

func (t *timeout) run(ctx context.Context, req *reason.Request, next call, yield func(*reason.Response, error) bool) {
	if err := ctx.Err(); err != nil {
		yield(nil, err)
		return
	}
	t.mu.Lock()
	stuck := t.mu.stuck
	t.mu.Unlock()
	if stuck >= t.most {
		yield(nil, fmt.Errorf("%w: %d", ErrStuck, stuck))
		return
	}
	limited, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	out, done := make(chan piece), make(chan struct{})
	complete := false // read once done is closed
	own := clone(req) // the caller has req back before a stuck call returns
	go func() {
		defer close(done)
		complete = send(limited, next(limited, own), out)
	}()
	defer t.leave(done)
	for {
		p := piece{err: limited.Err()}
		if p.err == nil {
			select {
			case p = <-out:
			case <-done:
				if complete {
					return
				}
				p.err = fmt.Errorf("%w: it ended its goroutine", reason.ErrModel)
			case <-limited.Done():
				p.err = limited.Err()
			}
		}
		if p.err != nil {
			yield(nil, t.failure(ctx, limited, p.err))
			return
		}
		if !yield(p.resp, nil) {
			cancel()
			select { // what is broken off is closed when the loop is left
			case <-done:
			case <-time.After(grace):
			}
			return
		}
	}
}

// send passes pieces on, and reports whether those were all. It does not if ctx
// ends, nor if the model ends the goroutine.
func send(ctx context.Context, ps pieces, out chan<- piece) bool {
	for resp, err := range ps {
		select {
		case out <- piece{resp, err}:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// failure is the error of a call under limited, which is ctx with the limit.
func (t *timeout) failure(ctx, limited context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return &reason.ModelError{Code: "timeout", Again: true, Err: fmt.Errorf("no answer within %s", t.limit)}
	}
	return err
}

// leave counts a call as stuck from a grace after now until it is done.
func (t *timeout) leave(done <-chan struct{}) {
	select {
	case <-done:
		return
	default:
	}
	go func() { // it lives no longer than the call
		select {
		case <-done:
			return
		case <-time.After(grace):
		}
		t.count(1)
		<-done
		t.count(-1)
	}()
}

func (t *timeout) count(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.stuck += n
}
