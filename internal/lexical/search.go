package lexical

import (
	"math"

	"github.com/arc-learn/arc/internal/text"
)

// Match is a record that a query found. Relevance is in (0,1).
type Match struct {
	Slot      uint32
	Relevance float64
}

// Scratch is memory that searches use again. The zero value is ready; it
// serves one search at a time.
type Scratch struct {
	scores  []float64 // by slot, zero between searches
	touched []uint32
	words   []word
	matches []Match
	terms   []uint32
}

// word is a distinct term of a query.
type word struct {
	text   string
	id     uint32
	known  bool
	stop   bool
	count  float64
	weight float64 // count · weight of the term · idf
}

// Search returns the records that hold a term of the query, in no order; a
// function word counts only beside another, unless the query has no others.
// The result is valid until the next use of sc.
//
// With s the BM25F score of a record and U the sum of the query's term
// weights, each its idf times that of the term (at least minInformation),
// relevance is 0.8·s/U up to 0.8; above, y = 0.8·s/U is bent towards 1 as
// 0.8 + 0.2·(1 - e^(-(y-0.8)/0.2)). A record of average length that holds each
// term once in its content has s = U.
func (ix *Index) Search(sc *Scratch, query []text.Term) []Match {
	if len(sc.scores) < len(ix.docs) {
		sc.scores = make([]float64, len(ix.docs)+len(ix.docs)/4)
	}
	total := ix.weigh(sc, query)
	mean := ix.meanLength()
	sc.touched = sc.touched[:0]
	content := false
	for i := range sc.words {
		if w := &sc.words[i]; !w.stop {
			content = true
			ix.score(sc, w, mean, true)
		}
	}
	for i := range sc.words {
		if w := &sc.words[i]; w.stop {
			ix.score(sc, w, mean, !content)
		}
	}
	sc.matches = sc.matches[:0]
	for _, slot := range sc.touched {
		sc.matches = append(sc.matches, Match{slot, relevance(sc.scores[slot] / total)})
		sc.scores[slot] = 0
	}
	return sc.matches
}

// score adds what the word gives to the records that hold it: to all of them,
// or only to those that have a score.
func (ix *Index) score(sc *Scratch, w *word, mean float64, all bool) {
	if !w.known {
		return
	}
	gain := w.weight * (k1 + 1)
	inverse := 1 / mean // exact: the mean is a power of two
	for _, p := range ix.terms[w.id].posts {
		if sc.scores[p.slot] == 0 {
			if !all {
				continue
			}
			sc.touched = append(sc.touched, p.slot)
		}
		tf := float64(p.tf)
		sc.scores[p.slot] += gain * tf / (tf + k1*(1-b+b*ix.length[p.slot]*inverse))
	}
}

// weigh fills sc.words with the distinct terms of the query, in order of their
// first occurrence, and returns U.
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
		id, known := ix.ids[t.Text]
		sc.words = append(sc.words, word{text: t.Text, id: id, known: known, stop: t.Stop, count: t.Weight()})
	}
	total := 0.0
	for i := range sc.words {
		w := &sc.words[i]
		df := 0
		if w.known {
			df = len(ix.terms[w.id].posts)
		}
		w.weight = w.count * ix.idf(df)
		total += w.weight
	}
	return max(total, minInformation)
}

const knee = 0.8

// relevance maps s/U to (0,1). It is linear up to the knee, so that a ratio of
// relevances is a ratio of scores, and strictly increasing, so that it changes
// no order.
func relevance(x float64) float64 {
	y := knee * x
	if y <= knee {
		return y
	}
	return knee + (1-knee)*-math.Expm1(-(y-knee)/(1-knee))
}

// Word is a term of a query as it was weighed. Share is in [0,1].
type Word struct {
	Text  string
	Share float64
	Found bool // in the record that was asked for
}

// Words says how the query weighs and which of it is in slot.
func (ix *Index) Words(sc *Scratch, query []text.Term, slot uint32) []Word {
	ix.weigh(sc, query)
	total := 0.0
	for i := range sc.words {
		total += sc.words[i].weight
	}
	out := make([]Word, 0, len(sc.words))
	for i := range sc.words {
		w := &sc.words[i]
		found := false
		if w.known {
			_, found = ix.terms[w.id].find(slot)
		}
		out = append(out, Word{Text: w.text, Share: w.weight / total, Found: found})
	}
	return out
}
