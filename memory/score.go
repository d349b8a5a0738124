package memory

import (
	"cmp"
	"math"

	"github.com/arc-learn/arc/internal/tally"
)

// The weights of a score, and the share of the best match from which on
// effectiveness and recency count. Measured on dialogue with evidence marked:
// with the gate, the two cost at most 0.2 points of recall at 10, without it
// up to 32.
const (
	relevanceWeight     = 0.5
	effectivenessWeight = 0.3
	recencyWeight       = 0.2
	gate                = 0.8
)

// found is a record that a query found, before it is copied for the caller.
type found struct {
	*entry
	sh    *shard        // that it is of
	tally *tally.Counts // as they were when it was found
	rated
	near, doubted          bool   // doubted: something perhaps replaces it
	link                   *entry // the hit that brings it, if no words do
	by                     said
	effectiveness, recency float64 // if near
	score                  float64
}

// rated is what a search says of a record. Ratios are those of scores within a
// query; see internal/index for those of words.
type rated struct {
	ratio, relevance float64
	lexical, cosine  float64 // relevance by words, and cosine with the query
}

// better orders hits: by score, then the newer, then by ID.
func better(a, b *found) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	case a.ratio > b.ratio: // relevance has no more digits when it is near 1
		return -1
	case a.ratio < b.ratio:
		return 1
	case a.at > b.at:
		return -1
	case a.at < b.at:
		return 1
	}
	return cmp.Or(compareIDs(a.entry, b.entry), cmp.Compare(a.sh.scope, b.sh.scope))
}

// weigh scores what was found: 0.5·relevance + 0.3·effectiveness +
// 0.2·recency for those near the best, 0.5·relevance for the others, which are
// thus below all of the former.
func (q *query) weigh(fs []found) {
	best := q.best
	for i := range fs {
		if fs[i].ratio > best { // cheaper than max, which heeds NaN
			best = fs[i].ratio
		}
	}
	for i := range fs {
		f := &fs[i]
		f.score = relevanceWeight * f.relevance
		if f.near = f.ratio >= gate*best; f.near {
			f.effectiveness, f.recency = f.tally.Effectiveness(q.situation), q.recency(f)
			f.score += effectivenessWeight*f.effectiveness + recencyWeight*f.recency
		}
	}
}

// recency is 2^(-age/half-life) since the last use, or since At.
func (q *query) recency(f *found) float64 {
	last := f.at
	if f.tally.LastUsed != 0 {
		last = int64(f.tally.LastUsed)
	}
	if last >= q.at {
		return 1
	}
	return math.Exp2(float64(last-q.at) * q.rate)
}

// top moves the k best to the front, in order, and returns them.
func top(fs []found, k int) []found {
	k = min(k, len(fs))
	if k == 0 {
		return fs[:0]
	}
	heap := fs[:k] // the worst of them first
	for i := k/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for i := k; i < len(fs); i++ {
		if better(&fs[i], &heap[0]) < 0 {
			heap[0], fs[i] = fs[i], heap[0]
			sink(heap, 0)
		}
	}
	for n := k - 1; n > 0; n-- {
		heap[0], heap[n] = heap[n], heap[0]
		sink(heap[:n], 0)
	}
	return fs[:k]
}

// sink restores the heap below i: no child is worse than its parent.
func sink(heap []found, i int) {
	for {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(heap); c++ {
			if better(&heap[c], &heap[worst]) > 0 {
				worst = c
			}
		}
		if worst == i {
			return
		}
		heap[i], heap[worst] = heap[worst], heap[i]
		i = worst
	}
}
