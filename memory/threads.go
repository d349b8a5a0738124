package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/arc-learn/arc/store"
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
	err := s.with(ctx, &q, func(sc *scratch) error {
		for _, t := range sc.Threads() {
			best, err := s.hits(ctx, sc, nil, t.Best)
			if err != nil {
				return err
			}
			if len(best) > 0 {
				hits = append(hits, ThreadHit{Thread: t.Name, Score: t.Score, Hits: best})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("memory: recall threads: %w", err)
	}
	return hits, nil
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
	for _, e := range sh.Latest(thread, n) {
		r := Record{ID: ID(e.Name()), Scope: sh.scope}
		err := sh.missing(e, s.b.copy(ctx, sh, e, e.Counts(), &r))
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
