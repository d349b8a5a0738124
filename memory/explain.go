package memory

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/store"
)

// Explain says why the query ranks the record where it does, or why it leaves it out. The record
// may be in one of the further scopes of the query. If none has it, the error is
// store.ErrNotFound.
func (s Space) Explain(ctx context.Context, q Query, id ID) (Explanation, error) {
	var x Explanation
	err := s.with(ctx, &q, func(sc *scratch) error {
		for _, sh := range sc.shards {
			if e := sh.entry(id); e != nil {
				x = explanation(sc, sh, e)
				return nil
			}
		}
		return fmt.Errorf("record %.256q: %w", s.b.sanitize.Sanitize(string(id)), store.ErrNotFound)
	})
	if err != nil {
		return Explanation{}, fmt.Errorf("memory: explain: %w", err)
	}
	return x, nil
}

func explanation(sc *scratch, sh *shard, e *table.Entry) Explanation {
	is := sc.Explain(sh.Table, e)
	x := Explanation{
		ID: ID(e.Name()), Returned: is.Returned, Rank: is.Rank, Of: is.Of, Score: is.Score, Reason: is.Reason,
		Parts: Parts(sc.Query.Parts(&is.Found)),
	}
	if is.By != nil {
		x.By = ID(is.By.Name())
	}
	for _, w := range sc.Words(sh.Table, e) {
		x.Words = append(x.Words, Word{Text: w.Text, Weight: w.Share, Found: w.Found})
	}
	return x
}
