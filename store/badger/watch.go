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
	"github.com/arc-learn/arc/store/badger/internal/record"
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
	sc, err := s.scanFrom(follow, store.Range{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	defer sc.close()
	var found []store.Entry
	for more := true; more; {
		var err error
		if more, err = sc.next(); err != nil {
			return nil, err
		}
		for _, e := range sc.batch {
			if e.Rev > after {
				found = append(found, e)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b store.Entry) int { return cmp.Compare(a.Rev, b.Rev) })
	return found, nil
}

// publish hands a group to those that watch. The values are those that were
// given to Badger, which does not change any more.
func (s *Store) publish(group []*request) {
	if !s.feed.Followed() {
		return
	}
	var entries []store.Entry
	for _, r := range group {
		for i := range r.writes {
			w := &r.writes[i]
			e := store.Entry{Key: record.Name(w.key), Rev: r.rev, Deleted: w.rec == nil}
			if w.rec != nil {
				e.Value = w.rec[record.Header:]
			}
			entries = append(entries, e)
		}
	}
	s.feed.Publish(entries)
}
