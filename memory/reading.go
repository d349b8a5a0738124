package memory

import (
	"sync"

	"github.com/arc-learn/arc/memory/internal/backlog"
	"github.com/arc-learn/arc/memory/internal/behind"
)

// unread is a record for the Extractor to read.
type unread struct {
	scope Scope
	id    ID
	tries int
}

// reading has the Extractor of a Bank, and the records that wait for it.
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

// unread queues a new record, if the Extractor is to read it.
func (r *reading) unread(s Scope, rec *Record) {
	if r.states(rec) {
		r.waiting.Add(unread{scope: s, id: rec.ID})
		r.Nudge()
	}
}

// again queues a record once more, after the others.
func (r *reading) again(u unread) {
	r.waiting.Again(u)
	r.Nudge()
}
