package memory

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/store"
)

// Forget removes a record for good, with all that was merged into it: from the index, the
// store and the counters. If it had a Key, the Bank remembers a hash of that, and rejects a
// draft that is delivered again, except for a Passing one. Records that were derived from it
// stay; see Revoke.
func (s Space) Forget(ctx context.Context, id ID) error {
	return s.change(ctx, "forget", id, func(sh *shard, e *table.Entry) error {
		return s.b.erase(ctx, sh, []*table.Entry{e})
	})
}

// Revoke removes the records that come from a source or quote it, and all that were derived
// from these, as Links without a Rel say. A record that other sources have said as well stays,
// with their texts. Revoke returns how many records it has removed.
//
// A source is given by its Ref with its Origin, by its Run with any origin, by both, or by its
// Origin alone; the zero Source is ErrEmpty. The Actor of a record counts as a Ref of its
// Origin: {User, "alice"} removes what alice has said, wherever she said it. After an error
// some records may be gone: call Revoke again to complete it.
func (s Space) Revoke(ctx context.Context, src Source) (int, error) {
	if src == (Source{}) {
		return 0, fmt.Errorf("memory: revoke: source: %w", ErrEmpty)
	}
	sh, done, err := s.holding(ctx)
	defer done()
	if sh == nil {
		return 0, err
	}
	sh.edit.Lock()
	defer sh.edit.Unlock()
	gone, cut, err := s.b.revoked(ctx, sh, s.b.cleanSource(src))
	if err != nil {
		return 0, fmt.Errorf("memory: revoke: %w", err)
	}
	// Derived records go first: while one is there, the next call finds it by its parent.
	slices.Reverse(gone)
	if err := s.b.eraseAll(ctx, sh, gone); err != nil {
		return 0, fmt.Errorf("memory: revoke: %w", err)
	}
	for _, c := range cut {
		if err := s.b.rewrite(ctx, sh, c.old, c.rec); err != nil {
			return 0, fmt.Errorf("memory: revoke: %w", err)
		}
	}
	return len(gone), nil
}

// Release forgets that feedback and drafts of these keys were taken in; counters and records
// stay. It is for keys that will not come again. Without it, the keys that make Feedback and
// Remember idempotent add up. After an error some may be kept: call Release again.
func (s Space) Release(ctx context.Context, feedback, drafts []string) error {
	sh, done, err := s.holding(ctx)
	defer done()
	if sh == nil {
		return err
	}
	sh.edit.Lock()
	defer sh.edit.Unlock()
	var keys []string
	for _, k := range feedback {
		keys = append(keys, sh.at.FeedbackKey(k))
	}
	for _, k := range drafts {
		id := ident.Keyed(string(s.scope), k)
		keys = append(keys, sh.key(stored.Receipts, ID(id)), sh.mergedKey(id))
	}
	var ops []store.Op
	for _, k := range keys {
		if _, err := s.b.late.Get(ctx, k); err == nil {
			ops = append(ops, store.Op{Key: k, Delete: true})
		} else if !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("memory: release: %w", err)
		}
	}
	for chunk := range slices.Chunk(ops, eraseChunk) {
		if err := s.b.w.Add(ctx, chunk...); err != nil {
			return fmt.Errorf("memory: release: %w", err)
		}
	}
	return nil
}

// cutting is a record that stays without what came from a source.
type cutting struct {
	old *table.Entry
	rec *Record
}

// revoked returns the records that go with a source, each before those that
// were derived from it, and those that stay in part.
func (b *Bank) revoked(ctx context.Context, sh *shard, src Source) (gone []*table.Entry, cut []cutting, err error) {
	if err := b.resolve(ctx, sh, maxDoubt); err != nil {
		return nil, nil, err
	}
	all := table.ByTime(sh.Snapshot())
	roots := make(map[ident.Key]bool) // what is derived from them goes
	seen := make(map[*table.Entry]bool)
	mark := func(e *table.Entry) {
		for k := range e.Keys() {
			roots[k] = true
		}
	}
	take := func(e *table.Entry) {
		seen[e] = true
		gone = append(gone, e)
		mark(e)
	}
	for _, e := range all {
		own := src.coversOf(sourceOf(e), table.Value(e.Actor))
		if !own && e.More == nil && e.Flags&table.Cold == 0 {
			continue
		}
		old, err := b.record(ctx, sh, e)
		if err != nil {
			return nil, nil, err
		}
		rec, left := without(old, src)
		switch {
		case !left, slices.ContainsFunc(old.Quotes, src.covers):
			take(e)
		case rec != nil && own:
			rec.Slot = Slot{} // as the vector, it came with the text that goes
			cut = append(cut, cutting{e, rec})
			mark(e)
		case rec != nil:
			cut = append(cut, cutting{e, rec})
		}
	}
	for grown := true; grown; {
		grown = false
		for _, e := range all {
			if !seen[e] && slices.ContainsFunc(e.Links(), func(l table.Link) bool { return l.Rel == "" && roots[l.To] }) {
				take(e)
				grown = true
			}
		}
	}
	cut = slices.DeleteFunc(cut, func(c cutting) bool { return seen[c.old] })
	return gone, cut, nil
}

