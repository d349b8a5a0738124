package index

import (
	"cmp"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/text"
)

// Likeness is what a trigger and a content have to be compared with others by.
type Likeness struct {
	trigger, content vector
	least            float64
}

// NewLikeness compares with texts of which both fields shall have at least the
// similarity least, in (0,1].
func NewLikeness(trigger, content []text.Term, least float64) *Likeness {
	return &Likeness{newVector(trigger), newVector(content), least}
}

// Like returns the rows that share enough terms with l to be as similar, in
// order; valid until the next use of sc. Whether they are, Of tells.
//
// If x and y share only some terms then, by Cauchy and Schwarz, their cosine is
// at most the norm of these in x over that of x.
func (ix *Index) Like(sc *Scratch, l *Likeness) []uint32 {
	return ix.sharing(sc, &l.trigger, &l.content, l.least)
}

// Of returns the similarities of a trigger and a content, and whether both are
// enough, and agree with l in numbers and negations. Two empty triggers, or two
// empty contents, are alike.
func (l *Likeness) Of(trigger, content []text.Term) (ofTrigger, ofContent float64, ok bool) {
	if ofTrigger, ok = l.trigger.alike(trigger, l.least); ok {
		ofContent, ok = l.content.alike(content, l.least)
	}
	return ofTrigger, ofContent, ok
}

// vector is the weighted counts of the terms of a field.
type vector struct {
	terms []text.Term // in order of text
	items []item      // of the distinct ones
	norm  float64     // squared
	first bool        // every similar record has the first item
}

type item struct {
	text.Term
	square float64 // of the weight
	term   *term
	df     int
}

func newVector(terms []text.Term) vector {
	v := vector{terms: sorted(terms)}
	for i := 0; i < len(v.terms); {
		n := 1
		for i+n < len(v.terms) && v.terms[i+n].Text == v.terms[i].Text {
			n++
		}
		w := float64(n) * v.terms[i].Weight()
		v.items = append(v.items, item{Term: v.terms[i], square: w * w})
		v.norm += w * w
		i += n
	}
	return v
}

func sorted(terms []text.Term) []text.Term {
	out := slices.Clone(terms)
	slices.SortFunc(out, func(a, b text.Term) int { return cmp.Compare(a.Text, b.Text) })
	return out
}

// alike returns the cosine of v and the terms, and whether that is at least
// min and they agree in what marks a statement.
func (v *vector) alike(terms []text.Term, min float64) (float64, bool) {
	if len(v.terms) == 0 && len(terms) == 0 {
		return 1, true
	}
	other := sorted(terms)
	same := slices.Equal(marks(v.terms), marks(other))
	cosine := text.Similarity(v.terms, other)
	return cosine, same && cosine >= min
}

// marks returns the terms that mark a statement.
func marks(terms []text.Term) []string {
	var out []string
	for _, t := range terms {
		if t.Mark {
			out = append(out, t.Text)
		}
	}
	return out
}

// slack keeps rounding from cutting the first terms short.
const slack = 1e-5

// sharing returns the records that hold enough of the terms of one of the
// fields to be as similar as min: of that for which fewer records hold one of
// the rarest terms.
func (ix *Index) sharing(sc *Scratch, trigger, content *vector, min float64) []uint32 {
	var best *vector
	cost := -1
	for _, v := range []*vector{trigger, content} {
		if v.norm == 0 {
			continue
		}
		if n, ok := ix.look(v, min); !ok {
			return nil
		} else if cost < 0 || n < cost {
			best, cost = v, n
		}
	}
	if best == nil {
		return nil
	}
	sc.search = search{cols: &ix.cols}
	sc.room(int(ix.rows))
	need := float32(min * min * best.norm * (1 - slack))
	rest := float32(best.norm)
	i := 0
	// A record without any of the items before may do.
	for ; i < len(best.items) && rest >= need && (i == 0 || !best.first); i++ {
		sc.meet(&best.items[i])
		rest -= float32(best.items[i].square)
	}
	sc.single = append(sc.single[:0], sc.touched...)
	for ; i < len(best.items); i++ {
		if sc.narrowShared(need - rest); len(sc.single) == 0 {
			break
		}
		sc.share(&best.items[i])
		rest -= float32(best.items[i].square)
	}
	sc.narrowShared(need)
	out := sc.single[:0]
	for _, row := range sc.single {
		if sc.cols.dead(row) {
			continue
		}
		norm := 0.0
		if code := uint8(sc.cols.meta[row] >> 8); best == content && code > 0 {
			norm = lengthOf(code)
		}
		if sc.shared[row].dot >= float32(min*math.Sqrt(best.norm*norm)*(1-slack)) {
			out = append(out, row)
		}
	}
	for _, row := range sc.touched {
		sc.shared[row] = shared{}
	}
	sc.search, sc.touched = search{}, sc.touched[:0]
	slices.Sort(out)
	return out
}

