package goal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal/internal/plain"
	"github.com/arc-learn/arc/reason/goal/internal/selector"
	"github.com/arc-learn/arc/store"
)

// World is what is known about the world, by domain: what was read, and what workers
// reported since. It has no clock: times are given. What is put in is copied. The zero
// World knows nothing, and is ready.
//
// The data of a domain is at most 1 MiB of JSON, nested 64 deep. Its numbers are
// float64, which holds integers exactly up to 2^53: larger ones are rounded, so an
// identifier of that size belongs in a string. A world has at most 1,024 domains.
// Anything over a limit is a *store.LimitError.
type World struct {
	mu      sync.Mutex
	domains map[string]*domain
}

const (
	maxDomains = 1 << 10
	maxEffects = 1 << 10 // of an action
	defaultAge = 10 * time.Minute
)

// domain is what was read last.
type domain struct {
	has       bool
	data      any // plain, never changed in place
	at        time.Time
	maxAge    time.Duration // <= 0: for ever
	err       error
	collector *collector // nil: there is none
}

// Snapshot is a reading of a whole domain, or the failure to read it.
type Snapshot struct {
	// Data is any value that encodes as JSON, which a json.RawMessage is already.
	Data any
	// At is when the reading began. Zero is refused, and what lies ahead is not old.
	At time.Time
	// MaxAge is how long the reading holds. 0: ten minutes; negative: for ever.
	MaxAge time.Duration
	// Err is why the domain could not be read. What was known stays until it is too old.
	Err error
}

