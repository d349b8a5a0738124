package badger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/notify"
	"github.com/arc-learn/arc/store"
)

// Watch yields the entries under prefix that were written after the revision after, and then each later change, until
// ctx ends or the store is closed or fails. It collects the entries before it yields the first one. Changes wait in
// memory for a slow loop.
func (s *Store) Watch(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := store.CheckContext(ctx); err != nil {
			yield(store.Entry{}, err)
			return
		}
		var later *notify.Cursor[[]store.Entry]
		now, err := s.collect(prefix, after, func() { later = s.feed.Follow() })
		if later != nil {
			defer later.Stop()
		}
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		err = notify.Watch(ctx, now, later, func(e store.Entry) (store.Entry, bool) {
			passes := strings.HasPrefix(e.Key, prefix) && e.Rev > after
			if passes {
				e.Value = bytes.Clone(e.Value)
			}
			return e, passes
		}, yield)
		if errors.Is(err, notify.ErrClosed) {
			err = cmp.Or(s.usable(), store.ErrClosed)
		}
		if err != nil {
			yield(store.Entry{}, err)
		}
	}
}

// collect calls follow and returns the entries as of that moment, in order of
// revision.
func (s *Store) collect(prefix string, after store.Revision, follow func()) ([]store.Entry, error) {
	var found []store.Entry
	for e, err := range s.entries(follow, store.Range{Prefix: prefix}) {
		if err != nil {
			return nil, err
		}
		if e.Rev > after {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b store.Entry) int { return cmp.Compare(a.Rev, b.Rev) })
	return found, nil
}
