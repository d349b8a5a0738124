package memory

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/store"
)

// Follow takes in a change that another opener of the store has made, as a store.Watcher yields it,
// if the Bank is Shared: of a record, its counters, its vector, or what it perhaps replaces. A
// change that this Bank has made or knows, or that is of no memory, has no effect. One goroutine
// calls Follow, with the changes in order.
//
// After store.ErrDamaged and store.ErrNewer the Bank goes on without what it cannot read. After any
// other error it has not taken the change in: call Follow with it again.
func (b *Bank) Follow(ctx context.Context, e store.Entry) error {
	err := store.CheckContext(ctx)
	if part, of, id, ok := stored.Split(e.Key); err == nil && ok && !b.closed.Load() {
		err = b.take(ctx, part, of, ID(id), e)
	}
	if err == nil || codec.Unreadable(err) {
		b.heard.Note(e.Rev)
	}
	if err != nil {
		return fmt.Errorf("memory: follow %q: %w", e.Key, err)
	}
	return nil
}

// Missed takes in deletions that Follow was not told of, such as those between the end of one Watch
// of a store.Watcher and the next. It reads the scopes in memory from the store.
func (b *Bank) Missed(ctx context.Context) error {
	err := store.CheckContext(ctx)
	if err == nil && b.closed.Load() {
		err = store.ErrClosed
	}
	if err != nil {
		return err
	}
	b.shards.Range(func(_, v any) bool {
		err = b.missed(ctx, v.(*shard))
		return err == nil
	})
	return err
}

func (b *Bank) missed(ctx context.Context, sh *shard) error {
	all, there := sh.Snapshot(), make(map[string]bool)
	for e, err := range b.st.Scan(ctx, store.Range{Prefix: sh.key(stored.Records, "")}) {
		if err != nil {
			return err
		}
		there[e.Key] = true
	}
	for _, e := range all {
		if there[sh.key(stored.Records, ID(e.Name()))] {
			continue
		}
		sh.edit.Lock()
		err := b.reread(ctx, sh, ID(e.Name()))
		sh.edit.Unlock()
		if err != nil && !codec.Unreadable(err) {
			return err
		}
	}
	return nil
}

// take takes in a change of a part of a record.
func (b *Bank) take(ctx context.Context, part, of string, id ID, e store.Entry) error {
	done, here, err := b.staying(ctx, of, e)
	defer done()
	if err != nil || !here {
		return err
	}
	switch part {
	case stored.Records:
		err = b.followRecord(ctx, of, id, e)
	case stored.Counts, stored.Vectors, stored.Guesses:
		if sh := b.shardAt(of); sh != nil && (!e.Deleted || part == stored.Counts) {
			err = b.followBeside(ctx, sh, part, id, e)
		}
	}
	return err
}

// staying reports whether the tenant of a part of keys is in memory. If so, it stays there until the
// caller calls done. A change of another tenant is read when that is loaded.
func (b *Bank) staying(ctx context.Context, part string, e store.Entry) (done func(), here bool, err error) {
	if b.tenants == nil {
		return nothing, true, nil
	}
	scope := Scope(part)
	if sh := b.shardAt(part); sh != nil {
		scope = sh.scope
	} else if r, _, err := decodeRecord(e); err == nil {
		scope = r.Scope // which may be too long for a key
	}
	if !b.tenants.Has(scope.Tenant()) {
		if e.Deleted {
			b.tenants.Forget(scope.Tenant(), string(scope)) // all of it, perhaps
		} else if scope.Check() == nil {
			b.tenants.Note(scope.Tenant(), string(scope), b.now().UnixMicro())
		}
		return nothing, false, nil
	}
	done, err = Space{b: b, scope: scope}.ready(ctx)
	return done, err == nil, err
}

func (b *Bank) followRecord(ctx context.Context, part string, id ID, e store.Entry) error {
	sh := b.shardAt(part)
	var is loading
	if !e.Deleted {
		is = b.prepare([]store.Entry{e})[0]
		if is.err != nil {
			return is.err
		}
		sh = b.shardFor(is.scope)
	}
	if sh == nil {
		return nil
	}
	sh.edit.Lock() // what changes records here is over when it is seen
	defer sh.edit.Unlock()
	if !e.Deleted && sh.entry(id) == nil && uint64(e.Rev) <= b.gone.Load() {
		return b.reread(ctx, sh, id) // it may be gone already
	}
	return b.takeLocked(ctx, sh, id, is, e)
}

// Await returns once the Bank, if it is Shared, knows all that was committed up to a revision. It
// commits a small record and waits for that, unless it knows of a later commit; with Latest it
// always does.
func (b *Bank) Await(ctx context.Context, rev store.Revision) error {
	if err := store.CheckContext(ctx); err != nil || !b.o.Shared || rev == 0 {
		return err
	}
	return b.heard.Await(ctx, rev, func(ctx context.Context) (store.Revision, error) {
		return b.heard.Commit(ctx, b.st, b.now())
	})
}

// followBeside takes in the counters or the vector of a record, or what it perhaps replaces.
func (b *Bank) followBeside(ctx context.Context, sh *shard, part string, id ID, e store.Entry) error {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	of := sh.entry(id)
	its := of != nil && of.Key == ident.Of(id)
	switch {
	case !its && part == stored.Counts && !e.Deleted: // who counted had not heard that it is gone
		c, err := stored.CountsOf(e)
		if err == nil {
			err = b.settle(ctx, []stray{{e.Key, sh, of, c}})
		}
		return err
	case of == nil, !its && part != stored.Guesses:
		return nil
	}
	if _, ours := b.w.Pending(e.Key); ours {
		return nil
	}
	return b.besideLocked(sh, part, of, e)
}
