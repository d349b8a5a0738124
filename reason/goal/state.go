package goal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// state is an unchanging view of a World at one time. The zero state knows nothing.
type state struct {
	at      time.Time
	domains map[string]view
}

// view is a domain as it is seen at the time of a state.
type view struct {
	data  any // what is fresh of it, with all changes on top; nil if nothing is
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

// after returns the state once the changes are made to it, in their order. An addition to what is no number, or not
// known, changes nothing, and neither does what has no place in a list.
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
		// A change that covers another one says all that there is to say of its place.
		covered := func(m overlay) bool { return c.place.within(m.place) && (c.op == sets || c.op == m.op) }
		v.marks = append(slices.DeleteFunc(v.marks, covered), c)
		s.domains[c.place.domain] = v
	}
	return s
}

// read returns the value of a place, or errUnknown with the reason. A value that is older than maxAge is unknown, unless
// maxAge is 0.
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
