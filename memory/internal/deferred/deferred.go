// Package deferred writes behind what a Bank may be late with, counters above all, and reads it as if it were
// written.
package deferred

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// Store is a store with a Writer behind. It may be used concurrently.
type Store struct {
	in     store.Store
	writer *flush.Writer
	shared bool
}

// New returns a Store. Shared says that others write counters to it too.
func New(in store.Store, w *flush.Writer, shared bool) *Store { return &Store{in, w, shared} }

// Add hands ops to the Writer. They are in its hands if taken is true,
// even if there is an error, which may be that of an earlier group.
func (s *Store) Add(ctx context.Context, ops ...store.Op) (taken bool, err error) {
	err = s.writer.Add(ctx, ops...)
	if err == nil {
		return true, nil
	}
	// All ops of a call go together: one of them tells.
	op := ops[0]
	if p, ok := s.writer.Pending(op.Key); ok {
		return p.Delete == op.Delete && bytes.Equal(p.Value, op.Value), err
	}
	e, look := s.in.Get(ctx, op.Key)
	if look != nil {
		return op.Delete && errors.Is(look, store.ErrNotFound), err
	}
	return !op.Delete && bytes.Equal(e.Value, op.Value), err
}

// Get returns what was written, behind or not, or store.ErrNotFound.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if op, ok := s.writer.Pending(key); ok {
		if op.Delete {
			return store.Entry{}, store.ErrNotFound
		}
		return store.Entry{Key: key, Value: op.Value}, nil
	}
	return s.in.Get(ctx, key)
}

// Count writes ops and counters of a table, under the prefix of their keys. The Writer does that, unless others
// write counters too: then they are committed at once, on condition that they are in the store as
// they are here. If a condition does not hold, the counters here become those of
// the store, and the caller begins again. One goroutine at a time calls it. The writes share memory
// behind buf.
func (s *Store) Count(
	ctx context.Context, t *table.Table, prefix string, ops []store.Op, buf []byte, changes ...table.Change,
) (again bool, err error) {
	first := len(ops)
	if ops, err = stored.AppendCounts(ops, buf, prefix, changes...); err != nil {
		return false, err
	}
	if !s.shared {
		taken, err := s.Add(ctx, ops...)
		if taken {
			t.Tally(changes...)
		}
		return false, err
	}
	for i, c := range changes {
		ops[first+i].If = store.At(c.Entry.Counts().Rev)
		if c.Entry.Rev == 0 { // others hear of a record before its counters
			if err := s.writer.Flush(ctx); err != nil {
				return false, err
			}
		}
	}
	rev, err := s.in.Commit(ctx, slices.Clone(ops)...) // else all callers' are on the heap
	if err == nil {
		for _, c := range changes {
			c.Counts.Rev = rev
		}
		t.Tally(changes...)
	}
	if !errors.Is(err, store.ErrConflict) {
		return false, err
	}
	conflict := err
	for i, op := range ops {
		e, err := s.in.Get(ctx, op.Key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
		if op.If.Holds(e.Rev) {
			continue
		}
		again = true
		if i < first {
			continue
		}
		now := new(tally.Counts)
		if err == nil {
			if now, err = stored.CountsOf(e); err != nil {
				return false, err
			}
		}
		t.Tally(table.Change{Entry: changes[i-first].Entry, Counts: now})
	}
	return again, conflict
}