// shared is what a record and a text have in common: of the text's squared
// norm, and at least their product, since the counts are those of all fields.
type shared struct{ square, dot float32 }

// room makes room for the similarities of n rows.
func (sc *Scratch) room(n int) {
	if len(sc.shared) < n {
		sc.shared = make([]shared, n+n/4)
	}
	sc.touched = sc.touched[:0]
}

// meet adds a term to what all the records share that hold it.
func (sc *Scratch) meet(it *item) {
	if it.term == nil {
		return
	}
	var w word
	rows, counts := it.term.view(&w.row, &w.count)
	own := it.shared()
	for i, row := range rows {
		s := &sc.shared[row]
		if s.square == 0 {
			sc.touched = append(sc.touched, row)
		}
		s.add(own, counts[i])
	}
}

// share adds a term to what the records in single share, where they hold it.
func (sc *Scratch) share(it *item) {
	if it.term == nil {
		return
	}
	var w word
	rows, counts := it.term.view(&w.row, &w.count)
	own := it.shared()
	if len(rows) > 16*len(sc.single) {
		for _, row := range sc.single {
			if i, ok := slices.BinarySearch(rows, row); ok {
				sc.shared[row].add(own, counts[i])
			}
		}
		return
	}
	for i, row := range rows {
		if s := &sc.shared[row]; s.square != 0 {
			s.add(own, counts[i])
		}
	}
}

// shared is what a record that holds the term once shares by it.
func (it *item) shared() shared {
	return shared{float32(it.square), float32(math.Sqrt(it.square) * it.Weight())}
}

func (s *shared) add(own shared, count uint8) {
	s.square += own.square
	s.dot += own.dot * float32(count)
	if count == maxCount {
		s.dot = math.MaxFloat32 // it may be any
	}
}

// narrowShared leaves in single the records that share at least so much.
func (sc *Scratch) narrowShared(least float32) {
	if least <= 0 {
		return
	}
	single := sc.single[:0]
	for _, row := range sc.single {
		if sc.shared[row].square >= least {
			single = append(single, row)
		}
	}
	sc.single = single
}

// look finds the terms of a vector, the rarest first, and how many postings
// those have that a similar record holds one of. If fewer have the rarest term
// that marks a statement, which every similar record has, that is first. It
// reports false if such a term is in no record: none can say the same then.
func (ix *Index) look(v *vector, min float64) (cost int, ok bool) {
	for i := range v.items {
		it := &v.items[i]
		if it.term = ix.terms[it.Text]; it.term != nil {
			it.df = int(it.term.df)
		}
		if it.Mark && it.df == 0 {
			return 0, false
		}
	}
	slices.SortFunc(v.items, func(a, b item) int { return cmp.Or(cmp.Compare(a.df, b.df), cmp.Compare(a.Text, b.Text)) })
	rest := v.norm
	for i := range v.items {
		if rest < min*min*v.norm*(1-slack) {
			break
		}
		cost += v.items[i].df
		rest -= v.items[i].square
	}
	if i := slices.IndexFunc(v.items, func(it item) bool { return it.Mark }); i >= 0 && v.items[i].df <= cost {
		first := v.items[i]
		copy(v.items[1:i+1], v.items[:i])
		v.items[0], v.first, cost = first, true, first.df
	}
	return cost, true
}
