// Package journal lets several openers of a store keep statistics together.
//
// Each event is an entry under a key of its own, so that no opener overwrites another's
// entry, and an event that is entered twice before a fold is one entry. One that is entered
// again behind the fold, as when a commit was applied and not answered, is an entry anew:
// what takes entries in has marks by which it knows them, until these are released. From
// time to time an opener folds the entries into the base: it computes what a single opener
// would have written, and commits that on condition that base and entries have not
// changed. Each opener reads base and entries through a [View], a store in memory over the
// base.
package journal

import (
	"bytes"
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/tidwall/btree"

	"github.com/arc-learn/arc/store"
)

// View is a store on top of another. It reads both; commits to it stay in memory. It does not
// check the conditions of commits, since it has one user.
type View struct {
	base store.Store
	mu   sync.RWMutex
	over *btree.Map[string, []byte] // nil: deleted
}

func newView(base store.Store) *View { return &View{base: base, over: new(btree.Map[string, []byte])} }

// Get returns the entry of a key.
func (v *View) Get(ctx context.Context, key string) (store.Entry, error) {
	v.mu.RLock()
	value, ok := v.over.Get(key)
	v.mu.RUnlock()
	switch {
	case !ok:
		return v.base.Get(ctx, key)
	case value == nil:
		return store.Entry{}, store.NotFound(key)
	}
	return store.Entry{Key: key, Value: bytes.Clone(value), Rev: 1}, nil
}

// Scan yields the entries of r in key order.
func (v *View) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		var own []store.Entry
		v.mu.RLock()
		v.over.Ascend(max(r.Prefix, r.After), func(key string, value []byte) bool {
			if key != r.After && strings.HasPrefix(key, r.Prefix) {
				own = append(own, store.Entry{Key: key, Value: bytes.Clone(value), Rev: 1, Deleted: value == nil})
			}
			return strings.HasPrefix(key, r.Prefix) || key < r.Prefix
		})
		v.mu.RUnlock()
		left := r.Limit
		give := func(e store.Entry) bool {
			if e.Deleted {
				return true
			}
			left--
			return yield(e, nil) && left != 0
		}
		r.Limit = 0
		for e, err := range v.base.Scan(ctx, r) {
			if err != nil {
				yield(e, err)
				return
			}
			for ; len(own) > 0 && own[0].Key < e.Key; own = own[1:] {
				if !give(own[0]) {
					return
				}
			}
			if (len(own) == 0 || own[0].Key != e.Key) && !give(e) {
				return
			}
		}
		for _, e := range own {
			if !give(e) {
				return
			}
		}
	}
}

// Commit keeps ops in memory.
func (v *View) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if err := store.CheckContext(ctx); err != nil {
		return 0, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, op := range ops {
		value := append([]byte{}, op.Value...)
		if op.Delete {
			value = nil
		}
		v.over.Set(op.Key, value)
	}
	return 1, nil
}

// Close does nothing.
func (*View) Close() error { return nil }

// reset drops all commits.
func (v *View) reset() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = new(btree.Map[string, []byte])
}

// ops returns all commits as ops.
func (v *View) ops() (ops []store.Op) {
	v.over.Scan(func(key string, value []byte) bool {
		ops = append(ops, store.Op{Key: key, Value: value, Delete: value == nil})
		return true
	})
	return ops
}
