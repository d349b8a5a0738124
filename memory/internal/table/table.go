package table

import (
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/vector"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/memory/internal/turns"
	"github.com/arc-learn/arc/memory/internal/vectors"
)

// Table holds the records of one scope in memory, and their index. All of it but Scope belongs to
// the Turnstile: searches enter, and what is in the store already is changed while none is in. Neither
// waits for the disk, nor for a host. A method whose name ends in Locked is for callers who have
// entered; the others enter by themselves.
type Table struct {
	Scope string
	*turns.Turnstile
	Index   *index.Index
	Vectors *vectors.Rows
	Made    *atomic.Int64 // of the latest record of the tenant; nil: not needed

	ties
	size    *atomic.Int64        // of the tenant; nil: it does not matter
	rows    []*Entry             // nil: gone
	ids     map[ident.Key]uint32 // rows, by former ids too
	live    int
	vouched atomic.Int64  // of live, those that are trusted
	seq     atomic.Uint32 // the largest of the records
	told    atomic.Int64  // the latest, see Told
}

// New returns a Table without records. Size is that of the tenant, nil if it does not matter.
func New(scope string, size *atomic.Int64) *Table {
	t := &Table{
		Scope: scope, Turnstile: turns.New(), Index: index.New(), Vectors: vectors.New(),
		ties: newTies(), size: size, ids: make(map[ident.Key]uint32),
	}
	t.told.Store(math.MinInt64)
	return t
}

// Find returns the record that a key leads to, or nil.
func (t *Table) Find(k ident.Key) *Entry {
	t.Enter()
	defer t.Leave()
	return t.FindLocked(k)
}

// FindLocked is Find.
func (t *Table) FindLocked(k ident.Key) *Entry {
	if row, ok := t.ids[k]; ok {
		return t.rows[row]
	}
	return nil
}

// RowLocked returns the record of a row, nil if it is gone.
func (t *Table) RowLocked(row uint32) *Entry { return t.rows[row] }

// Holds reports whether e is what the Table has of its record.
func (t *Table) Holds(e *Entry) bool {
	t.Enter()
	defer t.Leave()
	return t.rows[e.Row] == e
}

// Vouches reports whether any record is trusted.
func (t *Table) Vouches() bool { return t.vouched.Load() > 0 }

// Told is the latest Told of a record that is trusted and no Episode, or of one that is gone.
func (t *Table) Told() int64 { return t.told.Load() }

// NextSeq returns a Seq for a new record.
func (t *Table) NextSeq() uint32 { return t.seq.Add(1) }

// Snapshot returns all entries, in the order in which they were indexed.
func (t *Table) Snapshot() []*Entry {
	t.Enter()
	defer t.Leave()
	return slices.AppendSeq(make([]*Entry, 0, t.live), t.AllLocked())
}

// AllLocked yields the entries in order of row.
func (t *Table) AllLocked() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, e := range t.rows {
			if e != nil && !yield(e) {
				return
			}
		}
	}
}

// Latest returns the last n entries of a thread, in order.
func (t *Table) Latest(thread string, n int) (es []*Entry) {
	t.Enter()
	defer t.Leave()
	for _, row := range t.Index.Latest(thread, n) {
		es = append(es, t.rows[row])
	}
	return es
}

// Changed is when a record was last made, said again or used, in microseconds since 1970.
func (t *Table) Changed() (last int64) {
	for _, e := range t.Snapshot() {
		last = max(last, e.Changed())
	}
	return last
}

// Put makes a record visible, in place of the one with its id, if any, and of
// those that became part of it.
func (t *Table) Put(e *Entry, d index.Doc, replaced ...Leaving) {
	t.Change(func() { t.put(e, d, replaced) })
}

// PutVector is Put with a vector that is at hand, nil if it is not.
func (t *Table) PutVector(e *Entry, d index.Doc, x []float32) {
	t.Change(func() {
		if t.put(e, d, nil) && x != nil {
			t.Vectors.Put(e.Row, uint32(e.marks()), x)
		}
	})
}

