package memory

import (
	"sync"

	"github.com/arc-learn/arc/memory/internal/backlog"
	"github.com/arc-learn/arc/memory/internal/behind"
)

// unread is a record that the Extractor has yet to read.
type unread struct {
	scope Scope
	id    ID
	tries int
}

// reading is what a Bank has for its Extractor.
type reading struct {
	host Extractor // nil: none
	behind.Part
	waiting backlog.Backlog[unread] // those beyond its bound are in the store
	keeping sync.Mutex              // what was read of a scope is kept before Erase, or not at all
}

// states reports whether the Extractor is to read a record.
func (r *reading) states(rec *Record) bool {
	return r.host != nil && !rec.Kind.learned() && rec.Slot == Slot{} && rec.Source.Origin != Derived
}

// unread has a new record read, if it is to be.
func (r *reading) unread(s Scope, rec *Record) {
	if r.states(rec) {
		r.waiting.Add(unread{scope: s, id: rec.ID})
		r.Nudge()
	}
}

// again has a record read once more, after the others.
func (r *reading) again(u unread) {
	r.waiting.Again(u)
	r.Nudge()
}
