package guard

import (
	"context"
	"iter"
	"time"

	"github.com/arc-learn/arc/store"
)

// Store returns st with errors and panics made harmless, or st itself if it is
// one of arc's.
func Store(st store.Store) store.Store {
	if Own(st) {
		return st
	}
	return hostStore{st}
}

// hostStore is a store of the host's.
type hostStore struct{ theirs store.Store }

// failure is the error of a call of which lost and err have come back.
func failure(lost, err error) error {
	if lost != nil {
		return lost
	}
	return Error(err, store.ErrNotFound, store.ErrConflict, store.ErrClosed, store.ErrFull)
}

func (s hostStore) Get(ctx context.Context, key string) (e store.Entry, err error) {
	lost := Call(func() { e, err = s.theirs.Get(ctx, key) })
	return e, failure(lost, err)
}

func (s hostStore) Commit(ctx context.Context, ops ...store.Op) (rev store.Revision, err error) {
	lost := Call(func() { rev, err = s.theirs.Commit(ctx, ops...) })
	return rev, failure(lost, err)
}

func (s hostStore) Close() (err error) {
	lost := Call(func() { err = s.theirs.Close() })
	return failure(lost, err)
}

func (s hostStore) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		inside := false // the caller's loop body, whose panics are its own
		lost := func() (err error) {
			returned := false
			defer func() {
				if !inside && !returned {
					err = Recovered(recover())
				}
			}()
			for e, err := range s.theirs.Scan(ctx, r) {
				inside = true
				more := yield(e, failure(nil, err))
				if inside = false; !more {
					break
				}
			}
			returned = true
			return nil
		}()
		if lost != nil {
			yield(store.Entry{}, lost)
		}
	}
}

// Clock returns now as a clock that does not panic: the machine's time stands
// in. nil is the machine's clock.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return func() (t time.Time) {
		returned := false
		defer func() {
			if !returned {
				_ = recover()
				t = time.Now()
			}
		}()
		t = now()
		returned = true
		return t
	}
}
