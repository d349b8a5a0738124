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
