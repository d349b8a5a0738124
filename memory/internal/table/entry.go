// Package table holds the records of one scope in memory, with what searches need of them:
// their texts, counters, words and vectors, and which of them takes the place of which. It knows
// neither the store nor the types that hosts see.
package table

import (
	"bytes"
	"cmp"
	"iter"
	"math"
	"slices"
	"sync/atomic"
	"unique"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// Entry is a record as it is kept in memory. Only its counters change: a change
// of anything else replaces it. What most records have is here, what few have is
// in More. Names are shared with the other records that have them.
type Entry struct {
	Key    ident.Key
	Text   string // trigger and content; "" if the record is cold
	counts atomic.Pointer[tally.Counts]
	More   *More // nil: none of that
	Actor  unique.Handle[string]
	Thread unique.Handle[string]
	Source unique.Handle[Source]
	At     int64          // microseconds since 1970, as Known is
	Known  int64          // when it was recorded
	Rev    store.Revision // of the record, not of the counters
	Row    uint32         // in its Table; 0 before Put
	Cut    uint16         // length of the trigger, unless the record is cold
	Flags  Flags
	Seq    uint32 // above those of the records made before in the scope
	Dim    uint16 // of the vector, which is stored beside it; 0: none
}

// More is what few records have.
type More struct {
	Foreign  string      // the id, if package ident has not made it
	Former   []ident.Key // ids of records that became part of it
	Links    []Link
	Slot     *Slot    // that the host gave
	Triggers []string // phrases that bring it
	Vouched  int64    // microseconds since 1970; 0: it was in no quarantine
	Rest     any      // what the package above keeps, and nothing here reads
}

// Source is where a text comes from: it is compared, and not read.
type Source struct{ Origin, Ref, Run string }

// Link points to another record of the scope.
type Link struct {
	To  ident.Key
	Rel string
}

// Supersedes is the Rel of a link to what a record replaces.
const Supersedes = "supersedes"

// Flags are what a query can leave out by, and what else is true of a record or not.
type Flags uint16

// The flags. Those of kinds are first, and each record has one of them.
const (
	failure Flags = 1 << iota
	pattern
	Fact
	Episode
	Quarantined
	Archived // in the index only: the counters say so
	Cold     // its texts are on disk
	Repaired
	Passing
	Derived // by arc, from an outcome

	Lesson = failure | pattern
	Kinds  = Lesson | Fact | Episode
)

// Untold are the flags of what Table.Told leaves out, beside what is Derived.
const Untold = Episode | Quarantined

// Trusted reports whether the record is not in quarantine.
func (f Flags) Trusted() bool { return f&Quarantined == 0 }

// marks are the flags that the index has of e.
func (e *Entry) marks() index.Flags {
	f := e.Flags & (Kinds | Quarantined)
	if e.Counts().Archived {
		f |= Archived
	}
	return index.Flags(f)
}

// Intern returns the handle of a value that records share: the zero handle of the zero value.
func Intern[T comparable](v T) (h unique.Handle[T]) {
	var zero T
	if v != zero {
		h = unique.Make(v)
	}
	return h
}

// Value returns what a handle of Intern stands for.
func Value[T comparable](h unique.Handle[T]) (v T) {
	if h != (unique.Handle[T]{}) {
		v = h.Value()
	}
	return v
}

// none is the counters of a record that has none. It is never changed.
var none tally.Counts

// Counts returns the counters as they stand.
func (e *Entry) Counts() *tally.Counts {
	if c := e.counts.Load(); c != nil {
		return c
	}
	return &none
}

// Count replaces the counters of a record that is in no Table yet, see Table.Tally.
func (e *Entry) Count(c *tally.Counts) {
	if c.Zero() {
		c = nil
	}
	e.counts.Store(c)
}

// Told is when the record was made, or its quarantine ended, the later: the beginning of time if
// arc has derived it.
func (e *Entry) Told() int64 {
	if e.Flags&Derived != 0 {
		return math.MinInt64
	}
	return e.made()
}

// made is when the record was made, or its quarantine ended, the later.
func (e *Entry) made() int64 {
	if e.More == nil {
		return e.Known
	}
	return max(e.Known, e.More.Vouched)
}

// Changed is when the record was last made, said again or used, in microseconds since 1970.
func (e *Entry) Changed() int64 {
	c := e.Counts()
	return max(e.Known, int64(c.LastUsed), int64(c.Said))
}

// Links returns what the record points to.
func (e *Entry) Links() []Link {
	if e.More == nil {
		return nil
	}
	return e.More.Links
}

// slot returns what the record states, nil if nothing.
func (e *Entry) slot() *Slot {
	if e.More == nil {
		return nil
	}
	return e.More.Slot
}

// Is reports whether k is the id of e, or a former one that leads to it.
func (e *Entry) Is(k ident.Key) bool {
	return e.Key == k || e.More != nil && slices.Contains(e.More.Former, k)
}

// Name returns the id.
func (e *Entry) Name() string {
	if e.Key.Foreign() {
		return e.More.Foreign
	}
	var buf [ident.Length]byte
	return string(e.AppendName(buf[:0]))
}

// AppendName appends the id to buf.
func (e *Entry) AppendName(buf []byte) []byte {
	if e.Key.Foreign() {
		return append(buf, e.More.Foreign...)
	}
	return e.Key.Append(buf)
}

// Keys yields the ids that lead to e.
func (e *Entry) Keys() iter.Seq[ident.Key] {
	return func(yield func(ident.Key) bool) {
		if !yield(e.Key) || e.More == nil {
			return
		}
		for _, k := range e.More.Former {
			if !yield(k) {
				return
			}
		}
	}
}

// Before orders entries by At, then id.
func Before(a, b *Entry) int {
	return cmp.Or(cmp.Compare(a.At, b.At), CompareNames(a, b))
}

// CompareNames orders entries as their ids are ordered.
func CompareNames(a, b *Entry) int {
	if a.Key.Foreign() || b.Key.Foreign() {
		return cmp.Compare(a.Name(), b.Name())
	}
	return bytes.Compare(a.Key[:], b.Key[:])
}

// After reports whether e tells of a later time than o, or was made later. Of two that two Banks have made,
// the id decides.
func (e *Entry) After(o *Entry) bool {
	if e.At != o.At || e.Seq != o.Seq {
		return e.At > o.At || e.At == o.At && e.Seq > o.Seq
	}
	return CompareNames(e, o) > 0
}

// ByTime sorts the entries by At, then id.
func ByTime(es []*Entry) []*Entry {
	slices.SortFunc(es, Before)
	return es
}

// MayReplace reports whether e may take the place of o unless the host says so:
// what is in quarantine does not take that of what is trusted.
func (e *Entry) MayReplace(o *Entry) bool { return e.Flags.Trusted() || !o.Flags.Trusted() }