// Erase removes all that the Bank has of a scope and of those below it, in memory and in the
// store: records, vectors, counters, and the keys that it remembers. No other call may use
// these scopes meanwhile. After an error a part may be gone: call Erase again.
func (b *Bank) Erase(ctx context.Context, scope Scope) error {
	done, err := b.In(scope).ready(ctx)
	defer done()
	if err != nil {
		return err
	}
	b.reading.keeping.Lock()
	defer b.reading.keeping.Unlock()
	long := make(map[string]bool)
	for _, sh := range b.shardsWithin(scope) {
		long[sh.at.Part] = true // without its records, no entry of a long one tells
		if err := b.empty(ctx, sh); err != nil {
			return fmt.Errorf("memory: erase %q: %w", scope, err)
		}
	}
	for e, err := range b.entries(ctx, scope, long) {
		if err == nil {
			err = b.w.Add(ctx, store.Op{Key: e.Key, Delete: true})
		}
		if err != nil {
			return fmt.Errorf("memory: erase %q: %w", scope, err)
		}
	}
	b.unload(scope)
	return b.w.Flush(ctx)
}

// shardsWithin returns the shards of a scope and of those below it.
func (b *Bank) shardsWithin(scope Scope) (all []*shard) {
	b.shards.Range(func(_, v any) bool {
		if sh := v.(*shard); sh.scope.Within(scope) {
			all = append(all, sh)
		}
		return true
	})
	return all
}

// unload takes a scope and those below it out of memory, and returns what it has taken.
func (b *Bank) unload(scope Scope) []*shard {
	all := b.shardsWithin(scope)
	for _, sh := range all {
		b.shards.Delete(sh.scope)
		sh.Depart()
	}
	return all
}

// empty erases the records of a shard. Another Bank, whose Extractor may be at work, may
// change records meanwhile: empty takes that in.
func (b *Bank) empty(ctx context.Context, sh *shard) (err error) {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	for range emptyTries {
		if err = b.eraseAll(ctx, sh, sh.Snapshot()); !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	return err
}

// emptyTries bounds the rounds of empty beside Banks that change the records.
const emptyTries = 8

// Entries yields what Erase removes: all that the store holds of a scope and of those below
// it, as it is stored. Records come before their counters and vectors. Entries writes what
// is pending before, and ends after the first error.
func (b *Bank) Entries(ctx context.Context, scope Scope) iter.Seq2[store.Entry, error] {
	return b.entries(ctx, scope, make(map[string]bool))
}

// entries is Entries, and knows the parts of keys of some long scopes.
func (b *Bank) entries(ctx context.Context, scope Scope, long map[string]bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		err := b.In(scope).check(ctx)
		if err == nil {
			err = b.w.Flush(ctx)
		}
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		in := contents{b.st, scope, long}
		for _, part := range stored.Parts() {
			for e, err := range in.under(ctx, part) {
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// Reload reads a scope and those below it again from the store, after others have written
// there. No other call may use these scopes meanwhile. After an error they are in memory as they
// were before: call Reload again.
func (b *Bank) Reload(ctx context.Context, scope Scope) error {
	done, err := b.In(scope).ready(ctx)
	defer done()
	if err == nil {
		err = b.w.Flush(ctx)
	}
	if err != nil {
		return err
	}
	b.reading.keeping.Lock()
	defer b.reading.keeping.Unlock()
	was := b.unload(scope)
	if err := b.load(ctx, scope); err != nil {
		b.unload(scope) // a part of it
		for _, sh := range was {
			b.shards.Store(sh.scope, sh)
			sh.Arrive()
		}
		return fmt.Errorf("memory: reload %q: %w", scope, err)
	}
	return nil
}
