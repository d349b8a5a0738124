// Package store is the narrow waist of arc: a small, ordered key-value interface with atomic, conditional
// commits.
//
// Everything that arc keeps (memories, statistics, sessions, runs) goes through a [Store], so durability,
// isolation and distribution are solved once. The package has the interface, the errors of all
// implementations, and [NewMem], the in-memory reference implementation. Package store/badger has the durable
// one, and store/storetest the conformance suite that any other has to pass.
//
//	st := store.NewMem()
//	defer st.Close()
//	rev, err := st.Commit(ctx, store.Op{Key: "greeting", Value: []byte("hello"), If: store.Absent})
//	e, err := st.Get(ctx, "greeting")
//	_, err = st.Commit(ctx, store.Op{Key: "greeting", Value: []byte("bye"), If: store.At(rev)})
//
// A Store is no database: it has no secondary indexes, no query but the prefix scan, and no transaction over a
// read and a later write other than a [Condition].
package store

import (
	"context"
	"iter"
)

// Revision orders the commits of a key. Of any two commits of a store, the one that began after the other was
// acknowledged has the larger revision. Two that overlap, of several openers, may be seen in either order. A
// revision is opaque beyond that, and never zero for a stored key.
type Revision uint64

// Entry is a key with its value. Rev is the revision of the commit that last wrote the key. Deleted is set only
// in entries from a [Watcher].
type Entry struct {
	Key     string
	Value   []byte
	Rev     Revision
	Deleted bool
}

// Condition says what must hold of a key for the commit to take place. The zero Condition is [Any].
type Condition uint64

const (
	// Any holds always.
	Any Condition = 0
	// Absent holds while the key does not exist.
	Absent Condition = 1<<64 - 1
)

// At returns the condition that the key's revision is rev: nobody has written it since it was read. At(0) is
// Absent.
func At(rev Revision) Condition {
	if rev == 0 {
		return Absent
	}
	return Condition(rev)
}

// Holds reports whether the condition holds for a key whose revision is rev,
// where zero means that the key does not exist. It is for implementers.
func (c Condition) Holds(rev Revision) bool {
	switch c {
	case Any:
		return true
	case Absent:
		return rev == 0
	default:
		return Condition(rev) == c
	}
}

// Op is one write of a commit: a put, or a delete if Delete is set. The store checks If before it writes
// anything. To delete a key that does not exist is no error.
type Op struct {
	Key    string
	Value  []byte
	Delete bool
	If     Condition
}

// Range selects keys for [Store.Scan]: those that begin with Prefix and sort after After, at most Limit of them;
// 0 or less: all.
type Range struct {
	Prefix string
	After  string
	Limit  int
}

// Store is an ordered key-value store with atomic conditional commits.
//
// All methods may be called concurrently. Slices passed in are not kept, and
// slices returned belong to the caller. Keys are non-empty valid UTF-8 of at
// most [MaxKey] bytes and order bytewise; values have at most [MaxValue]
// bytes.
//
// The errors ErrNotFound, ErrConflict, ErrClosed, ErrFull, ErrScarce, ErrLocked,
// ErrDamaged, ErrForeign, ErrNewer, ErrKey, ErrFailed, *[LimitError], and the
// error of a context that ended before the commit began are definite: nothing
// was written. After any other error from Commit the outcome is unknown: the
// commit may have taken place, so writers carry idempotency keys.
type Store interface {
	// Get returns the entry of key, or ErrNotFound.
	Get(ctx context.Context, key string) (Entry, error)

	// Scan yields the entries of r in key order, as of the moment at which
	// the iteration began. It ends after the first error. Breaking out of
	// the loop releases everything; the body may call any method.
	Scan(ctx context.Context, r Range) iter.Seq2[Entry, error]

	// Commit applies all ops or none, and returns the revision that the
	// written keys now have. It returns ErrConflict when a condition does
	// not hold, and ErrKey when a key is named twice. When it returns nil
	// the commit is durable. A commit of no ops does nothing and returns 0.
	// A commit holds at most [MaxCommitOps] ops and [MaxCommitBytes] of keys
	// and values.
	Commit(ctx context.Context, ops ...Op) (Revision, error)

	// Close releases the store after the commits under way. It is
	// idempotent; every other method then returns ErrClosed.
	Close() error
}

// Watcher is implemented by stores that can report changes as they happen.
type Watcher interface {
	// Watch yields the entries under prefix that were written after the
	// revision after, first those that exist now in order of revision, then
	// each later change in the order of commits; a deletion has Deleted set
	// and no Value. Deletions from before the call are not reported. It ends
	// with the context's error, with ErrClosed, or when the loop is left.
	//
	// A store that has Purge may leave out what a later change of the key has replaced.
	//
	// A Watch leaves out no entry that was written after the last commit that
	// another one has yielded all of, and stands yet: what was deleted in
	// between is found by a Scan alone. After a revision from Get or Commit it
	// may leave out a commit of another opener that overlapped with that one.
	Watch(ctx context.Context, prefix string, after Revision) iter.Seq2[Entry, error]
}

// Limits that every Store keeps, so that data written to one fits another.
const (
	MaxKey         = 1 << 10   // bytes in a key
	MaxValue       = 768 << 10 // bytes in a value
	MaxCommitBytes = 1 << 20   // bytes of keys and values in a commit
	MaxCommitOps   = 4096      // ops in a commit
)
