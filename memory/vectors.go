package memory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/pipeline"
	"github.com/arc-learn/arc/internal/vector"
	"github.com/arc-learn/arc/store"
)

// putVector is put with the vector that a draft came with, if it did.
func (sh *shard) putVector(e *entry, d index.Doc, x []float32) {
	sh.mu.Change(func() {
		if sh.putLocked(e, d) && x != nil {
			sh.setVectorLocked(e, x)
		}
	})
}

// setVector makes the vector of e visible, nil if there is none for its text.
func (sh *shard) setVector(e *entry, x []float32) {
	sh.mu.Change(func() { sh.setVectorLocked(e, x) })
}

func (sh *shard) setVectorLocked(e *entry, x []float32) {
	var c vector.Code
	if x != nil && c.Make(x) != nil { // it is too small to have a direction
		x = nil
	}
	sh.setCodeLocked(e, len(x), &c)
}

// setCodeLocked is setVectorLocked for a vector of dim numbers that was coded;
// 0: there is none.
func (sh *shard) setCodeLocked(e *entry, dim int, c *vector.Code) {
	if sh.vectors == nil && dim > 0 {
		sh.vectors = vector.New(dim)
	}
	if dim == 0 || sh.vectors.Put(e.row, c, uint32(e.marks())) != nil {
		sh.blank[e.row] = true
	}
}

// vectorless reports whether e waits for a vector.
func (sh *shard) vectorless(e *entry) bool {
	sh.mu.Enter()
	defer sh.mu.Leave()
	return sh.vectorlessLocked(e)
}

func (sh *shard) vectorlessLocked(e *entry) bool {
	return !sh.blank[e.row] && (sh.vectors == nil || !sh.vectors.Has(e.row))
}

// pending returns how many records of the shard wait for a vector.
func (b *Bank) pending(sh *shard) int {
	if b.vectors.host == nil {
		return 0
	}
	sh.mu.Enter()
	defer sh.mu.Leave()
	n := sh.live - len(sh.blank)
	if sh.vectors != nil {
		n -= sh.vectors.Len()
	}
	return n
}

// moveVectorLocked gives what old has to e, which says the same.
func (sh *shard) moveVectorLocked(old, e *entry) {
	if sh.vectors != nil {
		sh.vectors.Move(old.row, e.row, uint32(e.marks()))
	}
}

func (sh *shard) dropVectorLocked(e *entry) {
	if sh.vectors != nil {
		sh.vectors.Delete(e.row)
	}
	delete(sh.blank, e.row)
}

// unwritten makes sure that no write of the record's vector is behind, and
// returns what removes it. The caller holds edit.
func (b *Bank) unwritten(ctx context.Context, sh *shard, id ID) ([]store.Op, error) {
	if *b.vectors.model.Load() == (vectorModel{}) {
		return nil, nil // there never was one
	}
	k := sh.vectorKey(id)
	if _, ok := b.w.Pending(k); ok {
		if err := b.w.Flush(ctx); err != nil {
			return nil, err
		}
	}
	return []store.Op{{Key: k, Delete: true}}, nil
}

// loadVectors reads the vectors of the Bank's model. Those of another wait to be
// made again, and those without a record go.
func (b *Bank) loadVectors(ctx context.Context, in *stored, shards parts) error {
	err := pipeline.Run(ctx, in.under(ctx, vectorPart), codeVectors, func(batch []loadedVector) error {
		for i := range batch {
			if err := b.placeVector(ctx, shards, &batch[i]); err != nil {
				return err
			}
		}
		return nil
	})
	for _, sh := range shards {
		if b.pending(sh) > 0 {
			b.wanted(sh)
		}
	}
	return err
}

// loadedVector is a vector of the store. Dim is 0 if the text has none.
type loadedVector struct {
	key, model string
	dim        int
	code       vector.Code
	err        error // it is damaged
}

func codeVectors(entries []store.Entry) []loadedVector {
	out := make([]loadedVector, len(entries))
	for i, s := range entries {
		name, x, err := decodeVector(s)
		out[i].key, out[i].model, out[i].err = s.Key, name, err
		if x != nil && out[i].code.Make(x) == nil {
			out[i].dim = len(x)
		}
	}
	return out
}

func (b *Bank) placeVector(ctx context.Context, shards parts, l *loadedVector) error {
	sh, e, its := shards.record(l.key)
	if !its {
		if b.o.Shared {
			return nil // of a record that another has just made, perhaps
		}
		return b.w.Add(ctx, store.Op{Key: l.key, Delete: true})
	}
	if l.err != nil {
		return l.err
	}
	if m := b.vectors.model.Load(); *m == (vectorModel{}) && b.vectors.host == nil {
		b.vectors.model.CompareAndSwap(m, &vectorModel{l.model, l.dim}) // it came with the scope
	}
	if l.model != b.vectors.model.Load().Name || l.dim != 0 && !b.vectors.fits(l.dim) {
		return nil
	}
	sh.mu.Change(func() {
		sh.setCodeLocked(e, l.dim, &l.code)
	})
	return nil
}

func modelKey() string { return key.Join(root, modelPart) }

// note returns the model, and what notes it in the store, if it is not there.
func (v *embedding) note() (m vectorModel, ops []store.Op, err error) {
	m = *v.model.Load()
	v.Lock()
	known := v.known == m
	v.Unlock()
	if known {
		return m, nil, nil
	}
	value, err := codec.Encode(modelKey(), m)
	return m, []store.Op{{Key: modelKey(), Value: value}}, err
}

