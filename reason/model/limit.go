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
	l := &limiter{every: every, ahead: every * time.Duration(max(1, opts.Requests/10)-1), head: make(chan struct{}, 1)}
	return wrap(m, l.run)
}

// limiter gives each call a place in time: at least one interval after the place
// before, and at most so far in the past as calls may come at once:
//
//	place = max(now - ahead, last + every)
//
// This is the generic cell rate algorithm (ITU-T I.371, annex A) in its form of
// virtual scheduling. A call takes its place when it is made: until then it stands in a
// line, and one that leaves the line has taken none.
type limiter struct {
	every, ahead time.Duration
	head         chan struct{} // full while a call is at the head of the line

	mu   sync.Mutex
	next time.Time // guarded by mu: the place after the last
	line int       // guarded by mu: calls that wait
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
// its deadline comes first.
func (l *limiter) wait(ctx context.Context) (err error) {
	end, bounded := ctx.Deadline()
	now := time.Now()
	l.mu.Lock()
	place := l.soonest(now).Add(time.Duration(l.line) * l.every)
	if bounded && place.After(now) && !place.Before(end) {
		l.mu.Unlock()
		return &reason.ModelError{Code: "rate_limit", Again: true, After: place.Sub(now), Err: errTooLate}
	}
	l.line++
	l.mu.Unlock()
	select {
	case l.head <- struct{}{}:
		defer func() { <-l.head }()
		l.mu.Lock()
		place = l.soonest(time.Now())
		l.mu.Unlock()
		timer := time.NewTimer(time.Until(place))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.line--; err == nil {
		l.next = place.Add(l.every)
	}
	return err
}

// soonest returns the place of a call that is made as soon as it may be, with mu held.
func (l *limiter) soonest(now time.Time) time.Time {
	if first := now.Add(-l.ahead); l.next.Before(first) {
		return first
	}
	return l.next
}
