package memory

import (
	"sync"

	"github.com/arc-learn/arc/internal/behind"
)

// unread is a record that the Extractor has yet to read.
type unread struct {
	scope Scope
	id    ID
	tries int
}

// maxUnread is how many records wait in memory. What waits beyond that is in the store.
const maxUnread = 1024

// reading is what a Bank has for its Extractor. The lock is that of the queue.
type reading struct {
	host Extractor // nil: none
	behind.Part
	queue   []unread
	more    bool       // there may be others in the store
	keeping sync.Mutex // what was read of a scope is kept before Erase, or not at all
}

// states reports whether the Extractor is to read a record.
func (r *reading) states(rec *Record) bool {
	return r.host != nil && !rec.Kind.learned() && rec.Slot == Slot{} && rec.Source.Origin != Derived
}

// unread has a new record read, if it is to be.
func (r *reading) unread(s Scope, rec *Record) {
	if !r.states(rec) {
		return
	}
	r.Lock()
	if r.more = r.more || len(r.queue) >= maxUnread; !r.more {
		r.queue = append(r.queue, unread{scope: s, id: rec.ID})
	}
	r.Unlock()
	r.Nudge()
}

// again has a record read once more, after the others.
func (r *reading) again(u unread) {
	r.Lock()
	r.queue = append(r.queue, u)
	r.Unlock()
	r.Nudge()
}
