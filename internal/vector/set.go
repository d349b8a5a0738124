// Package vector finds the vectors that point in the direction of a query: a
// set in memory.
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
)

// blockRows is the number of rows of a full block.
const blockRows = 1024

// Set holds vectors of one dimension by slot. Searches may run side by side, and
// nothing beside a change.
type Set struct {
	dim, width int // numbers of a vector as given, and as coded
	blocks     []*block
	n          int      // rows, without a gap
	rows       []uint32 // by slot: its row, counted from 1; 0: none
}

type block struct {
	bits  []uint64 // width/64 for each row
	codes []uint8  // width for each row
	scale []float32
	slots []uint32
	flags []uint32 // the owner's
}

// New returns an empty set of vectors of the dimension, which must be positive.
func New(dim int) *Set { return &Set{dim: dim, width: widthOf(dim)} }

// Len returns the number of vectors.
func (s *Set) Len() int { return s.n }

// Put keeps a vector that was coded under the slot, in place of the one it had.
// One of another dimension, or that was not made, is refused.
func (s *Set) Put(slot uint32, c *Code, flags uint32) error {
	if c.dim != s.dim {
		return fmt.Errorf("dimension %d, not %d", c.dim, s.dim)
	}
	s.Delete(slot)
	if s.n == len(s.blocks)*blockRows {
		s.blocks = append(s.blocks, newBlock(blockRows*min(s.n, 1), s.width)) // the first grows
	}
	b := s.blocks[s.n/blockRows]
	b.bits, b.codes = append(b.bits, c.bits...), append(b.codes, c.codes...)
	b.scale, b.slots, b.flags = append(b.scale, c.scale), append(b.slots, slot), append(b.flags, flags)
	s.n++
	s.setRow(slot, uint32(s.n))
	return nil
}

// setRow notes the row of a slot, counted from 1.
func (s *Set) setRow(slot, row uint32) {
	if more := int(slot) + 1 - len(s.rows); more > 0 {
		s.rows = append(s.rows, make([]uint32, more)...)
	}
	s.rows[slot] = row
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

// Delete removes the vector of the slot, if there is one. That of the last row takes its place.
func (s *Set) Delete(slot uint32) {
	row, ok := s.row(slot)
	if !ok {
		return
	}
	s.n--
	b, i := s.at(row)
	o, j := s.at(uint32(s.n))
	words, moved := s.width/64, o.slots[j]
	copy(b.bits[i*words:], o.bits[j*words:])
	copy(b.codes[i*s.width:], o.codes[j*s.width:])
	b.scale[i], b.slots[i], b.flags[i] = o.scale[j], moved, o.flags[j]
	o.bits, o.codes = o.bits[:j*words], o.codes[:j*s.width]
	o.scale, o.slots, o.flags = o.scale[:j], o.slots[:j], o.flags[:j]
	s.rows[moved], s.rows[slot] = row+1, 0 // in this order: they may be one
	if spare := s.n/blockRows + 2; len(s.blocks) > spare {
		clear(s.blocks[spare:])
		s.blocks = s.blocks[:spare]
	}
}

// Has reports whether the slot has a vector.
func (s *Set) Has(slot uint32) bool {
	_, ok := s.row(slot)
	return ok
}

// Move gives the vector of one slot, if there is one, to another that has none,
// with new flags.
func (s *Set) Move(from, to, flags uint32) {
	if row, ok := s.row(from); ok {
		b, i := s.at(row)
		b.slots[i], b.flags[i] = to, flags
		s.rows[from] = 0
		s.setRow(to, row+1)
	}
}

// SetFlags replaces the flags of the slot's vector, if there is one.
func (s *Set) SetFlags(slot, flags uint32) {
	if row, ok := s.row(slot); ok {
		b, i := s.at(row)
		b.flags[i] = flags
	}
}

// row returns the row of a slot, if it has one.
func (s *Set) row(slot uint32) (uint32, bool) {
	if int(slot) >= len(s.rows) || s.rows[slot] == 0 {
		return 0, false
	}
	return s.rows[slot] - 1, true
}

// at returns where a row lies.
func (s *Set) at(row uint32) (*block, int) { return s.blocks[row/blockRows], int(row % blockRows) }

func newBlock(rows, width int) *block {
	return &block{
		bits: make([]uint64, 0, rows*width/64), codes: make([]uint8, 0, rows*width),
		scale: make([]float32, 0, rows), slots: make([]uint32, 0, rows), flags: make([]uint32, 0, rows),
	}
}
