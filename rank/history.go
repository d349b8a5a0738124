package rank

import (
	"context"
	"fmt"
	"iter"
)

// History returns the samples in the window of a candidate and skill, the
// oldest first, as they were when the iteration began. Observed by another
// Book in the same order they give the same Stats. A situation's key comes as
// it was stored, without secrets. It yields the errors of the store and
// store.ErrClosed, and then ends.
func (b *Book) History(ctx context.Context, candidate, skill string) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		records, err := b.history(ctx, candidate, skill)
		if err != nil {
			yield(Sample{}, fmt.Errorf("history of %q: %w", candidate, err))
			return
		}
		for _, r := range records {
			if !yield(r.sample(candidate, skill), nil) {
				return
			}
		}
	}
}

func (b *Book) history(ctx context.Context, candidate, skill string) ([]*record, error) {
	m, err := b.ready(ctx, candidate)
	if err != nil {
		return nil, err
	}
	if err := b.take(ctx); err != nil {
		return nil, err
	}
	defer b.give()
	w := m.windows[skill]
	if w == nil {
		return nil, nil
	}
	var records []*record
	for seq := w.oldest(); seq < w.next; seq++ {
		r, err := b.slot(ctx, candidate, skill, seq)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}
