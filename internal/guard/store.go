package guard

import (
	"context"
	"iter"
	"time"

	"github.com/arc-learn/arc/store"
)

// Store returns st with its errors made safe by [Error] and its panics turned into errors, or
// st itself if it is one of arc's.
func Store(st store.Store) store.Store {
	if Own(st) {
		return st
	}
	if shared, ok := st.(firsts); ok {
		return hostShared{hostStore{st}, shared}
	}
	return hostStore{st}
}

// firsts is implemented by stores that several processes have open; act/queue uses it.
type firsts interface {
	CommitFirst(
		ctx context.Context, marks, keys []string, fn func(n int, e store.Entry) ([]store.Op, error),
	) (store.Revision, error)
}

// hostShared is a host's store with CommitFirst.
type hostShared struct {
	hostStore
	shared firsts
}

func (s hostShared) CommitFirst(
	ctx context.Context, marks, keys []string, fn func(n int, e store.Entry) ([]store.Op, error),
) (rev store.Revision, err error) {
	defer settle(&err)
	err = ErrExited
	return s.shared.CommitFirst(ctx, marks, keys, fn)
}

// hostStore is a host's store.
type hostStore struct{ theirs store.Store }

// settle turns the panic or the error of a store's call into a safe error. It is deferred.
func settle(err *error) {
	if r := recover(); r != nil {
		*err = Recovered(r)
	}
	*err = storeError(*err)
}

func storeError(err error) error {
	if err == nil {
		return nil
	}
	return Error(err, store.ErrNotFound, store.ErrConflict, store.ErrClosed, store.ErrFull, store.ErrScarce, store.ErrDamaged,
		store.ErrNewer, store.ErrFailed)
}

func (s hostStore) Get(ctx context.Context, key string) (e store.Entry, err error) {
	defer settle(&err)
	err = ErrExited // stays if the call ends the goroutine
	return s.theirs.Get(ctx, key)
}

func (s hostStore) Commit(ctx context.Context, ops ...store.Op) (rev store.Revision, err error) {
	defer settle(&err)
	err = ErrExited
	return s.theirs.Commit(ctx, ops...)
}

func (s hostStore) Close() (err error) {
	defer settle(&err)
	err = ErrExited
	return s.theirs.Close()
}

func (s hostStore) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		// inside the caller's loop body, whose panics go through; more: it has not left the loop
		inside, more := false, true
		lost := func() (err error) {
			returned := false
			defer func() {
				if !inside && !returned {
					err = Recovered(recover())
				}
			}()
			for e, err := range s.theirs.Scan(ctx, r) {
				inside = true
				more = yield(e, storeError(err))
				if inside = false; !more {
					break
				}
			}
			returned = true
			return nil
		}()
		if lost != nil && more {
			yield(store.Entry{}, lost)
		}
	}
}

// Clock returns now as a clock that does not panic: it returns the machine's time instead. If
// now is nil it returns time.Now.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return func() (t time.Time) {
		if Call(func() { t = now() }) != nil {
			t = time.Now()
		}
		return t
	}
}
