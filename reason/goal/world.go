package goal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// World is what is known about the world, by domain. It has no clock: times are
// given. What is put in is copied.
//
// A value is at most 1 MiB of JSON, nested 64 deep; a world has at most 1,024
// domains, and 1,024 changes that were reported since the domains were read. What
// is over a limit is a *store.LimitError.
type World struct {
	opts WorldOptions

	mu      sync.Mutex
	domains map[string]*domain
	changes []overlay // on top of what was read, in the order in which they came
}

// WorldOptions configure [NewWorld]. The zero value is ready.
type WorldOptions struct {
	// MaxAge is how long a reading holds that does not say so itself. 0: ten
	// minutes; negative: for ever.
	MaxAge time.Duration
	// Failures is after how many failures in a row a collector is paused. 0: 20;
	// negative: never.
	Failures int
}

const (
	maxDomains = 1 << 10
	// maxDeltas bounds the changes since the readings, and the effects of an action.
	maxDeltas = 1 << 10
	maxBytes  = 4 * maxValue // of the changes reported
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
	// Data is any value that encodes as JSON, which a json.RawMessage is already.
	// Numbers are kept as float64, except integers from 2^53 on, which keep their
	// digits.
	Data any
	// At is when the reading began. Zero is refused, and what lies ahead is not old.
	At time.Time
	// MaxAge is how long the reading holds. 0: WorldOptions.MaxAge; negative: for ever.
	MaxAge time.Duration
	// Err is why the domain could not be read. What was known stays until it is too old.
	Err error
}

// Set replaces what is known of a domain, and makes the domain if it is new. What
// was reported or expected before the reading began no longer counts. Data that is
// not JSON, or over a limit, is an error, and counts as a failure to read the
// domain.
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

