// Package vectors keeps the vectors of a scope's rows, and knows which rows wait for one.
package vectors

import "github.com/arc-learn/arc/internal/vector"

// Rows are the vectors of rows, all of one dimension. A row that is not blank and
// has no vector waits for one. Changes exclude one another and searches: the
// caller sees to it.
type Rows struct {
	set   *vector.Set     // nil: there is none yet
	blank map[uint32]bool // rows whose texts have no vector
}

// New returns Rows without a vector.
func New() *Rows { return &Rows{blank: make(map[uint32]bool)} }

// Set returns the vectors, nil if there are none yet.
func (r *Rows) Set() *vector.Set { return r.set }

// Put gives a row its vector. Nil makes it blank, as does one that is too small
// to have a direction.
func (r *Rows) Put(row, flags uint32, x []float32) {
	var c vector.Code
	if x != nil && c.Make(x) != nil {
		x = nil
	}
	r.PutCode(row, flags, len(x), &c)
}

// PutCode is Put for a vector of dim numbers that was coded; 0: there is none.
func (r *Rows) PutCode(row, flags uint32, dim int, c *vector.Code) {
	if r.set == nil && dim > 0 {
		r.set = vector.New(dim)
	}
	if dim == 0 || r.set.Put(row, c, flags) != nil {
		r.blank[row] = true
	}
}

// Waits reports whether a row has neither a vector nor is blank.
func (r *Rows) Waits(row uint32) bool {
	return !r.blank[row] && (r.set == nil || !r.set.Has(row))
}

// Settled is the number of rows that wait for nothing.
func (r *Rows) Settled() int {
	n := len(r.blank)
	if r.set != nil {
		n += r.set.Len()
	}
	return n
}

// Move gives the vector of a row to another, whose texts are the same.
func (r *Rows) Move(from, to, flags uint32) {
	if r.set != nil {
		r.set.Move(from, to, flags)
	}
}

// SetFlags replaces the flags of a row.
func (r *Rows) SetFlags(row, flags uint32) {
	if r.set != nil {
		r.set.SetFlags(row, flags)
	}
}

// Delete forgets a row.
func (r *Rows) Delete(row uint32) {
	if r.set != nil {
		r.set.Delete(row)
	}
	delete(r.blank, row)
}

// Cosine returns the cosine of a row's vector with that of a query, 0 if it has none.
func (r *Rows) Cosine(sc *vector.Scratch, row uint32) float64 {
	if r.set == nil {
		return 0
	}
	x, _ := r.set.Cosine(sc, row)
	return x
}

// Search returns the n nearest rows of which the flags are want where mask has
// bits, and that skip does not leave out.
func (r *Rows) Search(sc *vector.Scratch, n int, mask, want uint32, skip func(row uint32) bool) []vector.Match {
	if r.set == nil {
		return nil
	}
	return r.set.Search(sc, n, mask, want, skip)
}

// Queue is how far the rows that wait were worked on, for the one worker that
// does. The zero value is at the beginning.
type Queue struct {
	From uint32 // rows below have a vector or are blank, those put off aside
	off  uint32 // 1 + the first row that was put off; 0: none
}

// PutOff lets others go before the rows from first to last, which have failed.
func (q *Queue) PutOff(first, last uint32) {
	if q.off == 0 || first < q.off-1 {
		q.off = 1 + first
	}
	q.From = last + 1
}

// Return reports whether rows were put off, and from which on: they are not any more.
func (q *Queue) Return() (row uint32, ok bool) {
	row, ok = q.off-1, q.off > 0
	q.off = 0
	return row, ok
}