// put reports whether it had to.
func (t *Table) put(e *Entry, d index.Doc, replaced []Leaving) bool {
	if old := t.FindLocked(e.Key); old != nil && old.Rev == e.Rev && e.Rev != 0 && len(replaced) == 0 {
		return false // Follow has heard of it before its writer was told
	}
	e.Row = uint32(len(t.rows))
	t.rows = append(t.rows, e)
	for k := range e.Keys() {
		t.ids[k] = e.Row
	}
	t.state(e)
	t.live++
	t.grow(bytesOf(e))
	if e.Flags.Trusted() {
		t.vouched.Add(1)
	}
	for last := t.seq.Load(); last < e.Seq && !t.seq.CompareAndSwap(last, e.Seq); {
		last = t.seq.Load()
	}
	for made := e.made(); t.Made != nil; {
		if last := t.Made.Load(); last >= made || t.Made.CompareAndSwap(last, made) {
			break
		}
	}
	if e.Flags&Untold == 0 && e.Told() > t.told.Load() {
		t.told.Store(e.Told()) // no two change at once
	}
	d.Flags = e.marks()
	t.Index.Put(e.Row, d)
	for _, old := range replaced {
		if old.Same {
			t.Vectors.Move(old.Row, e.Row, uint32(e.marks()))
		}
		t.withdraw(old)
	}
	return true
}

// Leaving is a record that goes, with what is indexed of it.
type Leaving struct {
	*Entry
	Doc  index.Doc
	Same bool // what takes its place has its texts, and its vector
}

// Remove makes records invisible.
func (t *Table) Remove(es ...Leaving) {
	t.Change(func() {
		gone := make(map[ident.Key]bool, len(es))
		for _, e := range es {
			t.withdraw(e)
			gone[e.Key] = true
		}
		for old, gs := range t.guesses { // a record of the same Key guesses nothing yet
			t.guesses[old] = slices.DeleteFunc(gs, func(g Guess) bool { return gone[g.By] })
		}
	})
}

// withdraw takes a record out of the index, with the ids that lead to it still.
func (t *Table) withdraw(e Leaving) {
	for k := range e.Keys() {
		if t.ids[k] == e.Row {
			delete(t.ids, k)
		}
	}
	t.Index.Delete(e.Row, e.Doc)
	t.Vectors.Delete(e.Row)
	t.unstate(e.Entry)
	t.rows[e.Row] = nil
	t.live--
	t.grow(-bytesOf(e.Entry))
	if e.Flags.Trusted() {
		t.vouched.Add(-1)
	}
}

// ColdText is the number of bytes of a record from which on it is Cold.
const ColdText = 4 << 10

// A scope takes so many bytes in memory, a record of it so many, and so many for each of
// its text, see BenchmarkColdTenant.
const (
	scopeBytes  = 8 << 10
	recordBytes = 350
	textBytes   = 2
)

func bytesOf(e *Entry) int64 {
	n := len(e.Text)
	if e.Flags&Cold != 0 {
		n = ColdText
	}
	return int64(recordBytes + textBytes*n + int(e.Dim))
}

func (t *Table) grow(bytes int64) {
	if t.size != nil {
		t.size.Add(bytes)
	}
}

// Arrive adds the Table and its records to the size of the tenant.
func (t *Table) Arrive() { t.grow(t.bytes()) }

// Depart takes the Table and its records out of the size of the tenant.
func (t *Table) Depart() { t.grow(-t.bytes()) }

func (t *Table) bytes() (n int64) {
	for _, e := range t.Snapshot() {
		n += bytesOf(e)
	}
	return scopeBytes + n
}

// Change is the new counters of a record.
type Change struct {
	Entry  *Entry
	Counts *tally.Counts
}

