package goal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// State is an unchanging view of a [World] at one time. The zero State knows
// nothing.
type State struct {
	at      time.Time
	domains map[string]*view
}

// view is a domain as it is seen at the time of a state.
type view struct {
	data    any // what is fresh of it, with all changes on top; nil if nothing is
	at      time.Time
	known   bool   // the snapshot is there and fresh; without, only marks are
	unknown string // why it is not
	marks   []mark // changes on top of the snapshot, in order
	own     own    // what was copied for them; nil once the view is given away
	err     error  // of the last attempt to read it
}

// mark is a change that was made to a view.
type mark struct {
	keys     []string
	at       time.Time
	absolute bool // the value was replaced: it is as fresh as the change
	expected bool
}

// Reading is a value of the world.
type Reading struct {
	// Value is nil, bool, float64, string, []any or map[string]any, or a
	// json.Number for an integer from 2^53 that a float64 might round.
	Value    any
	At       time.Time // when it was read or reported
	Expected bool      // it, or a part of it, is assumed: see World.Expect
}

// ErrUnknown is the error of a value that is not known. The text says why.
var ErrUnknown = errors.New("unknown")

// At returns the time of the state.
func (s State) At() time.Time { return s.at }

// Read returns the value under a selector, which is the caller's, or
// ErrUnknown with the reason.
func (s State) Read(selector string) (Reading, error) {
	r, err := s.read(selector, 0)
	r.Value = clone(r.Value)
	return r, err
}

// read is Read without the copy, and of values that are not older than maxAge
// unless that is 0.
func (s State) read(selector string, maxAge time.Duration) (Reading, error) {
	p, err := parseSelector(selector)
	if err != nil {
		return Reading{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return s.look(p, maxAge)
}

func (s State) look(p place, maxAge time.Duration) (Reading, error) {
	d := s.domains[p.domain]
	if d == nil {
		return Reading{}, fmt.Errorf("%w: domain %q was never read and has no collector", ErrUnknown, p.domain)
	}
	r := Reading{At: d.at}
	covered := d.known
	for _, m := range d.marks {
		at, inside := place{keys: m.keys}, place{keys: p.keys}
		switch {
		case at.within(inside):
			if m.absolute {
				r.At, r.Expected, covered = m.at, false, true
			}
			r.Expected = r.Expected || m.expected
		case inside.within(at):
			r.Expected = r.Expected || m.expected
		}
	}
	if !covered {
		return Reading{}, fmt.Errorf("%w: domain %q %s", ErrUnknown, p.domain, d.unknown)
	}
	var found bool
	if r.Value, found = lookup(d.data, p.keys[1:]); !found {
		return Reading{}, fmt.Errorf("%w: %s is not in what was read", ErrUnknown, p)
	}
	if age := s.at.Sub(r.At); maxAge > 0 && age > maxAge {
		return Reading{}, fmt.Errorf("%w: %s is %v old, more than %v", ErrUnknown, p, age, maxAge)
	}
	return r, nil
}

// Domain is how a domain of the world stands.
type Domain struct {
	Name  string
	Known bool      // it was read, and not too long ago
	At    time.Time // when it was last read; zero: never
	Err   error     // why the last attempt to read it failed; nil: it did not
}

// Domains returns how each domain stands, by name.
func (s State) Domains() []Domain {
	out := make([]Domain, 0, len(s.domains))
	for _, name := range slices.Sorted(maps.Keys(s.domains)) {
		d := s.domains[name]
		out = append(out, Domain{Name: name, Known: d.known, At: d.at, Err: d.err})
	}
	return out
}

// tried reports whether anybody has tried to read a domain.
func (s State) tried(domain string) bool {
	d := s.domains[domain]
	return d != nil && (d.err != nil || !d.at.IsZero())
}

// State returns the world as it is known at a time, which should not be before
// what was last done to it.
func (w *World) State(at time.Time) State {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := State{at: at, domains: make(map[string]*view, len(w.domains))}
	for name, d := range w.domains {
		s.domains[name] = d.view(at)
	}
	for _, c := range w.overlays(at) {
		v := s.domains[c.place.domain]
		if v == nil {
			v = &view{unknown: "was never read", own: make(own)}
			s.domains[c.place.domain] = v
		}
		v.change(c)
	}
	for _, v := range s.domains {
		v.own = nil
	}
	return s
}

func (d *domain) view(at time.Time) *view {
	v := &view{at: d.at, err: d.err, own: make(own)}
	switch age := at.Sub(d.at); {
	case !d.has && d.err != nil:
		v.unknown = fmt.Sprintf("could not be read: %v", d.err)
	case !d.has:
		v.unknown = "was never read"
	case d.maxAge > 0 && age > d.maxAge:
		v.unknown = fmt.Sprintf("was last read %v ago, more than %v", age, d.maxAge)
		if d.err != nil {
			v.unknown += fmt.Sprintf(": %v", d.err)
		}
	default:
		v.known, v.data = true, d.data
	}
	return v
}

// maxAhead is how far ahead of a state a change may be dated. One that is
// further was made before the clock was put back, and would outlast the readings
// since.
const maxAhead = time.Minute

// overlays returns the changes since the domains were read, in the order of
// their time.
func (w *World) overlays(at time.Time) []overlay {
	var out []overlay
	for _, d := range w.domains {
		for _, c := range d.deltas {
			if age := at.Sub(c.at); age >= -maxAhead && (d.maxAge <= 0 || age <= d.maxAge) {
				out = append(out, c)
			}
		}
	}
	for _, e := range w.effects {
		if !e.until.After(at) {
			continue
		}
		for _, c := range e.changes {
			if d := w.domains[c.place.domain]; at.Sub(c.at) >= -maxAhead && (d == nil || !d.has || !d.at.After(c.at)) {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b overlay) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.seq, b.seq))
	})
	return out
}

// change applies a change to the view, unless there is nothing to apply it to.
func (v *view) change(c overlay) {
	value := c.value
	if c.add {
		old, _ := lookup(v.data, c.place.keys[1:])
		sum, ok := add(old, c.value)
		if !ok {
			return
		}
		value = sum
	}
	data, ok := v.own.put(v.data, c.place.keys[1:], value)
	if !ok {
		return
	}
	v.data = data
	v.marks = append(v.marks, mark{c.place.keys, c.at, !c.add, c.expected})
}
