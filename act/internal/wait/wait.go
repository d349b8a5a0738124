// Package wait is where arc waits for a part of the host that is away or busy,
// such as a model behind a rate limit. Nothing else in arc repeats a call.
package wait

import (
	"context"
	"time"
)

// The waits before the repeats of a call whose error does not say when to try
// again, and the bounds of a wait that an error asks for.
var backoff = [...]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

const (
	shortest = time.Second
	longest  = time.Minute
)

// Policy says when a call is made again.
type Policy struct {
	// Again reports whether an error may go away, and after which time. 0: the
	// error does not say: 1, 2 and 4 s, then the error stands. A time that it
	// does say is kept within 1 s and 1 min, and is waited for as often as the
	// context allows.
	Again func(error) (again bool, after time.Duration)
	// End is when the result is due: a wait that would not end before it is not
	// begun. Zero: none.
	End time.Time
}

// Retry calls fn until it succeeds, fails for good, or ctx ends, and returns
// the last error of fn.
func Retry(ctx context.Context, p Policy, fn func() error) error {
	for repeats := 0; ; {
		err := fn()
		if err == nil {
			return nil
		}
		again, after := p.Again(err)
		switch {
		case !again:
			return err
		case after > 0:
			after = min(max(after, shortest), longest)
		case repeats < len(backoff):
			after = backoff[repeats]
			repeats++
		default:
			return err
		}
		if !p.End.IsZero() && time.Until(p.End) <= after {
			return err
		}
		timer := time.NewTimer(after)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}
