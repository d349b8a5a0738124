package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Journal is the View of one opener, and its way to the entries, which a K keeps such as
// a Book. Catch is called by one goroutine at a time. The nil Journal is that of the only
// opener.
type Journal[K io.Closer] struct {
	*View
	open  func(ctx context.Context, st store.Store) (K, error)
	take  func(k K, ctx context.Context, e store.Entry) error
	w     *flush.Writer // of the store
	news  string        // begins the keys of entries
	base  string        // leads to a record that each fold writes
	at    store.Revision
	known map[string]bool // entries that the View has
}

// New returns the Journal of what is kept under keys that begin with space. Its entries
// lie at "new", and "base" changes with each fold. For a fold, open opens the K of a store
// that is alone with it, and take has that count an entry.
func New[K io.Closer](
	st store.Store, space string, open func(context.Context, store.Store) (K, error),
	take func(K, context.Context, store.Entry) error,
) *Journal[K] {
	return &Journal[K]{
		View: newView(st), open: open, take: take, w: flush.New(st),
		news: key.Prefix(space, "new"), base: key.Join(space, "base"), known: make(map[string]bool),
	}
}

// Add enters what has happened, under an id of its own. It is written with the next group.
func (j *Journal[K]) Add(ctx context.Context, id string, happened any) error {
	k := j.news + id
	value, err := codec.Encode(k, happened)
	if err != nil {
		return err
	}
	return j.w.Add(ctx, store.Op{Key: k, Value: value})
}

// Flush writes what was entered, and waits for it.
func (j *Journal[K]) Flush(ctx context.Context) error { return j.w.Flush(ctx) }

// Stop writes what was entered, and refuses what comes later.
func (j *Journal[K]) Stop() error { return j.w.Close() }

// Catch takes in what has changed: apply is called with each entry that is new to the
// View. If others have folded, or erased entries, also meanwhile, the View is the base again: an
// entry that is in the base by then would be applied to that. Forget is called before and after:
// it writes to the View what waits to be, and drops what was read. Entries that are not folded
// are how many.
func (j *Journal[K]) Catch(
	ctx context.Context, forget func() error, apply func(store.Entry) error,
) (entries int, err error) {
	for {
		all, err := j.entries(ctx)
		if err != nil {
			return 0, err
		}
		here := 0
		for _, e := range all {
			if err == nil && !j.known[e.Key] {
				if err = apply(e); err == nil {
					j.known[e.Key] = true
				}
			}
			if j.known[e.Key] {
				here++
			}
		}
		at, wrong := j.generation(ctx)
		if wrong != nil || at == j.at && here == len(j.known) {
			return len(all), cmp.Or(err, wrong)
		}
		if err := j.w.Flush(ctx); err != nil { // what is entered here is there
			return 0, err
		}
		if at, err = j.generation(ctx); err != nil {
			return 0, err
		}
		if err := forget(); err != nil { // nothing is written to the View behind
			return 0, err
		}
		j.reset()
		clear(j.known)
		if err := forget(); err != nil { // nothing is left of what was read meanwhile
			return 0, err
		}
		j.at = at
	}
}

// Refresh has an opener take in what others have entered, and fold it once that is as
// much as one commit folds: catch calls Catch.
func (j *Journal[K]) Refresh(ctx context.Context, catch func(context.Context) (int, error)) error {
	err := store.CheckContext(ctx)
	if err != nil || j == nil {
		return err
	}
	entries, err := catch(ctx)
	if err == nil && entries >= atOnce {
		if err = j.foldAll(ctx, nil); err == nil || errors.Is(err, store.ErrConflict) { // others fold
			_, err = catch(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	return nil
}

// Change has fn change what the store keeps, and the opener go by that.
func (j *Journal[K]) Change(ctx context.Context, catch func(context.Context) (int, error), fn func(K) error) error {
	if err := j.foldAll(ctx, fn); err != nil {
		return err
	}
	return j.Refresh(ctx, catch)
}

// Leave folds what others have left, for who opens the store alone. It reports whether
// there was anything.
func (j *Journal[K]) Leave(ctx context.Context) (some bool, err error) {
	for _, err = range j.View.base.Scan(ctx, store.Range{Prefix: j.news, Limit: 1}) {
		if some = err == nil; some {
			err = j.foldAll(ctx, nil)
		}
	}
	return some, err
}

// generation is the revision of the base, 0 before the first fold.
func (j *Journal[K]) generation(ctx context.Context) (store.Revision, error) {
	e, err := j.View.base.Get(ctx, j.base)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return e.Rev, err
}

// entries returns what is not folded, in the order in which it was committed.
func (j *Journal[K]) entries(ctx context.Context) (all []store.Entry, err error) {
	for e, err := range j.View.base.Scan(ctx, store.Range{Prefix: j.news}) {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b store.Entry) int { return cmp.Compare(a.Rev, b.Rev) })
	return all, nil
}

// atOnce is how many entries are folded with one commit, and tries how often an opener
// tries whom others are before.
const (
	atOnce = 64
	tries  = 16
)

// foldAll has a K count the entries in the base, until there are none, and fn then
// change what it keeps, unless fn is nil. With others at it at the same time fn is called
// again. It is store.ErrConflict if they always were first.
func (j *Journal[K]) foldAll(ctx context.Context, fn func(K) error) error {
	if err := j.w.Flush(ctx); err != nil {
		return err
	}
	for lost, most := 0, atOnce; ; {
		last, err := j.foldSome(ctx, most, fn)
		if errors.Is(err, store.ErrConflict) && lost < tries {
			lost++
			continue
		}
		if _, large := errors.AsType[*store.LimitError](err); large && most > 1 {
			most /= 2 // entries of large samples
			continue
		}
		if err != nil || last {
			return err
		}
	}
}

// foldSome folds entries, at most so many, with one commit, and reports whether those were all.
func (j *Journal[K]) foldSome(ctx context.Context, most int, fn func(K) error) (last bool, err error) {
	var some []store.Entry
	at, err := j.generation(ctx)
	if err == nil {
		some, err = j.entries(ctx)
	}
	if err != nil {
		return false, err
	}
	last = len(some) <= most
	some = some[:min(len(some), most)]
	to := newView(j.View.base)
	k, err := j.open(ctx, to)
	if err != nil {
		return false, err
	}
	for _, e := range some {
		if err == nil {
			err = j.take(k, ctx, e)
		}
	}
	if err == nil && last && fn != nil {
		err = fn(k)
	}
	if wrong := k.Close(); err == nil {
		err = wrong
	}
	if err != nil {
		return false, err
	}
	ops := append(to.ops(), store.Op{Key: j.base, Value: []byte{1}, If: store.At(at)})
	for _, e := range some {
		ops = append(ops, store.Op{Key: e.Key, Delete: true, If: store.At(e.Rev)})
	}
	_, err = j.View.base.Commit(ctx, ops...)
	return last, err
}
