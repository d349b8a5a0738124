package memory

import "github.com/arc-learn/arc/internal/vector"

// waits is what the holder of the turn knows of a shard: the records below from
// have a vector, but for those that were put off.
type waits struct {
	from uint32
	off  uint32 // 1 + the first row that was put off; 0: none
}

// waiting is a record that is being embedded.
type waiting struct {
	e    *entry
	text string
}

// putOff lets others go before those that failed.
func (w *waits) putOff(failed []waiting) {
	first, last := failed[0].e.row, failed[len(failed)-1].e.row
	if w.off == 0 || first < w.off-1 {
		w.off = 1 + first
	}
	w.from = last + 1
}

// vectored is the vectors of a scope.
type vectored struct {
	vectors *vector.Set     // nil: there is none yet
	blank   map[uint32]bool // rows whose texts have no vector
	waits   waits
}

func (v *vectored) setVectorLocked(e *entry, x []float32) {
	var c vector.Code
	if x != nil && c.Make(x) != nil { // it is too small to have a direction
		x = nil
	}
	v.setCodeLocked(e, len(x), &c)
}

// setCodeLocked is setVectorLocked for a vector of dim numbers that was coded;
// 0: there is none.
func (v *vectored) setCodeLocked(e *entry, dim int, c *vector.Code) {
	if v.vectors == nil && dim > 0 {
		v.vectors = vector.New(dim)
	}
	if dim == 0 || v.vectors.Put(e.row, c, uint32(e.marks())) != nil {
		v.blank[e.row] = true
	}
}

func (v *vectored) vectorlessLocked(e *entry) bool {
	return !v.blank[e.row] && (v.vectors == nil || !v.vectors.Has(e.row))
}

// moveVectorLocked gives what old has to e, which says the same.
func (v *vectored) moveVectorLocked(old, e *entry) {
	if v.vectors != nil {
		v.vectors.Move(old.row, e.row, uint32(e.marks()))
	}
}

func (v *vectored) dropVectorLocked(e *entry) {
	if v.vectors != nil {
		v.vectors.Delete(e.row)
	}
	delete(v.blank, e.row)
}
