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

// Journal is one opener's View of statistics that a K keeps, a Book for example, and its
// access to the entries. Catch must be called by one goroutine at a time. The nil Journal
// belongs to an opener that has the store alone.
type Journal[K io.Closer] struct {
	*View
	open  func(ctx context.Context, st store.Store) (K, error)
	take  func(k K, ctx context.Context, e store.Entry) error
	w     *flush.Writer   // of the store
	news  string          // prefix of the keys of entries
	base  string          // key of the record that each fold writes
	at    store.Revision  // of that record, as the View has the base
	known map[string]bool // entries by key: whether the View has it
}

// New returns the Journal of the statistics whose keys begin with space. Entries lie below
// "new" there, and each fold writes "base". For a fold, open opens a K over a store that no
// other opener uses, and take counts an entry in it, unless that has counted before.
func New[K io.Closer](
	st store.Store, space string, open func(context.Context, store.Store) (K, error),
	take func(K, context.Context, store.Entry) error,
) *Journal[K] {
	return &Journal[K]{
		View: newView(st), open: open, take: take, w: flush.New(st),
		news: key.Prefix(space, "new"), base: key.Join(space, "base"), known: make(map[string]bool),
	}
}

// Add enters what has happened under an id that is unique. The next group writes it.
func (j *Journal[K]) Add(ctx context.Context, id string, happened any) error {
	k := j.news + id
	value, err := codec.Encode(k, happened)
	if err != nil {
		return err
	}
	return j.w.Add(ctx, store.Op{Key: k, Value: value})
}

// Flush commits what was entered.
func (j *Journal[K]) Flush(ctx context.Context) error { return j.w.Flush(ctx) }

// Stop commits what was entered, and makes later calls of Add return store.ErrClosed.
func (j *Journal[K]) Stop() error { return j.w.Close() }

// Catch brings the View up to date: it calls apply with each entry that is new to the View.
// If another opener has folded or erased entries, even during the call, the View starts again
// from the base, so that no entry counts there and again. Then Catch calls forget before and after:
// forget writes its pending changes to the View, and drops what it has read from it. An entry
// that apply cannot read is left out. Catch returns how many of the others are not folded.
func (j *Journal[K]) Catch(
	ctx context.Context, forget func() error, apply func(store.Entry) error,
) (entries int, err error) {
	for {
		all, err := j.entries(ctx)
		if err != nil {
			return 0, err
		}
		here, entries := 0, 0
		for _, e := range all {
			had, known := j.known[e.Key]
			if err == nil && !known {
				err = apply(e)
				if had = err == nil; had || codec.Unreadable(err) {
					j.known[e.Key], known, err = had, true, nil
				}
			}
			if known {
				here++
			}
			if had {
				entries++
			}
		}
		at, wrong := j.generation(ctx)
		if wrong != nil || at == j.at && here == len(j.known) {
			return entries, cmp.Or(err, wrong)
		}
		if err := j.w.Flush(ctx); err != nil { // so that the next scan finds this opener's entries
			return 0, err
		}
		if at, err = j.generation(ctx); err != nil {
			return 0, err
		}
		if err := forget(); err != nil { // so that nothing old is written to the View after the reset
			return 0, err
		}
		j.reset()
		clear(j.known)
		if err := forget(); err != nil { // drops what was read before the reset
			return 0, err
		}
		j.at = at
	}
}

// Refresh takes in what other openers have entered, and folds the entries once they are as many
// as one commit folds. The function catch calls Catch.
func (j *Journal[K]) Refresh(ctx context.Context, catch func(context.Context) (int, error)) error {
	err := store.CheckContext(ctx)
	if err != nil || j == nil {
		return err
	}
	entries, err := catch(ctx)
	if err == nil && entries >= atOnce {
		if err = j.foldAll(ctx, nil); err == nil || errors.Is(err, store.ErrConflict) { // another opener folds
			_, err = catch(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	return nil
}

// Change folds all entries, lets fn change the result, and takes that in.
func (j *Journal[K]) Change(ctx context.Context, catch func(context.Context) (int, error), fn func(K) error) error {
	if err := j.foldAll(ctx, fn); err != nil {
		return err
	}
	return j.Refresh(ctx, catch)
}

// Leave folds the entries that other openers have left, for one that has the store alone now.
// It reports whether there were any.
func (j *Journal[K]) Leave(ctx context.Context) (some bool, err error) {
	for _, err = range j.View.base.Scan(ctx, store.Range{Prefix: j.news, Limit: 1}) {
		if some = err == nil; some {
			err = j.foldAll(ctx, nil)
		}
	}
	return some, err
}

// generation returns the revision of the last fold, 0 before the first.
func (j *Journal[K]) generation(ctx context.Context) (store.Revision, error) {
	e, err := j.View.base.Get(ctx, j.base)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return e.Rev, err
}

// entries returns the entries that are not folded, in the order of their commits.
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

// atOnce is how many entries one commit folds, and tries how often a fold is tried again
// after a conflict.
const (
	atOnce = 64
	tries  = 16
)

// foldAll folds entries until none is left that can be read. The last fold calls fn, unless that is nil, to
// change the result; after a conflict it is called again. The error is store.ErrConflict if
// other openers were faster each time.
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
			most /= 2 // the entries are too large for one commit
			continue
		}
		if err != nil || last {
			return err
		}
	}
}

// foldSome folds up to most entries with one commit, and reports whether those were all. Those
// that cannot be read stay: a later version may, or a person.
func (j *Journal[K]) foldSome(ctx context.Context, most int, fn func(K) error) (last bool, err error) {
	var all, some []store.Entry
	at, err := j.generation(ctx)
	if err == nil {
		all, err = j.entries(ctx)
	}
	if err != nil {
		return false, err
	}
	to := newView(j.View.base)
	k, err := j.open(ctx, to)
	if err != nil {
		return false, err
	}
	for ; err == nil && len(all) > 0 && len(some) < most; all = all[1:] {
		if err = j.take(k, ctx, all[0]); err == nil {
			some = append(some, all[0])
		} else if codec.Unreadable(err) {
			err = nil
		}
	}
	last = len(all) == 0
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
