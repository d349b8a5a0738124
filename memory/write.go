package memory

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/embedder"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// unwritten waits for a write behind of the record's vector, and returns the write that removes it. The
// caller holds edit.
func (b *Bank) unwritten(ctx context.Context, sh *shard, id ID) ([]store.Op, error) {
	if !b.o.Shared && b.vectors.Model() == (embedder.Model{}) {
		return nil, nil // there never was one
	}
	k := sh.key(stored.Vectors, id)
	if _, ok := b.w.Pending(k); ok {
		if err := b.w.Flush(ctx); err != nil {
			return nil, err
		}
	}
	return []store.Op{{Key: k, Delete: true}}, nil
}

// revision returns the revision of e, whose record is r, in the store, for a condition. It waits for a record that is
// written behind: the error is store.ErrConflict if another Bank has changed that since. The caller holds edit.
func (b *Bank) revision(ctx context.Context, sh *shard, e *table.Entry, r *Record) (store.Revision, error) {
	if e.Rev != 0 {
		return e.Rev, nil
	}
	if err := b.w.Flush(ctx); err != nil {
		return 0, err
	}
	is, err := b.st.Get(ctx, sh.key(stored.Records, r.ID))
	if err != nil {
		return 0, err
	}
	ours, err := sh.encodeRecord(r, stowedWith(e))
	if err == nil && !bytes.Equal(ours.Value, is.Value) {
		err = store.ErrConflict
	}
	return is.Rev, err
}

// leaving returns e, whose record is r, as it leaves. same says that the record in its place has its texts.
func (b *Bank) leaving(e *table.Entry, r *Record, same bool) table.Leaving {
	return table.Leaving{Entry: e, Doc: b.document(r, stowedWith(e)), Same: same}
}

// replacing returns the writes that put rec in the place of a record in the store, or remove it if rec is
// nil, with what the store keeps beside it. The vector stays if the texts do. The caller holds edit.
func (b *Bank) replacing(
	ctx context.Context, sh *shard, e *table.Entry, old, rec *Record,
) (was table.Leaving, with stowed, ops []store.Op, err error) {
	was, with = b.leaving(e, old, rec != nil && alikeToTheLetter(old, rec)), stowedWith(e)
	rev, err := b.revision(ctx, sh, e, old)
	if err == nil && !was.Same {
		with.dim = 0
		ops, err = b.unwritten(ctx, sh, old.ID)
	}
	op := store.Op{Key: sh.key(stored.Records, old.ID), Delete: true}
	if err == nil && rec != nil {
		op, err = sh.encodeRecord(rec, with)
	}
	op.If = store.At(rev)
	return was, with, append(ops, op), err
}

// rewrite stores a record again and makes the change visible. The caller holds edit.
func (b *Bank) rewrite(ctx context.Context, sh *shard, old *table.Entry, rec *Record) error {
	r, err := b.record(ctx, sh, old)
	if err != nil {
		return b.unsure(ctx, sh, err, old)
	}
	was, with, ops, err := b.replacing(ctx, sh, old, r, rec)
	if err != nil {
		return b.unsure(ctx, sh, err, old)
	}
	rev, err := b.st.Commit(ctx, ops...)
	if err != nil { // the caller may try again
		return b.unsure(ctx, sh, err, old)
	}
	sh.Put(newEntry(rec, with, old.Counts(), rev), b.document(rec, with), was)
	b.bodies.Remove(old)
	b.uncache(r)
	b.vectors.Want(sh.Table.Scope)
	return nil
}

// unsure takes in, after a failed commit, what the store has of the records: the commit, or an earlier one,
// perhaps took place, or another Bank had changed a record. It returns the error. The caller holds edit.
func (b *Bank) unsure(ctx context.Context, sh *shard, err error, es ...*table.Entry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	for _, e := range es {
		err = errors.Join(err, b.reread(ctx, sh, ID(e.Name())))
	}
	return err
}

// afterwards bounds what is done though the context of a call has ended. A record that could not be read by
// then is read by the next call that changes it: the conditions of its commit fail.
const afterwards = 10 * time.Second

// resolve takes in at most n records of the shard that the store may have though their commit failed. The
// caller holds edit.
func (b *Bank) resolve(ctx context.Context, sh *shard, n int) error {
	for range min(n, len(sh.doubt)) {
		if err := b.reread(ctx, sh, sh.doubt[0]); err != nil {
			return err
		}
		sh.doubt = sh.doubt[1:]
	}
	sh.doubts.Store(len(sh.doubt) > 0)
	return nil
}

