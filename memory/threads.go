package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unique"

	"github.com/arc-learn/arc/internal/actr"
)

// threadHits is how many records of a thread count, and furtherWeight what
// those after the best add.
const (
	threadHits    = 3
	furtherWeight = 0.3
)

// RecallThreads returns the threads that match the query, best first: the
// Query's K is the largest number of threads. Score is that of the best record
// plus 0.3 times those of the next two, divided by 1.6; under [ACTR] it is ln
// Σ e^A over the three. Records without a Thread are left out; threads of the
// same name in different scopes are different.
func (s Space) RecallThreads(ctx context.Context, q Query) ([]ThreadHit, error) {
	var hits []ThreadHit
	err := s.with(ctx, &q, func(sc *scratch) error {
		s.find(sc, 0)
		fs := slices.DeleteFunc(sc.query.cut(sc.found), func(f found) bool { return name(f.thread) == "" })
		slices.SortFunc(fs, func(a, b found) int { return better(&a, &b) })
		for _, t := range groupThreads(fs, &sc.query) {
			best, err := s.hits(ctx, sc, t.best)
			if err != nil {
				return err
			}
			if len(best) > 0 {
				hits = append(hits, ThreadHit{Thread: name(t.best[0].thread), Score: t.score, Hits: best})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("memory: recall threads: %w", err)
	}
	return hits, nil
}

// thread is what was found of a thread: its best records, best first.
type thread struct {
	best  []found
	score float64
}

// together is the score of a thread.
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

// groupThreads returns the best threads of fs, which is best first.
func groupThreads(fs []found, q *query) []*thread {
	type key struct {
		sh     *shard
		thread unique.Handle[string]
	}
	byName := make(map[key]*thread)
	var out []*thread
	for _, f := range fs {
		n := key{f.sh, f.thread}
		t := byName[n]
		if t == nil {
			t = new(thread)
			byName[n] = t
			out = append(out, t)
		}
		if len(t.best) < threadHits {
			t.best = append(t.best, f)
		}
	}
	for _, t := range out {
		t.score = q.together(t.best)
	}
	// The sort is stable: among equals, the one with the better record.
	slices.SortStableFunc(out, func(a, b *thread) int { return cmp.Compare(b.score, a.score) })
	return out[:min(q.k, len(out))]
}
