package search

import (
	"maps"
	"slices"

	"github.com/arc-learn/arc/internal/topk"
	"github.com/arc-learn/arc/memory/internal/answer"
	"github.com/arc-learn/arc/memory/internal/table"
)

// Recall returns the hits of the query, best first. They are valid until the next search.
func (s *Search) Recall() []Found {
	q := &s.Query
	s.find(q.enough())                           // candidates, filters, what is superseded, score
	best := topk.Of(q.cut(s.found), q.K, Better) // selection
	best = s.vouch(best)                         // what is trusted before what is not
	best = s.order(best)                         // what is current before what it perhaps replaces
	return q.bring(best)                         // what is linked
}

// Best returns as many of what the query finds as it asks for, in an order, what is current before what
// it perhaps replaces.
func (s *Search) Best(order func(a, b *Found) int) []Found {
	s.find(s.Query.enough())
	return s.order(topk.Of(s.found, s.Query.K, order))
}

// enough is how many of the best by relevance have to be looked at; 0: all.
func (q *Query) enough() int {
	if q.Model != nil || q.Triggered {
		return 0
	}
	return max(q.K, answer.Compared)
}

// find fills s.found with what matches the query, scored, in no order: with
// all of that if n is 0, or at least with the n best. What is superseded gives
// its place to what supersedes it.
func (s *Search) find(n int) {
	s.found = s.found[:0]
	clear(s.hidden)
	for _, t := range s.Query.Tables {
		s.collect(t, n)
	}
	s.Query.attributed = attributed(s.found)
	s.Query.rank(s.found)
}

// rank scores what was found.
func (q *Query) rank(fs []Found) {
	switch {
	case q.Triggered:
		for i := range fs {
			fs[i].Score = fs[i].Ratio // in their order in the text
		}
	case q.Model != nil:
		q.activate(fs)
	default:
		q.weigh(fs)
	}
}

// vouch puts the best trusted record that the query finds before those in
// quarantine, which outsiders can write: neither words and vectors made to match, nor
// repetition, nor a claim to replace it comes before it. It looks again without
// them if one is first, since they can be many. The hits stay as many as were asked
// for.
func (s *Search) vouch(best []Found) []Found {
	q := &s.Query
	if len(best) == 0 || best[0].Flags.Trusted() || !q.vouches() {
		return best
	}
	best = slices.Clone(best) // find works in the same memory
	without, attributed, hidden := q.Without, q.attributed, maps.Clone(s.hidden)
	for i := range s.found {
		q.best = max(q.best, s.found[i].Ratio) // scores stay as they are
	}
	q.Without |= table.Quarantined
	s.find(q.enough())
	vouched := slices.DeleteFunc(q.cut(s.found), func(f Found) bool { return hidden[f.Entry] != nil })
	q.Without, q.attributed = without, attributed
	if len(vouched) == 0 {
		return best
	}
	f := topk.Of(vouched, 1, Better)[0]
	return q.lead(best, 0, slices.IndexFunc(best, func(o Found) bool { return o.is(f.In, f.Entry) }), f)
}

// vouches reports whether trusted records may be found that were not the best.
func (q *Query) vouches() bool {
	return slices.ContainsFunc(q.Tables, (*table.Table).Vouches) && !q.Apart && !q.Triggered
}

// bring appends what is linked with the hits, as long as there is room.
func (q *Query) bring(best []Found) []Found {
	if !q.Linked {
		return best
	}
	for _, f := range best {
		f.In.Enter()
		for _, e := range f.In.LinkedLocked(f.Entry) {
			there := slices.ContainsFunc(best, func(o Found) bool { return o.Entry == e })
			if there || len(best) >= q.K {
				continue
			}
			if c := e.Counts(); q.excludes(e, c) == "" && !(q.Rescue && c.Archived) && q.StandingLocked(f.In, e) == e {
				best = append(best, Found{Entry: e, In: f.In, Tally: c, Link: f.Entry})
			}
		}
		f.In.Leave()
	}
	return best
}

// Rank returns at which place e is found, by words alone, from 1 on; most+1 if it is
// not among so many. Nothing gives way.
func (s *Search) Rank(e *table.Entry, most int) int {
	s.Query.replaying = true
	s.find(most)
	i := slices.IndexFunc(s.found, func(f Found) bool { return f.Entry == e })
	if i < 0 {
		return most + 1
	}
	rank := 1
	for j := range s.found {
		if s.found[j].Ratio > s.found[i].Ratio {
			rank++
		}
	}
	return min(rank, most+1)
}
