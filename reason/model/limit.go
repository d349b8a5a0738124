package model

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/arc-learn/arc/reason"
)

// LimitOptions say what a provider admits. A field of 0 or less is no limit.
type LimitOptions struct {
	Requests int // per minute; a tenth, and at least one, may come at once
}

// Limit returns m with calls that wait until the rate of requests admits them, in
// the order in which they came.
//
// A call fails at once when it would wait past the deadline of its context. The
// error is a [reason.ModelError] with the code "rate_limit" that may be tried
// again After the wait. Without a limit Limit returns m itself.
func Limit(m reason.Model, opts *LimitOptions) reason.Model {
	if opts == nil || opts.Requests <= 0 {
		return m
	}
	every := time.Minute / time.Duration(opts.Requests)
	return wrap(m, (&limiter{every: every, ahead: every * time.Duration(max(1, opts.Requests/10)-1)}).run)
}

// limiter gives each call a place in time: at least one interval after the place
// before, and at most so far in the past as calls may come at once:
//
//	place = max(now - ahead, last + every)
//
// This is the generic cell rate algorithm (ITU-T I.371, annex A) in its form of
// virtual scheduling.
type limiter struct {
	every, ahead time.Duration

	mu   sync.Mutex
	next time.Time // guarded by mu: the place after the last
}

var errTooLate = errors.New("the rate limit would admit the call only after its deadline")

// run makes the call when its place has come.
func (l *limiter) run(ctx context.Context, req *reason.Request, next target, yield sink) {
	if err := l.wait(ctx); err != nil {
		yield(nil, err)
		return
	}
	for p, err := range next.call(ctx, req) {
		if !yield(p, err) {
			return
		}
	}
}

// wait waits for the next place. It fails when ctx ends first, and at once when
// its deadline comes first. A place that is not used goes back to later calls.
func (l *limiter) wait(ctx context.Context) error {
	end, bounded := ctx.Deadline()
	l.mu.Lock()
	now := time.Now()
	place := l.next
	if first := now.Add(-l.ahead); place.Before(first) {
		place = first
	}
	if bounded && place.After(now) && !place.Before(end) {
		l.mu.Unlock()
		return &reason.ModelError{Code: "rate_limit", Again: true, After: place.Sub(now), Err: errTooLate}
	}
	l.next = place.Add(l.every)
	l.mu.Unlock()
	timer := time.NewTimer(place.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		l.next = l.next.Add(-l.every)
		return ctx.Err()
	}
}
