package memory

import (
	"hash/maphash"
	"sync/atomic"
)

// idTable leads from ids to rows. Readers need no lock; writers are one at a
// time. It holds no ids: those are in the entries.
type idTable struct {
	seed  maphash.Seed
	cells atomic.Pointer[[]atomic.Uint32] // a power of two of them; each free, gone, or firstRow + a row
	used  int                             // cells that are not free; the writer's
}

const (
	free = iota
	gone
	firstRow
)

const minCells = 16

func newIDTable() *idTable {
	t := &idTable{seed: maphash.MakeSeed()}
	t.resize(minCells)
	return t
}

func (t *idTable) resize(n int) {
	cells := make([]atomic.Uint32, n)
	t.cells.Store(&cells)
	t.used = 0
}

// find returns the entry that k leads to, or nil. What is not in cells that a
// rebuild has replaced meanwhile may be in the new ones: only those are kept up
// to date.
func (t *idTable) find(c *column, k idKey) *entry {
	for {
		cells := t.cells.Load()
		if e, _ := t.probe(c, k); e != nil || t.cells.Load() == cells {
			return e
		}
	}
}

// probe returns the entry that k leads to, and its cell.
func (t *idTable) probe(c *column, k idKey) (*entry, *atomic.Uint32) {
	cells := *t.cells.Load()
	mask := uint64(len(cells) - 1)
	for i := maphash.Bytes(t.seed, k[:]) & mask; ; i = (i + 1) & mask {
		v := cells[i].Load()
		for v >= firstRow {
			if e := c.at(v - firstRow); e != nil {
				if e.is(k) {
					return e, &cells[i]
				}
				break
			}
			// The record got another row, or is going.
			now := cells[i].Load()
			if now == v {
				break
			}
			v = now
		}
		if v == free {
			return nil, nil
		}
	}
}

// set makes k lead to a row. The entries of the rows that are in c have to be
// there already.
func (t *idTable) set(c *column, k idKey, row uint32) {
	if _, cell := t.probe(c, k); cell != nil {
		cell.Store(firstRow + row)
		return
	}
	if n := len(*t.cells.Load()); 4*(t.used+1) > 3*n {
		t.rebuild(c)
		if _, cell := t.probe(c, k); cell != nil {
			return // its entry was in c
		}
	}
	insert(*t.cells.Load(), t.hash(k), row)
	t.used++
}

func (t *idTable) hash(k idKey) uint64 { return maphash.Bytes(t.seed, k[:]) }

func insert(cells []atomic.Uint32, hash uint64, row uint32) {
	mask := uint64(len(cells) - 1)
	i := hash & mask
	for cells[i].Load() != free {
		i = (i + 1) & mask
	}
	cells[i].Store(firstRow + row)
}

// remove makes k lead nowhere.
func (t *idTable) remove(c *column, k idKey) {
	if _, cell := t.probe(c, k); cell != nil {
		cell.Store(gone)
	}
}

// rebuild makes room for more ids.
func (t *idTable) rebuild(c *column) {
	live := 1
	for e := range c.all() {
		live++
		if e.more != nil {
			live += len(e.more.former)
		}
	}
	n := minCells
	for 2*live > n {
		n *= 2
	}
	cells := make([]atomic.Uint32, n)
	used := 0
	for e := range c.all() {
		insert(cells, t.hash(e.id), e.row)
		used++
		if e.more == nil {
			continue
		}
		for _, k := range e.more.former {
			insert(cells, t.hash(k), e.row)
			used++
		}
	}
	t.used = used
	t.cells.Store(&cells)
}

// column holds the entries by row. Readers need no lock; writers are one at a
// time. A row leads to nil when its record is gone, and, for a moment, to the
// entry that has taken its place in another row.
type column struct {
	cells atomic.Pointer[[]atomic.Pointer[entry]]
	next  atomic.Uint32 // the first row that no record has
}

// at returns the entry of a row, or nil.
func (c *column) at(row uint32) *entry {
	cells := c.cells.Load()
	if cells == nil || row >= uint32(len(*cells)) {
		return nil
	}
	return (*cells)[row].Load()
}

// add gives e a row, and makes the rows of what it replaces lead to it.
func (c *column) add(e *entry, replaced []leaving) {
	e.row = c.next.Load()
	cells := c.cells.Load()
	if cells == nil || int(e.row) == len(*cells) {
		cells = c.grow(cells)
	}
	(*cells)[e.row].Store(e)
	for _, old := range replaced {
		(*cells)[old.row].Store(e)
	}
	c.next.Store(e.row + 1)
}

// grow by a quarter, when there are many: what is not used yet costs memory.
func (c *column) grow(old *[]atomic.Pointer[entry]) *[]atomic.Pointer[entry] {
	n := int(c.next.Load())
	bigger := make([]atomic.Pointer[entry], max(8, n+min(n, 1024+n/4)))
	if old != nil {
		for i := range *old {
			bigger[i].Store((*old)[i].Load())
		}
	}
	c.cells.Store(&bigger)
	return &bigger
}

// remove makes a row lead nowhere.
func (c *column) remove(row uint32) { (*c.cells.Load())[row].Store(nil) }

// all yields the entries in order of row. Of those that are replaced meanwhile
// it may miss some: see steady.
func (c *column) all() func(yield func(*entry) bool) {
	return func(yield func(*entry) bool) {
		for row := range c.next.Load() {
			if e := c.at(row); e != nil && e.row == row && !yield(e) {
				return
			}
		}
	}
}
