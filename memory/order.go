package memory

import (
	"slices"

	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/succession"
)

// What a query orders by a guess, see docs/benchmarks.md.
const (
	asRelevant   = 0.7 // relevance of the later one, of that of the earlier
	lessRelevant = 0.2 // with a cue, whose words are not those of the question
	reordered    = 10  // hits
	halfAsNear   = 0.5 // cosine with the question, of that of the earlier one
	asRead       = 0.5 // probability by an Extractor, whatever the words
)

// doubt notes what something perhaps replaces, of what was found from one on. The
// search of sh is in.
func (sc *scratch) doubt(sh *shard, from int) {
	if q := &sc.query; len(sh.guesses) == 0 || q.all || q.fusion.Alone || q.triggered || q.model != nil {
		return
	}
	doubted := func(k ident.Key) bool { return len(sh.guesses[k]) > 0 }
	for i := range sc.found[from:] {
		f := &sc.found[from+i]
		f.doubted = doubted(f.id) || f.more != nil && slices.ContainsFunc(f.more.former, doubted)
	}
}

// order puts what is current before what it perhaps replaces, among the first
// ten, and brings in what is not among the hits. It hides nothing that was among
// those ten, and keeps the number of hits. A question about the past is answered
// as it was.
func (sc *scratch) order(best []found) []found {
	sc.marks = sc.marks[:0]
	q := &sc.query
	doubted := func(f found) bool { return f.doubted }
	if !slices.ContainsFunc(best[:min(len(best), reordered)], doubted) || succession.AsksOfPast(q.asked) {
		return best
	}
	for i := 0; i < min(len(best), reordered); i++ {
		for range maxSteps {
			if !best[i].doubted {
				break
			}
			m, at := q.later(best, i)
			if m.by == nil {
				break
			}
			sc.marks = append(sc.marks, m)
			if at >= 0 && at < i {
				break // it comes first already
			}
			f := best[max(at, i)]
			if at < 0 {
				f.entry, f.tally, f.doubted = m.by, m.by.counts(), true
			}
			best = q.lead(best, i, at, f)
		}
	}
	return best
}

// later returns the latest record that perhaps replaces the i-th hit, if the
// query sees it and finds it as relevant. At is its place, or -1 if it is not
// among the hits.
func (q *query) later(best []found, i int) (m mark, at int) {
	f := &best[i]
	m.old, at = f.entry, -1
	f.sh.mu.Enter()
	defer f.sh.mu.Leave()
	for k := range f.keys() {
		guesses := f.sh.guesses[k]
		for _, g := range guesses {
			by := f.sh.findLocked(g.by)
			if by == nil || !by.after(f.entry) || !replaces(by, f.entry) || m.by != nil && !by.after(m.by) {
				continue
			}
			if q.excludes(by, by.counts()) != "" || q.standing(f.sh, by) != by {
				continue
			}
			n := slices.IndexFunc(best, func(o found) bool { return o.entry == by && o.sh == f.sh })
			if g.outweighed(guesses) || n >= 0 && !g.heeded(f, &best[n]) || n < 0 && g.unsure() {
				continue
			}
			m.by, m.p, m.of, at = by, g.p, g.of, n
		}
	}
	return m, at
}

// outweighed reports whether another of the guesses says better what this one does, or
// that it is wrong.
func (g guess) outweighed(guesses []guess) bool {
	return g.p == 0 || slices.ContainsFunc(guesses, func(o guess) bool { return o.by == g.by && o.of.outweighs(g.of) })
}

// unsure reports whether the guess says too little for what replaces f to be brought in.
func (g guess) unsure() bool { return g.of == ByMeaning || g.of == ByExtractor && g.p < asRead }

// heeded reports whether a query orders by the guess, of those of f: whether what perhaps replaces f
// answers the question as well, or an Extractor has read that it does.
func (g guess) heeded(f, by *found) bool {
	switch g.of {
	case ByMeaning:
		return by.Cosine > 0 && by.Cosine >= halfAsNear*f.Cosine
	case ByCue:
		return by.Relevance >= lessRelevant*f.Relevance
	case ByExtractor:
		return g.p >= asRead || by.Relevance >= asRelevant*f.Relevance
	}
	return by.Relevance >= asRelevant*f.Relevance
}

// replaced returns what perhaps replaces e.
func (sc *scratch) replaced(e *entry) Replaced {
	for _, m := range sc.marks {
		if m.old == e {
			return Replaced{m.by.name(), m.p, m.of}
		}
	}
	return Replaced{}
}
