package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/arc-learn/arc/store"
)

// Erase removes all that the Bank has of a scope and of those below it: records,
// vectors, counters, and what was remembered of keys, in memory and in the store.
// No other call may use these scopes meanwhile. After an error a part may be gone:
// call it again.
func (b *Bank) Erase(ctx context.Context, scope Scope) error {
	if err := b.In(scope).ready(ctx); err != nil {
		return err
	}
	var all []*shard
	b.shards.Range(func(_, v any) bool {
		if sh := v.(*shard); sh.scope.Within(scope) {
			all = append(all, sh)
		}
		return true
	})
	b.reading.keeping.Lock()
	defer b.reading.keeping.Unlock()
	for _, sh := range all {
		if err := b.empty(ctx, sh); err != nil {
			return fmt.Errorf("memory: erase %q: %w", scope, err)
		}
	}
	for e, err := range b.Entries(ctx, scope) {
		if err == nil {
			err = b.w.Add(ctx, store.Op{Key: e.Key, Delete: true})
		}
		if err != nil {
			return fmt.Errorf("memory: erase %q: %w", scope, err)
		}
	}
	for _, sh := range all {
		b.shards.Delete(sh.scope)
	}
	return b.w.Flush(ctx)
}

// empty erases the records of a shard.
func (b *Bank) empty(ctx context.Context, sh *shard) error {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	for group := range slices.Chunk(sh.snapshot(), eraseChunk) {
		if err := b.erase(ctx, sh, group); err != nil {
			return err
		}
	}
	return nil
}

// Entries yields all that the store holds of a scope and of those below it, as it lies
// there: what Erase removes. Records come before what is kept of them. It writes what is
// pending before, and ends after the first error.
func (b *Bank) Entries(ctx context.Context, scope Scope) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		err := b.In(scope).ready(ctx)
		if err == nil {
			err = b.w.Flush(ctx)
		}
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		in := stored{b.st, scope, make(map[string]bool)}
		for _, part := range scopeParts {
			for e, err := range in.under(ctx, part) {
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// Reload reads a scope and those below it anew from the store, into which others have
// written. No other call may use these scopes meanwhile.
func (b *Bank) Reload(ctx context.Context, scope Scope) error {
	err := b.In(scope).ready(ctx)
	if err == nil {
		err = b.w.Flush(ctx)
	}
	if err != nil {
		return err
	}
	b.shards.Range(func(s, _ any) bool {
		if s.(Scope).Within(scope) {
			b.shards.Delete(s)
		}
		return true
	})
	if err := b.load(ctx, scope); err != nil {
		return fmt.Errorf("memory: reload %q: %w", scope, err)
	}
	return nil
}
