package goal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// World is what is known about the world, by domain. It has no clock: times are given. What is put in is copied.
//
// A value is at most 1 MiB of JSON, nested 64 deep; a world has at most 1,024 domains with 1,024 reported changes each.
// What is over a limit is a *store.LimitError.
type World struct {
	opts WorldOptions

	mu      sync.Mutex
	domains map[string]*domain
	changes []overlay // on top of what was read, in the order in which they came
}

// WorldOptions configure [NewWorld]. The zero value is ready.
type WorldOptions struct {
	// MaxAge is how long a reading holds that does not say so itself. 0: ten minutes; negative: for ever.
	MaxAge time.Duration
	// Failures is after how many failures in a row a collector is paused. 0: 20; negative: never.
	Failures int
}

const (
	maxDomains = 1 << 10
	maxDeltas  = 1 << 10      // changes of a domain since it was read, and effects of an action
	maxBytes   = 4 * maxValue // of the changes of a domain
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

// NewWorld returns a world of which nothing is known. Opts may be nil.
func NewWorld(opts *WorldOptions) *World {
	w := &World{domains: make(map[string]*domain)}
	if opts != nil {
		w.opts = *opts
	}
	w.opts.MaxAge = cmp.Or(w.opts.MaxAge, 10*time.Minute)
	w.opts.Failures = cmp.Or(w.opts.Failures, 20)
	return w
}

// Snapshot is a reading of a whole domain, or the failure to read it.
type Snapshot struct {
	// Data is any value that encodes as JSON, which a json.RawMessage is already. Numbers are kept as float64, except
	// integers from 2^53 on, which keep their digits.
	Data   any
	At     time.Time     // when the reading began; zero is refused, and what lies ahead is not old
	MaxAge time.Duration // how long it holds; 0: WorldOptions.MaxAge; negative: for ever
	Err    error         // why the domain could not be read; what was known stays until it is too old
}

// Set replaces what is known of a domain, and makes the domain if it is new. What was reported or expected before the
// reading began no longer counts. Data that is not JSON, or over a limit, is an error, and counts as a failure to read
// the domain.
func (w *World) Set(domain string, s Snapshot) error {
	err := checkDomain(domain)
	if err == nil && s.At.IsZero() {
		err = errors.New("no time of reading")
	}
	if err != nil {
		return fmt.Errorf("goal: set domain %q: %w", domain, err)
	}
	var bad error
	if s.Err == nil {
		s.Data, bad = plain("data", s.Data)
		s.Err = bad
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d, err := w.domain(domain)
	if err == nil {
		w.set(domain, d, s)
	}
	if err = cmp.Or(err, bad); err != nil {
		return fmt.Errorf("goal: set domain %q: %w", domain, err)
	}
	return nil
}

// set replaces what is known of d by a snapshot whose data is plain.
func (w *World) set(name string, d *domain, s Snapshot) {
	if d.err = s.Err; s.Err != nil {
		return
	}
	d.has, d.data, d.at, d.maxAge = true, s.Data, s.At, cmp.Or(s.MaxAge, w.opts.MaxAge)
	w.changes = slices.DeleteFunc(w.changes, func(c overlay) bool {
		return c.dispatch == "" && c.place.domain == name && s.At.After(c.at)
	})
}

// domain returns the domain of that name, and makes it if there is none.
func (w *World) domain(name string) (*domain, error) {
	if d := w.domains[name]; d != nil {
		return d, nil
	}
	if len(w.domains) >= maxDomains {
		return nil, &store.LimitError{Field: "domains", Limit: maxDomains, Got: len(w.domains) + 1}
	}
	d := &domain{maxAge: w.opts.MaxAge}
	w.domains[name] = d
	return d, nil
}

// apply changes the world as workers report that they have changed it. A delta holds until its domain is read anew, or
// as long as a reading does. All deltas are applied, or none and the error says why.
func (w *World) apply(deltas []reason.Delta, at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	changes := slices.Clone(w.changes)
	for i, delta := range deltas {
		c, err := Change{Effect: reason.Effect{Domain: delta.Domain, Path: delta.Path}, Op: sets, Value: delta.Value}.overlay()
		if err == nil {
			_, err = w.domain(delta.Domain)
		}
		if err != nil {
			return fmt.Errorf("goal: delta %d: %w", i+1, err)
		}
		c.at, c.size = at, len(delta.Value)
		replaced := func(old overlay) bool { return old.dispatch == "" && !old.at.After(at) && c.place.within(old.place) }
		changes = append(slices.DeleteFunc(changes, replaced), c)
	}
	number, size := make(map[string]int), make(map[string]int)
	for _, c := range changes {
		if c.dispatch == "" {
			number[c.place.domain]++
			size[c.place.domain] += c.size
		}
	}
	for _, delta := range deltas {
		if n := number[delta.Domain]; n > maxDeltas {
			return &store.LimitError{Field: "changes of domain " + delta.Domain, Limit: maxDeltas, Got: n}
		}
		if n := size[delta.Domain]; n > maxBytes {
			return &store.LimitError{Field: "bytes of changes of domain " + delta.Domain, Limit: maxBytes, Got: n}
		}
	}
	w.changes = changes
	return nil
}

// expect assumes the changes of a dispatch that is under way, from at on and until the time given. A reading of a
// domain that began after at puts an end to them there. Several dispatches may change one value: each applies on top of
// the others in the order of their times. No changes take back what was expected of the dispatch.
func (w *World) expect(dispatch string, changes []overlay, at, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = slices.DeleteFunc(w.changes, func(c overlay) bool {
		return c.dispatch == dispatch || c.dispatch != "" && !c.until.After(at)
	})
	for _, c := range changes {
		if c.op != alters {
			c.dispatch, c.at, c.until = dispatch, at, until
			w.changes = append(w.changes, c)
		}
	}
}

// overlays returns the changes that count at a time, in the order of their time.
func (w *World) overlays(at time.Time) []overlay {
	var out []overlay
	for _, c := range w.changes {
		d := w.domains[c.place.domain]
		age := at.Sub(c.at)
		switch {
		case age < -maxAhead:
		case c.dispatch != "" && (!c.until.After(at) || d != nil && d.has && d.at.After(c.at)):
		case c.dispatch == "" && d.maxAge > 0 && age > d.maxAge:
		default:
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b overlay) int { return a.at.Compare(b.at) })
	return out
}

// maxAhead is how far ahead of a state a change may be dated. One that is further ahead was made before the clock was
// put back, and would outlast the readings since.
const maxAhead = time.Minute
