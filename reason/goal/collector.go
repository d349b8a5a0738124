package goal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/guard"
)

// Collector reads a domain from time to time.
type Collector struct {
	Domain string
	// Read returns what is read, any value that encodes as JSON. It may be called
	// in any goroutine, never twice at a time, and should return when ctx ends.
	// Required.
	Read    func(ctx context.Context) (any, error)
	Every   time.Duration // 0: a minute
	Timeout time.Duration // of a call; 0: ten seconds
	// MaxAge is how long a reading holds. 0: three times Every; negative: for ever.
	MaxAge time.Duration
}

const (
	maxBackoff = time.Hour
	maxEvery   = 365 * 24 * time.Hour // so that three times Every is a time
)

// collector is a Collector and how it has done.
type collector struct {
	Collector
	next     time.Time // zero: at once
	inFlight bool      // its goroutine has not come back
	failures int       // in a row
	paused   bool
}

// Domain is how a domain of a world stands.
type Domain struct {
	Name     string
	Known    bool      // it was read, and not too long ago
	At       time.Time // when it was last read; zero: never
	Err      error     // why the last attempt to read it failed; nil: it did not
	Failures int       // of its collector, in a row
	// Next is when the collector is due; zero: at once, or there is none.
	Next time.Time
	// Running: a call of the collector has not come back, even if it is out of time.
	Running bool
	// Paused: the collector has failed too often, and waits for World.Resume.
	Paused bool
}

// Collect adds a collector, which [World.Poll] calls when it is due. A domain has
// one at most.
func (w *World) Collect(c Collector) error {
	switch err := checkDomain(c.Domain); {
	case err != nil:
		return fmt.Errorf("goal: collect: %w", err)
	case c.Read == nil:
		return fmt.Errorf("goal: collect domain %q: no function to read it", c.Domain)
	case c.Every < 0 || c.Timeout < 0:
		return fmt.Errorf("goal: collect domain %q: a negative time", c.Domain)
	}
	c.Every = cmp.Or(c.Every, time.Minute)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.MaxAge = cmp.Or(c.MaxAge, 3*min(c.Every, maxEvery))
	w.mu.Lock()
	defer w.mu.Unlock()
	d, err := w.domain(c.Domain)
	if err != nil {
		return fmt.Errorf("goal: collect: %w", err)
	}
	if d.collector != nil {
		return fmt.Errorf("goal: domain %q has a collector already", c.Domain)
	}
	d.collector = &collector{Collector: c}
	return nil
}

// Poll calls the collectors that are due at a time, all at once, and returns when
// each has answered or is out of time. Each answer is in the world as soon as it is
// there, dated at.
//
// A collector that panics, fails, hangs or returns what is no JSON, or over a
// limit, makes its own domain unknown once the last reading is too old, and touches
// no other. It is called again after twice its time, then four times, up to an
// hour, and is paused after WorldOptions.Failures. One that does not come back is
// not called again before it does.
//
// A slow collector makes Poll slow, and holds up no reader of the world. The error
// is that of ctx.
func (w *World) Poll(ctx context.Context, at time.Time) error {
	var wg sync.WaitGroup
	for name, d := range w.due(at) {
		wg.Go(func() { w.collect(ctx, name, d, at) })
	}
	wg.Wait()
	return ctx.Err()
}

// due returns the domains whose collectors are to be called, and marks these as in
// flight.
func (w *World) due(at time.Time) map[string]*domain {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[string]*domain)
	for name, d := range w.domains {
		c := d.collector
		if c == nil || c.inFlight || c.paused {
			continue
		}
		// One that is due in more than its time was called before the clock was put
		// back.
		if wait := c.next.Sub(at); wait <= 0 || wait > c.backoff() {
			c.inFlight = true
			out[name] = d
		}
	}
	return out
}

func (w *World) collect(ctx context.Context, name string, d *domain, at time.Time) {
	c := d.collector
	// The call is landed by the goroutine that reads, or here if it was not begun.
	var claimed atomic.Bool
	data, err := guard.Do(ctx, c.Timeout, func(ctx context.Context) (any, error) {
		if !claimed.CompareAndSwap(false, true) {
			return nil, nil
		}
		defer w.land(c)
		v, err := c.Read(ctx)
		if err != nil {
			return nil, err
		}
		return plain("data", v)
	})
	if claimed.CompareAndSwap(false, true) {
		w.land(c)
	}
	if ctx.Err() != nil {
		return // the collector may be as good as ever
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		c.failures, c.next = 0, at.Add(c.Every)
	} else {
		c.failures++
		c.next = at.Add(c.backoff())
		if w.opts.Failures > 0 && c.failures >= w.opts.Failures {
			c.paused = true
			err = fmt.Errorf("paused after %d failures in a row: %w", c.failures, err)
		}
	}
	w.set(name, d, Snapshot{Data: data, At: at, MaxAge: c.MaxAge, Err: err})
}

// land says that the goroutine of the collector has come back.
func (w *World) land(c *collector) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.inFlight = false
}

// backoff is how long to leave a collector alone: its time, twice that after one
// failure, four times after two, up to an hour or its time.
func (c *collector) backoff() time.Duration {
	d := c.Every
	for i := 0; i < c.failures && d < maxBackoff; i++ {
		d = min(2*d, maxBackoff)
	}
	return d
}

// Resume lets a domain's collector be called again at once, as if it had not
// failed. It returns whether there is one.
func (w *World) Resume(domain string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.domains[domain]
	if d == nil || d.collector == nil {
		return false
	}
	d.collector.failures, d.collector.next, d.collector.paused = 0, time.Time{}, false
	return true
}

// Domains returns how the domains stand at a time, by name.
func (w *World) Domains(at time.Time) []Domain {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Domain
	for _, name := range slices.Sorted(maps.Keys(w.domains)) {
		d := w.domains[name]
		x := Domain{Name: name, Known: d.unknown(at) == "", At: d.at, Err: d.err}
		if c := d.collector; c != nil {
			x.Failures, x.Next, x.Running, x.Paused = c.failures, c.next, c.inFlight, c.paused
		}
		out = append(out, x)
	}
	return out
}
