// Package store is what arc stands on: an ordered key-value interface with atomic, conditional commits.
//
// All that arc keeps goes through a [Store]. The package has [NewMem] (the in-memory store), [Sub] (a
// tenant's part of one), [Batch] and [Group] (a step of several parts in one commit), and [Copy] and [Load].
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"
)

// Limits of every store; see [Check].
const (
	maxKey         = 4 << 10   // bytes of a key
	maxValue       = 768 << 10 // bytes of a value
	maxCommitOps   = 4096
	maxCommitBytes = 4 << 20 // keys and values of one commit
)

// Revision orders the commits of a key: of two commits, the one that began after the other was acknowledged
// has the larger revision. Commits that overlap may share one. It is never zero for a stored key.
type Revision uint64

// Entry is a key with its value. Rev is of the commit that wrote it. Only a [Changer] has deleted ones.
type Entry struct {
	Key     string
	Value   []byte
	Rev     Revision
	Deleted bool
}

// Condition says what must hold of a key for a commit to take place: nothing ([Any], the zero Condition), or
// that its revision is the one of [At].
type Condition uint64

const (
	Any    Condition = 0         // holds always
	Absent Condition = 1<<64 - 1 // holds while the key does not exist
)

// At returns the condition that the key's revision is rev, 0 for a key that does not exist. At(0) is Absent.
func At(rev Revision) Condition { return cmp.Or(Condition(rev), Absent) }

// Op is one part of a commit: a put, a delete if Delete is set, or, if Check is set, only the condition If on
// the key, which is not written. To delete a key that does not exist is no error; both flags are.
type Op struct {
	Key           string
	Value         []byte
	Delete, Check bool
	If            Condition
}

// Range selects keys: those that begin with Prefix and sort after After, at most Limit of them (0: all).
type Range struct {
	Prefix, After string
	Limit         int
}

// Store is an ordered key-value store with atomic conditional commits.
//
// All methods may be called concurrently. Values that are passed in or returned are not changed any more, by
// the store or by callers; a list of ops is not kept. Keys are non-empty valid UTF-8 and order bytewise.
// After the errors of this package and the error of a context that ended before the commit began, nothing was
// written. After any other error of Commit the outcome is unknown: read the keys again.
type Store interface {
	// Get returns the entry of key, or ErrNotFound.
	Get(ctx context.Context, key string) (Entry, error)
	// Scan yields the entries of r in key order, all of one state of the store. It ends after the first
	// error. The body may call any method.
	Scan(ctx context.Context, r Range) iter.Seq2[Entry, error]
	// Commit applies all ops or none, and returns the revision that the written keys now have. It returns
	// ErrConflict (a *[ConflictError]) when a condition does not hold. When it returns nil the commit is
	// durable. A key may be named once. A commit that writes nothing returns 0.
	Commit(ctx context.Context, ops ...Op) (Revision, error)
	// Close waits for the commits under way. It is idempotent; every other method then returns ErrClosed.
	Close() error
}

// Latest is the revision after which [Changer] has no changes yet.
const Latest Revision = 1<<64 - 1

// Changer is a Store that several processes share. Changes yields the keys with a prefix that changed after a
// revision, each once with its newest state, in the order of their revisions, and at last an entry without a
// key: its Rev, of the whole store, is the one to pass to the next call. After 0 it yields every key that
// exists, after Latest only the last entry. That is Deleted where the store no longer knows which keys with
// the prefix were deleted since after: then the caller reads everything again.
type Changer interface {
	Store
	Changes(ctx context.Context, prefix string, after Revision) iter.Seq2[Entry, error]
}

// Compacter is a Store that can rewrite its files, which then hold nothing that was deleted before Compact.
type Compacter interface {
	Store
	Compact(ctx context.Context) error
}

// Errors of a store. They may be wrapped.
var (
	ErrNotFound = errors.New("store: key not found")
	ErrConflict = errors.New("store: condition does not hold")
	ErrClosed   = errors.New("store: closed")
	ErrFull     = errors.New("store: no room left")
	ErrLocked   = errors.New("store: in use, by another process or this one")
	ErrDamaged  = errors.New("store: damaged")
	ErrForeign  = errors.New("store: holds something else than a store of arc")
	ErrVersion  = errors.New("store: written by another version of arc")

	// Of all packages: an argument that is malformed or over a bound, so that no further try can succeed.
	ErrInvalid = errors.New("invalid input")
)

// ConflictError is an ErrConflict that names the first key whose condition does not hold.
type ConflictError struct{ Key string }

func (e *ConflictError) Error() string { return fmt.Sprintf("%v: key %q", ErrConflict, e.Key) }

func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// Limit returns an [ErrInvalid] if the size of what, in bytes or in things, is over most.
func Limit(what string, size, most int) error {
	if size > most {
		return fmt.Errorf("%w: %s of %d is over the limit of %d", ErrInvalid, what, size, most)
	}
	return nil
}

// Check returns an [ErrInvalid] unless ops name each key once, at most 4,096, of values of at most 768 KiB,
// of 4 MiB in all. A key is non-empty valid UTF-8 of at most 4 KiB. A Store calls it first.
func Check(ops ...Op) error {
	bytes, keys := 0, make([]string, 0, 16)
	for i, op := range ops {
		if op.Key == "" || !utf8.ValidString(op.Key) || op.Delete && op.Check {
			return fmt.Errorf("%w: a key is UTF-8 and not empty, and no op is both delete and check", ErrInvalid)
		}
		bytes += len(op.Key) + len(op.Value)
		key, value := Limit("key", len(op.Key), maxKey), Limit("value", len(op.Value), maxValue)
		if err := cmp.Or(key, value, checkSize(i+1, bytes)); err != nil {
			return err
		}
		keys = append(keys, op.Key)
	}
	if slices.Sort(keys); len(slices.Compact(keys)) < len(ops) {
		return fmt.Errorf("%w: a commit names a key twice", ErrInvalid)
	}
	return nil
}

func checkSize(ops, bytes int) error {
	return cmp.Or(Limit("ops of a commit", ops, maxCommitOps), Limit("commit", bytes, maxCommitBytes))
}
