package memory

import (
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/vector"
)

// How many of the nearest vectors are candidates, at least and for each hit
// that is asked for.
const (
	minNearest  = 128
	nearestPerK = 4
)

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
