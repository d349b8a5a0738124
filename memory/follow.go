package memory

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Follow takes in a change of the store that another opener has made, as a store.Watcher
// yields it, if the Bank is Shared: records, their counters and their vectors. What this Bank has written itself, or
// knows already, changes nothing, nor does what is no memory. One goroutine calls it, with the
// changes in order. A record that is kept on disk, being long, and that another opener
// changes is as before in this Bank's index until it is opened again.
func (b *Bank) Follow(ctx context.Context, e store.Entry) error {
	if err := store.CheckContext(ctx); err != nil {
		return fmt.Errorf("memory: follow: %w", err)
	}
	p := key.Split(e.Key)
	if len(p) != 4 || p[0] != root || b.closed.Load() {
		return nil
	}
	var err error
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

// shardAt returns what is in memory of the scope with this part of keys, or nil.
func (b *Bank) shardAt(part string) (found *shard) {
	if sh := b.shard(Scope(part)); sh != nil {
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
	if old.rev >= e.Rev || old.flags&isCold != 0 {
		return nil
	}
	r, err := b.record(ctx, sh, old)
	if err != nil {
		return err
	}
	was := leaving{entry: old, doc: b.document(r, old.stowed)}
	if e.Deleted {
		sh.remove(was)
		sh.unqueue(old)
	} else {
		is.entry.tally(old.counts())
		was.same = old.text == is.entry.text && old.cut == is.entry.cut
		sh.put(is.entry, is.doc, was)
		b.wanted(sh)
	}
	b.bodies.Remove(old)
	b.uncache(r)
	return nil
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
