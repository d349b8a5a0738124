package goal

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/guard"
)

// Collector reads a domain from time to time.
type Collector struct {
	Domain string
	// Read returns what is read, any value that encodes as JSON. It may be
	// called in any goroutine, never twice at a time, and should return when
	// ctx ends. Required.
	Read    func(ctx context.Context) (any, error)
	Every   time.Duration // 0: a minute
	Timeout time.Duration // of a call; 0: ten seconds
	MaxAge  time.Duration // how long a reading holds; 0: three times Every; negative: for ever
}

const (
	defaultEvery   = time.Minute
	defaultTimeout = 10 * time.Second
	maxBackoff     = time.Hour
	agesKept       = 3 // readings of a collector hold for so many of its rounds
)

// collector is a Collector and how it has done.
type collector struct {
	Collector
	next     time.Time // zero: at once
	inFlight bool      // its goroutine has not come back
	failures int       // in a row
	err      error
	paused   bool
}

// CollectorStatus is how a collector stands.
type CollectorStatus struct {
	Domain   string
	Failures int       // in a row
	Err      error     // of the last call; nil: it succeeded
	Next     time.Time // when it is due; zero: at once
	Running  bool      // a call has not come back, even if it is long out of time
	Paused   bool      // it has failed too often, and waits for World.Resume
}

// Collect adds a collector, which [World.Poll] calls when it is due. A domain
// has one at most.
func (w *World) Collect(c Collector) error {
	switch err := checkDomain(c.Domain); {
	case err != nil:
		return fmt.Errorf("goal: collect: %w", err)
	case c.Read == nil:
		return fmt.Errorf("goal: collect domain %q: no function to read it", c.Domain)
	case c.Every < 0 || c.Timeout < 0:
		return fmt.Errorf("goal: collect domain %q: a negative time", c.Domain)
	}
	if c.Every == 0 {
		c.Every = defaultEvery
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.MaxAge == 0 {
		c.MaxAge = agesKept * min(c.Every, 24*365*time.Hour)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, old := range w.collectors {
		if old.Domain == c.Domain {
			return fmt.Errorf("goal: domain %q has a collector already", c.Domain)
		}
	}
	if _, err := w.domain(c.Domain); err != nil {
		return fmt.Errorf("goal: collect: %w", err)
	}
	w.collectors = append(w.collectors, &collector{Collector: c})
	return nil
}

// Poll calls the collectors that are due at a time, all at once, and returns
// when each has answered or is out of time. Each answer is in the world as soon
// as it is there, dated at; one that panics, fails, hangs or returns what is no
// JSON or over a limit makes its own domain unknown once the last reading is
// too old, and touches no other. It is called again after twice its
// time, then four times, up to an hour, and is paused after
// WorldOptions.Failures. One that does not come back is not called again before
// it does.
//
// A slow collector makes Poll slow, never State: what must not wait calls Poll
// in a goroutine of its own. The error is that of ctx.
func (w *World) Poll(ctx context.Context, at time.Time) error {
	var wg sync.WaitGroup
	for _, c := range w.due(at) {
		wg.Go(func() { w.call(ctx, c, at) })
	}
	wg.Wait()
	return ctx.Err()
}

// due returns the collectors to call, and takes note that they are called.
func (w *World) due(at time.Time) []*collector {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*collector
	for _, c := range w.collectors {
		// One that is due in more than its time was called before the clock
		// was put back.
		if wait := c.next.Sub(at); c.inFlight || c.paused || wait > 0 && wait <= c.backoff() {
			continue
		}
		c.inFlight = true
		out = append(out, c)
	}
	return out
}

func (w *World) call(ctx context.Context, c *collector, at time.Time) {
	var claimed atomic.Bool // by the goroutine, or by us where it was not begun
	data, err := guard.Do(ctx, c.Timeout, func(ctx context.Context) (any, error) {
		if !claimed.CompareAndSwap(false, true) {
			return nil, nil
		}
		defer w.back(c)
		v, err := c.Read(ctx)
		if err != nil {
			return nil, err
		}
		return plain("data", v)
	})
	if claimed.CompareAndSwap(false, true) {
		w.back(c)
	}
	if ctx.Err() != nil {
		return // the collector may be as good as ever
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := c.failures + 1; err != nil && w.opts.Failures > 0 && n >= w.opts.Failures {
		c.paused = true
		err = fmt.Errorf("paused after %d failures in a row: %w", n, err)
	}
	_ = w.set(c.Domain, Snapshot{Data: data, At: at, MaxAge: c.MaxAge, Err: err}) // cannot fail: Collect has made the domain
	if c.err = err; err == nil {
		c.failures, c.next = 0, at.Add(c.Every)
		return
	}
	c.failures++
	c.next = at.Add(c.backoff())
}

// pace is the time between two calls of Poll that suits all collectors, at most
// d.
func (w *World) pace(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.collectors {
		d = min(d, max(c.Every, time.Millisecond))
	}
	return d
}

// back says that the goroutine of the collector has come back.
func (w *World) back(c *collector) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.inFlight = false
}

// backoff is how long to leave a collector alone after its failures: twice its
// time after one, four times after two, up to an hour or its time.
func (c *collector) backoff() time.Duration {
	d := c.Every
	for range c.failures {
		if d >= maxBackoff {
			break
		}
		d = min(2*d, maxBackoff)
	}
	return d
}

// Resume lets a domain's collector be called again at once, as if it had not
// failed. It returns whether there is one.
func (w *World) Resume(domain string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.collectors {
		if c.Domain == domain {
			c.failures, c.next, c.paused = 0, time.Time{}, false
			return true
		}
	}
	return false
}

// Collectors returns how the collectors stand, in the order in which they were
// added.
func (w *World) Collectors() []CollectorStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]CollectorStatus, len(w.collectors))
	for i, c := range w.collectors {
		out[i] = CollectorStatus{
			Domain: c.Domain, Failures: c.failures, Err: c.err, Next: c.next, Running: c.inFlight, Paused: c.paused,
		}
	}
	return out
}
