package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/embedder"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// unwritten makes sure that no write of the record's vector is behind, and
// returns what removes it. The caller holds edit.
func (b *Bank) unwritten(ctx context.Context, sh *shard, id ID) ([]store.Op, error) {
	if b.vectors.Model() == (embedder.Model{}) {
		return nil, nil // there never was one
	}
	k := sh.vectorKey(id)
	if _, ok := b.w.Pending(k); ok {
		if err := b.w.Flush(ctx); err != nil {
			return nil, err
		}
	}
	return []store.Op{{Key: k, Delete: true}}, nil
}

// revision returns the revision of a record in the store, for a condition. One
// that was written behind is there before revision returns. The caller holds edit.
func (b *Bank) revision(ctx context.Context, sh *shard, e *table.Entry) (store.Revision, error) {
	if e.Rev != 0 {
		return e.Rev, nil
	}
	if err := b.w.Flush(ctx); err != nil {
		return 0, err
	}
	stored, err := b.st.Get(ctx, sh.recordKey(ID(e.Name())))
	return stored.Rev, err
}

// leaving is e, whose record is r, as it goes. Same says that what takes its place has its texts.
func (b *Bank) leaving(e *table.Entry, r *Record, same bool) table.Leaving {
	return table.Leaving{Entry: e, Doc: b.document(r, stowedWith(e)), Same: same}
}

// replacing returns what has rec in place of a record in the store, nil to remove it, and
// what is kept with it. The vector stays if the texts do, and goes with them. The caller
// holds edit.
func (b *Bank) replacing(
	ctx context.Context, sh *shard, e *table.Entry, old, rec *Record,
) (was table.Leaving, with stowed, ops []store.Op, err error) {
	was, with = b.leaving(e, old, rec != nil && alikeToTheLetter(old, rec)), stowedWith(e)
	rev, err := b.revision(ctx, sh, e)
	if err == nil && !was.Same {
		with.dim = 0
		ops, err = b.unwritten(ctx, sh, old.ID)
	}
	op := store.Op{Key: sh.recordKey(old.ID), Delete: true}
	if err == nil && rec != nil {
		op, err = sh.encodeRecord(rec, with)
	}
	op.If = store.At(rev)
	return was, with, append(ops, op), err
}

// rewrite stores a record anew and makes that visible. The caller holds edit.
func (b *Bank) rewrite(ctx context.Context, sh *shard, old *table.Entry, rec *Record) error {
	r, err := b.record(ctx, sh, old)
	if err != nil {
		return err
	}
	was, with, ops, err := b.replacing(ctx, sh, old, r, rec)
	if err != nil {
		return err
	}
	rev, err := b.st.Commit(ctx, ops...)
	if b.o.Shared && errors.Is(err, store.ErrConflict) { // the caller may try again
		err = errors.Join(err, b.reread(ctx, sh, ID(old.Name())))
	}
	if err != nil {
		return err
	}
	sh.Put(newEntry(rec, with, old.Counts(), rev), b.document(rec, with), was)
	b.bodies.Remove(old)
	b.uncache(r)
	b.vectors.wanted(sh)
	return nil
}

// reread takes in a record as the store has it, which another Bank has changed, unheard of so
// far, or Amend. The caller holds edit.
func (b *Bank) reread(ctx context.Context, sh *shard, id ID) error {
	e, err := b.st.Get(ctx, sh.recordKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return b.takeLocked(ctx, sh, id, loading{}, store.Entry{Rev: Latest, Deleted: true})
	}
	if err != nil {
		return err
	}
	is := b.prepare([]store.Entry{e})[0]
	if is.err != nil {
		return is.err
	}
	return b.takeLocked(ctx, sh, id, is, e)
}

