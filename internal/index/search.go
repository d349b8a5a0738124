package index

import (
	"cmp"
	"slices"

	"github.com/arc-learn/arc/internal/text"
)

// Query asks for records.
type Query struct {
	Terms []text.Term
	// K is how many records are wanted; 0: all that match.
	K int
	// Gate is the share of the best relevance from which on records are
	// wanted in any case, in [0,1]; 0: only the K best are.
	Gate float64
	// Exclude are the flags of which a record may have none.
	Exclude Flags
	// Skip, if not nil, leaves out the slots for which it returns true.
	Skip func(slot uint32) bool
}

// Match is a record that a query found. Relevance is in (0,1).
type Match struct {
	Slot      uint32
	Relevance float64
}

// Scratch is memory that searches use again. The zero value is ready; it
// serves one search at a time, of any index.
type Scratch struct {
	scores  []float32 // by slot, zero between searches
	touched []uint32
	words   []word
	matches []Match
	best    []float32
}

// word is a distinct term of a query.
type word struct {
	text   string
	term   *term // nil: no record has it
	stop   bool
	count  float64
	df     int
	weight float64 // count · weight of the term · idf
	slots  []uint32
	codes  []uint8
	slot   [1]uint32
	code   [1]uint8
}

// Search returns the records that hold a term of the query and are wanted: the
// K best, those that are as good as the last of these, and those with Gate of
// the best relevance; in no order. A function word counts only beside another,
// unless the query has no others. The result is valid until the next use of
// sc.
//
// With s the BM25F score of a record and U the sum of the query's term
// weights, each its idf times that of the term (at least minInformation),
// relevance is 0.8·s/U up to 0.8; above, y = 0.8·s/U is bent towards 1 as
// 0.8 + 0.2·(1 - e^(-(y-0.8)/0.2)). A record of average length that holds each
// term once in its content has s = U.
func (ix *Index) Search(sc *Scratch, q *Query) []Match {
	limit, cols, norms := ix.limit.Load(), ix.cols.Load(), ix.norms.Load()
	if len(sc.scores) < int(limit) {
		sc.scores = make([]float32, int(limit)+int(limit)/4)
	}
	total := ix.weigh(sc, q.Terms)
	sc.touched = sc.touched[:0]
	content := slices.ContainsFunc(sc.words, func(w word) bool { return !w.stop })
	for i := range sc.words {
		if w := &sc.words[i]; w.term != nil {
			w.slots, w.codes = w.term.view(limit, &w.slot, &w.code)
			sc.score(w, cols, norms, q, !w.stop || !content)
		}
	}
	return sc.take(q, total)
}

const skipped = -1e30

// score adds what the word gives to the records that hold it: to all of them,
// or only to those that have a score.
func (sc *Scratch) score(w *word, cols *columns, norms *norms, q *Query, all bool) {
	gain := float32(w.weight * (k1 + 1))
	for i, slot := range w.slots {
		meta := cols.meta[slot].Load()
		if flagsOf(meta)&(q.Exclude|dead) != 0 {
			continue
		}
		if sc.scores[slot] == 0 {
			if !all {
				continue
			}
			sc.touched = append(sc.touched, slot)
			if q.Skip != nil && q.Skip(slot) {
				sc.scores[slot] = skipped
			}
		}
		code := w.codes[i]
		sc.scores[slot] += float32(gain * saturate(float32(code&maxCount)+float32(code>>7), norms.norm[uint8(meta)]))
	}
}

// take returns what is wanted of the records that have a score.
func (sc *Scratch) take(q *Query, total float64) []Match {
	sc.best = sc.best[:0]
	for _, slot := range sc.touched {
		if s := sc.scores[slot]; s > 0 {
			sc.best = append(sc.best, s)
		}
	}
	sc.matches = sc.matches[:0]
	least := float32(0)
	if q.K > 0 && q.K < len(sc.best) {
		slices.Sort(sc.best)
		least = sc.best[len(sc.best)-q.K]
		if q.Gate > 0 {
			best := relevance(float64(sc.best[len(sc.best)-1]) / total)
			least = min(least, float32(total*scoreOf(q.Gate*best)))
		}
	}
	for _, slot := range sc.touched {
		if s := sc.scores[slot]; s > 0 && s >= least {
			sc.matches = append(sc.matches, Match{slot, relevance(float64(s) / total)})
		}
		sc.scores[slot] = 0
	}
	return sc.matches
}

// weigh fills sc.words with the distinct terms of the query, those that are in
// the fewest records first, and returns U.
func (ix *Index) weigh(sc *Scratch, query []text.Term) float64 {
	sc.words = sc.words[:0]
next:
	for _, t := range query {
		for i := range sc.words {
			if sc.words[i].text == t.Text {
				sc.words[i].count += t.Weight()
				continue next
			}
		}
		sc.words = append(sc.words, word{text: t.Text, term: ix.terms.get(t.Text), stop: t.Stop, count: t.Weight()})
	}
	total, records := 0.0, ix.Len()
	for i := range sc.words {
		w := &sc.words[i]
		if w.term != nil {
			w.df = int(w.term.df.Load())
		}
		w.weight = w.count * idf(records, w.df)
		total += w.weight
	}
	slices.SortStableFunc(sc.words, func(a, b word) int {
		if a.stop != b.stop {
			if a.stop {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.df, b.df)
	})
	return max(total, minInformation)
}
