package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/arc-learn/arc/store"
)

// Amended is a record as it was read, and what it becomes. The zero Was says that
// there was none, the zero Is that it goes.
type Amended struct{ Was, Is Record }

// Amend changes records to the letter, in one commit that keeps all changes or none.
// It is for a package that keeps records of a shape of its own in a Space, under IDs
// of its own, as memory/identity does: nothing is sanitised, merged or superseded.
// The error is store.ErrConflict where the Plan of a record is not that of Was any
// more: read it again.
func (s Space) Amend(ctx context.Context, changes ...Amended) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	sh := s.b.shardFor(s.scope)
	sh.edit.Lock()
	defer sh.edit.Unlock()
	var ops []store.Op
	going := make([]leaving, len(changes))
	for i := range changes {
		more, err := s.b.amend(ctx, sh, &changes[i], &going[i])
		if err != nil {
			return fmt.Errorf("memory: amend: %w", err)
		}
		ops = append(ops, more...)
	}
	if len(ops) == 0 {
		return nil
	}
	_, err := s.b.st.Commit(ctx, ops...)
	for i := range changes { // also after an error: its outcome may be unknown
		c := &changes[i]
		err = errors.Join(err, s.b.follow(context.WithoutCancel(ctx), sh, cmp.Or(c.Is.ID, c.Was.ID), going[i]))
	}
	s.b.wanted(sh)
	if err != nil {
		return fmt.Errorf("memory: amend: %w", err)
	}
	return nil
}

// amend returns what a change writes, and the record that it replaces. The caller
// holds edit.
func (b *Bank) amend(ctx context.Context, sh *shard, c *Amended, was *leaving) (ops []store.Op, err error) {
	id := cmp.Or(c.Is.ID, c.Was.ID)
	with, at := stowed{}, store.Absent
	e := sh.entry(id)
	switch {
	case e == nil && c.Was.ID != "", e != nil && e.name() != id:
		return nil, store.ErrConflict
	case e == nil && c.Is.ID == "":
		return nil, nil
	case e == nil:
		with.seq = sh.seq.Add(1)
	default:
		old, err := b.record(ctx, sh, e)
		if err != nil {
			return nil, err
		}
		if c.Was.ID == "" || !bytes.Equal(old.Plan, c.Was.Plan) {
			return nil, store.ErrConflict
		}
		rev, err := b.revision(ctx, sh, e)
		if err != nil {
			return nil, err
		}
		same := old.Trigger == c.Is.Trigger && old.Content == c.Is.Content
		*was, with, at = leaving{e, b.document(old, e.stowed), same}, e.stowed, store.At(rev)
		if !same {
			with.dim = 0
			if ops, err = b.unwritten(ctx, sh, id); err != nil {
				return nil, err
			}
		}
	}
	op := store.Op{Key: sh.recordKey(id), Delete: true}
	if c.Is.ID != "" {
		rec := c.Is
		rec.Scope = sh.scope
		if op, err = sh.encodeRecord(&rec, with); err != nil {
			return nil, err
		}
	}
	op.If = at
	return append(ops, op), nil
}

// follow makes a record in memory what it is in the store. The caller holds edit.
func (b *Bank) follow(ctx context.Context, sh *shard, id ID, was leaving) error {
	stored, err := b.st.Get(ctx, sh.recordKey(id))
	gone := errors.Is(err, store.ErrNotFound)
	if err != nil && !gone || gone && was.entry == nil {
		if gone {
			err = nil
		}
		return err
	}
	var replaced []leaving
	var c *counts
	if was.entry != nil {
		if was.rev == stored.Rev && !gone {
			return nil
		}
		replaced, c = []leaving{was}, was.counts()
		b.bodies.Remove(was.entry)
	}
	if gone {
		sh.remove(was)
		return nil
	}
	r, with, err := decodeRecord(stored)
	if err != nil {
		return err
	}
	sh.put(newEntry(r, with, c, stored.Rev), b.document(r, with), replaced...)
	return nil
}