// takeLocked takes in what a record is now. The caller holds edit.
func (b *Bank) takeLocked(ctx context.Context, sh *shard, id ID, is loading, e store.Entry) error {
	old := sh.entry(id)
	if old != nil && old.Key != ident.Of(id) {
		old = nil // the id leads to what it was merged into
	}
	if old == nil {
		if !e.Deleted {
			sh.Put(is.entry, is.doc)
			b.vectors.wanted(sh)
		}
		return nil
	}
	if old.Rev >= e.Rev {
		return nil
	}
	var vector store.Entry // of what is on disk, which is not known to be what it was
	var unread error       // goes on without it: the record is heard of
	if old.Flags&table.Cold != 0 && !e.Deleted {
		var err error
		if vector, err = b.st.Get(ctx, sh.vectorKey(id)); codec.Unreadable(err) {
			unread = err
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	// Of a cold record the words are not known here: the index goes on to count
	// them, and takes them for less rare than they are.
	r, ok := b.bodies.Get(old)
	if !ok {
		r = &Record{ID: id, Scope: sh.scope}
		fill(old, r)
	}
	was := b.leaving(old, r, false)
	if e.Deleted {
		sh.Remove(was)
		sh.unqueue(old)
	} else {
		is.entry.Count(old.Counts())
		was.Same = old.Flags&table.Cold == 0 && old.Text == is.entry.Text && old.Cut == is.entry.Cut
		sh.Put(is.entry, is.doc, was)
		if vector.Rev != 0 {
			if err := b.besideLocked(sh, vectorPart, is.entry, vector); err != nil {
				return err
			}
		}
		b.vectors.wanted(sh)
	}
	b.bodies.Remove(old)
	b.uncache(r)
	return unread
}

func (b *Bank) besideLocked(sh *shard, part string, of *table.Entry, e store.Entry) error {
	if part == vectorPart {
		model, x, err := decodeVector(e)
		if err == nil && model == b.vectors.Model().Name && sh.Vectorless(of) {
			sh.SetVector(of, x)
		}
		return err
	}
	c, err := decodeCounts(e)
	if err == nil && c.Rev > of.Counts().Rev { // else it is our own of before
		sh.Tally(table.Change{Entry: of, Counts: c})
	}
	return err
}

// uncache takes the vectors of a record's texts out of the cache.
func (b *Bank) uncache(r *Record) {
	tenant := r.Scope.Tenant()
	b.vectors.Drop(tenant, embedded(r))
	for _, v := range r.Variants {
		if v.Content != "" {
			b.vectors.Drop(tenant, embedded(&Record{Trigger: v.Trigger, Content: v.Content}))
		}
	}
}

// besides removes what is kept of a record besides it: its counters, what it perhaps
// replaces, and that it is to be read.
func (b *Bank) besides(sh *shard, id ID) []store.Op {
	ops := []store.Op{{Key: sh.countsKey(id), Delete: true}, {Key: sh.guessKey(id), Delete: true}}
	if b.reading.host != nil {
		ops = append(ops, store.Op{Key: readKey(sh.scope, id), Delete: true})
	}
	return ops
}

// count writes ops and counters. The Writer does that, unless others write counters
// too: then they are committed at once, on condition that they are in the store as
// they are here. If a condition does not hold, the counters here become those of
// the store, and the caller begins again. It holds edit. The writes share memory
// behind buf.
func (b *Bank) count(
	ctx context.Context, sh *shard, ops []store.Op, buf []byte, changes ...table.Change,
) (again bool, err error) {
	first := len(ops)
	if ops, err = sh.encodeCounts(ops, buf, changes...); err != nil {
		return false, err
	}
	if !b.o.Shared {
		taken, err := b.add(ctx, ops...)
		if taken {
			sh.Tally(changes...)
		}
		return false, err
	}
	for i, c := range changes {
		ops[first+i].If = store.At(c.Entry.Counts().Rev)
	}
	rev, err := b.st.Commit(ctx, slices.Clone(ops)...) // else all callers' are on the heap
	if err == nil {
		for _, c := range changes {
			c.Counts.Rev = rev
		}
		sh.Tally(changes...)
	}
	if !errors.Is(err, store.ErrConflict) {
		return false, err
	}
	conflict := err
	for i, op := range ops {
		e, err := b.st.Get(ctx, op.Key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
		if op.If.Holds(e.Rev) {
			continue
		}
		again = true
		if i >= first {
			now := new(tally.Counts)
			if err == nil {
				now, err = decodeCounts(e)
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return false, err
			}
			sh.Tally(table.Change{Entry: changes[i-first].Entry, Counts: now})
		}
	}
	return again, conflict
}

// loading is a record that was read, or why it cannot be.
type loading struct {
	scope Scope
	entry *table.Entry
	doc   index.Doc
	err   error
}

// prepare decodes records, and splits their texts into terms.
func (b *Bank) prepare(entries []store.Entry) []loading {
	out := make([]loading, len(entries))
	var terms []text.Term // of all
	for i, e := range entries {
		l := &out[i]
		var r *Record
		var with stowed
		if r, with, l.err = decodeRecord(e); l.err != nil {
			return out[:i+1]
		}
		l.scope, l.entry = r.Scope, newEntry(r, with, nil, e.Rev)
		l.doc, terms = b.appendDocument(terms, r, with)
	}
	return out
}
