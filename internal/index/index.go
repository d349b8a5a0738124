// Package index finds records by the words of their texts.
//
// An [Index] is an inverted index in memory. Records are put under rows,
// searched for by terms, and deleted again. The score is BM25, in which a record
// counts with what is around it in its thread; the formula and its constants
// are in recipe.go. What [Index.Search] returns is exact: terms and threads that
// cannot make a difference any more are left out of the work, but never out of
// the result.
//
// Any number of goroutines may search at a time, or one may write: the owner
// keeps them apart.
package index

import (
	"github.com/arc-learn/arc/internal/text"
)

// Doc is what is indexed of a record.
type Doc struct {
	Trigger, Content, Actor []text.Term
	// Extra are further terms under which the record is found, if it does not
	// have them; Date are those of its date, which count once more. They do
	// not add to its length.
	Extra, Date []text.Term
	// Thread is the conversation that the record is part of; "" is none. Its
	// records are in order of At, then of Tie, then of row.
	Thread  string
	At, Tie int64
	// Asks says that the content is a question. Other says that the side which
	// asks the queries has not said it.
	Asks, Other bool
	Flags       Flags
}

// Flags are marks that the owner gives to records, in the lower 12 bits.
type Flags uint16

// What the index itself marks.
const (
	dead Flags = 1 << (15 - iota)
	asks
	other
	own = 1<<12 - 1 // the owner's
)

// Index finds rows, which are numbers that the owner gives to records: each to
// one record only, ever, and in ascending order. It costs some bytes for a row
// that is skipped or deleted.
type Index struct {
	terms map[string]*term
	names map[string][]*actor // by the words of their names
	spelt spellings
	cols  columns
	rows  uint32 // all are below it
	live  int
	norms *norms

	threads threads

	// Of threads: how many there are, and their length in sumUnit.
	threadCount, threadLength int64

	// Of writing.
	lengths     [256]int // how many live records have the code
	touched     []*term  // of the record at hand
	named       map[string]*thread
	free        []uint32 // numbers of chunks
	lastThread  uint32
	freeThreads []uint32

	actors    map[string]*actor
	lastActor uint32
}

// columns are what is kept by row.
type columns struct {
	// flags <<16 | code of the squared norm of the content <<8 | code of length
	meta  []uint32
	chunk []uint32 // of its thread, see nearPrev
	actor []uint32 // its number
}

// New returns an empty Index.
func New() *Index {
	return &Index{
		terms: make(map[string]*term), names: make(map[string][]*actor), norms: newNorms(minLength),
		named: make(map[string]*thread), actors: make(map[string]*actor),
	}
}

// Len returns the number of records.
func (ix *Index) Len() int { return ix.live }

// Put indexes d as row, which was never used before and is larger than all
// that were.
func (ix *Index) Put(row uint32, d Doc) {
	length, norm := ix.gather(&d, ix.intern)
	code := lengthCode(length)
	flags := d.Flags & own
	if d.Asks && length <= shortAsk {
		flags |= asks
	}
	if d.Other {
		flags |= other
	}
	ix.grow(row)
	cols := &ix.cols
	cols.meta[row] = uint32(flags)<<16 | uint32(normCode(norm))<<8 | uint32(code)
	cols.actor[row] = ix.enter(d.Actor)
	for _, t := range ix.touched {
		t.post(row, t.count, code)
		t.count = 0
	}
	if d.Thread != "" {
		ix.joinThread(row, d.Thread, place{d.At, d.Tie})
	}
	ix.count(code, 1)
	ix.rows = row + 1
}

// Delete removes row, of which d was indexed.
func (ix *Index) Delete(row uint32, d Doc) {
	cols := &ix.cols
	if int(row) >= len(cols.meta) || cols.dead(row) {
		return
	}
	ix.gather(&d, func(t text.Term) *term { return ix.terms[t.Text] })
	meta := cols.meta[row]
	cols.meta[row] = meta | uint32(dead)<<16
	for _, t := range ix.touched {
		t.count = 0
		if t.drop(cols.dead); t.df == 0 {
			delete(ix.terms, t.text)
			ix.spelt.unlearn(t)
		}
	}
	ix.exit(d.Actor)
	if cols.chunk[row] != 0 {
		ix.leaveThread(row)
	}
	ix.count(uint8(meta), -1)
}

// SetFlags replaces the owner's flags of row.
func (ix *Index) SetFlags(row uint32, f Flags) {
	cell := &ix.cols.meta[row]
	*cell = *cell&^(uint32(own)<<16) | uint32(f&own)<<16
}

func flagsOf(meta uint32) Flags { return Flags(meta >> 16) }

func (c *columns) dead(row uint32) bool { return flagsOf(c.meta[row])&dead != 0 }

// grow makes columns that have the row.
func (ix *Index) grow(row uint32) {
	old := len(ix.cols.meta)
	if int(row) < old {
		return
	}
	n := max(int(row)+1+int(row)/4, 16)
	for _, col := range [...]*[]uint32{&ix.cols.meta, &ix.cols.chunk, &ix.cols.actor} {
		grown := make([]uint32, n)
		copy(grown, *col)
		*col = grown
	}
	for i := old; i < n; i++ {
		ix.cols.meta[i] = uint32(dead) << 16 // a row that is skipped holds nothing
	}
}

// count keeps the statistics.
func (ix *Index) count(length uint8, records int) {
	ix.lengths[length] += records
	ix.live += records
	below := 0
	for code, records := range &ix.lengths {
		if below += records; 4*below >= ix.live {
			if usual := usualLength(lengthOf(uint8(code))); usual != ix.norms.usual {
				ix.norms = newNorms(usual)
			}
			return
		}
	}
}

// gather counts the terms of a document in ix.touched, and returns its length,
// and the squared norm of its content as similarity takes it.
func (ix *Index) gather(d *Doc, find func(text.Term) *term) (length, norm float64) {
	clear(ix.touched)
	ix.touched = ix.touched[:0]
	add := func(terms []text.Term, weight int) {
		for _, x := range terms {
			if t := ix.touch(find(x)); t != nil {
				t.count = uint8(min(int(t.count)+weight, maxCount))
			}
			length += float64(weight) * x.Weight()
		}
	}
	add(d.Content, contentWeight)
	for _, t := range ix.touched {
		w := float64(t.count) * text.Term{Stop: t.stop}.Weight()
		norm += w * w
	}
	add(d.Trigger, triggerWeight)
	add(d.Actor, actorWeight)
	for _, x := range d.Extra {
		if t := ix.touch(find(x)); t != nil && t.count == 0 {
			t.count = contentWeight
		}
	}
	for _, x := range d.Date {
		if t := ix.touch(find(x)); t != nil {
			t.count = uint8(min(int(t.count)+1, maxCount))
		}
	}
	return length, norm
}

// touch notes that the record at hand has the term.
func (ix *Index) touch(t *term) *term {
	if t != nil && t.count == 0 {
		ix.touched = append(ix.touched, t)
	}
	return t
}

func (ix *Index) intern(x text.Term) *term {
	t := ix.terms[x.Text]
	if t == nil {
		t = &term{text: x.Text, stop: x.Stop}
		ix.terms[x.Text] = t
		ix.spelt.learn(t)
	}
	return t
}
