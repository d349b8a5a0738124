package search

import (
	"slices"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/memory/internal/answer"
	"github.com/arc-learn/arc/memory/internal/hybrid"
	"github.com/arc-learn/arc/memory/internal/phrase"
	"github.com/arc-learn/arc/memory/internal/table"
)

// collect finds each record of the table that is there once: no writer changes
// it meanwhile. A goroutine holds one table at a time. If so many gave way that
// too few are left, it looks for more.
func (s *Search) collect(t *table.Table, n int) {
	t.Enter()
	defer t.Leave()
	for from, want := len(s.found), n; ; want *= 2 {
		s.found = s.found[:from]
		switch {
		case s.Query.Triggered:
			s.byPhrases(t)
		case s.Query.All:
			for e := range t.AllLocked() {
				s.screen(t, e, hybrid.Rated{})
			}
		default:
			s.byWords(t, want)
			s.attribute(t, from)
		}
		got := len(s.found) - from
		whole := want == 0 || got < want // the table has no more
		if s.Query.replaying || s.giveWay(t, from)+s.putAside(from) == 0 || whole || len(s.found)-from >= n {
			s.doubt(t, from)
			return
		}
	}
}

// screen notes a record that was found, unless the query leaves it out.
func (s *Search) screen(t *table.Table, e *table.Entry, r hybrid.Rated) {
	c := e.Counts()
	if s.Query.excludes(e, c) == "" {
		s.found = append(s.found, Found{Entry: e, In: t, Tally: c, Rated: r})
	}
}

// screenMatch is screen for what the index has found.
func (s *Search) screenMatch(t *table.Table, m index.Match) {
	s.screen(t, t.RowLocked(m.Row), hybrid.Rated{Ratio: m.Ratio, Relevance: m.Relevance, Lexical: m.Relevance})
}

// byWords takes from the index the n best, and all that are near the best of
// this scope: effectiveness and recency can put these in another order. What is
// not near is below all that is, whatever is found in other scopes, and counts
// by its relevance alone.
func (s *Search) byWords(t *table.Table, n int) {
	q := &s.Query
	s.ask = q.toIndex(t, n)
	if q.Vector {
		in := hybrid.Scope{Words: t.Index, Vectors: t.Vectors.Set()}
		for _, m := range s.Hybrid.Search(in, &s.Index, s.ask, q.K, q.Fusion) {
			s.screen(t, t.RowLocked(m.Row), m.Rated)
		}
		return
	}
	for _, m := range t.Index.Search(&s.Index, &s.ask) {
		s.screenMatch(t, m)
	}
}

// byPhrases finds the records of which a phrase is in the text.
func (s *Search) byPhrases(t *table.Table) {
	if len(t.TriggersLocked()) == 0 {
		return
	}
	ws := phrase.Parts(s.Query.Text)
	from := len(s.found)
	for _, g := range t.TriggersLocked() {
		at := phrase.In(ws, g.Words)
		if at < 0 {
			continue
		}
		rank := float64(at+1) - float64(len(g.Words))/256 // the first in the text, and the longer phrase
		if i := slices.IndexFunc(s.found[from:], func(f Found) bool { return f.Entry == g.Of }); i >= 0 {
			s.found[from+i].Ratio = max(s.found[from+i].Ratio, 1/rank)
			continue
		}
		s.screen(t, g.Of, hybrid.Rated{Ratio: 1 / rank, Relevance: 1, Lexical: 1})
	}
}

// attribute notes by whom the records are that were found from one on.
func (s *Search) attribute(t *table.Table, from int) {
	if of, one := t.Index.Names(&s.Index); one && !s.Query.Fusion.Alone {
		for i := range s.found[from:] {
			f := &s.found[from+i]
			if f.by = answer.Another; of(f.Row) {
				f.by = answer.Named
			}
		}
	}
}

// attributed returns how likely what was found was said by whom the query names.
func attributed(fs []Found) float64 {
	var a answer.Attribution
	for i := range fs {
		a.Add(fs[i].Ratio, fs[i].by)
	}
	return a.Likely()
}

// giveWay takes out what is superseded, of what was found from one on. What takes its place has its relevance,
// if that is higher, and comes once, unless the query leaves it out. It returns how many went.
func (s *Search) giveWay(t *table.Table, from int) int {
	if !t.HidesLocked() {
		return 0
	}
	went := 0
	for i := from; i < len(s.found); i++ {
		f := s.found[i]
		by := s.Query.StandingLocked(t, f.Entry)
		if by == f.Entry {
			continue
		}
		if s.hidden == nil {
			s.hidden = make(map[*table.Entry]*table.Entry)
		}
		s.hidden[f.Entry] = by
		went++
		if at := slices.IndexFunc(s.found[from:], func(g Found) bool { return g.Entry == by }); at >= 0 {
			g := &s.found[from+at]
			g.Ratio, g.Relevance = max(g.Ratio, f.Ratio), max(g.Relevance, f.Relevance)
			g.Lexical, g.Cosine = max(g.Lexical, f.Lexical), max(g.Cosine, f.Cosine)
		} else {
			s.screen(t, by, f.Rated)
		}
	}
	stay := slices.DeleteFunc(s.found[from:], func(f Found) bool { return s.hidden[f.Entry] != nil })
	s.found = s.found[:from+len(stay)]
	return went
}

// putAside takes out what is archived, unless nothing live matches as well. It
// returns how many went.
func (s *Search) putAside(from int) int {
	if !s.Query.Rescue {
		return 0
	}
	best, fs := 0.0, s.found[from:]
	for i := range fs {
		if !fs[i].Tally.Archived {
			best = max(best, fs[i].Ratio)
		}
	}
	stay := slices.DeleteFunc(fs, func(f Found) bool { return f.Tally.Archived && f.Ratio <= best })
	s.found = s.found[:from+len(stay)]
	return len(fs) - len(stay)
}
