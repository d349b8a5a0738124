package table

import (
	"cmp"
	"slices"

	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/phrase"
)

// compareStated orders the statements of a slot: the later one replaces.
func compareStated(a, b *Entry) int {
	return cmp.Or(
		cmp.Compare(a.At, b.At), cmp.Compare(a.Known, b.Known), CompareNames(a, b), cmp.Compare(a.Row, b.Row))
}

// Trigger is a phrase that brings a record.
type Trigger struct {
	Of    *Entry
	Words []string // folded
}

// Guess is a record that perhaps replaces another.
type Guess struct {
	By          ident.Key
	Probability float64
	Of          Evidence
}

// Evidence says by what a record is taken to replace another. What it says is in memory.Evidence.
type Evidence string

// The evidence.
const (
	ByCue       Evidence = "cue"
	ByOverlap   Evidence = "overlap"
	ByMeaning   Evidence = "meaning"
	ByExtractor Evidence = "extractor"
)

// Outweighs reports whether a guess by e of two records takes the place of one by o: who
// has read both knows better than their words, and these than vectors.
func (e Evidence) Outweighs(o Evidence) bool {
	return e != o && (e == ByExtractor || o == ByMeaning)
}

// Outweighed reports whether another of the guesses says better what this one does, or
// that it is wrong.
func (g Guess) Outweighed(guesses []Guess) bool {
	return g.Probability == 0 ||
		slices.ContainsFunc(guesses, func(o Guess) bool { return o.By == g.By && o.Of.Outweighs(g.Of) })
}

// ties are what records of a scope state and say of one another, and what brings them.
type ties struct {
	slots    map[string][]*Entry    // by Slot.of, in order
	over     map[ident.Key][]*Entry // what hosts say to supersede a record, the latest last
	into     map[ident.Key][]*Entry // what links to it, once for each link, in order
	guesses  map[ident.Key][]Guess  // what perhaps replaces it
	triggers []Trigger              // of all records, in no order
}

func newTies() ties {
	return ties{
		slots: make(map[string][]*Entry), over: make(map[ident.Key][]*Entry), into: make(map[ident.Key][]*Entry),
		guesses: make(map[ident.Key][]Guess),
	}
}

// state notes what a record states and supersedes, and what brings it.
func (t *ties) state(e *Entry) {
	if e.More == nil {
		return
	}
	if slot := e.slot(); slot != nil {
		t.slots[slot.of] = ranged(t.slots[slot.of], e)
	}
	for _, p := range e.More.Triggers {
		t.triggers = append(t.triggers, Trigger{e, phrase.Parts(p)})
	}
	for _, l := range e.More.Links {
		if t.into[l.To] = ranged(t.into[l.To], e); l.Rel == Supersedes {
			t.over[l.To] = ranged(t.over[l.To], e)
		}
	}
}

// ranged returns the records, which are in order, with e.
func ranged(es []*Entry, e *Entry) []*Entry {
	i, _ := slices.BinarySearchFunc(es, e, compareStated)
	return slices.Insert(es, i, e)
}

// unstate takes that back.
func (t *ties) unstate(e *Entry) {
	if e.More == nil {
		return
	}
	is := func(x *Entry) bool { return x == e }
	if slot := e.slot(); slot != nil {
		if t.slots[slot.of] = slices.DeleteFunc(t.slots[slot.of], is); len(t.slots[slot.of]) == 0 {
			delete(t.slots, slot.of)
		}
	}
	if e.More.Triggers != nil {
		t.triggers = slices.DeleteFunc(t.triggers, func(x Trigger) bool { return is(x.Of) })
	}
	for _, l := range e.More.Links {
		for _, from := range []map[ident.Key][]*Entry{t.into, t.over} {
			if from[l.To] = slices.DeleteFunc(from[l.To], is); len(from[l.To]) == 0 {
				delete(from, l.To)
			}
		}
	}
}

// TriggersLocked are the phrases that bring records.
func (t *ties) TriggersLocked() []Trigger { return t.triggers }

// GuessesLocked are what perhaps replaces a record.
func (t *ties) GuessesLocked(of ident.Key) []Guess { return t.guesses[of] }

// DoubtsLocked reports whether something perhaps replaces e.
func (t *ties) DoubtsLocked(e *Entry) bool {
	if len(t.guesses) == 0 {
		return false
	}
	for k := range e.Keys() {
		if len(t.guesses[k]) > 0 {
			return true
		}
	}
	return false
}

// HidesLocked reports whether records may take the place of others.
func (t *ties) HidesLocked() bool { return len(t.slots)+len(t.over) > 0 }