func (v *embedding) noted(m vectorModel) {
	v.Lock()
	defer v.Unlock()
	v.known = m
}

// loadModel returns the model of the vectors that are stored.
func (b *Bank) loadModel(ctx context.Context) (m vectorModel, err error) {
	e, err := b.st.Get(ctx, modelKey())
	if errors.Is(err, store.ErrNotFound) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := codec.Decode(e, &m); err != nil {
		return m, err
	}
	if m.Dim < 0 || m.Dim > MaxDimension {
		return m, fmt.Errorf("%w: %q: dimension %d", store.ErrDamaged, e.Key, m.Dim)
	}
	return m, nil
}

// How many of the nearest vectors are candidates, at least and for each hit
// that is asked for.
const (
	minNearest  = 128
	nearestPerK = 4
)

// hybrid is memory that recalls with a vector use again.
type hybrid struct {
	vector vector.Scratch
	both   []both
	ratios []float64 // for sorting
	marks  []uint64  // a bit for each row
}

// both is what the two searches say of a row.
type both struct {
	row uint32
	rated
}

// fuse completes r, whose lexical and cosine are known; see Parts.Relevance. The
// fourth root of the odds is, but for a factor of the query, the ratio of the
// score of the words: what a vector adds there does not depend on how relevant a
// record is already.
func (q *query) fuse(r *rated) {
	if q.alone {
		r.relevance = max(0, r.cosine)
		r.ratio = r.relevance
		return
	}
	x := math.Sqrt(math.Sqrt(r.lexical / (1 - r.lexical)))
	if r.cosine > q.minCosine {
		x += q.cosineWeight * (r.cosine - q.minCosine) / (1 - q.minCosine)
	}
	odds := x * x * x * x
	r.ratio, r.relevance = x, max(r.lexical, odds/(1+odds)) // rounding takes nothing from words
}

// searchBoth is search for a query with a vector. Candidates are the nearest
// vectors, and as many records of the index as can be among the n best, or
// near the best, once cosines are added.
func (sh *shard) searchBoth(sc *scratch, ask index.Query) {
	q, h, set := &sc.query, &sc.hybrid, sh.vectors
	unseen := rated{} // the most that a record is worth that neither has named
	h.both = h.both[:0]
	if set != nil {
		n := max(minNearest, nearestPerK*q.k)
		near := set.Search(&h.vector, n, uint32(ask.Exclude), 0, ask.Skip)
		if len(near) == n {
			unseen.cosine = near[n-1].Cosine
		}
		h.addNearest(sh, sc, near, ask)
	}
	nearest := len(h.both)
	for n, complete := ask.K, q.alone; !complete; {
		ask.K *= 4
		unseen.lexical = 1
		h.both = h.both[:nearest]
		found := sh.index.Search(&sc.index, &ask)
		for _, m := range found {
			unseen.lexical = min(unseen.lexical, m.Relevance)
			if h.marked(m.Row) {
				continue
			}
			r := rated{lexical: m.Relevance}
			if set != nil {
				r.cosine, _ = set.Cosine(&h.vector, m.Row) // 0: it has none
			}
			q.fuse(&r)
			h.both = append(h.both, both{m.Row, r})
		}
		if complete = ask.K == 0 || len(found) < ask.K; !complete {
			q.fuse(&unseen)
			complete = unseen.ratio < h.needed(n)
		}
	}
	for _, b := range h.both[:nearest] {
		h.unmark(b.row)
	}
	for _, b := range h.both {
		if b.ratio > 0 {
			sh.addRated(sc, b.row, b.rated)
		}
	}
}

// addNearest adds the nearest, with what their words are worth, and marks them.
func (h *hybrid) addNearest(sh *shard, sc *scratch, near []vector.Match, ask index.Query) {
	for _, m := range near {
		h.both = append(h.both, both{m.Slot, rated{cosine: m.Cosine}})
		h.mark(m.Slot)
	}
	if !sc.query.alone {
		slices.SortFunc(h.both, func(a, b both) int { return int(a.row) - int(b.row) })
		ask.K, ask.Gate = 0, 0
		ask.Skip = func(row uint32) bool { return !h.marked(row) } // what the query leaves out is not among them
		for _, m := range sh.index.Search(&sc.index, &ask) {
			i, ok := slices.BinarySearchFunc(h.both, m.Row, func(b both, row uint32) int { return int(b.row) - int(row) })
			if ok {
				h.both[i].lexical = m.Relevance
			}
		}
	}
	for i := range h.both {
		sc.query.fuse(&h.both[i].rated)
	}
}

// needed returns the ratio that is as good as that of the n best, and of all
// that are near the best.
func (h *hybrid) needed(n int) float64 {
	if len(h.both) < n {
		return 0
	}
	h.ratios = h.ratios[:0]
	for _, b := range h.both {
		h.ratios = append(h.ratios, b.ratio)
	}
	slices.Sort(h.ratios)
	return min(gate*h.ratios[len(h.ratios)-1], h.ratios[len(h.ratios)-n])
}

func (h *hybrid) mark(row uint32) {
	word := int(row / 64)
	if word >= len(h.marks) {
		h.marks = append(h.marks, make([]uint64, word+1-len(h.marks)+word/4)...)
	}
	h.marks[word] |= 1 << (row % 64)
}

func (h *hybrid) unmark(row uint32) { h.marks[row/64] &^= 1 << (row % 64) }

func (h *hybrid) marked(row uint32) bool {
	return int(row/64) < len(h.marks) && h.marks[row/64]&(1<<(row%64)) != 0
}
