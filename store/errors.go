package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Errors of every store. Match them with errors.Is: they are wrapped with the key or path.
var (
	// ErrNotFound: the key does not exist (Get).
	ErrNotFound = errors.New("not found")
	// ErrConflict: a condition of the commit does not hold (Commit).
	ErrConflict = errors.New("conflict")
	// ErrClosed: the store was closed before the call.
	ErrClosed = errors.New("store is closed")
	// ErrKey: a key is empty, not valid UTF-8, or named twice in a commit.
	ErrKey = errors.New("bad key")
)

// Errors of stores on disk.
var (
	// ErrFull: too little free disk space to open or to commit safely.
	ErrFull = errors.New("disk is full")
	// ErrScarce: too few file descriptors or inodes, or too little memory, to open, to commit or to close.
	ErrScarce = errors.New("too few resources are left")
	// ErrLocked: another process, or this one, has the store open.
	ErrLocked = errors.New("store is locked by another opener")
	// ErrDamaged: stored data is missing or does not match its checksum.
	ErrDamaged = errors.New("stored data is damaged")
	// ErrForeign: the directory holds something that is not an arc store.
	ErrForeign = errors.New("not an arc store")
	// ErrNewer: the data was written by a newer version of arc.
	ErrNewer = errors.New("written by a newer version")
	// ErrFailed: an earlier write failed and left the state of the disk in doubt. Close the store and open it
	// again.
	ErrFailed = errors.New("store has failed")
)

// LimitError reports an input over one of arc's limits. Nothing was stored.
type LimitError struct {
	Field string // what was too large, such as "text" or "key"
	Limit int    // the largest that is allowed
	Got   int    // what was given
}

// Error says what was too large, and by how much.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: %d is over the limit of %d", e.Field, e.Got, e.Limit)
}

// CheckContext returns the error with which every method must refuse ctx: its own error if it has ended, and
// another one if it is nil. It is for implementers.
func CheckContext(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	return ctx.Err()
}

var errNilContext = errors.New("nil context")

// keyError names the key of an error. Every miss builds one, so it formats nothing in advance.
type keyError struct {
	err error
	key string
}

func (e *keyError) Error() string { return fmt.Sprintf("%v: %q", e.err, e.key) }
func (e *keyError) Unwrap() error { return e.err }

// NotFound returns ErrNotFound with the key. It is for implementers.
func NotFound(key string) error { return &keyError{ErrNotFound, key} }

// CheckOps returns the error with which Commit must refuse ops before it
// writes anything: ErrKey or a *LimitError. It is for implementers.
func CheckOps(ops []Op) error {
	if len(ops) > MaxCommitOps {
		return &LimitError{Field: "ops in a commit", Limit: MaxCommitOps, Got: len(ops)}
	}
	total := 0
	for i := range ops {
		op := &ops[i]
		if err := CheckKey(op.Key); err != nil {
			return err
		}
		if len(op.Value) > MaxValue {
			return &LimitError{Field: "value", Limit: MaxValue, Got: len(op.Value)}
		}
		total += len(op.Key) + len(op.Value)
	}
	if total > MaxCommitBytes {
		return &LimitError{Field: "commit", Limit: MaxCommitBytes, Got: total}
	}
	return checkDistinct(ops)
}

// smallCommit is the number of ops up to which comparing every pair is faster
// than building a set.
const smallCommit = 32

func checkDistinct(ops []Op) error {
	switch {
	case len(ops) < 2:
		return nil
	case len(ops) <= smallCommit:
		return checkFew(ops)
	}
	seen := make(map[string]struct{}, len(ops))
	for i := range ops {
		seen[ops[i].Key] = struct{}{}
		if len(seen) != i+1 {
			return fmt.Errorf("%w: %q is named twice in a commit", ErrKey, ops[i].Key)
		}
	}
	return nil
}

// checkFew compares the ends of the keys, which differ within most commits, and whole keys only if their ends
// are equal.
func checkFew(ops []Op) error {
	var ends [smallCommit]uint64
	for i := range ops {
		end := tail(ops[i].Key)
		for j, other := range ends[:i] {
			if end == other && ops[i].Key == ops[j].Key {
				return fmt.Errorf("%w: %q is named twice in a commit", ErrKey, ops[i].Key)
			}
		}
		ends[i] = end
	}
	return nil
}

// tail returns the last eight bytes of the key, or all of it.
func tail(key string) uint64 {
	var end [8]byte
	copy(end[:], key[max(len(key)-8, 0):])
	return binary.NativeEndian.Uint64(end[:])
}

// CheckKey returns the error with which a Store must refuse the key: ErrKey
// or a *LimitError. It is for implementers.
func CheckKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: empty", ErrKey)
	case len(key) > MaxKey:
		return &LimitError{Field: "key", Limit: MaxKey, Got: len(key)}
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: %q is not valid UTF-8", ErrKey, key)
	}
	return nil
}
