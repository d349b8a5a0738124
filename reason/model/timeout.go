package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/reason"
)

// grace is how long a caller that leaves a stream waits for the model inside to
// close it.
const grace = time.Second

// Timeout returns m with calls that end after limit; 0 or less is 2 minutes. The
// time of a stream counts until its end. The error is a [reason.ModelError] with
// the code "timeout", which may be tried again.
//
// A call of a model that ignores its context ends too: the model runs in a
// goroutine, which is left behind until it returns. A client that never returns
// leaves one goroutine a call, so a Limit around it bounds how many an hour has.
func Timeout(m reason.Model, limit time.Duration) reason.Model {
	return wrap(m, timeout(cmp.Or(max(0, limit), 2*time.Minute)).run)
}

// timeout is how long a call may take.
type timeout time.Duration

// piece is one on its way from the goroutine of the call. The channel has no
// buffer: the model inside waits for the caller's loop, as it does without a
// Timeout.
type piece struct {
	resp *reason.Response
	err  error
}

// run makes the call in a goroutine of its own, and passes its pieces on until it
// is complete, fails, or its time is over. A piece that comes when the time is over
// is not passed on: the error of a context goes before all that the model says.
func (t timeout) run(ctx context.Context, req *reason.Request, next target, yield sink) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(t))
	defer cancel()
	out, done := make(chan piece), make(chan struct{})
	complete := false // written before done is closed, read after
	own := clone(req) // a call that is left behind must not read the caller's
	go func() {
		defer close(done)
		for resp, err := range next.call(limited, own) {
			select {
			case out <- piece{resp, err}:
			case <-limited.Done():
				return
			}
		}
		complete = true
	}()
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
			p.err = &reason.ModelError{Code: "timeout", Again: true, Err: fmt.Errorf("no answer within %s", time.Duration(t))}
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
