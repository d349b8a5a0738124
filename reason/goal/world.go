package goal

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// World is what is known about the world, by domain. It has no clock: times are
// given. What is put in is copied, and so is what is taken out.
type World struct {
	opts WorldOptions

	mu         sync.Mutex
	seq        uint64
	domains    map[string]*domain
	effects    map[string]*effects
	collectors []*collector
}

// WorldOptions configure [NewWorld]. The zero value is ready.
type WorldOptions struct {
	// MaxAge is how long a reading holds that does not say so itself. 0: ten
	// minutes; negative: for ever.
	MaxAge time.Duration
	// Failures is after how many failures in a row a collector is paused. 0:
	// 20; negative: never.
	Failures int
}

const (
	defaultMaxAge   = 10 * time.Minute
	defaultFailures = 20
)

// domain is what was read last, and what has changed since.
type domain struct {
	has    bool
	data   any // plain, never changed in place
	at     time.Time
	maxAge time.Duration // <= 0: for ever
	err    error
	deltas []overlay
}

// overlay is a change on top of what was read.
type overlay struct {
	place    place
	value    any  // plain
	add      bool // to the number that is there; else it replaces what is there
	expected bool
	at       time.Time
	seq      uint64 // orders changes of one time
	size     int    // of the value as it came in, in bytes
}

// effects are what one key expects.
type effects struct {
	changes []overlay
	until   time.Time
}

// NewWorld returns a world of which nothing is known.
func NewWorld(opts *WorldOptions) *World {
	w := &World{domains: make(map[string]*domain), effects: make(map[string]*effects)}
	if opts != nil {
		w.opts = *opts
	}
	if w.opts.MaxAge == 0 {
		w.opts.MaxAge = defaultMaxAge
	}
	if w.opts.Failures == 0 {
		w.opts.Failures = defaultFailures
	}
	return w
}

// Snapshot is a reading of a whole domain, or the failure to read it.
type Snapshot struct {
	// Data is any value that encodes as JSON, which a json.RawMessage is
	// already. Numbers are kept as float64, but for integers from 2^53, which
	// keep their digits.
	Data   any
	At     time.Time     // when the reading began; zero is refused, and what lies ahead is not old
	MaxAge time.Duration // how long it holds; 0: WorldOptions.MaxAge; negative: for ever
	Err    error         // not nil: it could not be read; what was known stays until it is too old
}

