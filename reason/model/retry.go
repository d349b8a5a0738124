package model

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/arc-learn/arc/reason"
)

// RetryOptions say how often and when to try again. The zero value of a field,
// or less, is its default.
type RetryOptions struct {
	Tries int           // of one call, with the first; default 4, at most 25
	Base  time.Duration // the wait before the second try is half of it to all of it, and twice that before each further one; default 500 ms
	Max   time.Duration // the longest wait, also if the provider asks for more; default 1 min, at most 1 h
	Seed  uint64        // of the waits; processes that share a provider have different ones
}

func (o *RetryOptions) filled() RetryOptions {
	f := RetryOptions{}
	if o != nil {
		f = *o
	}
	if f.Tries <= 0 {
		f.Tries = 4
	}
	if f.Base <= 0 {
		f.Base = 500 * time.Millisecond
	}
	if f.Max <= 0 {
		f.Max = time.Minute
	}
	f.Tries, f.Max = min(f.Tries, 25), min(f.Max, time.Hour)
	return f
}

// Retry returns m with calls that are tried again when [reason.Retryable] says
// so: after as long as the provider asks, else after a wait that doubles. A
// stream is tried again only as long as nothing of it was passed on.
//
// It does not wait past the deadline of the context: a call that could only be
// tried after it fails at once. The error is that of the last try. The waits
// depend on the seed, the request and the number of the try alone.
//
// Clients that try again by themselves should be told not to.
func Retry(m reason.Model, opts *RetryOptions) reason.Model {
	o := opts.filled()
	return wrap(m, func(next call) call {
		return func(ctx context.Context, req *reason.Request) pieces {
			return func(yield func(*reason.Response, error) bool) { o.run(ctx, req, next, yield) }
		}
	})
}

func (o *RetryOptions) run(ctx context.Context, req *reason.Request, next call, yield func(*reason.Response, error) bool) {
	for try := 1; ; try++ {
		begun := false
		var failure error
		for p, err := range next(ctx, req) {
			if err != nil {
				failure = err
				break
			}
			begun = true
			if !yield(p, nil) {
				return
			}
		}
		if failure == nil {
			return
		}
		again, after := reason.Retryable(failure)
		if again && !begun && try < o.Tries && sleep(ctx, o.wait(req, try, after)) {
			continue
		}
		switch {
		case ctx.Err() != nil:
			failure = ctx.Err()
		case try > 1:
			failure = fmt.Errorf("after %d tries: %w", try, failure)
		}
		yield(nil, failure)
		return
	}
}

// wait is how long to wait after so many tries, of which the last asks for
// after. What is drawn comes on top of what was asked, so that callers who were
// turned away together do not come back together.
func (o *RetryOptions) wait(req *reason.Request, tries int, after time.Duration) time.Duration {
	hash := digest(req)
	draw := rand.New(rand.NewPCG(o.Seed, binary.LittleEndian.Uint64(hash[:])+uint64(tries))).Float64()
	if after > 0 {
		return min(o.Max, min(after, o.Max)+time.Duration(draw*float64(o.Base)))
	}
	ceiling := o.Base
	for range tries - 1 {
		ceiling = min(o.Max, 2*ceiling)
	}
	ceiling = min(o.Max, ceiling)
	return ceiling/2 + time.Duration(draw*float64(ceiling/2))
}

// sleep waits for d and reports whether it did: not if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