// apply changes the world as workers report that they have changed it. A delta
// holds until its domain is read anew, or as long as a reading does. All deltas are
// applied, or none and the error says why.
func (w *World) apply(deltas []reason.Delta, at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	changes := slices.Clone(w.changes)
	for i, delta := range deltas {
		e := reason.Effect{Domain: delta.Domain, Path: delta.Path}
		c, err := Change{Effect: e, Op: sets, Value: delta.Value}.overlay()
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
	reported, size := 0, 0
	for _, c := range changes {
		if c.dispatch == "" {
			reported++
			size += c.size
		}
	}
	switch {
	case len(deltas) > 0 && reported > maxDeltas:
		return &store.LimitError{Field: "reported changes", Limit: maxDeltas, Got: reported}
	case len(deltas) > 0 && size > maxBytes:
		return &store.LimitError{Field: "bytes of reported changes", Limit: maxBytes, Got: size}
	}
	w.changes = changes
	return nil
}

// expect assumes the changes of a dispatch that is under way, from at on and until
// the time given. A reading of a domain that began after at puts an end to them
// there. Several dispatches may change one value: each applies on top of the others
// in the order of their times. No changes take back what was expected of the
// dispatch.
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

// maxAhead is how far ahead of a state a change may be dated. One that is further
// ahead was made before the clock was put back, and would outlast the readings
// since.
const maxAhead = time.Minute

// Change is what an [Action] does to a value of the world.
type Change struct {
	Effect reason.Effect // the value, such as {Domain: "ci", Path: "data.failing"}
	// Op is set (the value becomes Value), add (Value, a number, is added to it),
	// or "" (the value changes, and the action does not say to what).
	Op    string
	Value any // encodes as JSON; of add: a finite number
}

// The operations of a change.
const (
	alters = ""
	sets   = "set"
	adds   = "add"
)

// overlay is a change that was checked, as it lies on top of what was read.
type overlay struct {
	place    place
	op       string
	value    any // plain
	at       time.Time
	until    time.Time // zero: as long as a reading of the domain does
	dispatch string    // that expects the change; "": a worker has reported it
	size     int       // of the value as it came in, in bytes
}

// overlay checks the change and returns it as one.
func (c Change) overlay() (out overlay, err error) {
	if out.place, err = parseEffect(c.Effect); err != nil {
		return out, err
	}
	if out.op = c.Op; c.Op == alters {
		return out, nil
	}
	if out.value, err = plain("value", c.Value); err != nil {
		return out, fmt.Errorf("change of %s: %w", out.place, err)
	}
	if _, isNumber := float(out.value); c.Op == adds && !isNumber {
		return out, fmt.Errorf("change of %s adds %s, which is no number", out.place, short(encoded(out.value)))
	}
	if c.Op != sets && c.Op != adds {
		return out, fmt.Errorf("change of %s: unknown operation %q", out.place, c.Op)
	}
	return out, nil
}

// after returns the value at the overlay's place in data once the change is made.
// It reports false if there is no number to add to, or the sum is none.
func (c *overlay) after(data any) (any, bool) {
	if c.op == sets {
		return c.value, true
	}
	old, _ := lookup(data, c.place.keys[1:])
	number, ok := float(old)
	by, _ := float(c.value) // checked when it came in
	return number + by, ok && math.Abs(number+by) <= math.MaxFloat64
}

func changesPlace(changes []overlay, p place) bool {
	return slices.ContainsFunc(changes, func(c overlay) bool { return c.place.overlaps(p) })
}

// state is an unchanging view of a World at one time. The zero state knows nothing.
type state struct {
	at      time.Time
	domains map[string]view
}

// view is a domain as it is seen at the time of a state.
type view struct {
	// data is what is fresh of the domain, with all changes on top; nil if nothing is.
	data  any
	at    time.Time
	why   string    // it is unknown; "": the reading is there and fresh
	tried bool      // a reading was tried
	marks []overlay // changes on top of the reading, in order
}

// reading is a value of the world.
type reading struct {
	value    any // plain, shared
	at       time.Time
	expected bool
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
	return s.after(w.overlays(at))
}

// unknown says why what was read of a domain is not known at a time; "" if it is.
func (d *domain) unknown(at time.Time) string {
	switch age := at.Sub(d.at); {
	case !d.has && d.err != nil:
		return fmt.Sprintf("could not be read: %v", d.err)
	case !d.has:
		return "was never read"
	case d.maxAge > 0 && age > d.maxAge && d.err != nil:
		return fmt.Sprintf("was last read %v ago, more than %v: %v", age, d.maxAge, d.err)
	case d.maxAge > 0 && age > d.maxAge:
		return fmt.Sprintf("was last read %v ago, more than %v", age, d.maxAge)
	}
	return ""
}

// after returns the state once the changes are made to it, in their order. An
// addition to what is no number, or not known, changes nothing, and neither does
// what has no place in a list.
func (s state) after(changes []overlay) state {
	s.domains = maps.Clone(s.domains)
	done, marked := make(copied), make(map[string]bool)
	for _, c := range changes {
		v, known := s.domains[c.place.domain]
		if !known {
			v.why = "was never read"
		}
		if c.op != alters {
			value, ok := c.after(v.data)
			if ok {
				value, ok = done.put(v.data, c.place.keys[1:], value)
			}
			if !ok {
				continue
			}
			v.data = value
		}
		if !marked[c.place.domain] {
			marked[c.place.domain], v.marks = true, slices.Clone(v.marks)
		}
		// A change that covers another one says all that there is to say of its
		// place.
		covered := func(m overlay) bool { return c.place.within(m.place) && (c.op == sets || c.op == m.op) }
		v.marks = append(slices.DeleteFunc(v.marks, covered), c)
		s.domains[c.place.domain] = v
	}
	return s
}

// read returns the value of a place, or errUnknown with the reason. A value that is
// older than maxAge is unknown, unless maxAge is 0.
func (s state) read(p place, maxAge time.Duration) (reading, error) {
	v, has := s.domains[p.domain]
	if !has {
		return reading{}, fmt.Errorf("%w: domain %q was never read and has no collector", errUnknown, p.domain)
	}
	r, why := reading{at: v.at}, v.why
	for _, c := range v.marks {
		expected := c.dispatch != ""
		switch {
		case !c.place.overlaps(p):
		case c.op == alters:
			why = "is changed by an action that does not say to what"
		case c.op == sets && c.place.within(p): // the value is as fresh as the change
			r.at, r.expected, why = c.at, expected, ""
		default:
			r.expected = r.expected || expected
		}
	}
	if why != "" {
		return reading{}, fmt.Errorf("%w: domain %q %s", errUnknown, p.domain, why)
	}
	var found bool
	if r.value, found = lookup(v.data, p.keys[1:]); !found {
		return reading{}, fmt.Errorf("%w: %s is not in what was read", errUnknown, p)
	}
	if age := s.at.Sub(r.at); maxAge > 0 && age > maxAge {
		return reading{}, fmt.Errorf("%w: %s is %v old, more than %v", errUnknown, p, age, maxAge)
	}
	return r, nil
}
