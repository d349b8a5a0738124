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

// Watch yields the entries under prefix that were written after the revision
// after, and then each later change, until ctx ends or the store is closed or
// fails. Those that exist are collected before the first is yielded, and
// changes wait in memory for a loop that is slow to take them.
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
		for _, e := range now {
			if err := ctx.Err(); err != nil {
				yield(store.Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		for {
			group, err := later.Next(ctx)
			if err != nil {
				yield(store.Entry{}, s.watchError(err))
				return
			}
			for _, e := range group {
				if !strings.HasPrefix(e.Key, prefix) || e.Rev <= after {
					continue
				}
				e.Value = bytes.Clone(e.Value) // other watches have it too
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// watchError says why the feed ended.
func (s *Store) watchError(err error) error {
	if !errors.Is(err, notify.ErrClosed) {
		return err
	}
	if err := s.usable(); err != nil {
		return err
	}
	return store.ErrClosed
}

// collect calls follow and returns the entries as of that moment, in order of
// revision.
func (s *Store) collect(prefix string, after store.Revision, follow func()) ([]store.Entry, error) {
	sc, err := s.scan(follow, store.Range{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	defer s.endScan(sc)
	var found []store.Entry
	for more := true; more; {
		var batch []store.Entry
		if batch, more, err = s.next(sc); err != nil {
			return nil, err
		}
		for _, e := range batch {
			if e.Rev > after {
				found = append(found, e)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b store.Entry) int { return cmp.Compare(a.Rev, b.Rev) })
	return found, nil
}
