package search

import (
	"cmp"
	"slices"
	"unique"

	"github.com/arc-learn/arc/internal/actr"
	"github.com/arc-learn/arc/memory/internal/answer"
	"github.com/arc-learn/arc/memory/internal/table"
)

// threadHits is how many records of a thread count, and furtherWeight what
// those after the best add, when there is no text.
const (
	threadHits    = 3
	furtherWeight = 0.3
)

// Thread is a thread that a query found, with its best records, best first.
type Thread struct {
	Name     string
	Score    float64
	Best     []Found
	ratio    float64
	from, to int // of the best, in Search.found
}

// Threads returns the threads that match the query, best first. One of which a trusted record is found
// comes before those of which none is, and that record first. They are valid until the next search.
func (s *Search) Threads() []Thread {
	q := &s.Query
	ts := s.threads()
	if len(ts) == 0 || ts[0].Best[0].Flags.Trusted() || !q.vouches() {
		return ts
	}
	for i := range ts {
		ts[i].Best = slices.Clone(ts[i].Best) // threads works in the same memory
	}
	k, without, attributed := q.K, q.Without, q.attributed
	q.K, q.Without = 1, q.Without|table.Quarantined
	if vouched := s.threads(); len(vouched) > 0 {
		ts = leadThreads(ts, vouched[0], k)
	}
	q.K, q.Without, q.attributed = k, without, attributed
	return ts
}

// threads returns the threads that match the query, best first.
func (s *Search) threads() []Thread {
	q := &s.Query
	var ts []Thread
	if q.All || q.Fusion.Alone || q.Model != nil {
		q.replaying = true
		s.find(0)
		ts = s.group()
	} else {
		q.attributed = answer.Unnamed
		ts = s.findThreads()
	}
	for i := range ts {
		ts[i].Best = q.cut(s.found[ts[i].from:ts[i].to])
	}
	ts = slices.DeleteFunc(ts, func(t Thread) bool { return len(t.Best) == 0 })
	for i := range ts {
		ts[i].Name = table.Value(ts[i].Best[0].Thread)
	}
	return ts[:min(len(ts), q.K)]
}

// leadThreads puts the thread that is the best without what is in quarantine before the others, and its
// best record first. They stay as many as were asked for.
func leadThreads(ts []Thread, best Thread, k int) []Thread {
	first := best.Best[0]
	at := slices.IndexFunc(ts, func(t Thread) bool { return t.Name == best.Name && t.Best[0].In == first.In })
	if at < 0 {
		if at = len(ts); at == k {
			at--
		}
	} else {
		others := slices.DeleteFunc(ts[at].Best, func(f Found) bool { return f.Entry == first.Entry })
		best.Score, best.Best = ts[at].Score, append([]Found{first}, others[:min(len(others), threadHits-1)]...)
	}
	return slices.Insert(slices.Delete(ts, at, min(at+1, len(ts))), 0, best)
}

// findThreads returns the threads that match the text, best first, at least as
// many as are wanted.
func (s *Search) findThreads() (ts []Thread) {
	s.found = s.found[:0]
	for _, t := range s.Query.Tables {
		ts = s.collectThreads(t, ts)
	}
	s.Query.weigh(s.found)
	for _, t := range ts {
		slices.SortFunc(s.found[t.from:t.to], better)
	}
	slices.SortFunc(ts, func(a, b Thread) int {
		x, y := &s.found[a.from], &s.found[b.from]
		return cmp.Or(cmp.Compare(b.ratio, a.ratio),
			cmp.Compare(table.Value(x.Thread), table.Value(y.Thread)), cmp.Compare(x.In.Scope, y.In.Scope))
	})
	return ts
}

// collectThreads appends those of a table to ts.
func (s *Search) collectThreads(t *table.Table, ts []Thread) []Thread {
	t.Enter()
	defer t.Leave()
	ask := s.Query.toIndex(t, s.Query.K)
	if s.Query.Floor > 0 {
		ask.K = 0 // some will be left out
	}
	ask.First = func(a, b uint32) bool {
		x, y := t.RowLocked(a), t.RowLocked(b)
		return x.At > y.At || x.At == y.At && table.CompareNames(x, y) < 0
	}
	for _, found := range t.Index.Threads(&s.Index, &ask) {
		from := len(s.found)
		for _, m := range found.Best {
			s.screenMatch(t, m)
		}
		if to := len(s.found); to > from {
			ts = append(ts, Thread{from: from, to: to, ratio: found.Ratio, Score: found.Relevance})
		}
	}
	return ts
}

// group returns the threads of all that was found, best first.
func (s *Search) group() []Thread {
	type key struct {
		in     *table.Table
		thread unique.Handle[string]
	}
	all := slices.DeleteFunc(s.Query.cut(s.found), func(f Found) bool { return table.Value(f.Thread) == "" })
	slices.SortFunc(all, better)
	groups := make(map[key][]Found)
	var order []key
	for _, f := range all {
		k := key{f.In, f.Thread}
		if groups[k] == nil {
			order = append(order, k)
		}
		if len(groups[k]) < threadHits {
			groups[k] = append(groups[k], f)
		}
	}
	var ts []Thread
	s.found = s.found[:0]
	for _, k := range order {
		t := Thread{from: len(s.found), Score: s.Query.together(groups[k])}
		s.found = append(s.found, groups[k]...)
		t.to = len(s.found)
		ts = append(ts, t)
	}
	// The sort is stable: among equals, the one with the better record.
	slices.SortStableFunc(ts, func(a, b Thread) int { return cmp.Compare(b.Score, a.Score) })
	return ts
}

// together is the score of a thread, by its best records.
func (q *Query) together(best []Found) float64 {
	if q.Model != nil {
		var as [threadHits]float64
		for i := range best {
			as[i] = best[i].Score
		}
		return actr.BlendedActivation(as[:len(best)])
	}
	sum := best[0].Score
	for _, f := range best[1:] {
		sum += furtherWeight * f.Score
	}
	return sum / (1 + furtherWeight*(threadHits-1))
}
