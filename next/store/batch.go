package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"
)

// Batch collects what a step changes, for one commit of a [Group]. The parts of a step (the run, memory, statistics,
// sessions) stage their puts and deletes into one Batch; their caches follow in functions given to After.
//
// A Batch is used by one goroutine at a time, until the function of [Group.Update] that got it returns.
type Batch struct {
	*batch
	prefix string
}

// batch is what a Batch and its Subs share.
type batch struct {
	st    Store
	ops   []Op
	at    map[string]int // index in ops
	after []func(rev Revision)
	bytes int

	// Of the function that stages now: ops up to earlier are those of functions before it, former are those that it has
	// changed, and seen has the keys that it has read. wait is set when it must run in the next commit: it writes what it
	// has not seen, or both do not fit.
	earlier int
	former  []Op
	seen    map[string]bool
	wait    bool
}

// begin has another function stage into b. undo takes back what it has staged.
func (b *batch) begin() (undo func()) {
	ops, after, bytes := len(b.ops), len(b.after), b.bytes
	b.earlier, b.former, b.seen, b.wait = ops, nil, map[string]bool{}, false
	return func() {
		for _, op := range b.ops[ops:] {
			delete(b.at, op.Key)
		}
		for _, op := range slices.Backward(b.former) {
			b.ops[b.at[op.Key]] = op
		}
		b.ops, b.after, b.bytes = b.ops[:ops], b.after[:after], bytes
	}
}

// Sub returns a view of the same Batch whose keys begin at prefix, as [Sub] does for a Store.
func (b *Batch) Sub(prefix string) *Batch { return &Batch{b.batch, b.prefix + prefix} }

// Get returns what the key will hold after the commit: what was staged, or else what the store holds. A staged
// entry has Rev 0.
func (b *Batch) Get(ctx context.Context, key string) (Entry, error) {
	if err := CheckKey(key); err != nil {
		return Entry{}, err
	}
	if value, staged := b.Staged(key); staged {
		if b.ops[b.at[b.prefix+key]].Delete {
			return Entry{}, ErrNotFound
		}
		return Entry{Key: key, Value: bytes.Clone(value)}, nil
	}
	e, err := b.st.Get(ctx, b.prefix+key)
	e.Key = key
	return e, err
}

// Staged returns what an earlier part of the commit has staged for the key, nil for a delete, and whether one has.
// Unlike Get it never reads the store. The value must not be changed.
func (b *Batch) Staged(key string) ([]byte, bool) {
	i, staged := b.at[b.prefix+key]
	if !staged || b.ops[i].Check {
		return nil, false
	}
	if i < b.earlier {
		b.seen[b.prefix+key] = true
	}
	return b.ops[i].Value, true
}

// Put stages a write of key under a condition. A later Put or Delete of the key replaces the value and keeps the
// first condition. It returns a *LimitError when the commit would be too large, and stages nothing then. The value
// must not change until the commit.
func (b *Batch) Put(key string, value []byte, c Condition) error {
	return b.stage(key, Op{Value: value, If: c})
}

// Delete stages a delete of key under a condition.
func (b *Batch) Delete(key string, c Condition) error {
	return b.stage(key, Op{Delete: true, If: c})
}

// Check stages the condition that key must meet, without a write.
func (b *Batch) Check(key string, c Condition) error {
	return b.stage(key, Op{Check: true, If: c})
}

// After has f run once the Batch was committed, in order, and not at all if that fails. f must not call the store.
func (b *Batch) After(f func(rev Revision)) { b.after = append(b.after, f) }

func (b *Batch) stage(key string, op Op) error {
	op.Key = b.prefix + key
	if err := cmp.Or(CheckKey(key), op.check()); err != nil {
		return err
	}
	i, staged := b.at[op.Key]
	var old Op
	if !staged {
		i = len(b.ops)
	} else if old = b.ops[i]; i < b.earlier && !b.seen[op.Key] && (!old.Check || old.If != op.If) {
		b.wait = true
		return &ConflictError{Key: op.Key}
	} else if op.If = old.If; op.Check {
		op = old
	}
	size := b.bytes + len(op.Key) + len(op.Value) - len(old.Key) - len(old.Value)
	if err := checkCommit(i+1, size); err != nil {
		b.wait = b.earlier > 0
		return err
	}
	if !staged {
		b.at[op.Key] = i
		b.ops = append(b.ops, op)
	}
	if i < b.earlier {
		b.former = append(b.former, old)
	}
	b.ops[i], b.bytes = op, size
	return nil
}
