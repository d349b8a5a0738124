// Package rows keeps values in a Space, each in a record that no recall finds: as JSON in its
// Plan, and with the part of the whole that it is of as its Thread. Writers read, decide and
// write until no other one was in between.
package rows

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Row is a record with the value that it holds. The zero Row is none.
type Row[T any] struct {
	Was   memory.Record
	Value T
}

// Stored reports whether there is a record.
func (r *Row[T]) Stored() bool { return r.Was.ID != "" }

// Name is the part of the id behind its part's.
func (r *Row[T]) Name() string { return strings.TrimPrefix(string(r.Was.ID), r.Was.Thread+":") }

func decode[T any](rec memory.Record) (r Row[T], err error) {
	r.Was = rec
	if err = json.Unmarshal(rec.Plan, &r.Value); err != nil {
		err = fmt.Errorf("%w: %q: %v", store.ErrDamaged, rec.ID, err)
	}
	return r, err
}

// Table is a Space with rows. Its head is a part that a commit changes if it adds rows by all
// that there are.
type Table struct {
	Space memory.Space
	Now   func() time.Time
	Head  string
}

// ID is that of a value by its part and name; a part that is one value has no name.
func ID(part, name string) memory.ID {
	if name == "" {
		return memory.ID(part)
	}
	return memory.ID(part + ":" + name)
}

// Get reads a row, a zero one where there is none.
func Get[T any](ctx context.Context, t *Table, id memory.ID) (r Row[T], err error) {
	rec, err := t.Space.Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	return decode[T](rec)
}

// All reads the rows of a part, in order of their time.
func All[T any](ctx context.Context, t *Table, part string) ([]Row[T], error) {
	recs, err := t.Space.Latest(ctx, part, math.MaxInt)
	out := make([]Row[T], len(recs))
	for i := range recs {
		if err == nil {
			out[i], err = decode[T](recs[i])
		}
	}
	return out, err
}

// Batch collects the writes of one commit. Its first error stays.
type Batch struct {
	now     time.Time
	changes []memory.Amended
	size    int // of what is written
	err     error
}

// enough is the size from which on a commit takes one more record at most: of MaxRecord,
// and with its Content.
const enough = store.MaxCommitBytes - memory.MaxRecord - 2*memory.MaxText

// Full reports whether what else there is belongs into another commit.
func (b *Batch) Full() bool { return b.size > enough }

// Put writes v in place of what was read.
func Put[T any](b *Batch, was Row[T], part, name string, at time.Time, v *T) {
	b.Write(was.Was, memory.Record{
		ID: ID(part, name), Thread: part, Kind: memory.Episode, Content: part, At: at, Known: b.now,
	}, v)
}

// Write writes a record with v as its Plan in place of another, or of the zero one.
func (b *Batch) Write(was, is memory.Record, v any) {
	if err := key.CheckID("id", string(is.ID)); err != nil || is.ID == "" {
		b.err = cmp.Or(b.err, err, memory.ErrID)
	}
	if y := is.At.Year(); y < 1 || y > 9999 {
		b.err = cmp.Or[error](b.err, &store.LimitError{Field: "year of At", Limit: 9999, Got: y})
	}
	is.Plan, is.Trusted = b.written(v), true
	b.size += len(is.Plan) + len(is.Content)
	b.changes = append(b.changes, memory.Amended{Was: was, Is: is})
}

// written is a value as it is stored.
func (b *Batch) written(v any) []byte {
	raw, err := json.Marshal(v)
	if len(raw) > memory.MaxRecord {
		err = &store.LimitError{Field: "record", Limit: memory.MaxRecord, Got: len(raw)}
	}
	b.err = errors.Join(b.err, err)
	return raw
}

// Remove removes what was read.
func (b *Batch) Remove(was memory.Record) { b.changes = append(b.changes, memory.Amended{Was: was}) }

// Err is why the batch cannot be written.
func (b *Batch) Err() error { return b.err }

// Change reads, decides and writes until no other writer was in between: of several that
// collide, one has always got through, so all of them will.
func (t *Table) Change(ctx context.Context, attempt func(*Batch) error) error {
	for {
		b := &Batch{now: t.Now()}
		err := attempt(b)
		if err == nil {
			err = b.err
		}
		if err == nil {
			err = t.Space.Amend(ctx, b.changes...)
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// head is written with rows that are added by who has read which there are.
type head struct{ Changes int }

// Alone has decide say by all rows which to add: a writer in between is a conflict.
func (t *Table) Alone(ctx context.Context, decide func(*Batch) error) error {
	return t.Change(ctx, func(b *Batch) error {
		h, err := Get[head](ctx, t, ID(t.Head, ""))
		if err == nil {
			err = decide(b)
		}
		if err == nil && len(b.changes) > 0 {
			Put(b, h, t.Head, "", time.Time{}, &head{h.Value.Changes + 1})
		}
		return err
	})
}

// Merge has merge work on the value of a row, which may be none, and writes what that changes.
func Merge[T any](ctx context.Context, t *Table, part, name string, merge func(*T) time.Time) error {
	return t.Change(ctx, func(b *Batch) error { return MergeIn(ctx, t, b, part, name, merge) })
}

// MergeIn is Merge as a part of a commit.
func MergeIn[T any](ctx context.Context, t *Table, b *Batch, part, name string, merge func(*T) time.Time) error {
	r, err := Get[T](ctx, t, ID(part, name))
	if err != nil {
		return err
	}
	was := b.written(&r.Value)
	at := merge(&r.Value)
	if !r.Stored() || !bytes.Equal(was, b.written(&r.Value)) {
		Put(b, r, part, name, at, &r.Value)
	}
	return nil
}
