// Package vector finds the vectors that point in the direction of a query: a
// set in memory with one writer and readers that never wait.
//
// A vector is normalised, rotated (see rotate) and kept twice: as the signs of
// its numbers, one bit each, and as codes of eight bits more with a scale of its
// own. A search counts for every vector the signs that differ from the query's,
// takes some hundreds of those that differ least by a histogram of the counts,
// and reranks these by signs and codes. The cosines it returns are off by about
// 2e-4 at 384 dimensions.
package vector

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
)

// Dead is the flag of a vector that was deleted. The owner's flags are the
// bits below it.
const Dead = 1 << 31

// blockRows is the number of rows of a full block.
const blockRows = 1024

// Set holds vectors of one dimension by slot. Put, Move, Delete and SetFlags
// must not run side by side; any number of the others may, also beside them.
type Set struct {
	dim, width int // numbers of a vector as given, and as coded
	st         atomic.Pointer[state]
	code       Code // the writer's
	live       atomic.Int64
}

// state is what a reader sees. Rows are in the order of Put.
type state struct {
	blocks []*block
	rows   []atomic.Uint32 // by slot: its row, counted from 1; 0: none
	n      atomic.Uint32   // rows that are written
}

type block struct {
	bits  []uint64 // width/64 for each row
	codes []uint8  // width for each row
	scale []float32
	slots []uint32
	flags []atomic.Uint32
}

// New returns an empty set of vectors of the dimension, which must be positive.
func New(dim int) *Set {
	s := &Set{dim: dim, width: widthOf(dim)}
	s.st.Store(new(state))
	return s
}

// Dim returns the dimension.
func (s *Set) Dim() int { return s.dim }

// Len returns the number of vectors.
func (s *Set) Len() int { return int(s.live.Load()) }

// Put keeps the direction of v under the slot, in place of the one it had. A v
// of another dimension, one that is zero, or one that is not finite, is refused.
func (s *Set) Put(slot uint32, v []float32, flags uint32) error {
	if err := s.code.Make(v); err != nil {
		return err
	}
	return s.PutCode(slot, &s.code, flags)
}

// PutCode is Put for a vector that was coded before, which takes most of the
// time.
func (s *Set) PutCode(slot uint32, c *Code, flags uint32) error {
	if c.dim != s.dim {
		return fmt.Errorf("dimension %d, not %d", c.dim, s.dim)
	}
	s.Delete(slot)
	s.reserve(slot)
	st := s.st.Load()
	n := st.n.Load()
	b, i := st.blocks[n/blockRows], int(n%blockRows)
	copy(b.bits[i*s.width/64:], c.bits)
	copy(b.codes[i*s.width:], c.codes)
	b.scale[i] = c.scale
	s.publish(st, slot, flags)
	return nil
}

// Code is a vector as a Set keeps it. The zero value is ready for Make.
type Code struct {
	dim   int // 0: it was not made
	row   []float32
	bits  []uint64
	codes []uint8
	scale float32
}

// Make codes v, unless that is empty, zero or not finite.
func (c *Code) Make(v []float32) error {
	c.dim = 0
	width := widthOf(len(v))
	if len(c.row) != width {
		c.row, c.bits, c.codes = make([]float32, width), make([]uint64, width/64), make([]uint8, width)
	}
	if len(v) == 0 || !unit(c.row, v) {
		return errors.New("vector is zero or not finite")
	}
	rotate(c.row)
	c.scale = encode(c.bits, c.codes, c.row)
	c.dim = len(v)
	return nil
}

// encode writes the signs and codes of v, and returns the scale that makes what
// they stand for closest to it. A number of sign bit s and code u stands for
// u + 1/2 - 256·s units: the sign is the ninth bit of the code.
func encode(bits []uint64, codes []uint8, v []float32) float32 {
	step := 256 / signs(bits, v)
	along, square := float32(0), float32(0)
	for i, x := range v {
		b := math.Float32bits(x)
		size := min(int32(math.Float32frombits(b&^(1<<31))*step), 255)
		codes[i] = uint8(size ^ int32(b)>>31) // all bits flipped if x < 0
		y := float32(size) + 0.5
		along += y * math.Float32frombits(b&^(1<<31))
		square += y * y
	}
	return along / square
}

// signs writes the signs of v and returns the largest of its sizes.
func signs(bits []uint64, v []float32) float32 {
	most := uint32(0)
	for w := range bits {
		word := uint64(0)
		for i, x := range v[64*w:][:64] {
			b := math.Float32bits(x)
			word |= uint64(b>>31) << i
			most = max(most, b&^(1<<31))
		}
		bits[w] = word
	}
	return math.Float32frombits(most)
}

// Delete removes the vector of the slot, if there is one.
func (s *Set) Delete(slot uint32) {
	st := s.st.Load()
	f := st.flag(slot)
	if f == nil {
		return
	}
	f.Store(f.Load() | Dead)
	st.rows[slot].Store(0)
	n, live := int64(st.n.Load()), s.live.Add(-1)
	if dead := n - live; dead >= blockRows/16 && dead*4 > n {
		s.compact(int(n), int(live))
	}
}

