package store

import (
	"cmp"
	"context"
	"slices"
)

// Batch collects what a step changes, for one commit of a [Group]. The parts of a step (the run, memory,
// sessions) stage their puts and deletes into one Batch; their caches follow in functions given to After. It
// is used by one goroutine at a time, until the function of [Group.Update] that got it returns.
type Batch struct {
	*batch
	prefix string
}

// batch is what functions stage one after the other. wait is set when the one that stages now must run in the
// next commit: it writes what it has not read of those before it, or both do not fit.
type batch struct {
	st    Store
	ops   []Op           // of a key the last one counts
	at    map[string]int // the places in ops of those that count
	bytes int
	after []func(rev Revision)
	from  int // the place of the first op of the function that stages now
	read  []string
	wait  bool
}

// Sub returns a view of the same Batch whose keys begin at prefix, as [Sub] does for a Store.
func (b *Batch) Sub(prefix string) *Batch { return &Batch{b.batch, b.prefix + prefix} }

// Get returns what the key will hold after the commit: what was staged (Rev 0), or what the store holds.
func (b *Batch) Get(ctx context.Context, key string) (Entry, error) {
	if value, staged := b.Staged(key); value != nil {
		return Entry{Key: key, Value: value}, nil
	} else if staged {
		return Entry{}, ErrNotFound
	}
	return sub{b.st, b.prefix}.Get(ctx, key)
}

// Staged returns what an earlier part of the commit has staged for the key, nil for a delete or a Check that
// it is Absent, and whether one has. Unlike Get it never reads the store. The value must not be changed.
func (b *Batch) Staged(key string) ([]byte, bool) {
	key = b.prefix + key
	i, there := b.at[key]
	if !there || b.ops[i].Check && b.ops[i].If != Absent {
		return nil, false
	}
	b.read = append(b.read, key)
	return b.ops[i].Value, true
}

// Put stages a write of key under a condition. A later Put or Delete replaces the value, not the condition.
// v must not be nil, nor be changed afterwards. Too large a commit is ErrInvalid, and nothing is staged.
func (b *Batch) Put(key string, v []byte, c Condition) error {
	return b.stage(key, Op{Value: v, If: c})
}

// Delete stages a delete of key under a condition.
func (b *Batch) Delete(key string, c Condition) error { return b.stage(key, Op{Delete: true, If: c}) }

// Check stages the condition that key must meet, without a write. A key that is staged already keeps its own.
func (b *Batch) Check(key string, c Condition) error { return b.stage(key, Op{Check: true, If: c}) }

// After has f run once the Batch was committed, in order, and else not at all. f must not call the store.
func (b *Batch) After(f func(rev Revision)) { b.after = append(b.after, f) }

func (b *Batch) stage(key string, op Op) error {
	op.Key = b.prefix + key
	if err := cmp.Or(Check(Op{Key: key}), Check(op)); err != nil { // the prefix alone is no key
		return err
	}
	i, again := b.at[op.Key]
	ops, bytes := len(b.at)+1, b.bytes+len(op.Key)+len(op.Value)
	if again {
		old := b.ops[i]
		unread := i < b.from && !slices.Contains(b.read, op.Key)
		equal := op.Check && old.Check && op.If == old.If
		if unread && !equal {
			b.wait = true
			return &ConflictError{Key: op.Key}
		}
		if op.Check {
			return nil
		}
		op.If, ops, bytes = old.If, ops-1, bytes-len(op.Key)-len(old.Value)
	}
	if err := checkSize(ops, bytes); err != nil {
		b.wait = b.from > 0
		return err
	}
	b.at[op.Key], b.ops, b.bytes = len(b.ops), append(b.ops, op), bytes
	return nil
}
