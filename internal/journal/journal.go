package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Journal is the View of one opener, and its way to the entries. Catch and Fold are
// called by one goroutine at a time.
type Journal struct {
	*View
	w     *flush.Writer // of the store
	news  string        // begins the keys of entries
	base  string        // leads to a record that each fold writes
	at    store.Revision
	known map[string]bool // entries that the View has
}

// New returns the Journal of what is kept under keys that begin with space. Its entries
// lie at "new", and "base" changes with each fold. What is kept at one of direct is no
// part of it: the View writes that to the store.
func New(st store.Store, space string, direct ...string) *Journal {
	v := newView(st)
	for _, part := range direct {
		v.direct = append(v.direct, key.Prefix(space, part))
	}
	return &Journal{
		View: v, w: flush.New(st), news: key.Prefix(space, "new"), base: key.Join(space, "base"),
		known: make(map[string]bool),
	}
}

// Add enters what has happened, under an id of its own. It is written with the next group.
func (j *Journal) Add(ctx context.Context, id string, happened any) error {
	k := j.news + id
	value, err := codec.Encode(k, happened)
	if err != nil {
		return err
	}
	return j.w.Add(ctx, store.Op{Key: k, Value: value})
}

// Flush writes what was entered, and waits for it.
func (j *Journal) Flush(ctx context.Context) error { return j.w.Flush(ctx) }

// Stop writes what was entered, and refuses what comes later.
func (j *Journal) Stop() error { return j.w.Close() }

// Catch takes in what has changed: apply is called with each entry that is new to the
// View. If others have folded, the View is the base first, and forget is called. Entries
// that are not folded are how many.
func (j *Journal) Catch(ctx context.Context, forget func() error, apply func(store.Entry) error) (entries int, err error) {
	at, err := j.generation(ctx)
	if err != nil {
		return 0, err
	}
	if at != j.at {
		if err := j.w.Flush(ctx); err != nil { // what is entered here is there
			return 0, err
		}
		if at, err = j.generation(ctx); err != nil {
			return 0, err
		}
		j.reset()
		clear(j.known)
		if err := forget(); err != nil {
			return 0, err
		}
		j.at = at
	}
	all, err := j.entries(ctx)
	for _, e := range all {
		if err == nil && !j.known[e.Key] {
			err = apply(e)
			j.known[e.Key] = err == nil
		}
	}
	return len(all), err
}

// Refresh has an opener take in what others have entered, and fold it once that is as
// much as one commit folds: catch says how many entries are not folded.
func Refresh(ctx context.Context, catch func(context.Context) (int, error), fold func(context.Context) error) error {
	err := store.CheckContext(ctx)
	entries := 0
	if err == nil {
		entries, err = catch(ctx)
	}
	if err == nil && entries >= atOnce {
		if err = fold(ctx); err == nil || errors.Is(err, store.ErrConflict) { // others fold
			_, err = catch(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	return nil
}

// generation is the revision of the base, 0 before the first fold.
func (j *Journal) generation(ctx context.Context) (store.Revision, error) {
	e, err := j.View.base.Get(ctx, j.base)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return e.Rev, err
}

// entries returns what is not folded, in the order in which it was committed.
func (j *Journal) entries(ctx context.Context) (all []store.Entry, err error) {
	for e, err := range j.View.base.Scan(ctx, store.Range{Prefix: j.news}) {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b store.Entry) int { return cmp.Compare(a.Rev, b.Rev) })
	return all, nil
}

// Empty reports whether nothing waits to be folded.
func (j *Journal) Empty(ctx context.Context) (bool, error) {
	for _, err := range j.View.base.Scan(ctx, store.Range{Prefix: j.news, Limit: 1}) {
		return false, err
	}
	return true, nil
}

// atOnce is how many entries are folded with one commit, and tries how often an opener
// tries whom others are before.
const (
	atOnce = 64
	tries  = 16
)

// Fold has fn write to a store of the base what entries come to, and makes that the
// base, until there are none; last tells fn that these are. With others at it at the same
// time fn is called again. It is store.ErrConflict if they always were first.
func (j *Journal) Fold(ctx context.Context, fn func(st store.Store, entries []store.Entry, last bool) error) error {
	if err := j.w.Flush(ctx); err != nil {
		return err
	}
	lost := 0
	for {
		at, err := j.generation(ctx)
		if err != nil {
			return err
		}
		entries, err := j.entries(ctx)
		if err != nil {
			return err
		}
		some := entries[:min(len(entries), atOnce)]
		last := len(some) == len(entries)
		to := newView(j.View.base)
		if err := fn(to, some, last); err != nil {
			return err
		}
		ops := append(to.ops(), store.Op{Key: j.base, Value: []byte{1}, If: store.At(at)})
		for _, e := range some {
			ops = append(ops, store.Op{Key: e.Key, Delete: true, If: store.At(e.Rev)})
		}
		_, err = j.View.base.Commit(ctx, ops...)
		if errors.Is(err, store.ErrConflict) && lost < tries {
			lost++
			continue
		}
		if err != nil || last {
			return err
		}
	}
}
