package search

import (
	"slices"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/succession"
	"github.com/arc-learn/arc/memory/internal/table"
)

// What is compared, and from when on it counts. See docs/benchmarks.md.
const (
	compared     = 4    // earlier records
	asked        = 20   // words by which these are looked for
	postings     = 512  // of these words, the two rarest aside
	lighter      = 0.75 // of what its length says may a text weigh
	alikeMeaning = 0.43 // nearer than what is next, of what is above the least
)

// Kin returns the earlier records of e's kind and actor that are most like it by the rarest
// of its words, nil if none of them can share at least so much. What they weigh is taken to go with the
// length of the content: a quarter less at most.
func (s *Search) Kin(
	t *table.Table, e *table.Entry, words []text.Term, length int, least float64,
) (near []*table.Entry) {
	t.Enter()
	defer t.Leave()
	may := false
	for _, k := range t.Index.Kin(&s.Index, index.Query{
		Terms: words, K: compared, Exclude: index.Flags(table.Kinds &^ e.Flags), Skip: notBefore(t, e),
	}, asked, postings) {
		o := t.RowLocked(k.Row)
		near = append(near, o)
		size := float64(len(o.Text)) / float64(length)
		may = may || o.Flags&table.Cold == 0 && k.Share >= least*min(1, lighter*size)
	}
	if !may {
		return nil
	}
	return near
}

// Closest returns the Fact before e, of its actor, whose vector is nearest to x, if it is
// near, and unless e speaks of a change by far the nearest.
func (s *Search) Closest(t *table.Table, e *table.Entry, x []float32, change bool, least float64) *table.Entry {
	t.Enter()
	defer t.Leave()
	h := &s.Hybrid.Vector
	if !h.Ask(x) {
		return nil
	}
	near := t.Vectors.Search(h, 2, uint32(table.Kinds&^table.Fact), 0, notBefore(t, e))
	if !change && len(near) == 2 {
		least = max(least, near[1].Cosine) + alikeMeaning*(1-least)
	}
	if len(near) == 0 || !change && len(near) < 2 || near[0].Cosine < least {
		return nil // where there is no other, nothing says how near is near
	}
	return t.RowLocked(near[0].Slot)
}

// notBefore reports of which rows the records are by another actor than e, or not before it, or
// what e was drawn from.
func notBefore(t *table.Table, e *table.Entry) func(row uint32) bool {
	from := func(o *table.Entry) bool {
		return slices.ContainsFunc(e.Links(), func(l table.Link) bool { return o.Is(l.To) })
	}
	return func(row uint32) bool {
		o := t.RowLocked(row)
		return o.Actor != e.Actor || !e.After(o) || e.Flags&table.Derived != 0 && from(o)
	}
}

// Content returns what the words of a text weigh in a table.
func Content(t *table.Table, terms []text.Term) (c succession.Content) {
	t.Enter()
	defer t.Leave()
	for i, w := range terms {
		if !w.Stop && !slices.Contains(terms[:i], w) {
			c = append(c, succession.Word{Text: w.Text, Weight: t.Index.Weight(w)})
		}
	}
	return c
}

// Like returns the records of some kinds that may be as similar.
func (s *Search) Like(t *table.Table, l *index.Likeness, kinds table.Flags) (out []*table.Entry) {
	t.Enter()
	defer t.Leave()
	for _, row := range t.Index.Like(&s.Index, l) {
		if e := t.RowLocked(row); e.Flags&kinds != 0 {
			out = append(out, e)
		}
	}
	return out
}
