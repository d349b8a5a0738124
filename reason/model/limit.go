package model

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/arc-learn/arc/reason"
)

// LimitOptions are the rates that a provider admits. A field of 0 or less is no
// limit.
type LimitOptions struct {
	Requests int // per minute; a tenth, and at least one, may come at once
	Tokens   int // per minute, of prompts and answers; all may come at once
}

// Limit returns m with calls that wait until the rates of requests and tokens
// admit them. Each rate is a token bucket. Waiting calls go in the order in which
// they came.
//
// Limit estimates the tokens of a prompt before the call, one for four bytes.
// After it, Limit charges later calls for what the model reports beyond that, or
// for an estimate of the answer where the model reports nothing. A prompt of more
// tokens than a minute admits waits for a full bucket. One call is charged for at
// most ten minutes of tokens, so that an absurd report does not stop all others.
//
// A call fails at once when it would wait past the deadline of its context. The
// error is a [reason.ModelError] with the code "rate_limit" that may be tried
// again After the wait.
func Limit(m reason.Model, opts *LimitOptions) reason.Model {
	l := new(limiter)
	if opts != nil {
		l.requests = newBucket(opts.Requests, max(1, opts.Requests/10))
		l.tokens = newBucket(opts.Tokens, opts.Tokens)
	}
	return wrap(m, l.run)
}

// limiter admits a call when both of its buckets do.
type limiter struct{ requests, tokens *bucket }

// run makes the call once it is admitted, and settles what it has used over the
// estimate when the call has ended, in whatever way it ends.
func (l *limiter) run(ctx context.Context, req *reason.Request, next target, yield sink) {
	bytes := len(req.System) + len(req.Schema)
	for _, m := range req.Messages {
		bytes += len(m.Text)
	}
	prompt := estimate(bytes)
	paid, err := l.admit(ctx, prompt)
	if err != nil {
		yield(nil, err)
		return
	}
	var last *reason.Response
	size := 0
	defer func() { // also when the caller's loop breaks or panics
		if last != nil {
			in, out := last.Usage.TokensIn, last.Usage.TokensOut
			used := cmp.Or(float64(in), prompt) + cmp.Or(float64(out), estimate(size))
			l.tokens.add(min(0, paid-used))
		}
	}()
	for p, err := range next.call(ctx, req) {
		if err == nil {
			last = p
			size += len(p.Text)
		}
		if !yield(p, err) {
			return
		}
	}
}

// estimate returns the tokens of a text of so many bytes: near for English, too
// many for most other texts in ASCII, too few for some scripts.
func estimate(bytes int) float64 { return float64((bytes + 3) / 4) }

// admit waits until one request of so many tokens may go out. It returns the
// tokens that it drew: fewer than a prompt has that is over the bucket's size.
func (l *limiter) admit(ctx context.Context, tokens float64) (drawn float64, err error) {
	request, wait := l.requests.draw(1)
	drawn, later := l.tokens.draw(tokens)
	if err := sleep(ctx, max(wait, later)); err != nil {
		l.requests.add(request)
		l.tokens.add(drawn)
		return 0, err
	}
	return drawn, nil
}

// sleep waits for d. It fails at once when d goes past the deadline of ctx, and
// when ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return &reason.ModelError{Code: "rate_limit", Again: true, After: d, Err: errTooLate}
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

var errTooLate = errors.New("the rate limit would admit the call only after its deadline")

// bucket is a token bucket: at time t its level is
//
//	min(size, level + (t - at) · perSecond)
//
// The level may fall below 0, by draws ahead of time and by answers; later draws
// wait until that debt is paid. golang.org/x/time/rate would need several
// reservations for one debt. A nil bucket admits all.
type bucket struct {
	perSecond, size float64

	mu    sync.Mutex
	level float64   // guarded by mu: at time at
	at    time.Time // guarded by mu
}

// newBucket returns a full bucket, or nil for no limit.
func newBucket(perMinute, size int) *bucket {
	if perMinute <= 0 {
		return nil
	}
	return &bucket{perSecond: float64(perMinute) / 60, size: float64(size), level: float64(size), at: time.Now()}
}

// draw takes min(n, size) out of the bucket. It returns that, and the wait until
// the level is back at 0.
func (b *bucket) draw(n float64) (drawn float64, wait time.Duration) {
	if b == nil {
		return 0, 0
	}
	drawn = min(max(0, n), b.size)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.level = min(b.size, b.level+now.Sub(b.at).Seconds()*b.perSecond) - drawn
	b.at = now
	return drawn, time.Duration(max(0, -b.level) / b.perSecond * float64(time.Second))
}

// add adds n to the level. A negative n is a debt, of at most ten sizes.
func (b *bucket) add(n float64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.level = min(b.size, b.level+max(n, -10*b.size))
}
