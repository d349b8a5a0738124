package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4/y"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/files"
	"github.com/arc-learn/arc/store/badger/internal/layout"
)

// unread are the tables of a generation whose blocks have not been compared with
// their checksums: a bit may have changed since the store was closed, and Badger
// takes a block that it cannot read for one without entries. Whoever reads a key
// has the tables compared that may hold it, once, before the caller sees the
// outcome; CheckAll compares the others.
type unread struct {
	none   atomic.Bool
	tables []*pending
}

// pending is a table, with its first key and its last.
type pending struct {
	id          uint64
	left, right []byte

	mu struct {
		sync.Mutex
		compared bool
		err      error
	}
}

// expect notes the tables that Badger has opened, if the survey left their blocks
// for later.
func (g *Generation) expect(v *layout.Survey) {
	if !v.Quick {
		g.unread.none.Store(true)
		return
	}
	for _, t := range g.DB.Tables() {
		g.unread.tables = append(g.unread.tables, &pending{id: t.ID, left: y.ParseKey(t.Left), right: y.ParseKey(t.Right)})
	}
}

// checkKeys compares the tables that may hold keys between two, both included, or all
// from the first one on that begin with prefix if the second is nil.
func (g *Generation) checkKeys(from, to, prefix []byte) error {
	if g.unread.none.Load() {
		return nil
	}
	for _, t := range g.unread.tables {
		switch {
		case bytes.Compare(t.right, from) < 0:
		case to != nil && bytes.Compare(t.left, to) > 0:
		case to == nil && bytes.Compare(t.left[:min(len(t.left), len(prefix))], prefix) > 0:
		default:
			if err := g.compareTable(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckAll compares all tables, until ctx ends.
func (g *Generation) CheckAll(ctx context.Context) error {
	for _, t := range g.unread.tables {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := g.compareTable(t); err != nil {
			return err
		}
	}
	g.unread.none.Store(true)
	return nil
}

// suspect has a deferred panic of Badger's returned as the damage that it met.
func (g *Generation) suspect(err *error) {
	if r := recover(); r != nil {
		if *err = g.CheckAll(context.Background()); *err == nil {
			panic(r) // it met none
		}
	}
}

// compareTable compares a table, once unless that cannot be done now.
func (g *Generation) compareTable(t *pending) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.compared {
		return t.mu.err
	}
	_, _, err := files.CheckTable(g.Dir, t.id, false, func([]byte, uint64, []byte) error { return nil })
	err = disk.Typed(err, nil)
	t.mu.compared, t.mu.err = err == nil || errors.Is(err, store.ErrDamaged), err
	return err
}

// Damaged reports whether a table has been found damaged. No other call is made.
func (g *Generation) Damaged() bool {
	return slices.ContainsFunc(g.unread.tables, func(t *pending) bool { return t.mu.err != nil })
}
