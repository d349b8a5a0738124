// Package codec turns records into the values of a store: a version byte and CBOR (RFC 8949, core
// deterministic encoding), so that equal records are equal bytes. Integrity is the store's.
package codec

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"github.com/arc-learn/arc/store"
)

// MaxRecord is the bound of an encoded record in bytes.
const MaxRecord = 512 << 10

const version = 1 // the format that Marshal writes

// The options are constants: they fail always or never.
var (
	encoding, _ = cbor.EncOptions{
		Sort: cbor.SortCoreDeterministic, IndefLength: cbor.IndefLengthForbidden, Time: cbor.TimeRFC3339Nano,
		ShortestFloat: cbor.ShortestFloat16, NaNConvert: cbor.NaNConvert7e00, InfConvert: cbor.InfConvertFloat16,
	}.UserBufferEncMode()
	decoding, _ = cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:  64,
		MaxArrayElements: MaxRecord,
		MaxMapPairs:      MaxRecord,
		DefaultMapType:   reflect.TypeFor[map[string]any](), // as JSON has it: what was read can be written as JSON
		UTF8:             cbor.UTF8DecodeInvalid,            // what could be written can be read
	}.DecMode()
	buffers = sync.Pool{New: func() any { return bytes.NewBuffer([]byte{version}) }}
)

// Marshal returns the value of v (no pointer: cbor would copy), or [store.ErrInvalid] over [MaxRecord].
func Marshal(v any) ([]byte, error) {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Truncate(1) // the version
	if err := encoding.MarshalToBuffer(v, b); err != nil {
		return nil, fmt.Errorf("codec: %T: %w", v, err)
	}
	return bytes.Clone(b.Bytes()), store.Limit("record", b.Len(), MaxRecord)
}

// Unmarshal reads a value into v, a pointer to a zero value. Fields that v does not have are left out. The
// error wraps [store.ErrVersion] for another version, [store.ErrDamaged] for what Marshal did not write.
func Unmarshal(value []byte, v any) error {
	record, is := bytes.CutPrefix(value, []byte{version})
	if !is {
		return fmt.Errorf("%w: no record of format %d", store.ErrVersion, version)
	}
	if err := decoding.Unmarshal(record, v); err != nil {
		return fmt.Errorf("%w: %T: %w", store.ErrDamaged, v, err)
	}
	return nil
}

// Digest is the short form of a text in keys and comparisons.
func Digest[T ~string | ~[]byte](s T) string {
	sum := sha256.Sum256([]byte(s))
	return string(hex.AppendEncode(make([]byte, 0, 24), sum[:12]))
}

// Reader is a [store.Store] or a [store.Batch].
type Reader interface {
	Get(ctx context.Context, key string) (store.Entry, error)
}

// Load reads the record at key: the zero value if there is none. The condition is that it stays as it is:
// Absent if it is not there, and Any if an earlier part of a batch has staged it, whose condition then holds.
func Load[T any](ctx context.Context, r Reader, key string) (v T, c store.Condition, err error) {
	e, err := r.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return v, store.Absent, nil
	}
	there := new(T) // apart, so that what is not there takes no memory
	if err = cmp.Or(err, Unmarshal(e.Value, there)); err != nil {
		return v, c, fmt.Errorf("%s: %w", key, err)
	}
	if e.Rev == 0 {
		return *there, store.Any, nil
	}
	return *there, store.At(e.Rev), nil
}

// Records yields the records of a range, in the order of their keys. It ends after the first error.
func Records[T any](ctx context.Context, st store.Store, r store.Range) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for e, err := range st.Scan(ctx, r) {
			v := new(T)
			if err = cmp.Or(err, Unmarshal(e.Value, v)); err != nil {
				err = fmt.Errorf("%s: %w", cmp.Or(e.Key, r.Prefix), err)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Put stages the record at key.
func Put(b *store.Batch, key string, v any, c store.Condition) error {
	value, err := Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return b.Put(key, value, c)
}

// Scan yields the entries of some kinds in all scopes of a tenant's store. Now and then it steps over the
// rest of another kind in a scope. To look anew costs PostgreSQL as much as to read about a thousand.
func Scan(ctx context.Context, st store.Store, kinds ...string) iter.Seq2[store.Entry, error] {
	const patience = 1000 // entries of other kinds before it steps over the rest of one
	return func(yield func(store.Entry, error) bool) {
		after := ""
		for others := patience; others == patience; {
			others = 0
			for e, err := range st.Scan(ctx, store.Range{Prefix: "s/", After: after}) {
				scope, kind, _, _ := store.ParseKey(e.Key)
				if err != nil || slices.Contains(kinds, kind) {
					if !yield(e, err) || err != nil {
						return
					}
				} else if others++; others == patience {
					after = strings.TrimSuffix(scope.Key(kind, ""), "/") + "0" // which follows "/"
					break
				}
			}
		}
	}
}

// Sweep deletes those of some entries that are old, up to 1,000 in a commit, and returns how many. Unless all
// have to go, the first that others have changed since it was read stays, with all behind it, which may be
// its own (steps of a job): the next Sweep finds them.
func Sweep(ctx context.Context, g *store.Group, entries iter.Seq2[store.Entry, error],
	old func(store.Entry) bool, all bool) (swept int, err error) {
	var found []store.Entry
	for e, err := range entries {
		if err != nil {
			return 0, err
		}
		if old(e) {
			found = append(found, store.Entry{Key: e.Key, Rev: e.Rev})
		}
	}
	for len(found) > 0 {
		part, again := found[:min(1000, len(found))], false
		found = found[len(part):]
		err := g.Update(ctx, func(b *store.Batch) (err error) {
			for i, e := range part {
				c := store.At(e.Rev)
				if all {
					c = store.Any
				} else if again { // others have changed one, or a key of another function
					if now, _ := b.Get(ctx, e.Key); now.Rev != e.Rev {
						part, found = part[:i], nil
						break
					}
				}
				err = cmp.Or(err, b.Delete(e.Key, c))
			}
			again = true
			return err
		})
		if err != nil {
			return swept, err
		}
		swept += len(part)
	}
	return swept, nil
}
