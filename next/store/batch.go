package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
)

// Batch collects what a step changes, for one commit of a [Group]. The parts of a step (the run, memory, statistics,
// sessions) stage their puts and deletes into one Batch; their caches follow in functions given to After.
//
// A Batch is used by one goroutine at a time, until the function of [Group.Update] that got it returns.
type Batch struct {
	*batch
	prefix string
}

// batch is what one function stages, behind those that have joined the commit before it. Its Subs share it.
type batch struct {
	staged
	commit *staged
	read   []string // keys of commit that it has read
	st     Store
}

// staged are the ops of a function or of a commit.
type staged struct {
	ops   []Op // by key
	bytes int
	after []func(rev Revision)
}

func (s *staged) find(key string) (i int, there bool) {
	return slices.BinarySearchFunc(s.ops, key, func(op Op, key string) int { return strings.Compare(op.Key, key) })
}

// put stages an op, over an earlier one of its key, whose condition is kept.
func (s *staged) put(op Op) error {
	i, again := s.find(op.Key)
	var old Op
	n := len(s.ops) + 1
	if again {
		if old, n = s.ops[i], n-1; op.Check {
			return nil
		}
		op.If = old.If
	}
	size := s.bytes + len(op.Key) + len(op.Value) - len(old.Key) - len(old.Value)
	if err := checkSize(n, size); err != nil {
		return err
	}
	if !again {
		s.ops = slices.Insert(s.ops, i, op)
	}
	s.ops[i], s.bytes = op, size
	return nil
}

// join adds what b has staged to its commit. It refuses what does not fit, and a key that the commit has from another
// function and that b has not read.
func (b *batch) join() bool {
	all := b.commit
	if len(all.ops) > 0 && checkSize(len(all.ops)+len(b.ops), all.bytes+b.bytes) != nil {
		return false
	}
	for _, op := range b.ops {
		i, there := all.find(op.Key)
		if there && !(op.Check && all.ops[i].Check && op.If == all.ops[i].If) && !slices.Contains(b.read, op.Key) {
			return false
		}
	}
	if len(all.ops) == 0 {
		all.ops, all.bytes = b.ops, b.bytes
	} else {
		for _, op := range b.ops {
			_ = all.put(op) // it fits
		}
	}
	all.after = append(all.after, b.after...)
	return true
}

// Sub returns a view of the same Batch whose keys begin at prefix, as [Sub] does for a Store.
func (b *Batch) Sub(prefix string) *Batch { return &Batch{b.batch, b.prefix + prefix} }

// Get returns what the key will hold after the commit: what was staged, or else what the store holds. A staged
// entry has Rev 0.
func (b *Batch) Get(ctx context.Context, key string) (Entry, error) {
	if err := Check(Op{Key: key}); err != nil {
		return Entry{}, err
	}
	full := b.prefix + key
	op, staged := b.now(full)
	switch {
	case !staged:
		e, err := b.st.Get(ctx, full)
		e.Key = key
		return e, err
	case op.Delete:
		return Entry{}, ErrNotFound
	}
	return Entry{Key: key, Value: bytes.Clone(op.Value)}, nil
}

// Staged returns what an earlier part of the commit has staged for the key, nil for a delete, and whether one has.
// Unlike Get it never reads the store. The value must not be changed.
func (b *Batch) Staged(key string) ([]byte, bool) {
	op, staged := b.now(b.prefix + key)
	return op.Value, staged
}

// now returns what the function, or one before it, has staged for a key but a check.
func (b *batch) now(key string) (Op, bool) {
	if i, there := b.find(key); there && !b.ops[i].Check {
		return b.ops[i], true
	}
	if i, there := b.commit.find(key); there && !b.commit.ops[i].Check {
		b.read = append(b.read, key)
		return b.commit.ops[i], true
	}
	return Op{}, false
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

func (b *Batch) stage(key string, op Op) error {
	op.Key = b.prefix + key
	if err := cmp.Or(Check(Op{Key: key}), Check(op)); err != nil {
		return err
	}
	return b.put(op)
}

// After has f run once the Batch was committed, in order, and not at all if that fails. f must not call the store.
func (b *Batch) After(f func(rev Revision)) { b.after = append(b.after, f) }