// Set replaces what is known of a domain, and makes the domain if it is new. What
// was reported before no longer counts. Data that is not JSON, or over a limit, is an
// error, and counts as a failure to read the domain.
func (w *World) Set(domain string, s Snapshot) error {
	var bad error
	if s.At.IsZero() {
		return fmt.Errorf("goal: set domain %.256q: no time of reading", domain)
	}
	if s.Err = guard.Error(s.Err); s.Err == nil {
		s.Data, bad = plain.Of("data", s.Data)
		s.Err = bad
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d, err := w.domainLocked(domain)
	if err == nil {
		d.set(s)
	}
	if err := cmp.Or(err, bad); err != nil {
		return fmt.Errorf("goal: set domain %.256q: %w", domain, err)
	}
	return nil
}

// set replaces what is known of a domain by a snapshot whose data is plain.
func (d *domain) set(s Snapshot) {
	if d.err = s.Err; s.Err == nil {
		d.has, d.data, d.at, d.maxAge = true, s.Data, s.At, cmp.Or(s.MaxAge, defaultAge)
	}
}

// domainLocked returns the domain of that name, and makes it if there is none.
func (w *World) domainLocked(name string) (*domain, error) {
	if d := w.domains[name]; d != nil {
		return d, nil
	}
	if err := selector.CheckDomain(name); err != nil {
		return nil, err
	}
	if len(w.domains) >= maxDomains {
		return nil, &store.LimitError{Field: "domains", Limit: maxDomains, Got: len(w.domains) + 1}
	}
	if w.domains == nil {
		w.domains = make(map[string]*domain)
	}
	w.domains[name] = &domain{maxAge: defaultAge}
	return w.domains[name], nil
}

// apply changes the world as workers report that they have changed it, until the
// domains are read anew. A domain that was never read is as old as its first delta;
// any other stays as old as its reading. All deltas are applied, except those to what a
// list does not have, or none and the error says why.
func (w *World) apply(deltas []reason.Delta, at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var changes []overlay
	s := state{domains: make(map[string]view)}
	for i, delta := range deltas {
		c, err := Change{reason.Effect{Domain: delta.Domain, Path: delta.Path}, sets, delta.Value}.overlay()
		if err != nil {
			return fmt.Errorf("goal: delta %d: %w", i+1, err)
		}
		changes = append(changes, c)
		if d := w.domains[delta.Domain]; d != nil {
			s.domains[delta.Domain] = view{data: d.data}
		}
	}
	s = s.after(changes)
	count := len(w.domains)
	for _, name := range slices.Sorted(maps.Keys(s.domains)) {
		if _, err := plain.Of("data with the deltas", s.domains[name].data); err != nil {
			return fmt.Errorf("goal: domain %q: %w", name, err)
		}
		if w.domains[name] == nil {
			count++
		}
	}
	if count > maxDomains {
		return &store.LimitError{Field: "domains", Limit: maxDomains, Got: count}
	}
	for name, v := range s.domains {
		d, err := w.domainLocked(name)
		if err != nil {
			return err // never: the name and the number of domains are checked
		}
		if d.data = v.data; !d.has {
			d.has, d.at = true, at
		}
	}
	return nil
}

// putBack has what was read after at, and no later than latest, be read at at.
func (w *World) putBack(at, latest time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.domains {
		if d.at.After(at) && !d.at.After(latest) {
			d.at = at
		}
	}
}

// Change is what an [Action] does to a value of the world.
type Change struct {
	// Effect names the value, such as {Domain: "ci", Path: "data.failing"}.
	Effect reason.Effect
	// Op is set (the value becomes Value), add (Value, a number, is added to it),
	// or "" (the value changes, and the action does not say to what).
	Op string
	// Value is any value that encodes as JSON, and of add a finite number.
	Value any
}

// The operations of a change.
const (
	alters = ""
	sets   = "set"
	adds   = "add"
)

// overlay is a change that was compiled.
type overlay struct {
	place selector.Place
	op    string
	value any // plain
}

// overlay checks the change and returns it as one.
func (c Change) overlay() (out overlay, err error) {
	if out.place, err = selector.OfEffect(c.Effect); err != nil {
		return out, err
	}
	if out.op = c.Op; c.Op == alters {
		return out, nil
	}
	if out.value, err = plain.Of("value", c.Value); err != nil {
		return out, fmt.Errorf("change of %s: %w", out.place, err)
	}
	switch _, isNumber := out.value.(float64); {
	case c.Op == adds && !isNumber:
		err = fmt.Errorf("change of %s adds %s, which is no number", out.place, plain.Short(plain.JSON(out.value)))
	case c.Op != sets && c.Op != adds:
		err = fmt.Errorf("change of %s: unknown operation %q", out.place, c.Op)
	}
	return out, err
}

// after returns the value at the overlay's place in data once the change is made.
// It reports false if there is no number to add to, or the sum is none.
func (c *overlay) after(data any) (any, bool) {
	if c.op == sets {
		return c.value, true
	}
	old, _ := c.place.In(data)
	number, ok := old.(float64)
	sum := number + c.value.(float64) // overlay has checked it
	return sum, ok && math.Abs(sum) <= math.MaxFloat64
}

// state is an unchanging view of a World at one time, and of what a plan does to it.
// The zero state knows nothing.
type state struct {
	at      time.Time
	domains map[string]view
	marks   []overlay // changes of the plan, in order
}

// view is a domain as it is seen at the time of a state.
type view struct {
	// data is what is fresh of the domain, with all changes made; nil if nothing is.
	data  any
	at    time.Time
	why   string // it is unknown; "": the reading is there and fresh
	tried bool   // a reading was tried
}

// reading is a value of the world.
type reading struct {
	value any // plain, shared
	at    time.Time
}

var errUnknown = errors.New("unknown")

// state returns the world as it is known at a time.
func (w *World) state(at time.Time) state {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := state{at: at, domains: make(map[string]view, len(w.domains))}
	for name, d := range w.domains {
		v := view{at: d.at, why: d.unknown(at), tried: d.has || d.err != nil}
		if v.why == "" {
			v.data = d.data
		}
		s.domains[name] = v
	}
	return s
}

// unknown says why what was read of a domain is not known at a time; "" if it is. A
// reading holds at t while t − at ≤ maxAge, or for ever if maxAge is not positive. One
// dated in the future holds.
func (d *domain) unknown(at time.Time) string {
	switch age := at.Sub(d.at); {
	case !d.has && d.err != nil:
		return fmt.Sprintf("could not be read: %v", d.err)
	case !d.has:
		return "was never read"
	case d.maxAge > 0 && age > d.maxAge:
		why := fmt.Sprintf("was last read %v ago, more than %v", age, d.maxAge)
		if d.err != nil {
			why += ": " + d.err.Error()
		}
		return why
	}
	return ""
}

// after returns the state once the changes are made to it, in their order. An
// addition to what is no number, or not known, changes nothing, and neither does
// what has no place in a list.
func (s state) after(changes []overlay) state {
	s.domains, s.marks = maps.Clone(s.domains), slices.Clip(s.marks)
	for _, c := range changes {
		v, known := s.domains[c.place.Domain]
		if !known {
			v.why = "was never read"
		}
		if c.op != alters {
			value, ok := c.after(v.data)
			if ok {
				value, ok = c.place.Put(v.data, value)
			}
			if !ok {
				continue
			}
			v.data = value
		}
		s.domains[c.place.Domain] = v
		s.marks = append(s.marks, c)
	}
	return s
}

// read returns the value of a place, or errUnknown with the reason. A value that is
// older than maxAge is unknown, unless maxAge is 0.
func (s state) read(p selector.Place, maxAge time.Duration) (reading, error) {
	v, has := s.domains[p.Domain]
	if !has {
		return reading{}, fmt.Errorf("%w: domain %q was never read and has no collector", errUnknown, p.Domain)
	}
	r, why := reading{at: v.at}, v.why
	for _, c := range s.marks {
		if c.op == alters && c.place.Overlaps(p) {
			why = "is changed by an action that does not say to what"
		} else if c.op == sets && p.Within(c.place) { // the value is as fresh as the change
			r.at, why = s.at, ""
		}
	}
	if why != "" {
		return reading{}, fmt.Errorf("%w: domain %q %s", errUnknown, p.Domain, why)
	}
	var found bool
	if r.value, found = p.In(v.data); !found {
		return reading{}, fmt.Errorf("%w: %s is not in what was read", errUnknown, p)
	}
	if age := s.at.Sub(r.at); maxAge > 0 && age > maxAge {
		return reading{}, fmt.Errorf("%w: %s is %v old, more than %v", errUnknown, p, age, maxAge)
	}
	return r, nil
}

// Collector reads a domain from time to time, once it was added by [World.Collect]. The
// reading is the data of the domain as a whole.
type Collector struct {
	// Domain is the name of what is read, at most 256 bytes of UTF-8. Required.
	Domain string
	// Read returns what is read, any value that encodes as JSON. It may be called
	// in any goroutine, never twice at a time, and should return when ctx ends.
	// Required.
	Read func(ctx context.Context) (any, error)
	// Every is the time between two calls. 0: a minute.
	Every time.Duration
	// Timeout is how long a call may take. 0: ten seconds.
	Timeout time.Duration
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
}

// Domain is how a domain of a world stands.
type Domain struct {
	Name string
	// Known says that the domain was read, and not too long ago.
	Known bool
	// At is when it was last read; zero: never.
	At time.Time
	// Err is why the last attempt to read it failed; nil: it did not.
	Err error
	// Failures are those of its collector, in a row.
	Failures int
	// Next is when the collector is due; zero: at once, or there is none.
	Next time.Time
	// Running: a call of the collector has not come back, even if it is out of time.
	Running bool
}

// Collect adds a collector, which [World.Poll] calls when it is due. A domain has
// one at most. A negative time is an error, and so are a missing Read and a name that
// is empty, over 256 bytes or not UTF-8.
func (w *World) Collect(c Collector) error {
	if c.Read == nil || c.Every < 0 || c.Timeout < 0 {
		return fmt.Errorf("goal: collect domain %.256q: no function to read it, or a negative time", c.Domain)
	}
	c.Every = cmp.Or(c.Every, time.Minute)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.MaxAge = cmp.Or(c.MaxAge, 3*min(c.Every, maxEvery))
	w.mu.Lock()
	defer w.mu.Unlock()
	d, err := w.domainLocked(c.Domain)
	if err == nil && d.collector != nil {
		err = errors.New("it has a collector already")
	}
	if err != nil {
		return fmt.Errorf("goal: collect domain %.256q: %w", c.Domain, err)
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
// no other. It is called again after Every · 2^n, n the failures in a row, but after an
// hour, or Every where that is longer, at the latest. One that does not come back is not
// called again before it does.
//
// A slow collector makes Poll slow, and holds up no reader of the world. The error
// is that of ctx.
func (w *World) Poll(ctx context.Context, at time.Time) error {
	if err := store.CheckContext(ctx); err != nil {
		return err // no collector is to blame
	}
	var wg sync.WaitGroup
	for _, c := range w.due(at) {
		wg.Go(func() { w.collect(ctx, c, at) })
	}
	wg.Wait()
	return ctx.Err()
}

// due returns the collectors that are to be called, and marks them as in flight.
func (w *World) due(at time.Time) (out []*collector) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.domains {
		c := d.collector
		if c == nil || c.inFlight {
			continue
		}
		// One that is due in more than its time was called before the clock was put
		// back.
		if wait := c.next.Sub(at); wait <= 0 || wait > c.backoff() {
			c.inFlight = true
			out = append(out, c)
		}
	}
	return out
}

// collect calls a collector and lets the world know what it has read.
func (w *World) collect(ctx context.Context, c *collector, at time.Time) {
	land := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		c.inFlight = false
	}
	// The goroutine that reads lands the call, or this one if the other did not begin.
	var begun atomic.Bool
	data, err := guard.Do(ctx, c.Timeout, func(ctx context.Context) (any, error) {
		if begun.Swap(true) {
			return nil, nil
		}
		defer land()
		v, err := guard.Returned(c.Read(ctx))
		if err != nil {
			return nil, err
		}
		return plain.Of("data", v)
	})
	if !begun.Swap(true) {
		land()
	}
	if ctx.Err() != nil {
		return // the collector may be as good as ever
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.failures++; err == nil {
		c.failures = 0
	}
	c.next = at.Add(c.backoff())
	w.domains[c.Domain].set(Snapshot{Data: data, At: at, MaxAge: c.MaxAge, Err: err})
}

// backoff is how long to leave a collector alone: Every · 2^failures, up to an hour or
// Every.
func (c *collector) backoff() time.Duration {
	d := c.Every
	for i := 0; i < c.failures && d < maxBackoff; i++ {
		d = min(2*d, maxBackoff)
	}
	return d
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
			x.Failures, x.Next, x.Running = c.failures, c.next, c.inFlight
		}
		out = append(out, x)
	}
	return out
}
