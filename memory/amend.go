package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/store"
)

// Amended is a change of a record: as it was read, and as it is to be. The zero Was stands
// for no record, the zero Is for its removal.
type Amended struct{ Was, Is Record }

// Amend writes records as they are given, in one commit that keeps all changes or none. It is
// for a package that keeps records of its own shape in a Space, under IDs of its own, as
// memory/identity does: nothing is sanitised, merged or superseded. What rests on a record, such as
// a plan, hears of the change by a later Vouched alone.
//
// The error is store.ErrConflict if the Plan of a record differs from that of Was: read the record
// again. A record that no Draft could become has the errors of that, and nothing is stored.
func (s Space) Amend(ctx context.Context, changes ...Amended) error {
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return err
	}
	sh := s.b.shardFor(s.scope)
	sh.edit.Lock()
	defer sh.edit.Unlock()
	if err := s.b.amendAll(ctx, sh, changes); err != nil {
		return fmt.Errorf("memory: amend: %w", err)
	}
	return nil
}

// amendAll makes all changes in one commit. The caller holds edit.
func (b *Bank) amendAll(ctx context.Context, sh *shard, changes []Amended) error {
	var ops []store.Op
	are := make([]store.Op, len(changes)) // what the records become
	for i := range changes {
		more, err := b.amend(ctx, sh, &changes[i])
		if err != nil {
			return err
		}
		if ops = append(ops, more...); len(more) > 0 {
			are[i] = more[len(more)-1]
		}
	}
	if len(ops) == 0 {
		return nil
	}
	rev, err := b.st.Commit(ctx, ops...)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	failed := err != nil
	for i, c := range changes {
		id, op := cmp.Or(c.Is.ID, c.Was.ID), are[i]
		if failed { // its outcome may be unknown
			err = errors.Join(err, b.reread(ctx, sh, id))
		} else if op.Key != "" {
			if op.Delete {
				b.removed(rev)
			}
			is := store.Entry{Key: op.Key, Value: op.Value, Rev: rev, Deleted: op.Delete}
			err = errors.Join(err, b.takeIn(ctx, sh, id, is))
		}
	}
	return err
}

// amend returns what a change writes. The caller holds edit.
func (b *Bank) amend(ctx context.Context, sh *shard, c *Amended) (ops []store.Op, err error) {
	id, rec := cmp.Or(c.Is.ID, c.Was.ID), c.Is
	rec.Scope = sh.scope
	if c.Is.ID != "" {
		if err := rec.check(); err != nil {
			return nil, fmt.Errorf("record %.64q: %w", id, err)
		}
	}
	e := sh.entry(id)
	switch {
	case e == nil && c.Was.ID != "", e != nil && (c.Was.ID == "" || ID(e.Name()) != id):
		return nil, store.ErrConflict
	case e == nil && c.Is.ID == "":
		return nil, nil
	case e == nil:
		op, err := sh.encodeRecord(&rec, stowed{seq: sh.NextSeq()})
		op.If = store.Absent
		return []store.Op{op}, err
	}
	old, err := b.record(ctx, sh, e)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(old.Plan, c.Was.Plan) {
		return nil, store.ErrConflict
	}
	is := &rec
	if c.Is.ID == "" {
		is = nil
	}
	_, _, ops, err = b.replacing(ctx, sh, e, old, is)
	return ops, err
}

// Trust ends the quarantine of a record: the host, or a person whom it asked, vouches for the
// text. The change is on disk when Trust returns. It is idempotent.
func (s Space) Trust(ctx context.Context, id ID) error {
	return s.change(ctx, "trust", id, func(sh *shard, e *table.Entry) error {
		if e.Flags&(table.Quarantined|table.Passing) == 0 {
			return nil
		}
		old, err := s.b.record(ctx, sh, e)
		if err != nil {
			return err
		}
		rec := *old
		rec.Trusted, rec.Passing, rec.Vouched = true, false, s.b.stamp(s.scope)
		if err := s.b.rewrite(ctx, sh, e, &rec); err != nil {
			return err
		}
		sh.unqueue(e)
		return nil
	})
}

// Supersede says that one record replaces another: from the At of by on, a recall puts it in
// the place of old. Query.At, Query.Known and All find the old one. The change is on disk when
// Supersede returns. It is idempotent, and is a link of the record with the Rel "supersedes",
// which a Draft may have as well. A record in quarantine replaces no trusted one: Trust it too.
//
// Supersede undoes what contradicts it. If old has replaced by, directly or through others, the
// same commit removes the link that replaces by, so that by holds again. After Supersede(a, b)
// and Supersede(b, c), Supersede(c, a) leaves a, which replaces c, which replaces b. A record
// that replaces a later value of its Slot holds until another value is told.
func (s Space) Supersede(ctx context.Context, old, by ID) error {
	return s.change(ctx, "supersede", by, func(sh *shard, e *table.Entry) error {
		_, o, err := s.lookup(old)
		if err != nil || o == e {
			return err
		}
		var changes []Amended
		for _, x := range append(sh.Opposing(o, e), e) {
			r, err := s.b.record(ctx, sh, x)
			if err != nil {
				return err
			}
			is, link := *r, Link{old, table.Supersedes}
			if is.Links = slices.Clone(r.Links); x != e {
				is.Links = slices.DeleteFunc(is.Links, func(l Link) bool { return l.Rel == link.Rel && e.Is(ident.Of(l.To)) })
			} else if !slices.Contains(r.Links, link) {
				is.Links = append(is.Links, link)
			}
			if err := limit("links", MaxLinks, len(is.Links)); err != nil {
				return err
			}
			if len(is.Links) != len(r.Links) {
				changes = append(changes, Amended{*r, is})
			}
		}
		return s.b.amendAll(ctx, sh, changes)
	})
}
