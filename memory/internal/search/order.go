package search

import (
	"slices"
	"strings"
	"unicode"

	"github.com/arc-learn/arc/memory/internal/succession"
	"github.com/arc-learn/arc/memory/internal/table"
)

// What a query orders by a guess, see docs/benchmarks.md.
const (
	asRelevant   = 0.7 // relevance of the later one, of that of the earlier
	lessRelevant = 0.2 // with a cue, whose words are not those of the question
	reordered    = 10  // hits
	halfAsNear   = 0.5 // cosine with the question, of that of the earlier one
	asRead       = 0.5 // probability by an Extractor, whatever the words
)

// doubt notes what something perhaps replaces, of what was found from one on.
func (s *Search) doubt(t *table.Table, from int) {
	if q := &s.Query; q.All || q.Fusion.Alone || q.Triggered || q.Model != nil {
		return
	}
	for i := range s.found[from:] {
		f := &s.found[from+i]
		f.doubted = t.DoubtsLocked(f.Entry)
	}
}

// order puts what is current before what it perhaps replaces, among the first
// ten, and brings in what is not among the hits. It hides nothing that was among
// those ten, and keeps the number of hits. A question about the past is answered
// as it was.
func (s *Search) order(best []Found) []Found {
	s.marks = s.marks[:0]
	q := &s.Query
	doubted := func(f Found) bool { return f.doubted }
	if !slices.ContainsFunc(best[:min(len(best), reordered)], doubted) || succession.AsksOfPast(q.Text) {
		return best
	}
	for i := 0; i < min(len(best), reordered); i++ {
		for range table.MaxSteps {
			if !best[i].doubted {
				break
			}
			m, at := q.later(best, i)
			if m.By == nil {
				break
			}
			s.marks = append(s.marks, m)
			if at >= 0 && at < i {
				break // it comes first already
			}
			f := best[max(at, i)]
			if at < 0 {
				f.Entry, f.Tally, f.doubted = m.By, m.By.Counts(), true
			}
			best = q.lead(best, i, at, f)
		}
	}
	return best
}

// later returns the latest record that perhaps replaces the i-th hit, if the
// query sees it and finds it as relevant. At is its place, or -1 if it is not
// among the hits.
func (q *Query) later(best []Found, i int) (m Mark, at int) {
	f := &best[i]
	m.old, at = f.Entry, -1
	f.In.Enter()
	defer f.In.Leave()
	for k := range f.Keys() {
		guesses := f.In.GuessesLocked(k)
		for _, g := range guesses {
			by := f.In.FindLocked(g.By)
			if by == nil || !by.After(f.Entry) || !by.MayReplace(f.Entry) || m.By != nil && !by.After(m.By) {
				continue
			}
			if q.excludes(by, by.Counts()) != "" || q.StandingLocked(f.In, by) != by {
				continue
			}
			n := slices.IndexFunc(best, func(o Found) bool { return o.is(f.In, by) })
			if g.Outweighed(guesses) || n >= 0 && !heeded(g, f, &best[n]) || n < 0 && unsure(g) ||
				g.Of == table.ByOverlap && asksOfFormer(q.Text, f.Text, by.Text) {
				continue
			}
			m.By, m.Guess, at = by, g, n
		}
	}
	return m, at
}

// asksOfFormer reports whether a question names what a former text names before its last word and
// a later one does not, and nothing that the later one alone names: «What is Ilse allergic to?» does
// not ask about Omar, of whom the same is told. The last word is what may have changed.
func asksOfFormer(question, former, later string) bool {
	asked, is := capitals(question), capitals(later)
	was := capitals(former[:strings.LastIndexByte(strings.TrimSpace(former), ' ')+1])
	alone := func(in, out []string) bool {
		return slices.ContainsFunc(asked, func(w string) bool { return slices.Contains(in, w) && !slices.Contains(out, w) })
	}
	return alone(was, is) && !alone(is, was)
}

// capitals returns the words of a text that begin with a capital.
func capitals(s string) []string {
	ws := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(ws, func(w string) bool { return strings.IndexFunc(w, unicode.IsUpper) != 0 })
}

// unsure reports whether a guess says too little for what replaces f to be brought in.
func unsure(g table.Guess) bool {
	return g.Of == table.ByMeaning || g.Of == table.ByExtractor && g.Probability < asRead
}

// heeded reports whether a query orders by a guess: whether what perhaps replaces f
// answers the question as well, or an Extractor has read that it does.
func heeded(g table.Guess, f, by *Found) bool {
	switch g.Of {
	case table.ByMeaning:
		return by.Cosine > 0 && by.Cosine >= halfAsNear*f.Cosine
	case table.ByCue:
		return by.Relevance >= lessRelevant*f.Relevance
	case table.ByExtractor:
		return g.Probability >= asRead || by.Relevance >= asRelevant*f.Relevance
	}
	return by.Relevance >= asRelevant*f.Relevance
}

// Replaced returns what perhaps replaces a hit, nil if nothing.
func (s *Search) Replaced(e *table.Entry) *Mark {
	for i := range s.marks {
		if s.marks[i].old == e {
			return &s.marks[i]
		}
	}
	return nil
}
