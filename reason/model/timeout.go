package model

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/reason"
)

const (
	// grace is how long a call may take to return after its context has ended.
	grace = time.Second

	// maxStuck is how many calls may be stuck before new ones are refused.
	maxStuck = 8
)

// Timeout returns m with calls that end after limit; 0 or less is 2 minutes. The
// time of a stream counts until its end. The error is a [reason.ModelError] with
// the code "timeout", which may be tried again.
//
// A call of a model that ignores its context ends too: the model runs in a
// goroutine, which is left behind. A call that has not returned one second after
// its end is stuck. While eight calls are stuck, further ones are refused, with
// an error that may not be tried again, so that goroutines do not pile up.
func Timeout(m reason.Model, limit time.Duration) reason.Model {
	if limit <= 0 {
		limit = 2 * time.Minute
	}
	return wrap(m, (&timeout{limit: limit}).run)
}

type timeout struct {
	limit time.Duration
	stuck atomic.Int64 // calls that run on a grace after their end
}

// piece is one on its way from the goroutine of the call. The channel has no
// buffer: the model inside waits for the caller's loop, as it does without a
// Timeout.
type piece struct {
	resp *reason.Response
	err  error
}

// run makes the call in a goroutine of its own, and passes its pieces on until it
// is complete, fails, or its time is over.
func (t *timeout) run(ctx context.Context, req *reason.Request, next target, yield sink) {
	if n := t.stuck.Load(); n >= maxStuck {
		yield(nil, fmt.Errorf("model: timeout: %d calls have not returned", n))
		return
	}
	limited, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	out, done := make(chan piece), make(chan struct{})
	complete := false // written before done is closed, read after
	own := clone(req) // a call that is left behind must not read the caller's
	go func() {
		defer close(done)
		complete = send(limited, next.call(limited, own), out)
	}()
	context.AfterFunc(limited, func() { t.countStuck(done) })
	for {
		var p piece
		select {
		case p = <-out:
		case <-done:
			if complete {
				return
			}
			p.err = fmt.Errorf("%w: it ended its goroutine", reason.ErrModel)
		case <-limited.Done():
		}
		switch {
		case ctx.Err() != nil:
			p.err = ctx.Err()
		case limited.Err() != nil:
			p.err = &reason.ModelError{Code: "timeout", Again: true, Err: fmt.Errorf("no answer within %s", t.limit)}
		}
		if p.err != nil {
			yield(nil, p.err)
			return
		}
		if !yield(p.resp, nil) {
			cancel()
			select { // the stream inside closes before the caller's loop is left
			case <-done:
			case <-time.After(grace):
			}
			return
		}
	}
}

// clone returns a copy of req that shares no memory with it.
func clone(req *reason.Request) *reason.Request {
	c := *req
	c.Messages = slices.Clone(req.Messages)
	c.Schema = slices.Clone(req.Schema)
	if req.Temperature != nil {
		c.Temperature = new(*req.Temperature)
	}
	return &c
}

// send passes all pieces to out and returns true. It returns false when ctx ends
// first, and not at all when the model ends the goroutine.
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

// countStuck counts a call as stuck from one grace after now until it is done.
func (t *timeout) countStuck(done <-chan struct{}) {
	select {
	case <-done:
	case <-time.After(grace):
		t.stuck.Add(1)
		<-done
		t.stuck.Add(-1)
	}
}
