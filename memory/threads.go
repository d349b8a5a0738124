package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"unique"

	"github.com/arc-learn/arc/internal/actr"
	"github.com/arc-learn/arc/store"
)

// threadHits is how many records of a thread count, and furtherWeight what
// those after the best add, when there is no text.
const (
	threadHits    = 3
	furtherWeight = 0.3
)

// RecallThreads returns the threads that match the query, best first: the
// Query's K is the largest number of threads. Records without a Thread are left
// out, and threads none of whose records reaches the Floor; threads of the same
// name in different scopes are different.
//
// With a text, Score is to a thread what Relevance is to a record: s is the BM25
// score of all its words together, plus 0.3 times that of each of its three best
// records, and U counts 1.9 times. The words of a thread weigh by how few
// threads have them, so where there are few threads no Score is high.
// Effectiveness and recency are not in it.
// A thread of which a trusted record is found comes before those of which none is, and that record first,
// as with Recall. Nor are vectors in it, which count only without a text, or under [ACTR].
// Without one, it is the score of the best record plus 0.3 times those of the
// next two, divided by 1.6. Under [ACTR] it is ln Σ e^A over the three best.
func (s Space) RecallThreads(ctx context.Context, q Query) ([]ThreadHit, error) {
	var hits []ThreadHit
	err := s.with(ctx, &q, func(sc *scratch) (err error) {
		hits, err = s.threads(ctx, sc)
		if len(hits) == 0 || hits[0].Hits[0].Record.Trusted || !sc.vouches() {
			return err
		}
		k := sc.query.k
		sc.query.k, sc.query.without = 1, sc.query.without|isQuarantined
		vouched, err := s.threads(ctx, sc)
		if len(vouched) > 0 {
			hits = leadThreads(hits, vouched[0], k)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("memory: recall threads: %w", err)
	}
	return hits, nil
}

// threads returns the threads that match the query, best first.
func (s Space) threads(ctx context.Context, sc *scratch) (hits []ThreadHit, err error) {
	var ts []foundThread
	if sc.query.all || sc.query.fusion.Alone || sc.query.model != nil {
		sc.query.replaying = true
		sc.find(0)
		ts = groupThreads(sc)
	} else {
		ts = sc.findThreads()
	}
	for _, t := range ts {
		if len(hits) == sc.query.k {
			break
		}
		fs := sc.query.cut(sc.found[t.from:t.to])
		if len(fs) == 0 {
			continue
		}
		best, err := s.hits(ctx, sc, nil, fs)
		if err != nil {
			return nil, err
		}
		if len(best) > 0 {
			hits = append(hits, ThreadHit{Thread: name(fs[0].thread), Score: t.score, Hits: best})
		}
	}
	return hits, nil
}

// leadThreads puts the thread that is the best without what is in quarantine before the others, and its
// best record first. They stay as many as were asked for.
func leadThreads(hits []ThreadHit, best ThreadHit, k int) []ThreadHit {
	first := best.Hits[0]
	at := slices.IndexFunc(hits, func(h ThreadHit) bool {
		return h.Thread == best.Thread && h.Hits[0].Record.Scope == first.Record.Scope
	})
	if at < 0 {
		if at = len(hits); at == k {
			at--
		}
	} else {
		others := slices.DeleteFunc(hits[at].Hits, func(h Hit) bool { return h.Record.ID == first.Record.ID })
		best.Score, best.Hits = hits[at].Score, append([]Hit{first}, others[:min(len(others), threadHits-1)]...)
	}
	return slices.Insert(slices.Delete(hits, at, min(at+1, len(hits))), 0, best)
}

// Latest returns the last n records of a thread in order of At, quarantined and
// archived ones too. It looks for nothing but the name: one step, however many
// threads there are.
func (s Space) Latest(ctx context.Context, thread string, n int) ([]Record, error) {
	sh, done, err := s.holding(ctx)
	defer done()
	if sh == nil {
		return nil, err
	}
	if n < 0 {
		return nil, fmt.Errorf("memory: latest: %w: n is %d", ErrQuery, n)
	}
	var records []Record
	for _, e := range sh.latest(thread, n) {
		r := Record{ID: e.name(), Scope: sh.scope}
		err := sh.missing(e, s.b.copy(ctx, sh, e, e.counts(), &r))
		if errors.Is(err, store.ErrNotFound) {
			continue // it is going
		}
		if err != nil {
			return nil, fmt.Errorf("memory: latest: %w", err)
		}
		records = append(records, r)
	}
	return records, nil
}

// latest returns the last n entries of a thread, in order.
func (sh *shard) latest(thread string, n int) (es []*entry) {
	sh.mu.Enter()
	defer sh.mu.Leave()
	for _, row := range sh.index.Latest(thread, n) {
		es = append(es, sh.rows[row])
	}
	return es
}

// foundThread is a thread that a query found. Its best records are sc.found
// from from to to, best first.
type foundThread struct {
	from, to     int
	ratio, score float64
}

// findThreads returns the threads that match the text, best first, at least as
// many as are wanted.
func (sc *scratch) findThreads() (ts []foundThread) {
	sc.found = sc.found[:0]
	for _, sh := range sc.query.shards {
		ts = sh.findThreads(sc, ts)
	}
	sc.query.weigh(sc.found)
	for _, t := range ts {
		slices.SortFunc(sc.found[t.from:t.to], func(a, b found) int { return better(&a, &b) })
	}
	slices.SortFunc(ts, func(a, b foundThread) int {
		x, y := &sc.found[a.from], &sc.found[b.from]
		return cmp.Or(
			cmp.Compare(b.ratio, a.ratio), cmp.Compare(name(x.thread), name(y.thread)), cmp.Compare(x.sh.scope, y.sh.scope))
	})
	return ts
}

// findThreads appends those of a scope to ts.
func (sh *shard) findThreads(sc *scratch, ts []foundThread) []foundThread {
	sh.mu.Enter()
	defer sh.mu.Leave()
	ask := sh.ask(&sc.query, sc.query.k)
	if sc.query.floor > 0 {
		ask.K = 0 // some will be left out
	}
	ask.First = func(a, b uint32) bool {
		x, y := sh.rows[a], sh.rows[b]
		return x.at > y.at || x.at == y.at && compareIDs(x, y) < 0
	}
	for _, t := range sh.index.Threads(&sc.index, &ask) {
		from := len(sc.found)
		for _, m := range t.Best {
			sh.add(sc, m)
		}
		if to := len(sc.found); to > from {
			ts = append(ts, foundThread{from, to, t.Ratio, t.Relevance})
		}
	}
	return ts
}

// together is the score of a thread, by its best records.
func (q *query) together(best []found) float64 {
	if q.model != nil {
		var as [threadHits]float64
		for i := range best {
			as[i] = best[i].score
		}
		return actr.BlendedActivation(as[:len(best)])
	}
	sum := best[0].score
	for _, f := range best[1:] {
		sum += furtherWeight * f.score
	}
	return sum / (1 + furtherWeight*(threadHits-1))
}

// groupThreads returns the threads of all that was found, best first.
func groupThreads(sc *scratch) []foundThread {
	type key struct {
		sh     *shard
		thread unique.Handle[string]
	}
	all := slices.DeleteFunc(sc.query.cut(sc.found), func(f found) bool { return name(f.thread) == "" })
	slices.SortFunc(all, func(a, b found) int { return better(&a, &b) })
	groups := make(map[key][]found)
	var order []key
	for _, f := range all {
		k := key{f.sh, f.thread}
		if groups[k] == nil {
			order = append(order, k)
		}
		if len(groups[k]) < threadHits {
			groups[k] = append(groups[k], f)
		}
	}
	var ts []foundThread
	sc.found = sc.found[:0]
	for _, k := range order {
		t := foundThread{from: len(sc.found), score: sc.query.together(groups[k])}
		sc.found = append(sc.found, groups[k]...)
		t.to = len(sc.found)
		ts = append(ts, t)
	}
	// The sort is stable: among equals, the one with the better record.
	slices.SortStableFunc(ts, func(a, b foundThread) int { return cmp.Compare(b.score, a.score) })
	return ts
}