// Clone gives changes the counters of their entries to change, side by side in memory.
func Clone(changes []Change) {
	n := len(changes)
	for _, c := range changes {
		n += len(c.Entry.Counts().Situations)
	}
	all, situations := make([]tally.Counts, len(changes)), make([]tally.Situation, 0, n)
	for i := range changes {
		c := &all[i]
		*c = *changes[i].Entry.Counts()
		start := len(situations)
		situations = append(situations, c.Situations...)
		c.Situations = situations[start : len(situations) : len(situations)+1] // with room for one more
		situations = situations[:len(situations)+1]
		changes[i].Counts = c
	}
}

// Tally replaces counters. One goroutine at a time calls it.
func (t *Table) Tally(changes ...Change) {
	for _, c := range changes {
		marks := c.Entry.marks()
		c.Entry.Count(c.Counts)
		if now := c.Entry.marks(); now != marks {
			t.Change(func() {
				t.Index.SetFlags(c.Entry.Row, now)
				t.Vectors.SetFlags(c.Entry.Row, uint32(now))
			})
		}
	}
}

// SetVector makes the vector of e visible, nil if there is none for its text.
func (t *Table) SetVector(e *Entry, x []float32) {
	t.Change(func() { t.Vectors.Put(e.Row, uint32(e.marks()), x) })
}

// SetCode is SetVector for one of dim numbers that was coded; 0: there is none.
func (t *Table) SetCode(e *Entry, dim int, code *vector.Code) {
	t.Change(func() { t.Vectors.PutCode(e.Row, uint32(e.marks()), dim, code) })
}

// Vectorless reports whether e waits for a vector.
func (t *Table) Vectorless(e *Entry) bool {
	t.Enter()
	defer t.Leave()
	return t.Vectors.Waits(e.Row)
}

// NextVectorless returns the first record from a row on that waits for a vector, and its
// row, or nil and the row that the next record will have.
func (t *Table) NextVectorless(row uint32) (*Entry, uint32) {
	t.Enter()
	defer t.Leave()
	for ; int(row) < len(t.rows); row++ {
		if e := t.rows[row]; e != nil && t.Vectors.Waits(row) {
			return e, row
		}
	}
	return nil, row
}

// Pending returns how many records wait for a vector.
func (t *Table) Pending() int {
	t.Enter()
	defer t.Leave()
	return t.live - t.Vectors.Settled()
}

// Suspect notes what perhaps replaces a record, once.
func (t *Table) Suspect(old ident.Key, g Guess) {
	t.Change(func() {
		if !slices.Contains(t.guesses[old], g) {
			t.guesses[old] = append(t.guesses[old], g)
		}
	})
}

// Suspects reports whether a record is known to replace another perhaps.
func (t *Table) Suspects(by *Entry, old ident.Key) bool {
	t.Enter()
	defer t.Leave()
	return slices.ContainsFunc(t.guesses[old], func(g Guess) bool { return g.By == by.Key })
}

// LinkedLocked returns what is linked with e: what it was drawn from, and what was drawn
// from it. What it supersedes is no company for it.
func (t *Table) LinkedLocked(e *Entry) (out []*Entry) {
	for _, l := range e.Links() {
		if to := t.FindLocked(l.To); to != nil && l.Rel != Supersedes {
			out = append(out, to)
		}
	}
	for k := range e.Keys() {
		for _, from := range t.into[k] {
			if !slices.Contains(t.over[k], from) {
				out = append(out, from)
			}
		}
	}
	return out
}

// Fan returns the record that a key leads to, nil if there is none, and how many links begin or
// end at it and at what became part of it.
func (t *Table) Fan(k ident.Key) (of *Entry, links int) {
	t.Enter()
	defer t.Leave()
	if of = t.FindLocked(k); of == nil {
		return nil, len(t.into[k])
	}
	links = len(of.Links())
	for k := range of.Keys() {
		links += len(t.into[k])
	}
	return of, links
}
