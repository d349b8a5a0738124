package index

import (
	"slices"

	"github.com/arc-learn/arc/internal/text"
)

// Word is a term of a query as it was weighed. Share is in [0,1].
type Word struct {
	Text  string
	Share float64
	Found bool // in the record that was asked for
}

// Words says how the query weighs and which of it is in row, the rarest terms
// first.
func (ix *Index) Words(sc *Scratch, query []text.Term, row uint32) []Word {
	ix.weigh(sc, query)
	defer sc.end()
	total := 0.0
	for i := range sc.words {
		total += sc.words[i].weight
	}
	out := make([]Word, 0, len(sc.words))
	for i := range sc.words {
		w := &sc.words[i]
		found := false
		if w.term != nil {
			rows, _ := w.term.view(&w.row, &w.count)
			_, found = slices.BinarySearch(rows, row)
		}
		out = append(out, Word{Text: w.text, Share: w.weight / total, Found: found})
	}
	return out
}

// Weight returns what a term weighs in a query: the weight of its kind times
// its idf.
func (ix *Index) Weight(t text.Term) float64 {
	df := 0
	if known := ix.terms[t.Text]; known != nil {
		df = int(known.df)
	}
	return t.Weight() * idf(roundUp(ix.Len(), minRecords), df)
}

// Kin is a record that shares words with a text: Share is their weight, of that of all
// words of the text. Function words are none.
type Kin struct {
	Row   uint32
	Share float64
}

// Kin finds the K best records for the rarest words of the query that others than one
// have: at most so many, in at most so many postings, but for the first two. The result
// is valid until the next use of sc.
func (ix *Index) Kin(sc *Scratch, q Query, words, postings int) []Kin {
	ix.weigh(sc, q.Terms)
	sc.own, q.Terms = sc.own[:0], nil
	total := 0.0
	for i := range sc.words {
		w := &sc.words[i]
		if w.stop {
			break
		}
		sc.own = append(sc.own, *w)
		total += w.weight
		if postings -= w.df; w.df > 1 && len(q.Terms) < words && (postings >= 0 || len(q.Terms) < 2) {
			q.Terms = append(q.Terms, text.Term{Text: w.text})
		}
	}
	sc.end()
	sc.kin = sc.kin[:0]
	if q.Terms == nil {
		return nil
	}
	for _, m := range ix.Search(sc, &q) {
		share := 0.0
		for i := range sc.own {
			w := &sc.own[i]
			rows, _ := w.term.view(&w.row, &w.count)
			if _, ok := slices.BinarySearch(rows, m.Row); ok {
				share += w.weight
			}
		}
		sc.kin = append(sc.kin, Kin{m.Row, share / total})
	}
	return sc.kin
}
