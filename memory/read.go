package memory

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// record returns the record of e for use in the package: without its counters and
// its vector. It shares its slices with e.
func (b *Bank) record(ctx context.Context, sh *shard, e *table.Entry) (*Record, error) {
	if e.Flags&table.Cold != 0 {
		return b.cold(ctx, sh, e)
	}
	r := &Record{ID: ID(e.Name()), Scope: sh.scope}
	fill(e, r)
	return r, nil
}

// cold reads a record whose texts are on disk. The cache is keyed by the entry, which
// a change of the record replaces, so it never returns the former record.
func (b *Bank) cold(ctx context.Context, sh *shard, e *table.Entry) (*Record, error) {
	if r, ok := b.bodies.Get(e); ok {
		return r, nil
	}
	is, err := b.st.Get(ctx, sh.key(stored.Records, ID(e.Name())))
	if err != nil {
		return nil, err
	}
	r, _, err := decodeRecord(is)
	if err != nil {
		return nil, err
	}
	if is.Rev != e.Rev {
		return r, nil // what the record has become meanwhile
	}
	b.bodies.Add(e, r)
	if !sh.Holds(e) {
		b.bodies.Remove(e) // it has gone, and what removed it may have come before Add
	}
	return r, nil
}

// copy writes the record of e to r for the caller, without the vector. It reads the
// texts from disk if they are there.
func (b *Bank) copy(ctx context.Context, sh *shard, e *table.Entry, c *tally.Counts, r *Record) error {
	if e.Flags&table.Cold == 0 {
		r.Scope = sh.scope
		fill(e, r)
	} else {
		cold, err := b.cold(ctx, sh, e)
		if err != nil {
			return err
		}
		*r = *cold
	}
	r.own()
	r.apart = nil
	r.Stats, r.Archived = statsOf(c), c.Archived
	return nil
}

// whole returns the record of e for the caller, with its vector.
func (b *Bank) whole(ctx context.Context, sh *shard, e *table.Entry) (Record, error) {
	r := Record{ID: ID(e.Name())}
	err := b.copy(ctx, sh, e, e.Counts(), &r)
	if err == nil && (e.Dim != 0 || !sh.Vectorless(e)) {
		r.Vector, err = b.vector(ctx, sh, e)
	}
	return r, sh.missing(e, err)
}

// missing returns the error of reading a part of e from the store. It is ErrNotFound
// only if e is not in the Bank any more.
func (sh *shard) missing(e *table.Entry, err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	// Records leave the store before they leave memory, with edit held.
	sh.edit.Lock()
	defer sh.edit.Unlock()
	if sh.Holds(e) {
		return fmt.Errorf("%w: %q: a part of it is missing", store.ErrDamaged, sh.key(stored.Records, ID(e.Name())))
	}
	return err
}

// vector reads the vector of e.
func (b *Bank) vector(ctx context.Context, sh *shard, e *table.Entry) ([]float32, error) {
	kept, err := b.late.Get(ctx, sh.key(stored.Vectors, ID(e.Name())))
	if err != nil {
		return nil, err
	}
	_, v, err := stored.VectorOf(kept)
	return v, err
}

// Get returns the record. The id of a record that was merged into another leads to
// that one. Get and All alone fill Vector, which they read from disk, and Get alone
// SupersededBy.
func (s Space) Get(ctx context.Context, id ID) (Record, error) {
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return Record{}, err
	}
	for {
		sh, e, err := s.lookup(id)
		if err != nil {
			return Record{}, err
		}
		r, err := s.b.whole(ctx, sh, e)
		if errors.Is(err, store.ErrNotFound) {
			continue // it changed meanwhile: look again
		}
		if err != nil {
			return Record{}, fmt.Errorf("memory: get: %w", err)
		}
		sh.Enter()
		defer sh.Leave()
		all := table.Whole()
		if by := all.StandingLocked(sh.Table, e); by != e {
			r.SupersededBy = ID(by.Name())
		}
		return r, nil
	}
}

// All yields the records in order of At and then ID, as they were when the iteration
// began. Quarantined and archived ones are in. It ends after the first error.
func (s Space) All(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		sh, done, err := s.holding(ctx)
		defer done()
		if err != nil {
			yield(Record{}, err)
		}
		if sh == nil {
			return
		}
		for _, e := range table.ByTime(sh.Snapshot()) {
			if err := ctx.Err(); err != nil {
				yield(Record{}, err)
				return
			}
			r, err := s.b.whole(ctx, sh, e)
			if errors.Is(err, store.ErrNotFound) {
				continue // forgotten meanwhile
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Latest returns the last n records of a thread in order of At. Quarantined and archived
// ones are in. It looks the thread up by name: the time does not depend on the number of
// threads.
func (s Space) Latest(ctx context.Context, thread string, n int) ([]Record, error) {
	sh, done, err := s.holding(ctx)
	defer done()
	if sh == nil {
		return nil, err
	}
	if n < 0 {
		return nil, fmt.Errorf("memory: latest: %w: n is %d", ErrQuery, n)
	}
	var records []Record
	for _, e := range sh.Latest(thread, n) {
		r := Record{ID: ID(e.Name()), Scope: sh.scope}
		err := sh.missing(e, s.b.copy(ctx, sh, e, e.Counts(), &r))
		if errors.Is(err, store.ErrNotFound) {
			continue // it is going
		}
		if err != nil {
			return nil, fmt.Errorf("memory: latest: %w", err)
		}
		records = append(records, r)
	}
	return records, nil
}
