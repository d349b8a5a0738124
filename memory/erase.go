package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/key"
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
	var errs []error
	b.shards.Range(func(s, v any) bool {
		if of, _ := s.(Scope); of == scope || strings.HasPrefix(string(of), string(scope)+"/") {
			sh, _ := v.(*shard)
			errs = append(errs, b.empty(ctx, sh))
		}
		return true
	})
	err := errors.Join(errs...)
	for _, part := range [...]string{recordPart, vectorPart, countsPart, feedbackPart, receiptPart} {
		if err == nil {
			err = b.dropBelow(ctx, key.Join(root, part, string(scope)))
		}
	}
	if err != nil {
		return fmt.Errorf("memory: erase %q: %w", scope, err)
	}
	return nil
}

// empty erases the records of a shard, and then the shard with its index.
func (b *Bank) empty(ctx context.Context, sh *shard) error {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	for group := range slices.Chunk(sh.snapshot(), eraseChunk) {
		if err := b.erase(ctx, sh, group); err != nil {
			return err
		}
	}
	for _, part := range [...]string{feedbackPart, receiptPart} { // of a scope that is too long for a key
		if err := b.dropBelow(ctx, key.Join(root, part, sh.part)); err != nil {
			return err
		}
	}
	b.shards.Delete(sh.scope)
	return nil
}

// dropBelow deletes the keys of a scope's part, and of those below the scope.
func (b *Bank) dropBelow(ctx context.Context, part string) error {
	for _, prefix := range [...]string{key.Prefix(part), part + "/"} {
		for e, err := range b.st.Scan(ctx, store.Range{Prefix: prefix}) {
			if err != nil {
				return err
			}
			if err := b.w.Add(ctx, store.Op{Key: e.Key, Delete: true}); err != nil {
				return err
			}
		}
	}
	return b.w.Flush(ctx)
}
