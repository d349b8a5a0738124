package table

import (
	"math"
	"slices"
	"time"
)

// conflictWindow is the time within which two who say different things of one
// slot contradict one another, rather than the later one telling a change.
const conflictWindow = time.Hour

// maxConflicts is how many records View.Relations names, at most, that contradict one.
const maxConflicts = 32

// MaxSteps ends a circle of records that supersede one another.
const MaxSteps = 64

// View is which records count: what is left out replaces nothing. What Decay has archived still does.
type View struct {
	Without Flags // records that have one of them are left out
	Before  int64 // no later At, in microseconds since 1970 as the next
	Known   int64 // no later Known
}

// Whole is a View that sees every record.
func Whole() View { return View{Before: math.MaxInt64, Known: math.MaxInt64} }

// sees reports whether e counts.
func (v *View) sees(e *Entry) bool {
	return v.Without&e.Flags&(Kinds|Quarantined) == 0 && e.At <= v.Before && e.Known <= v.Known
}

// statements returns what is said of the slot that e states, in order, and the value that e says.
func (v *View) statements(t *Table, e *Entry) (all []*Entry, value string) {
	slot := e.slot()
	if slot == nil {
		return nil, ""
	}
	for _, x := range t.slots[slot.of] {
		if v.sees(x) {
			all = append(all, x)
		}
	}
	return all, slot.value
}

// contradicts reports whether two who differ about a slot do so at one time: of
// the same At, or of two who speak within an hour.
// What is in quarantine contradicts what is trusted and was said before, at any
// time.
func contradicts(a, b *Entry) bool {
	if a.At < b.At && !b.MayReplace(a) || b.At < a.At && !a.MayReplace(b) {
		return true
	}
	apart := max(a.At, b.At) - min(a.At, b.At)
	return apart == 0 || apart <= conflictWindow.Microseconds() && (a.Actor != b.Actor || a.Source != b.Source)
}

// StandingLocked returns what holds in place of e: e itself, or what a host's Slot or Supersede
// says to replace it.
func (v *View) StandingLocked(t *Table, e *Entry) *Entry {
	last := e
	for range MaxSteps {
		switch by := v.superseding(t, last); by {
		case nil:
			return last
		case e:
			return e // a circle hides none of its own
		default:
			last = by
		}
	}
	return last
}

// superseding returns what replaces e, or nil.
func (v *View) superseding(t *Table, e *Entry) *Entry {
	for k := range e.Keys() {
		for _, by := range slices.Backward(t.over[k]) {
			if by != e && v.sees(by) && by.MayReplace(e) {
				return by
			}
		}
	}
	all, value := v.statements(t, e)
	for _, last := range slices.Backward(all) {
		switch {
		case last.At < e.At, e.MayReplace(last) && e.replaces(last):
			return nil
		case !last.MayReplace(e):
		case last.slot().value == value:
			return nil
		case !contradicts(last, e):
			return last
		}
	}
	return nil
}

// replaces reports whether the host says so.
func (e *Entry) replaces(o *Entry) bool {
	return slices.ContainsFunc(e.Links(), func(l Link) bool { return l.Rel == Supersedes && o.Is(l.To) })
}

// superseded returns the record that e, which holds, has replaced last, or nil. In a circle
// none has replaced another.
func (v *View) superseded(t *Table, e *Entry) *Entry {
	for _, l := range e.Links() {
		if l.Rel == Supersedes {
			if old := t.FindLocked(l.To); old != nil && v.sees(old) && e.MayReplace(old) && v.StandingLocked(t, old) != old {
				return old
			}
		}
	}
	all, value := v.statements(t, e)
	for _, x := range slices.Backward(all) {
		if x.slot().value != value && x.At <= e.At && !contradicts(x, e) {
			return x
		}
	}
	return nil
}

// Relations returns the record that e, which holds, has replaced last, nil if none, and those
// that contradict it, and hold as it does.
func (v *View) Relations(t *Table, e *Entry) (old *Entry, conflicts []*Entry) {
	if e.More == nil || e.More.Slot == nil && len(e.More.Links) == 0 {
		return nil, nil
	}
	t.Enter()
	defer t.Leave()
	all, value := v.statements(t, e)
	for _, x := range slices.Backward(all) {
		if len(conflicts) < maxConflicts && x.slot().value != value && contradicts(x, e) && v.superseding(t, x) == nil {
			conflicts = append(conflicts, x)
		}
	}
	return v.superseded(t, e), conflicts
}

// Opposing returns the records by whose links old has replaced by: old itself, and what it has
// replaced, one after the other.
func (t *Table) Opposing(old, by *Entry) (out []*Entry) {
	t.Enter()
	defer t.Leave()
	all := []*Entry{old}
	for i := 0; i < len(all); i++ {
		for _, l := range all[i].Links() {
			switch to := t.FindLocked(l.To); {
			case l.Rel != Supersedes || to == nil || slices.Contains(all, to):
			case to != by:
				all = append(all, to)
			case !slices.Contains(out, all[i]):
				out = append(out, all[i])
			}
		}
	}
	return out
}

// Overtaken reports whether something was said since e that replaces it, at least
// perhaps: who says the same at a time now says that it holds again. Nor does what states a
// slot at an earlier time become part of e.
func (t *Table) Overtaken(e *Entry, at int64) bool {
	t.Enter()
	defer t.Leave()
	v, guesses := Whole(), t.guesses[e.Key]
	perhaps := func(g Guess) bool { return !g.Outweighed(guesses) }
	earlier := e.slot() != nil && at < e.At
	return earlier || slices.ContainsFunc(guesses, perhaps) || v.superseding(t, e) != nil
}

// Current reports whether e is a Fact that states what holds of a slot that its
// host gave: no trusted record supersedes it, or none at all if it is not trusted.
func (t *Table) Current(e *Entry) bool {
	if e.Flags&Fact == 0 || e.slot() == nil {
		return false
	}
	t.Enter()
	defer t.Leave()
	v := Whole()
	v.Without = e.Flags&Quarantined ^ Quarantined
	return v.superseding(t, e) == nil
}

// Stating returns the records that have stated the value of a slot before a time.
func (t *Table) Stating(slot *Slot, before int64) (es []*Entry) {
	t.Enter()
	defer t.Leave()
	for _, x := range t.slots[slot.of] {
		if x.slot().value == slot.value && x.At < before {
			es = append(es, x)
		}
	}
	return es
}
