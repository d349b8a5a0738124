package memory

import (
	"cmp"
	"slices"

	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/phrase"
)

// stated is a record that states a slot. The value is folded.
type stated struct {
	*entry
	value string
}

// compareStated orders the statements of a slot: the later one replaces.
func compareStated(a, b stated) int {
	return cmp.Or(
		cmp.Compare(a.at, b.at), cmp.Compare(a.known, b.known), compareIDs(a.entry, b.entry), cmp.Compare(a.row, b.row))
}

// trigger is a phrase that brings a record.
type trigger struct {
	e     *entry
	words []string // folded
}

// guess is a record that perhaps replaces another.
type guess struct {
	by ident.Key
	p  float64
	of Evidence
}

// supersedes is the Rel of a link to what a record replaces, see Supersede.
const supersedes = "supersedes"

// ties are what records of a scope state and say of one another, and what brings them.
type ties struct {
	slots    map[string][]stated    // by Slot.key, in order
	over     map[ident.Key][]*entry // what hosts say to supersede a record
	into     map[ident.Key][]*entry // what links to it, once for each link
	guesses  map[ident.Key][]guess  // what perhaps replaces it
	triggers []trigger              // of all records, in no order
}

func newTies() ties {
	return ties{
		slots: make(map[string][]stated), over: make(map[ident.Key][]*entry), into: make(map[ident.Key][]*entry),
		guesses: make(map[ident.Key][]guess),
	}
}

// stateLocked notes what a record states and supersedes, and what brings it. The caller holds mu.
func (t *ties) stateLocked(e *entry) {
	if slot := e.slot(); slot != nil {
		k, x := slot.key(name(e.actor)), stated{e, slot.folded()}
		i, _ := slices.BinarySearchFunc(t.slots[k], x, compareStated)
		t.slots[k] = slices.Insert(t.slots[k], i, x)
	}
	if e.more != nil {
		for _, p := range e.more.triggers {
			t.triggers = append(t.triggers, trigger{e, phrase.Parts(p)})
		}
	}
	for _, l := range e.links() {
		to := ident.Of(l.To)
		if t.into[to] = append(t.into[to], e); l.Rel == supersedes {
			t.over[to] = append(t.over[to], e)
		}
	}
}

// unstateLocked takes that back.
func (t *ties) unstateLocked(e *entry) {
	is := func(x *entry) bool { return x == e }
	if slot := e.slot(); slot != nil {
		k := slot.key(name(e.actor))
		if t.slots[k] = slices.DeleteFunc(t.slots[k], func(x stated) bool { return is(x.entry) }); len(t.slots[k]) == 0 {
			delete(t.slots, k)
		}
	}
	if e.more != nil && e.more.triggers != nil {
		t.triggers = slices.DeleteFunc(t.triggers, func(x trigger) bool { return is(x.e) })
	}
	for _, l := range e.links() {
		for _, from := range []map[ident.Key][]*entry{t.into, t.over} {
			to := ident.Of(l.To)
			if from[to] = slices.DeleteFunc(from[to], is); len(from[to]) == 0 {
				delete(from, to)
			}
		}
	}
}
