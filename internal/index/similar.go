package index

import (
	"cmp"
	"slices"

	"github.com/arc-learn/arc/internal/text"
)

// Pair is a record that says nearly the same as a text.
type Pair struct {
	Slot             uint32
	Trigger, Content float64 // similarities
}

// Similar returns the records whose trigger and content both have at least
// the similarity min, in (0,1], to the given ones, and which agree with them
// in numbers and negations, in order of slot. Two empty triggers, or two
// empty contents, are alike, but not if both are empty.
//
// doc returns the trigger and the content of a record, which are read before
// its next call; it is asked about the few that hold enough of the rarest
// terms. If x and y share only some terms then, by Cauchy and Schwarz, their
// cosine is at most the norm of these in x over that of x.
func (ix *Index) Similar(sc *Scratch, trigger, content []text.Term, min float64, doc func(slot uint32) (trigger, content []text.Term)) []Pair {
	t, c := newVector(trigger), newVector(content)
	var out []Pair
	for _, slot := range ix.sharing(sc, &t, &c, min) {
		dt, dc := doc(slot)
		p := Pair{Slot: slot}
		var ok bool
		if p.Trigger, ok = t.alike(dt, min); !ok {
			continue
		}
		if p.Content, ok = c.alike(dc, min); ok {
			out = append(out, p)
		}
	}
	return out
}

// vector is the weighted counts of the terms of a field.
type vector struct {
	terms []text.Term // in order of text
	items []item      // of the distinct ones
	norm  float64     // squared
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
const slack = 1e-9

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
	limit, cols := ix.limit.Load(), ix.cols.Load()
	if len(sc.scores) < int(limit) {
		sc.scores = make([]float32, int(limit)+int(limit)/4)
	}
	need := float32(min * min * best.norm * (1 - 1e-5))
	rest := float32(best.norm)
	sc.touched = sc.touched[:0]
	for i := range best.items {
		it := &best.items[i]
		rest -= float32(it.square)
		if it.term == nil {
			continue
		}
		var w word
		slots, _ := it.term.view(limit, &w.slot, &w.count)
		fresh := rest+float32(it.square) >= need
		for _, slot := range slots {
			if sc.scores[slot] == 0 {
				if !fresh || cols.dead(slot) {
					continue
				}
				sc.touched = append(sc.touched, slot)
			}
			sc.scores[slot] += float32(it.square)
		}
	}
	out := sc.touched[:0]
	for _, slot := range sc.touched {
		if sc.scores[slot] >= need {
			out = append(out, slot)
		}
		sc.scores[slot] = 0
	}
	sc.touched = sc.touched[:0]
	slices.Sort(out)
	return out
}

// look finds the terms of a vector, the rarest first, and how many postings
// those have that a similar record holds one of. It reports false if a term
// that marks a statement is in no record: none can say the same then.
func (ix *Index) look(v *vector, min float64) (cost int, ok bool) {
	for i := range v.items {
		it := &v.items[i]
		if it.term = ix.terms.get(it.Text); it.term != nil {
			it.df = int(it.term.df.Load())
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
	return cost, true
}
