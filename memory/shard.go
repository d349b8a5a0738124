package memory

import (
	"context"
	"sync"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/lexical"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// shard holds the records of one scope in memory, and their index.
type shard struct {
	scope  Scope
	part   string // of keys
	counts string // prefix of the keys of counters
	marks  string // prefix of the keys of feedback

	// edit is held by whoever changes a record that exists, from reading it
	// until the change is in the store and in memory. Whoever stores a new
	// record holds claims instead, so that many can share a commit.
	edit   sync.Mutex
	claims claims

	mu struct {
		sync.RWMutex
		entries []*entry      // by slot; nil: gone
		slots   map[ID]uint32 // former ids included
		fan     map[ID]int    // links that begin or end at a record
		index   *lexical.Index
		live    int
		dim     int // of the vectors; 0: there is none yet
	}
}

// entry is a record as it stands. It is immutable: a change replaces it.
type entry struct {
	rec    *Record
	counts *counts
	rev    store.Revision // of the record, not of the counters
	at     instant        // rec.At, less what is below a microsecond
	slot   uint32
}

// record returns a copy for the caller.
func (e *entry) record() (r Record) {
	e.copy(&r)
	return r
}

// copy writes a copy for the caller to r.
func (e *entry) copy(r *Record) {
	*r = *e.rec
	r.own()
	r.Stats = e.counts.stats()
	r.Archived = e.counts.Archived
}

func newShard(s Scope) *shard {
	sh := &shard{scope: s, part: scopePart(s)}
	sh.counts, sh.marks = key.Prefix(root, countsPart, sh.part), key.Prefix(root, feedbackPart, sh.part)
	sh.claims.held = make(map[string]chan struct{})
	sh.mu.slots = make(map[ID]uint32)
	sh.mu.fan = make(map[ID]int)
	sh.mu.index = lexical.New()
	return sh
}

// entry returns the record that the id leads to, or nil.
func (sh *shard) entry(id ID) *entry {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return sh.entryLocked(id)
}

func (sh *shard) entryLocked(id ID) *entry {
	slot, ok := sh.mu.slots[id]
	if !ok {
		return nil
	}
	return sh.mu.entries[slot]
}

// snapshot returns all entries, in the order in which they were indexed.
func (sh *shard) snapshot() []*entry {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	out := make([]*entry, 0, sh.mu.live)
	for _, e := range sh.mu.entries {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

// put makes a record visible, in place of the one with its id, if any, and of
// those that became part of it.
func (sh *shard) put(r *Record, d lexical.Doc, c *counts, rev store.Revision, merged ...ID) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.removeLocked(r.ID)
	for _, id := range merged {
		sh.removeLocked(id)
	}
	slot := uint32(len(sh.mu.entries))
	sh.mu.entries = append(sh.mu.entries, &entry{r, c, rev, instantOf(r.At), slot})
	sh.mu.index.Put(slot, d)
	sh.mu.live++
	if sh.mu.dim == 0 {
		sh.mu.dim = len(r.Vector)
	}
	sh.mu.slots[r.ID] = slot
	for _, v := range r.Variants {
		if v.ID != "" {
			sh.mu.slots[v.ID] = slot
		}
	}
	for _, l := range r.Links {
		sh.mu.fan[r.ID]++
		sh.mu.fan[l.To]++
	}
}

// remove makes the records with the ids invisible.
func (sh *shard) remove(ids ...ID) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, id := range ids {
		sh.removeLocked(id)
	}
}

func (sh *shard) removeLocked(id ID) {
	e := sh.entryLocked(id)
	if e == nil || e.rec.ID != id {
		return
	}
	sh.mu.entries[e.slot] = nil
	sh.mu.index.Delete(e.slot)
	sh.mu.live--
	delete(sh.mu.slots, id)
	for _, v := range e.rec.Variants {
		delete(sh.mu.slots, v.ID)
	}
	for _, l := range e.rec.Links {
		sh.unlinkLocked(id)
		sh.unlinkLocked(l.To)
	}
}

func (sh *shard) unlinkLocked(id ID) {
	if sh.mu.fan[id]--; sh.mu.fan[id] <= 0 {
		delete(sh.mu.fan, id)
	}
}

// count replaces the counters of records.
func (sh *shard) count(changes ...change) {
	fresh := make([]entry, len(changes))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for i, c := range changes {
		if e := sh.entryLocked(c.id); e != nil {
			fresh[i] = *e
			fresh[i].counts = c.counts
			sh.mu.entries[e.slot] = &fresh[i]
		}
	}
}

// document returns what is indexed of r.
func document(r *Record) lexical.Doc {
	d := lexical.Doc{Trigger: terms(r.Trigger), Content: terms(r.Content), Actor: terms(r.Actor)}
	for _, v := range r.Variants {
		d.Extra = text.Append(d.Extra, v.Trigger)
		d.Extra = text.Append(d.Extra, v.Content)
	}
	return d
}

func terms(s string) []text.Term {
	if s == "" {
		return nil
	}
	return text.Append(make([]text.Term, 0, len(s)/5+1), s)
}

// claims are names that one goroutine at a time may work on.
type claims struct {
	sync.Mutex
	held map[string]chan struct{} // closed at release
}

// claim takes all of names at once, when nobody holds any of them, and returns
// what gives them back. Whoever holds a claim must not ask for another.
func (c *claims) claim(ctx context.Context, names []string) (release func(), err error) {
	for {
		c.Lock()
		busy := c.busyLocked(names)
		if busy == nil {
			break
		}
		c.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	done := make(chan struct{})
	for _, n := range names {
		c.held[n] = done
	}
	c.Unlock()
	return func() {
		c.Lock()
		defer c.Unlock()
		for _, n := range names {
			delete(c.held, n)
		}
		close(done)
	}, nil
}

func (c *claims) busyLocked(names []string) chan struct{} {
	for _, n := range names {
		if ch, ok := c.held[n]; ok {
			return ch
		}
	}
	return nil
}
