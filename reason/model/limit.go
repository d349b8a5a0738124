package model

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/arc-learn/arc/reason"
)

// LimitOptions say how much a provider admits. A field of 0 or less is no
// limit.
type LimitOptions struct {
	Requests int                   // in a minute, of which a tenth, but at least one, may come at once
	Tokens   int                   // in a minute, of prompts and answers, all of which may come at once
	Count    func(text string) int // the tokens of a text; nil: a quarter of its bytes
}

// Limit returns m with calls that wait until the rate of requests and tokens
// admits them, by a token bucket each. Calls that come together are let through
// in turn.
//
// The tokens of a prompt are counted before a call, and what the model says
// that it has used beyond them, or what Count makes of the answer, is charged to
// those that come later. A prompt over a minute's tokens waits for a full bucket.
//
// A call that would be let through only after its context's deadline fails at
// once, with a [reason.ModelError] that may be tried again After the wait.
func Limit(m reason.Model, opts *LimitOptions) reason.Model {
	l := &limiter{count: estimate}
	if opts != nil {
		l.requests, l.tokens = newBucket(opts.Requests, max(1, opts.Requests/10)), newBucket(opts.Tokens, opts.Tokens)
		if opts.Count != nil {
			l.count = opts.Count
		}
	}
	return wrap(m, func(next call) call {
		return func(ctx context.Context, req *reason.Request) pieces {
			return func(yield func(*reason.Response, error) bool) { l.run(ctx, req, next, yield) }
		}
	})
}

// bucket is a token bucket whose level may be negative: what was taken ahead of
// time. A nil one admits all.
type bucket struct {
	perSecond, size float64

	mu    sync.Mutex
	level float64   // guarded by mu: at time at
	at    time.Time // guarded by mu
}

// newBucket returns a full one, or nil for no limit.
func newBucket(perMinute, size int) *bucket {
	if perMinute <= 0 {
		return nil
	}
	return &bucket{perSecond: float64(perMinute) / 60, size: float64(size), level: float64(size), at: time.Now()}
}

// take takes n, at most what the bucket holds, and returns how much that was,
// and how long to wait until it is there.
func (b *bucket) take(n float64) (taken float64, wait time.Duration) {
	if b == nil {
		return 0, 0
	}
	taken = min(max(0, n), b.size)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.level = min(b.size, b.level+now.Sub(b.at).Seconds()*b.perSecond) - taken
	b.at = now
	return taken, time.Duration(max(0, -b.level) / b.perSecond * float64(time.Second))
}

// add puts n back, or takes -n whatever the level is.
func (b *bucket) add(n float64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.level = min(b.size, b.level+n)
}

type limiter struct {
	requests, tokens *bucket
	count            func(string) int
}

func (l *limiter) run(ctx context.Context, req *reason.Request, next call, yield func(*reason.Response, error) bool) {
	asked := 0.0
	if l.tokens != nil {
		asked = float64(prompt(req, l.count))
	}
	asked, err := l.admit(ctx, asked)
	if err != nil {
		yield(nil, err)
		return
	}
	var text []byte
	var last *reason.Response
	defer func() {
		if l.tokens != nil && last != nil {
			u := used(last, string(text), req, l.count)
			l.tokens.add(-min(max(0, float64(u.TokensIn)+float64(u.TokensOut)-asked), absurd*l.tokens.perSecond))
		}
	}()
	for p, err := range next(ctx, req) {
		if err == nil {
			last = p
			text = append(text, p.Text...)
		}
		if !yield(p, err) {
			return
		}
	}
}

// absurd is how many seconds of tokens one call is charged at most. A model
// that reports more errs, and must not stop all calls for good.
const absurd = 600

// admit waits until one request of so many tokens may go out, and returns how
// many of them it took.
func (l *limiter) admit(ctx context.Context, tokens float64) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	request, wait := l.requests.take(1)
	tokens, later := l.tokens.take(tokens)
	wait = max(wait, later)
	if wait == 0 || sleep(ctx, wait) {
		return tokens, nil
	}
	l.requests.add(request)
	l.tokens.add(tokens)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return 0, &reason.ModelError{Code: "rate_limit", Again: true, After: wait, Err: errTooLate}
}

var errTooLate = errors.New("the rate limit would admit the call only after its deadline")
