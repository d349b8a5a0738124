// Package search finds records in the tables of scopes, by words and vectors or by phrases, and puts
// them in order: by relevance, effectiveness and recency or by activation, what is trusted and what is
// current first. It copies no record, and waits for no disk.
package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/activation"
	"github.com/arc-learn/arc/memory/internal/answer"
	"github.com/arc-learn/arc/memory/internal/hybrid"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
)

// gate is the share of the best match from which on effectiveness and recency count. Measured on
// dialogue with evidence marked: with it, the two cost at most 0.2 points of recall at 10, without it
// up to 32.
const gate = 0.8

// Query is what to find, checked. What its View leaves out is not found either.
type Query struct {
	table.View
	K         int
	Tables    []*table.Table
	Terms     []text.Term
	Half      map[string]string       // see index.Query
	Text      string                  // as it is
	All       bool                    // there is no text: every record is found
	Triggered bool                    // by phrases of the records in the text
	Linked    bool                    // what is linked with the hits fills up what they leave of K
	Rescue    bool                    // what is archived is found if nothing live matches as well
	Asker     bool                    // the text is about who asks
	Apart     bool                    // trusted records are left out
	May       func(*table.Entry) bool // which records count; nil: all
	At        int64                   // when recency is taken, in microseconds since 1970
	Rate      float64                 // 1 / the half-life in microseconds
	Situation uint64                  // for which effectiveness is estimated
	Context   []ident.Key             // records that are in mind
	Model     *activation.Model       // nil: by weights
	Draws     uint64                  // seed of the noise of the Model
	Floor     float64                 // the least that is likely to answer, if there is a text
	Vector    bool                    // there is one, in Search.Hybrid
	Fusion    hybrid.Fusion           // of words and vectors

	replaying  bool    // nothing gives way
	best       float64 // the least ratio of what counts as the best match, see vouch
	attributed float64 // how likely what is found is by whom the text names
}

// Search is memory that searches use again, and what the last one has found. The zero value is ready.
// It serves one goroutine at a time.
type Search struct {
	Query  Query
	Index  index.Scratch
	Hybrid hybrid.Scratch

	ask    index.Query // of the table at hand
	found  []Found
	hidden map[*table.Entry]*table.Entry // what was found and is superseded, by what
	marks  []Mark                        // of the hits
}

// Mark says of a hit what perhaps replaces it.
type Mark struct {
	old, By *table.Entry
	table.Guess
}

// Forget keeps no record alive, nor anything of the caller's.
func (s *Search) Forget() {
	clear(s.found)
	clear(s.hidden)
	clear(s.marks)
	s.ask, s.Query = index.Query{}, Query{Tables: s.Query.Tables, Context: s.Query.Context}
}

// excludes returns why the query leaves a record out, or "".
func (q *Query) excludes(e *table.Entry, c *tally.Counts) string {
	switch {
	case q.Without&e.Flags&table.Kinds != 0:
		return "its kind is not asked for"
	case q.Without&e.Flags&table.Quarantined != 0:
		return "it is quarantined, and Inject leaves those out until Trust"
	case q.Apart && e.Flags.Trusted():
		return "it is trusted, and Background leaves those out"
	case q.Without&table.Archived != 0 && c.Archived:
		return "it is archived"
	case e.At > q.Before:
		return "it did not hold yet at At"
	case e.Known > q.Known:
		return "it was not known yet at Known"
	case q.May != nil && !q.May(e):
		return "it is not asked for"
	}
	return ""
}

// toIndex returns the query as the index takes it.
func (q *Query) toIndex(t *table.Table, n int) index.Query {
	ask := index.Query{Terms: q.Terms, Half: q.Half, K: n, Gate: gate, Asker: q.Asker, Exclude: index.Flags(q.Without)}
	if q.Apart || q.May != nil || q.Before != math.MaxInt64 || q.Known != math.MaxInt64 {
		ask.Skip = func(row uint32) bool {
			e := t.RowLocked(row)
			return e.At > q.Before || e.Known > q.Known || q.Apart && e.Flags.Trusted() || q.May != nil && !q.May(e)
		}
	}
	return ask
}

// Found is a record that a query found, before it is copied for the caller.
type Found struct {
	*table.Entry
	In    *table.Table
	Tally *tally.Counts // as they were when it was found
	hybrid.Rated
	Link  *table.Entry // the hit that brings it, if no words do
	Score float64

	near, doubted          bool // doubted: something perhaps replaces it
	by                     answer.Actor
	effectiveness, recency float64 // if near
}

// is reports whether f is of the record of e.
func (f *Found) is(t *table.Table, e *table.Entry) bool { return f.Entry == e && f.In == t }

// Better orders hits: by score, then the newer, then by id.
func Better(a, b *Found) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	case a.Ratio > b.Ratio: // relevance has no more digits when it is near 1
		return -1
	case a.Ratio < b.Ratio:
		return 1
	case a.At > b.At:
		return -1
	case a.At < b.At:
		return 1
	}
	return cmp.Or(table.CompareNames(a.Entry, b.Entry), cmp.Compare(a.In.Scope, b.In.Scope))
}

func better(a, b Found) int { return Better(&a, &b) }

// below reports whether f is below the threshold.
func (q *Query) below(f *Found) bool {
	return q.Model != nil && q.Model.Cuts() && f.Score < q.Model.Threshold
}

// cut leaves what is not below the threshold, nor below the floor.
func (q *Query) cut(fs []Found) []Found {
	if q.Floor == 0 && (q.Model == nil || !q.Model.Cuts()) {
		return fs
	}
	return slices.DeleteFunc(fs, func(f Found) bool { return q.answers(&f) < q.Floor || q.below(&f) })
}

// answers is Parts.Answer. A lesson is of a situation, which asks nothing of what
// was said.
func (q *Query) answers(f *Found) float64 {
	switch {
	case q.All:
		return 0
	case q.Fusion.Alone || f.Flags&table.Lesson != 0:
		return f.Relevance
	}
	return answer.Probability(f.Relevance, q.attributed)
}

// lead puts f, which is the hit at a place, or not among the hits if that is -1, before
// the i-th.
func (q *Query) lead(best []Found, i, at int, f Found) []Found {
	if at < 0 {
		if len(best) < q.K {
			best = append(best, Found{})
		}
		at = len(best) - 1
	}
	copy(best[i+1:at+1], best[i:at])
	best[i] = f
	return best
}
