package memory

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"
	"time"
)

// base orders ids as the bytes that they encode.
var base = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// idLength is more than the length of an id that the package makes.
const idLength = 26

const keyedMark = 'k' // first byte of an id made from a Key; base has digits there

// digest hashes the parts, each with its length, so that two different
// sequences never hash the same bytes.
func digest(parts ...string) [sha256.Size]byte {
	var small [512]byte
	buf := small[:0]
	for _, p := range parts {
		buf = append(binary.BigEndian.AppendUint64(buf, uint64(len(p))), p...)
	}
	return sha256.Sum256(buf)
}

func encodeID(b []byte) string { return base.EncodeToString(b) }

// keyedID is the id of every draft with this key: the key needs no index.
func keyedID(s Scope, key string) ID {
	sum := digest("key", string(s), key)
	return ID(string(keyedMark) + encodeID(sum[:15]))
}

func (id ID) keyed() bool { return id != "" && id[0] == keyedMark }

// timedID is the n-th id of a draft without a key: 48 bits of milliseconds,
// and 72 that depend on the seed and on what it says. Drawing it from what it
// names makes it the same whatever else is remembered meanwhile.
func timedID(seed uint64, now time.Time, r *Record, n uint64) ID {
	var salt [16]byte
	binary.BigEndian.PutUint64(salt[:8], seed)
	binary.BigEndian.PutUint64(salt[8:], n)
	sum := digest("draw", string(salt[:]), string(r.Scope), string(r.Kind), r.Trigger, r.Content)
	var b [15]byte
	ms := uint64(max(now.UnixMilli(), 0))
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	copy(b[6:], sum[:9])
	return ID(encodeID(b[:]))
}

// idKey is an id in memory: a mark, and the 15 bytes that it encodes, or as
// many of its hash if the package has not made it.
type idKey [16]byte

// The marks, in the order in which the ids are.
const (
	ownTimed = iota
	ownKeyed
	foreignID
)

// encoded is the length of 15 bytes in base32.
const encoded = 24

// keyOf returns the key of an id.
func keyOf(id ID) (k idKey) {
	s, mark := string(id), byte(ownTimed)
	if len(s) == encoded+1 && s[0] == keyedMark {
		s, mark = s[1:], ownKeyed
	}
	if len(s) == encoded && k.decode(s) {
		k[0] = mark
		return k
	}
	sum := digest("id", string(id))
	k[0] = foreignID
	copy(k[1:], sum[:])
	return k
}

// decode fills k[1:], unless s has a digit that base does not.
func (k *idKey) decode(s string) bool {
	for i := range 3 { // five bytes are eight digits
		n := uint64(0)
		for _, c := range []byte(s[8*i : 8*i+8]) {
			switch {
			case '0' <= c && c <= '9':
				c -= '0'
			case 'a' <= c && c <= 'v':
				c -= 'a' - 10
			default:
				return false
			}
			n = n<<5 | uint64(c)
		}
		for j := range 5 {
			k[1+5*i+j] = byte(n >> (8 * (4 - j)))
		}
	}
	return true
}

// append appends the id, which is not a foreign one.
func (k *idKey) append(buf []byte) []byte {
	if k[0] == ownKeyed {
		buf = append(buf, keyedMark)
	}
	return base.AppendEncode(buf, k[1:])
}

// idTable leads from ids to rows, in four bytes and some: the ids themselves are
// in the entries. It belongs to shard.mu.
type idTable struct {
	seed  maphash.Seed
	cells []uint32 // a power of two of them; each free, gone, or firstRow + a row
	used  int      // cells that are not free
}

const (
	free = iota
	gone
	firstRow
)

const minCells = 16

func newIDTable() *idTable {
	return &idTable{seed: maphash.MakeSeed(), cells: make([]uint32, minCells)}
}

// find returns the entry that k leads to and its cell, or nil and a free cell.
func (t *idTable) find(c *column, k idKey) (*entry, *uint32) {
	mask := uint64(len(t.cells) - 1)
	for i := maphash.Bytes(t.seed, k[:]) & mask; ; i = (i + 1) & mask {
		switch v := t.cells[i]; {
		case v == free:
			return nil, &t.cells[i]
		case v >= firstRow:
			if e := c.at(v - firstRow); e != nil && e.is(k) {
				return e, &t.cells[i]
			}
		}
	}
}

// set makes k lead to a row, whose entry is in c already.
func (t *idTable) set(c *column, k idKey, row uint32) {
	e, cell := t.find(c, k)
	if e == nil {
		if t.used++; 4*t.used > 3*len(t.cells) {
			t.rebuild(c)
			if e, cell = t.find(c, k); e == nil {
				t.used++
			}
		}
	}
	*cell = firstRow + row
}

// remove makes k lead nowhere.
func (t *idTable) remove(c *column, k idKey) {
	if e, cell := t.find(c, k); e != nil {
		*cell = gone
	}
}

// rebuild makes room for more ids, and leaves out what is gone.
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
	t.cells, t.used = make([]uint32, n), 0
	for e := range c.all() {
		t.insert(e.id, e.row)
		if e.more != nil {
			for _, k := range e.more.former {
				t.insert(k, e.row)
			}
		}
	}
}

func (t *idTable) insert(k idKey, row uint32) {
	mask := uint64(len(t.cells) - 1)
	i := maphash.Bytes(t.seed, k[:]) & mask
	for t.cells[i] != free {
		i = (i + 1) & mask
	}
	t.cells[i] = firstRow + row
	t.used++
}

// column holds the entries by row. Looking one up needs no lock; all and the
// changes belong to shard.mu. A row leads to nil when its record is gone, and
// within a change to the entry that has taken its place in another row.
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

// all yields the entries in order of row.
func (c *column) all() func(yield func(*entry) bool) {
	return func(yield func(*entry) bool) {
		for row := range c.next.Load() {
			if e := c.at(row); e != nil && e.row == row && !yield(e) {
				return
			}
		}
	}
}
