package search

import (
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/memory/internal/table"
)

// Explanation says where a query ranks a record, or why it does not.
type Explanation struct {
	Found
	Rank     int          // from 1; 0 if it was left out
	Of       int          // how many records matched
	Returned bool         // among the first K
	By       *table.Entry // what supersedes it, and has its place; nil: none
	Reason   string       // in words
}

// Explain says where the query ranks e.
func (s *Search) Explain(t *table.Table, e *table.Entry) Explanation {
	s.find(0)
	q := &s.Query
	x := Explanation{Of: len(s.found)}
	is := func(f Found) bool { return f.Key == e.Key && f.In == t }
	if i := slices.IndexFunc(s.found, is); i >= 0 && q.answers(&s.found[i]) < q.Floor {
		x.Found, x.Reason = s.found[i], "its Answer is below the Floor"
		return x
	}
	vouched := s.arrange()
	x.Of = len(s.found)
	i := slices.IndexFunc(s.found, is)
	if i < 0 {
		x.Found = Found{Entry: e, In: t, Tally: e.Counts()}
		if q.Vector {
			t.Enter()
			x.Cosine = t.Vectors.Cosine(&s.Hybrid.Vector, e.Row)
			t.Leave()
		}
		x.By, x.Reason = s.absence(e)
		return x
	}
	x.Found, x.Rank = s.found[i], i+1
	x.Returned = i < q.K && !q.below(&x.Found)
	x.Reason = fmt.Sprintf("rank %d of %d", x.Rank, x.Of)
	if i >= q.K {
		x.Reason += fmt.Sprintf(", beyond the first %d", q.K)
	}
	if vouched && i == 0 {
		x.Reason += ", before what is in quarantine, since it is trusted"
	}
	x.Reason += ": " + q.account(&x.Found)
	return x
}

// arrange puts all that was found in the order of a recall without a K, and reports
// whether what is trusted was put before what is not.
func (s *Search) arrange() (vouched bool) {
	q := &s.Query
	s.found = slices.DeleteFunc(s.found, func(f Found) bool { return q.answers(&f) < q.Floor })
	slices.SortFunc(s.found, better)
	vouched = s.leadTrusted()
	best := s.order(slices.Clone(s.found[:min(q.K, len(s.found))]))
	in := func(f Found) bool {
		return slices.ContainsFunc(best, func(o Found) bool { return o.is(f.In, f.Entry) })
	}
	s.found = append(best, slices.DeleteFunc(s.found, in)...)
	if len(s.found) < q.K {
		s.found = q.bring(s.found)
	}
	return vouched
}

// leadTrusted puts the best trusted record of all that was found, in order, before those in
// quarantine, as vouch does, and reports whether there is one.
func (s *Search) leadTrusted() bool {
	i := -1
	for j := range s.found {
		if f := &s.found[j]; f.Flags.Trusted() && (i < 0 || Better(f, &s.found[i]) < 0) {
			i = j
		}
	}
	if i <= 0 || s.Query.Triggered || s.found[0].Flags.Trusted() {
		return false
	}
	s.Query.lead(s.found, 0, i, s.found[i])
	return true
}

// absence says why the query has not found e, and what has its place, if anything.
func (s *Search) absence(e *table.Entry) (by *table.Entry, why string) {
	q, c := &s.Query, e.Counts()
	if over := s.hidden[e]; over != nil {
		return over, "it is superseded, and gave its place to what supersedes it"
	}
	switch why = q.excludes(e, c); {
	case why != "":
		return nil, why
	case c.Archived:
		return nil, "it is archived, and what is not matches as well"
	case q.Triggered:
		return nil, "no phrase of its Triggers is in the query"
	}
	why = "it has no word of the query, nor has what is around it in its Thread, function words aside"
	if q.Vector {
		why += fmt.Sprintf(", and its cosine is not above %.2f", q.Fusion.Min)
	}
	return nil, why
}

// account says what the rank of a record follows from.
func (q *Query) account(f *Found) string {
	switch {
	case f.Link != nil:
		return "it is linked with " + f.Link.Name()
	case q.Triggered:
		return "a phrase of its Triggers is in the query"
	case q.below(f):
		return fmt.Sprintf("its activation %.2f is below the threshold %.2f", f.Score, q.Model.Threshold)
	case q.Model != nil:
		p := q.Parts(f)
		return fmt.Sprintf("activation %.2f = base level %.2f + spreading %.2f + mismatch %.2f + noise %.2f",
			p.Activation, p.BaseLevel, p.Spreading, p.Mismatch, p.Noise)
	case q.All:
		return "there is no text, so effectiveness and recency count"
	case f.near:
		return "its score by words is near the best, so effectiveness and recency count too"
	}
	return fmt.Sprintf("its score by words is below %.1f of the best, so nothing else counts", gate)
}

// Words says how the words of the query weigh, and which of them the record has.
func (s *Search) Words(t *table.Table, e *table.Entry) []index.Word {
	t.Enter()
	defer t.Leave()
	if now := t.FindLocked(e.Key); now != nil {
		return t.Index.Words(&s.Index, s.Query.Terms, now.Row)
	}
	return nil
}