// reread takes in a record with its counters as the store has them, or is about to. The caller holds edit.
func (b *Bank) reread(ctx context.Context, sh *shard, id ID) error {
	e, err := b.late.Get(ctx, sh.key(stored.Records, id))
	if errors.Is(err, store.ErrNotFound) {
		e, err = store.Entry{Rev: Latest, Deleted: true}, nil
	}
	if err == nil {
		err = b.takeIn(ctx, sh, id, e)
	}
	if is := sh.entry(id); err == nil && is != nil && is.Key == ident.Of(id) {
		if e, err = b.late.Get(ctx, sh.key(stored.Counts, id)); err == nil {
			err = b.besideLocked(sh, stored.Counts, is, e)
		} else if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
	}
	return err
}

// takeIn takes in the entry that the store has of a record now. The caller holds edit.
func (b *Bank) takeIn(ctx context.Context, sh *shard, id ID, e store.Entry) error {
	var is loading
	if !e.Deleted {
		is = b.prepare([]store.Entry{e})[0]
	}
	if is.err != nil {
		return is.err
	}
	return b.takeLocked(ctx, sh, id, is, e)
}

// takeLocked takes in a record as it is now. The caller holds edit.
func (b *Bank) takeLocked(ctx context.Context, sh *shard, id ID, is loading, e store.Entry) error {
	old := sh.entry(id)
	if old != nil && old.Rev >= e.Rev {
		return nil // or it was merged into what the id leads to
	}
	if old != nil && old.Key != ident.Of(id) {
		old = nil
	}
	if old == nil {
		if !e.Deleted {
			sh.Put(is.entry, is.doc, b.joining(sh, is.entry)...)
			b.vectors.Want(sh.Table.Scope)
		}
		if !e.Deleted && is.entry.Flags&table.Passing != 0 && sh.passing != nil {
			sh.passing = append(sh.passing, is.entry.Key)
		}
		return nil
	}
	var vector store.Entry // of what is on disk, which is not known to be what it was
	var unread error       // goes on without it: the record is heard of
	if old.Flags&table.Cold != 0 && !e.Deleted {
		var err error
		if vector, err = b.st.Get(ctx, sh.key(stored.Vectors, id)); codec.Unreadable(err) {
			unread = err
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	r := b.atHand(sh, old)
	was := b.leaving(old, r, false)
	if e.Deleted || is.entry.Flags&table.Passing == 0 {
		sh.unqueue(old)
	}
	if e.Deleted {
		sh.Remove(was)
	} else {
		is.entry.Count(old.Counts())
		was.Same = old.Flags&table.Cold == 0 && old.Text == is.entry.Text && old.Cut == is.entry.Cut
		sh.Put(is.entry, is.doc, append(b.joining(sh, is.entry), was)...)
		if vector.Rev != 0 {
			if err := b.besideLocked(sh, stored.Vectors, is.entry, vector); err != nil {
				return err
			}
		}
		b.vectors.Want(sh.Table.Scope)
	}
	b.bodies.Remove(old)
	b.uncache(r)
	return unread
}

// removed notes that a commit of this Bank has removed records: of older changes Follow asks the store.
func (b *Bank) removed(rev store.Revision) {
	for last := b.gone.Load(); last < uint64(rev) && !b.gone.CompareAndSwap(last, uint64(rev)); {
		last = b.gone.Load()
	}
}

// atHand returns the record of e without asking the store. The words of a cold one are perhaps not in it: the
// index goes on to count them, and takes them for less rare than they are.
func (b *Bank) atHand(sh *shard, e *table.Entry) *Record {
	r, ok := b.bodies.Get(e)
	if !ok {
		r = &Record{ID: ID(e.Name()), Scope: sh.scope}
		fill(e, r)
	}
	return r
}

// joining returns the records that another Bank has merged into e, which are here still. The caller holds edit.
func (b *Bank) joining(sh *shard, e *table.Entry) (was []table.Leaving) {
	for k := range e.Keys() {
		if part := sh.Find(k); part != nil && part.Key == k && k != e.Key {
			was = append(was, b.leaving(part, b.atHand(sh, part), false))
			b.bodies.Remove(part)
		}
	}
	return was
}

// fits reports whether a vector of a model, of dim numbers, can be compared with those of the Bank.
func (b *Bank) fits(model string, dim int) bool {
	b.vectors.Adopt(embedder.Model{Name: model, Dim: dim}) // if it came with the scope
	return model == b.vectors.Model().Name && (dim == 0 || b.vectors.Fits(dim))
}

func (b *Bank) besideLocked(sh *shard, part string, of *table.Entry, e store.Entry) error {
	switch part {
	case stored.Vectors:
		model, x, err := stored.VectorOf(e)
		if err == nil && b.fits(model, len(x)) && sh.Vectorless(of) {
			sh.SetVector(of, x)
		}
		return err
	case stored.Guesses:
		kept, err := stored.GuessesOf(e)
		sh.guess(of, kept)
		return err
	}
	c, err := new(tally.Counts), error(nil) // those of a former record of the id are gone
	if !e.Deleted {
		c, err = stored.CountsOf(e)
	}
	if err == nil && e.Rev > of.Counts().Rev { // else it is our own of before
		sh.Tally(table.Change{Entry: of, Counts: c})
	}
	return err
}

// uncache takes the vectors of a record's texts out of the cache.
func (b *Bank) uncache(r *Record) {
	tenant := r.Scope.Tenant()
	b.vectors.Drop(tenant, r.embedded())
	for _, v := range r.Variants {
		if v.Content != "" {
			b.vectors.Drop(tenant, (&Record{Trigger: v.Trigger, Content: v.Content}).embedded())
		}
	}
}

// eraseChunk is how many records are erased in a commit: each takes a delete,
// one for its vector, and a receipt for each Key that led to it.
const eraseChunk = store.MaxCommitOps / (maxVariants + 4)

// eraseAll erases records in their order. The caller holds edit.
func (b *Bank) eraseAll(ctx context.Context, sh *shard, es []*table.Entry) error {
	for chunk := range slices.Chunk(es, eraseChunk) {
		if err := b.erase(ctx, sh, chunk); err != nil {
			return err
		}
	}
	return nil
}

// erase removes records from the store and from memory in one commit, and their counters
// after that. The caller holds edit.
func (b *Bank) erase(ctx context.Context, sh *shard, es []*table.Entry) error {
	var ops, counters []store.Op
	var going []table.Leaving
	var records []*Record
	for _, e := range es {
		id := ID(e.Name())
		r, err := b.record(ctx, sh, e)
		if err != nil {
			return b.unsure(ctx, sh, err, es...)
		}
		was, _, more, err := b.replacing(ctx, sh, e, r, nil)
		if err != nil {
			return b.unsure(ctx, sh, err, es...)
		}
		ops, going, records = append(ops, more...), append(going, was), append(records, r)
		counters = append(counters, b.besides(sh, id)...)
		former := []ID{id}
		for _, v := range r.Variants {
			former = append(former, v.ID)
		}
		for _, id := range former {
			if !ident.IsKeyed(string(id)) || r.Passing {
				continue
			}
			op, err := sh.encodeReceipt(id, forgotten)
			if err != nil {
				return err
			}
			ops = append(ops, op)
		}
	}
	rev, err := b.st.Commit(ctx, ops...)
	if err != nil {
		err = b.unsure(ctx, sh, err, es...)
		for _, e := range es {
			if sh.Find(e.Key) == nil { // it is gone, and its counters follow
				_, more := b.late.Add(context.WithoutCancel(ctx), b.besides(sh, ID(e.Name()))...)
				err = errors.Join(err, more)
			}
		}
		return err
	}
	b.removed(rev)
	sh.Remove(going...)
	for i, e := range es {
		b.bodies.Remove(e)
		b.uncache(records[i])
		sh.unqueue(e)
	}
	if _, err := b.late.Add(ctx, counters...); err != nil {
		return err
	}
	return b.w.Flush(ctx)
}

// besides returns the writes that remove what the store keeps beside a record: its counters, what it
// perhaps replaces, and that the Extractor is to read it.
func (b *Bank) besides(sh *shard, id ID) []store.Op {
	ops := []store.Op{{Key: sh.key(stored.Counts, id), Delete: true}, {Key: sh.key(stored.Guesses, id), Delete: true}}
	if b.reading.host != nil {
		ops = append(ops, store.Op{Key: sh.key(stored.Unread, id), Delete: true})
	}
	return ops
}

// stray is a record's counters whose record is gone: the process ended after it was merged into
// another or forgotten, and before the counters followed, or another Bank had not heard of that.
type stray struct {
	key    string
	sh     *shard
	into   *table.Entry // nil: it is gone
	counts *tally.Counts
}

// settle adds strays to the records that theirs were merged into, if any, and removes them.
func (b *Bank) settle(ctx context.Context, strays []stray) error {
	for _, s := range strays {
		op, err := store.Op{Key: s.key, Delete: true}, error(nil)
		switch {
		case s.into != nil:
			if b.o.Shared {
				op.If = store.At(s.counts.Rev) // else another has settled it
			}
			for n, again := 0, true; again && n < 2; n++ { // once more if others have counted meanwhile
				sum := table.Change{Entry: s.into, Counts: s.into.Counts().Sum(s.counts)}
				again, err = b.late.Count(ctx, s.sh.Table, s.sh.at.Counts, []store.Op{op}, nil, sum)
			}
		case !b.o.Shared:
			err = b.w.Add(ctx, op)
		default: // it may be of a record that another has just made
			_, of, id, _ := stored.Split(s.key)
			if _, err = b.st.Get(ctx, stored.Key(stored.Records, of, id)); errors.Is(err, store.ErrNotFound) {
				op.If = store.At(s.counts.Rev)
				_, err = b.st.Commit(ctx, op)
			}
		}
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

// loading is a record that was read, or why it could not be.
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