// Has reports whether the slot has a vector.
func (s *Set) Has(slot uint32) bool {
	_, ok := s.st.Load().row(slot)
	return ok
}

// Move gives the vector of one slot, if there is one, to another that has none,
// with new flags. A reader may see both for a moment.
func (s *Set) Move(from, to, flags uint32) {
	if !s.Has(from) {
		return
	}
	s.reserve(to)
	st := s.st.Load()
	row, _ := st.row(from)
	o, j := st.blocks[row/blockRows], int(row%blockRows)
	n := st.n.Load()
	b, i := st.blocks[n/blockRows], int(n%blockRows)
	words := s.width / 64
	copy(b.bits[i*words:][:words], o.bits[j*words:])
	copy(b.codes[i*s.width:][:s.width], o.codes[j*s.width:])
	b.scale[i] = o.scale[j]
	s.publish(st, to, flags)
	s.Delete(from)
}

// publish makes the row that was written last visible as that of the slot.
func (s *Set) publish(st *state, slot, flags uint32) {
	n := st.n.Load()
	b, i := st.blocks[n/blockRows], n%blockRows
	b.slots[i] = slot
	b.flags[i].Store(flags &^ Dead)
	st.rows[slot].Store(n + 1)
	st.n.Store(n + 1)
	s.live.Add(1)
}

// SetFlags replaces the flags of the slot's vector, if there is one.
func (s *Set) SetFlags(slot, flags uint32) {
	if f := s.st.Load().flag(slot); f != nil {
		f.Store(flags &^ Dead)
	}
}

// flag returns the flags of the slot's vector, or nil.
func (st *state) flag(slot uint32) *atomic.Uint32 {
	row, ok := st.row(slot)
	if !ok {
		return nil
	}
	return &st.blocks[row/blockRows].flags[row%blockRows]
}

func (st *state) row(slot uint32) (uint32, bool) {
	if int(slot) >= len(st.rows) {
		return 0, false
	}
	row := st.rows[slot].Load()
	return row - 1, row > 0
}

// reserve makes room for the slot and one more row, in a new state if the
// present one has none.
func (s *Set) reserve(slot uint32) {
	st := s.st.Load()
	n := int(st.n.Load())
	last := len(st.blocks) - 1
	room := n < len(st.blocks)*blockRows && n%blockRows < len(st.blocks[last].slots)
	if room && int(slot) < len(st.rows) {
		return
	}
	next := &state{blocks: st.blocks, rows: st.rows}
	next.n.Store(uint32(n))
	if !room {
		next.blocks = append(make([]*block, 0, len(st.blocks)+1), st.blocks...)
		if n%blockRows == 0 {
			rows := blockRows
			if n == 0 {
				rows = 8
			}
			next.blocks = append(next.blocks, newBlock(rows, s.width))
		} else {
			next.blocks[last] = st.blocks[last].grow(s.width)
		}
	}
	if int(slot) >= len(st.rows) {
		next.rows = make([]atomic.Uint32, max(int(slot)+1, len(st.rows)*3/2, 8))
		for i := range st.rows {
			next.rows[i].Store(st.rows[i].Load())
		}
	}
	s.st.Store(next)
}

func newBlock(rows, width int) *block {
	return &block{
		bits: make([]uint64, rows*width/64), codes: make([]uint8, rows*width), scale: make([]float32, rows),
		slots: make([]uint32, rows), flags: make([]atomic.Uint32, rows),
	}
}

// grow returns a copy of b with twice as many rows.
func (b *block) grow(width int) *block {
	g := newBlock(min(2*len(b.slots), blockRows), width)
	copy(g.bits, b.bits)
	copy(g.codes, b.codes)
	copy(g.scale, b.scale)
	copy(g.slots, b.slots)
	for i := range b.flags {
		g.flags[i].Store(b.flags[i].Load())
	}
	return g
}

// compact leaves out the rows that are dead. It runs once for every so many
// deletes, which pay for it.
func (s *Set) compact(n, live int) {
	old := s.st.Load()
	st := &state{rows: make([]atomic.Uint32, len(old.rows))}
	for left := live; left > 0; left -= blockRows {
		rows := blockRows
		if left < blockRows && left == live {
			rows = left
		}
		st.blocks = append(st.blocks, newBlock(rows, s.width))
	}
	words, to := s.width/64, 0
	for from := range n {
		b, i := old.blocks[from/blockRows], from%blockRows
		flags := b.flags[i].Load()
		if flags&Dead != 0 {
			continue
		}
		c, j := st.blocks[to/blockRows], to%blockRows
		copy(c.bits[j*words:][:words], b.bits[i*words:])
		copy(c.codes[j*s.width:][:s.width], b.codes[i*s.width:])
		c.scale[j], c.slots[j] = b.scale[i], b.slots[i]
		c.flags[j].Store(flags)
		to++
		st.rows[b.slots[i]].Store(uint32(to))
	}
	st.n.Store(uint32(to))
	s.st.Store(st)
}
