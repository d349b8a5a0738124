package memory

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Follow takes in a change of the store that another opener has made, as a store.Watcher
// yields it, if the Bank is Shared: records, their counters and their vectors. What this Bank has written itself, or
// knows already, changes nothing, nor does what is no memory. One goroutine calls it, with the
// changes in order.
func (b *Bank) Follow(ctx context.Context, e store.Entry) error {
	if err := store.CheckContext(ctx); err != nil {
		return fmt.Errorf("memory: follow: %w", err)
	}
	defer b.heard.note(e.Rev)
	p := key.Split(e.Key)
	if len(p) != 4 || p[0] != root || b.closed.Load() {
		return nil
	}
	done, here, err := b.staying(ctx, p[2], e)
	defer done()
	if err != nil || !here {
		return err
	}
	switch p[1] {
	case recordPart:
		err = b.followRecord(ctx, p[2], ID(p[3]), e)
	case countsPart, vectorPart:
		if sh := b.shardAt(p[2]); sh != nil && !e.Deleted {
			err = b.followBeside(sh, p[1], ID(p[3]), e)
		}
	}
	if err != nil {
		return fmt.Errorf("memory: follow %q: %w", e.Key, err)
	}
	return nil
}

// staying reports whether the tenant of a part of keys is in memory: then it stays until done is
// called. What it is told of one that is not is read with it.
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
		// Who has forgotten it, or erased all, looks after the scope.
		if left, ok := b.left.Load(scope.Tenant()); ok && e.Deleted {
			left.(*sync.Map).Delete(scope)
		}
		return nothing, false, nil
	}
	done, err = Space{b: b, scope: scope}.ready(ctx)
	return done, err == nil, err
}

// shardAt returns what is in memory of the scope with this part of keys, or nil.
func (b *Bank) shardAt(part string) (found *shard) {
	if sh := b.shard(Scope(part)); sh != nil || !strings.HasPrefix(part, longMark) {
		return sh
	}
	b.shards.Range(func(_, v any) bool {
		if sh := v.(*shard); sh.part == part {
			found = sh
		}
		return found == nil
	})
	return found
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
	old := sh.entry(id)
	if old != nil && old.id != keyOf(id) {
		old = nil // the id leads to what it was merged into
	}
	if old == nil {
		if !e.Deleted {
			sh.put(is.entry, is.doc)
			b.wanted(sh)
		}
		return nil
	}
	if old.rev >= e.Rev {
		return nil
	}
	r, ok := b.bodies.Get(old)
	if !ok { // the index takes words that it has and that are not named here for less rare than they are
		r = &Record{ID: id, Scope: sh.scope}
		old.fill(r)
	}
	was := leaving{entry: old, doc: b.document(r, old.stowed)}
	if e.Deleted {
		sh.remove(was)
		sh.unqueue(old)
	} else {
		is.entry.tally(old.counts())
		was.same = old.flags&isCold == 0 && old.text == is.entry.text && old.cut == is.entry.cut
		sh.put(is.entry, is.doc, was)
		if v, err := b.st.Get(ctx, sh.vectorKey(id)); old.flags&isCold != 0 && err == nil {
			if err := b.besideLocked(sh, vectorPart, is.entry, v); err != nil {
				return err
			}
		}
		b.wanted(sh)
	}
	b.bodies.Remove(old)
	b.uncache(r)
	return nil
}

// hearing is how far a Bank has followed the store.
type hearing struct {
	sync.Mutex
	rev  store.Revision
	more chan struct{} // closed when it has heard more
}

func (h *hearing) note(rev store.Revision) {
	h.Lock()
	defer h.Unlock()
	h.rev = max(h.rev, rev)
	close(h.more)
	h.more = make(chan struct{})
}

// await returns once the Bank has heard of all that was committed up to a revision: of
// something after it, which there is then.
func (b *Bank) await(ctx context.Context, rev store.Revision) error {
	if !b.o.Shared || rev == 0 {
		return nil
	}
	for asked := false; ; asked = true {
		b.heard.Lock()
		at, more := b.heard.rev, b.heard.more
		b.heard.Unlock()
		if b.closed.Load() {
			return store.ErrClosed
		}
		if at > rev {
			return nil
		}
		if !asked {
			k := key.Join(root, "heard")
			value, err := codec.Encode(k, &applied{instantOf(b.now())})
			if err == nil {
				_, err = b.st.Commit(ctx, store.Op{Key: k, Value: value})
			}
			if err != nil {
				return err
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("heard of revision %d, and not of all up to %d: %w", at, rev, ctx.Err())
		}
	}
}

// followBeside takes in counters or the vector of a record.
func (b *Bank) followBeside(sh *shard, part string, id ID, e store.Entry) error {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	of := sh.entry(id)
	if of == nil || of.id != keyOf(id) {
		return nil
	}
	if _, ours := b.w.Pending(e.Key); ours {
		return nil
	}
	return b.besideLocked(sh, part, of, e)
}

func (b *Bank) besideLocked(sh *shard, part string, of *entry, e store.Entry) error {
	if part == vectorPart {
		model, x, err := decodeVector(e)
		if err == nil && model == b.vectors.model.Load().Name && sh.vectorless(of) {
			sh.setVector(of, x)
		}
		return err
	}
	c, err := decodeCounts(e)
	if err == nil && c.rev > of.counts().rev { // else it is our own of before
		sh.tally(change{of, c})
	}
	return err
}
