// Package index finds records by the words of their texts.
//
// An [Index] is an inverted index in memory. Records are put under slots,
// searched for by terms, and deleted again. The score is BM25F over the fields
// of a record (Robertson and Zaragoza, The Probabilistic Relevance Framework:
// BM25 and Beyond, 2009, §3.5 and §3.6); its constants are in recipe.go. What
// [Index.Search] returns is exact: terms that cannot make a difference any more
// are left out of the work, but never out of the result.
//
// One goroutine may write at a time, any number may read meanwhile: readers
// take no lock, and no writer waits for them. A search sees every record whose
// Put had returned before it began, whole, and none whose Delete had.
package index

import (
	"sync/atomic"

	"github.com/arc-learn/arc/internal/text"
)

// Doc is what is indexed of a record.
type Doc struct {
	Trigger, Content, Actor []text.Term
	// Extra are further terms under which the record is found, and Date those
	// of its date. They do not add to its length.
	Extra, Date []text.Term
	// Thread is the conversation that the record is part of; "" is none. Its
	// records are in order of At, then of Tie, then of slot.
	Thread  string
	At, Tie int64
	// Asks says that the content ends with a question mark.
	Asks  bool
	Flags Flags
}

// Flags are marks that the owner gives to records, in the lower 12 bits.
type Flags uint16

// What the index itself marks.
const (
	dead Flags = 1 << (15 - iota)
	asks
	own = 1<<12 - 1 // the owner's
)

// Index finds slots, which are numbers that the owner gives to records: each to
// one record only, ever, and in ascending order. It costs some bytes for a slot
// that is skipped or deleted.
type Index struct {
	terms dict[term]
	cols  atomic.Pointer[columns]
	limit atomic.Uint32 // slots below it may be seen
	live  atomic.Int64
	norms atomic.Pointer[norms]

	// The writer's.
	total   float64 // length of all live records
	touched []*term // of the record at hand
}

// columns are what is kept by slot.
type columns struct {
	meta []atomic.Uint32 // flags <<16 | own length <<8 | length in its thread
}

// New returns an empty Index.
func New() *Index {
	ix := &Index{terms: newDict(func(t *term) string { return t.text })}
	ix.cols.Store(new(columns))
	ix.norms.Store(newNorms(roundMean(0)))
	return ix
}

// Len returns the number of records.
func (ix *Index) Len() int { return int(ix.live.Load()) }

// Put indexes d as slot, which was never used before and is larger than all
// that were.
func (ix *Index) Put(slot uint32, d Doc) {
	length := ix.gather(&d, ix.intern)
	code := lengthCode(length)
	flags := d.Flags & own
	if d.Asks {
		flags |= asks
	}
	cols := ix.grow(slot)
	cols.meta[slot].Store(uint32(flags)<<16 | uint32(code)<<8 | uint32(code))
	for _, t := range ix.touched {
		t.put(slot, t.code(), code)
	}
	ix.count(1, lengthOf(code))
	ix.limit.Store(slot + 1)
}

// Delete removes slot, of which d was indexed.
func (ix *Index) Delete(slot uint32, d Doc) {
	cols := ix.cols.Load()
	if int(slot) >= len(cols.meta) || flagsOf(cols.meta[slot].Load())&dead != 0 {
		return
	}
	ix.gather(&d, func(t text.Term) *term { return ix.terms.get(t.Text) })
	meta := cols.meta[slot].Load()
	cols.meta[slot].Store(meta | uint32(dead)<<16)
	for _, t := range ix.touched {
		t.code()
		t.drop(cols.dead)
	}
	ix.count(-1, -lengthOf(uint8(meta>>8)))
}

// SetFlags replaces the owner's flags of slot.
func (ix *Index) SetFlags(slot uint32, f Flags) {
	cell := &ix.cols.Load().meta[slot]
	cell.Store(cell.Load()&^(uint32(own)<<16) | uint32(f&own)<<16)
}

func flagsOf(meta uint32) Flags { return Flags(meta >> 16) }

func (c *columns) dead(slot uint32) bool { return flagsOf(c.meta[slot].Load())&dead != 0 }

// grow returns columns that have the slot.
func (ix *Index) grow(slot uint32) *columns {
	old := ix.cols.Load()
	if int(slot) < len(old.meta) {
		return old
	}
	grown := &columns{meta: make([]atomic.Uint32, max(int(slot)+1+int(slot)/4, 16))}
	for i := range grown.meta {
		meta := uint32(dead) << 16 // a slot that is skipped holds nothing
		if i < len(old.meta) {
			meta = old.meta[i].Load()
		}
		grown.meta[i].Store(meta)
	}
	ix.cols.Store(grown)
	return grown
}

// count keeps the statistics.
func (ix *Index) count(records int64, length float64) {
	ix.total += length
	n := ix.live.Add(records)
	if mean := roundMean(ix.total / float64(max(n, 1))); mean != ix.norms.Load().mean {
		ix.norms.Store(newNorms(mean))
	}
}

// gather counts the terms of a document in ix.touched, and returns its length.
func (ix *Index) gather(d *Doc, find func(text.Term) *term) float64 {
	clear(ix.touched)
	ix.touched = ix.touched[:0]
	length := 0.0
	add := func(terms []text.Term, weight int) {
		for _, x := range terms {
			if t := ix.touch(find(x)); t != nil {
				t.count = uint8(min(int(t.count)+weight, maxCount))
			}
			length += float64(weight) * x.Weight()
		}
	}
	add(d.Trigger, triggerWeight)
	add(d.Content, contentWeight)
	add(d.Actor, actorWeight)
	for _, x := range d.Extra {
		if t := ix.touch(find(x)); t != nil && t.count == 0 {
			t.count = contentWeight
		}
	}
	for _, x := range d.Date {
		if t := ix.touch(find(x)); t != nil {
			t.dated = true
		}
	}
	return length
}

// touch notes that the record at hand has the term.
func (ix *Index) touch(t *term) *term {
	if t != nil && t.count == 0 && !t.dated {
		ix.touched = append(ix.touched, t)
	}
	return t
}

// code returns the code of the posting at hand, and makes the term ready for
// the next.
func (t *term) code() uint8 {
	code := t.count
	if t.dated {
		code |= datedBit
	}
	t.count, t.dated = 0, false
	return code
}

func (ix *Index) intern(x text.Term) *term {
	if t := ix.terms.get(x.Text); t != nil {
		return t
	}
	t := &term{text: x.Text, stop: x.Stop}
	ix.terms.add(t, func(t *term) bool { return t.df.Load() > 0 || t.count > 0 || t.dated })
	return t
}
