package memory

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// record returns the record of e as the package works with it: without its
// counters and its vector. It shares its slices with e.
func (b *Bank) record(ctx context.Context, sh *shard, e *entry) (*Record, error) {
	if e.flags&isCold != 0 {
		return b.cold(ctx, sh, e)
	}
	r := &Record{ID: e.name(), Scope: sh.scope}
	e.fill(r)
	return r, nil
}

// cold reads a record whose texts are on disk. Records are cached by their
// entry, so a changed one is never taken for the one before.
func (b *Bank) cold(ctx context.Context, sh *shard, e *entry) (*Record, error) {
	if r, ok := b.bodies.Get(e); ok {
		return r, nil
	}
	stored, err := b.st.Get(ctx, sh.recordKey(e.name()))
	if err != nil {
		return nil, err
	}
	r, _, err := decodeRecord(stored)
	if err != nil {
		return nil, err
	}
	if stored.Rev != e.rev {
		return r, nil // what the record has become meanwhile
	}
	b.bodies.Add(e, r)
	if sh.entries.at(e.row) != e {
		b.bodies.Remove(e) // it has gone, and whoever removed it was here before
	}
	return r, nil
}

// copy writes the record of e to r for the caller, but for the vector. It asks
// the disk for what is cold.
func (b *Bank) copy(ctx context.Context, sh *shard, e *entry, c *counts, r *Record) error {
	if e.flags&isCold == 0 {
		r.Scope = sh.scope
		e.fill(r)
	} else {
		cold, err := b.cold(ctx, sh, e)
		if err != nil {
			return err
		}
		*r = *cold
	}
	r.own()
	r.apart = nil
	r.Stats, r.Archived = c.stats(), c.Archived
	return nil
}

// whole returns the record of e for the caller, with its vector.
func (b *Bank) whole(ctx context.Context, sh *shard, e *entry) (Record, error) {
	r := Record{ID: e.name()}
	err := b.copy(ctx, sh, e, e.counts(), &r)
	if err == nil && (e.dim != 0 || !sh.vectorless(e)) {
		r.Vector, err = b.vector(ctx, sh, e)
	}
	return r, sh.missing(e, err)
}

// missing returns err, which reading a part of e from the store has come to,
// as ErrNotFound only if e is not in the Bank any more.
func (sh *shard) missing(e *entry, err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	// Records leave the store before they leave memory, with edit held.
	sh.edit.Lock()
	defer sh.edit.Unlock()
	if sh.entries.at(e.row) == e {
		return fmt.Errorf("%w: %q: a part of it is missing", store.ErrDamaged, sh.recordKey(e.name()))
	}
	return err
}

// storedVector is a vector on disk, beside the record.
type storedVector struct {
	Numbers []byte `cbor:"1,keyasint"`           // four bytes each, little endian; none: the text has no vector
	Model   string `cbor:"2,keyasint,omitempty"` // that has made it
}

func (sh *shard) encodeVector(id ID, model string, v []float32) (store.Op, error) {
	s := storedVector{make([]byte, 0, 4*len(v)), model}
	for _, x := range v {
		s.Numbers = binary.LittleEndian.AppendUint32(s.Numbers, math.Float32bits(x))
	}
	k := sh.vectorKey(id)
	value, err := codec.Encode(k, s)
	return store.Op{Key: k, Value: value}, err
}

// decodeVector returns a vector, nil if its text has none, and its model.
func decodeVector(e store.Entry) (model string, v []float32, err error) {
	var s storedVector
	if err := codec.Decode(e, &s); err != nil {
		return "", nil, err
	}
	n := len(s.Numbers)
	if n == 0 {
		return s.Model, nil, nil
	}
	if n%4 != 0 || n > 4*MaxDimension {
		return "", nil, fmt.Errorf("%w: %q: vector of %d bytes", store.ErrDamaged, e.Key, n)
	}
	v = make([]float32, n/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(s.Numbers[4*i:]))
	}
	if err := checkVector(v); err != nil {
		return "", nil, fmt.Errorf("%w: %q: %v", store.ErrDamaged, e.Key, err)
	}
	return s.Model, v, nil
}

// vector reads the vector of e.
func (b *Bank) vector(ctx context.Context, sh *shard, e *entry) ([]float32, error) {
	stored, err := b.read(ctx, sh.vectorKey(e.name()))
	if err != nil {
		return nil, err
	}
	_, v, err := decodeVector(stored)
	return v, err
}
