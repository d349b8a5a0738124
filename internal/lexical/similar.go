package lexical

import (
	"cmp"
	"slices"

	"github.com/arc-learn/arc/internal/text"
)

// vector is the weighted counts of the terms of one field, as text.Similarity
// compares them.
type vector struct {
	items []item  // in order of term
	norm  float64 // squared, terms that the index does not know included
}

type item struct {
	term   uint32
	weight float32 // multiples of text.StopWeight: exact
}

// vector returns the vector of the terms. It reports false if a term that
// marks a statement is not in the index: no record can say the same then.
func (ix *Index) vector(terms []text.Term) (vector, bool) {
	v := vector{items: make([]item, 0, len(terms))}
	var unknown []text.Term
	said := true
	for _, t := range terms {
		if id, ok := ix.ids[t.Text]; ok {
			v.items = append(v.items, item{id, float32(t.Weight())})
			continue
		}
		unknown = append(unknown, t)
		said = said && !t.Mark
	}
	slices.SortFunc(v.items, func(a, b item) int { return cmp.Compare(a.term, b.term) })
	n := 0
	for i, it := range v.items {
		if i > 0 && v.items[n-1].term == it.term {
			v.items[n-1].weight += it.weight
			continue
		}
		v.items[n] = it
		n++
	}
	v.items = slices.Clip(v.items[:n])
	for _, it := range v.items {
		v.norm += float64(it.weight) * float64(it.weight)
	}
	v.norm += text.Norm(unknown)
	return v, said
}

// similarity returns the cosine of two vectors, and whether they agree in the
// terms that mark a statement.
func (ix *Index) similarity(x, y vector) (cosine float64, same bool) {
	dot, i, j := 0.0, 0, 0
	same = true
	for i < len(x.items) || j < len(y.items) {
		switch {
		case j == len(y.items) || i < len(x.items) && x.items[i].term < y.items[j].term:
			same = same && !ix.terms[x.items[i].term].mark
			i++
		case i == len(x.items) || x.items[i].term > y.items[j].term:
			same = same && !ix.terms[y.items[j].term].mark
			j++
		default:
			a, b := x.items[i], y.items[j]
			same = same && (a.weight == b.weight || !ix.terms[a.term].mark)
			dot += float64(a.weight) * float64(b.weight)
			i, j = i+1, j+1
		}
	}
	return text.Cosine(dot, x.norm, y.norm), same
}

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
// It looks at the records that hold one of the rarest terms only. If x and y
// share none of x's first terms then, by Cauchy and Schwarz, their cosine is
// at most the norm of the rest of x over that of x; so it suffices to take as
// many first terms as bring that below min.
func (ix *Index) Similar(sc *Scratch, trigger, content []text.Term, min float64) []Pair {
	t, ok := ix.vector(trigger)
	c, ok2 := ix.vector(content)
	if !ok || !ok2 {
		return nil
	}
	terms := ix.rarest(sc, t, c, min)
	var out []Pair
	for _, slot := range ix.union(sc, terms) {
		d := &ix.docs[slot]
		p := Pair{Slot: slot}
		if p.Trigger, ok = ix.alike(t, d.trigger, min); !ok {
			continue
		}
		if p.Content, ok = ix.alike(c, d.content, min); ok {
			out = append(out, p)
		}
	}
	return out
}

func (ix *Index) alike(x, y vector, min float64) (float64, bool) {
	if x.norm == 0 && y.norm == 0 {
		return 1, true
	}
	cosine, same := ix.similarity(x, y)
	return cosine, same && cosine >= min
}

// rarest returns the first terms of the field for which they have the fewest
// records.
func (ix *Index) rarest(sc *Scratch, trigger, content vector, min float64) []uint32 {
	var best []uint32
	cost := -1
	for _, v := range []vector{trigger, content} {
		if v.norm == 0 {
			continue
		}
		terms, n := ix.first(sc, v, min)
		if cost < 0 || n < cost {
			best, cost = slices.Clone(terms), n
		}
	}
	return best
}

// slack keeps rounding from cutting the first terms short.
const slack = 1e-9

func (ix *Index) first(sc *Scratch, v vector, min float64) (terms []uint32, cost int) {
	items := slices.Clone(v.items)
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(len(ix.terms[a.term].posts), len(ix.terms[b.term].posts)), cmp.Compare(a.term, b.term))
	})
	rest := 0.0
	for _, it := range items {
		rest += float64(it.weight) * float64(it.weight)
	}
	sc.terms = sc.terms[:0]
	for _, it := range items {
		if rest < min*min*v.norm*(1-slack) {
			break
		}
		sc.terms = append(sc.terms, it.term)
		cost += len(ix.terms[it.term].posts)
		rest -= float64(it.weight) * float64(it.weight)
	}
	return sc.terms, cost
}

// union returns the slots that hold one of the terms, in order.
func (ix *Index) union(sc *Scratch, terms []uint32) []uint32 {
	sc.touched = sc.touched[:0]
	for _, id := range terms {
		for _, p := range ix.terms[id].posts {
			sc.touched = append(sc.touched, p.slot)
		}
	}
	slices.Sort(sc.touched)
	return slices.Compact(sc.touched)
}
