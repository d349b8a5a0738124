package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/notify"
)

// Watch yields the entries under prefix that were written after the revision
// after, and then each later change, until ctx ends or the store is closed.
// Changes wait in memory for a loop that is slow to take them.
func (m *Mem) Watch(ctx context.Context, prefix string, after Revision) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := CheckContext(ctx); err != nil {
			yield(Entry{}, err)
			return
		}
		now, later, err := m.follow(prefix, after)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer later.Stop()
		err = notify.Watch(ctx, now, later, func(e Entry) (Entry, bool) {
			passes := strings.HasPrefix(e.Key, prefix) && e.Rev > after
			if passes {
				e.Value = bytes.Clone(e.Value)
			}
			return e, passes
		}, yield)
		if errors.Is(err, notify.ErrClosed) {
			err = ErrClosed
		}
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

// follow returns the entries of now, in order of revision, and a cursor at the changes after them.
func (m *Mem) follow(prefix string, after Revision) ([]Entry, *notify.Cursor[[]Entry], error) {
	m.mu.RLock() // commits publish under the lock: none falls in between
	defer m.mu.RUnlock()
	if m.mu.closed {
		return nil, nil, ErrClosed
	}
	var now []Entry
	ascend(m.mu.tree, Range{Prefix: prefix}, func(key string, v version) bool {
		if v.rev > after {
			now = append(now, v.entry(key))
		}
		return true
	})
	slices.SortStableFunc(now, func(a, b Entry) int { return cmp.Compare(a.Rev, b.Rev) })
	return now, m.feed.Follow(), nil
}

// changes returns the entries that the commit of ops makes.
func changes(rev Revision, ops []Op) []Entry {
	entries := make([]Entry, len(ops))
	for i := range ops {
		entries[i] = Entry{Key: ops[i].Key, Rev: rev, Deleted: ops[i].Delete}
		if !ops[i].Delete {
			entries[i].Value = bytes.Clone(ops[i].Value)
		}
	}
	return entries
}