// Set replaces what is known of a domain. What was reported or expected before
// the reading began is dropped with it. If there is no such domain yet, it is
// made.
//
// Data that is not JSON, or over a limit, is an error, and is recorded as a
// failure to read the domain.
func (w *World) Set(domain string, s Snapshot) error {
	if err := checkDomain(domain); err != nil {
		return fmt.Errorf("goal: set: %w", err)
	}
	if s.At.IsZero() {
		return fmt.Errorf("goal: set domain %q: no time of reading", domain)
	}
	var bad error
	if s.Err == nil {
		s.Data, bad = plain("data", s.Data)
		s.Err = bad
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := cmp.Or(w.set(domain, s), bad); err != nil {
		return fmt.Errorf("goal: set domain %q: %w", domain, err)
	}
	return nil
}

// set is Set with data that is plain, under the lock.
func (w *World) set(domain string, s Snapshot) error {
	d, err := w.domain(domain)
	if err != nil {
		return err
	}
	if d.err = s.Err; s.Err != nil {
		return nil
	}
	d.has, d.data, d.at, d.maxAge = true, s.Data, s.At, s.MaxAge
	if d.maxAge == 0 {
		d.maxAge = w.opts.MaxAge
	}
	d.deltas = after(d.deltas, s.At)
	return nil
}

// after returns the changes that were not made before at.
func after(cs []overlay, at time.Time) []overlay {
	var out []overlay
	for _, c := range cs {
		if !at.After(c.at) {
			out = append(out, c)
		}
	}
	return out
}

// domain returns the domain of that name, which it makes if there is none.
func (w *World) domain(name string) (*domain, error) {
	d := w.domains[name]
	if d != nil {
		return d, nil
	}
	if len(w.domains) >= MaxDomains {
		return nil, &store.LimitError{Field: "domains", Limit: MaxDomains, Got: len(w.domains) + 1}
	}
	d = &domain{maxAge: w.opts.MaxAge}
	w.domains[name] = d
	return d, nil
}

// Apply changes the world as workers report that they have changed it. A
// delta holds as long as a reading of its domain does, or until the domain is
// read anew. All are applied, or none and the error says why.
func (w *World) Apply(deltas []reason.Delta, at time.Time) error {
	cs := make([]overlay, 0, len(deltas))
	for i := range deltas {
		p, err := parseEffect(reason.Effect{Domain: deltas[i].Domain, Path: deltas[i].Path})
		if err != nil {
			return fmt.Errorf("goal: delta %d: %w", i+1, err)
		}
		v, err := plain("value", deltas[i].Value)
		if err != nil {
			return fmt.Errorf("goal: delta %d, of %s: %w", i+1, p, err)
		}
		cs = append(cs, overlay{place: p, value: v, at: at, size: len(deltas[i].Value)})
	}
	if at.IsZero() {
		return errors.New("goal: apply: no time")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	grown := make(map[string][]overlay)
	for _, c := range cs {
		if _, seen := grown[c.place.domain]; !seen {
			d, err := w.domain(c.place.domain)
			if err != nil {
				return fmt.Errorf("goal: apply: %w", err)
			}
			grown[c.place.domain] = d.deltas
		}
		w.seq++
		c.seq = w.seq
		grown[c.place.domain] = append(uncovered(grown[c.place.domain], c), c)
	}
	for name, cs := range grown {
		if err := checkDeltas(name, cs); err != nil {
			return fmt.Errorf("goal: apply: %w", err)
		}
	}
	for name, cs := range grown {
		w.domains[name].deltas = cs
	}
	return nil
}

// maxDeltaBytes bounds what the changes of a domain take.
const maxDeltaBytes = 4 * MaxSnapshot

func checkDeltas(domain string, cs []overlay) error {
	size := 0
	for i := range cs {
		size += cs[i].size
	}
	if len(cs) > MaxDeltas {
		return &store.LimitError{Field: "changes of domain " + domain, Limit: MaxDeltas, Got: len(cs)}
	}
	if size > maxDeltaBytes {
		return &store.LimitError{Field: "bytes of changes of domain " + domain, Limit: maxDeltaBytes, Got: size}
	}
	return nil
}

// uncovered returns the changes that c does not replace.
func uncovered(cs []overlay, c overlay) []overlay {
	out := make([]overlay, 0, len(cs)+1)
	for _, old := range cs {
		if old.at.After(c.at) || !c.place.within(old.place) {
			out = append(out, old)
		}
	}
	return out
}

// Op is what a [Change] does to a value.
type Op string

// The operations.
const (
	Alters Op = ""    // changes it, nobody knows to what
	Sets   Op = "set" // replaces it by Value
	Adds   Op = "add" // adds Value, a number, to it
)

// Change is an effect of known size on a value of the world, or of unknown
// size.
type Change struct {
	Effect reason.Effect // such as {Domain: "ci", Path: "data.failing"}
	Op     Op
	Value  any // of Sets: what encodes as JSON; of Adds: a finite number, added as float64
}

// overlay checks the change and returns it as one. That of Alters is none,
// which ok says.
func (c Change) overlay() (out overlay, ok bool, err error) {
	if out.place, err = parseEffect(c.Effect); err != nil {
		return out, false, err
	}
	switch c.Op {
	case Alters:
		return out, false, nil
	case Sets, Adds:
	default:
		return out, false, fmt.Errorf("change of %s: unknown operation %q", out.place, c.Op)
	}
	if out.value, err = plain("value", c.Value); err != nil {
		return out, false, fmt.Errorf("change of %s: %w", out.place, err)
	}
	if out.add = c.Op == Adds; out.add {
		if _, ok := float(out.value); !ok {
			return out, false, fmt.Errorf("change of %s adds %s, which is no number", out.place, show(out.value))
		}
	}
	return out, true, nil
}

// add returns the sum of two numbers.
func add(old, by any) (any, bool) {
	a, ok := float(old)
	if !ok {
		return nil, false
	}
	b, _ := float(by) // checked when it came in
	sum := a + b
	return sum, math.Abs(sum) <= math.MaxFloat64
}

// Expect assumes changes that are under way, from at on and until the time
// given, under a key of the caller's; what the key expected before is
// replaced. A reading of a domain that began after at puts an end to it there.
// Changes of unknown size ([Alters]) and additions to what is no number, or is
// not known, change nothing.
//
// Several keys may change one value. Each applies on top of the others in the
// order of their times, and each can be taken back alone.
func (w *World) Expect(key string, changes []Change, at, until time.Time) error {
	if key == "" || !utf8.ValidString(key) {
		return fmt.Errorf("goal: expect: bad key %q", key)
	}
	if len(key) > MaxName {
		return &store.LimitError{Field: "key of effects", Limit: MaxName, Got: len(key)}
	}
	if len(changes) > MaxDeltas {
		return &store.LimitError{Field: "effects of a key", Limit: MaxDeltas, Got: len(changes)}
	}
	e := &effects{until: until}
	for _, change := range changes {
		c, sized, err := change.overlay()
		if err != nil {
			return fmt.Errorf("goal: expect %q: %w", key, err)
		}
		if sized {
			c.expected, c.at = true, at
			e.changes = append(e.changes, c)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	keys, all := 1, len(e.changes)
	for k, old := range w.effects {
		switch {
		case !old.until.After(at):
			delete(w.effects, k)
		case k != key:
			keys++
			all += len(old.changes)
		}
	}
	if most := max(keys, all); most > MaxEffects {
		return &store.LimitError{Field: "effects that are expected", Limit: MaxEffects, Got: most}
	}
	w.effects[key] = e
	w.date(e, at)
	return nil
}

// date lets effects count from at.
func (w *World) date(e *effects, at time.Time) {
	for i := range e.changes {
		w.seq++
		e.changes[i].at, e.changes[i].seq = at, w.seq
	}
}

// Settle says that what was expected under the key has been done, at a time.
// It counts as changed from then on: only a reading that began later puts an
// end to it, or the time until. What the work has reported itself is applied
// after it, see [World.Apply]. It returns whether the key was there.
func (w *World) Settle(key string, at, until time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.effects[key]
	if e == nil {
		return false
	}
	e.until = until
	w.date(e, at)
	return true
}

// Rollback takes back what was expected under the key, and nothing else. It
// returns whether the key was there.
func (w *World) Rollback(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, has := w.effects[key]
	delete(w.effects, key)
	return has
}
