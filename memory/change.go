package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// Update has f change what a memory says: Trigger, Content, At, Actor, Thread, Slot, Supersedes, Links and
// Plan of the Draft, and Archived: what is archived only queries find that nothing else answers. The rest
// stays as it was. What is in Supersedes gives way to the memory from its At on, but no trusted one to a
// quarantined; those that supersede one another in a circle all hold. F may run again where others change the
// memory meanwhile; an error of f is returned, and nothing is written.
func (s Space) Update(ctx context.Context, id ID, f func(*Record) error) error {
	// No code of a host runs in a commit, as all others of the tenant wait for that.
	in := codec.Reader(s.b.g.Store())
	if s.batch != nil {
		in = s.batch
	}
	for again := true; again; {
		r, err := s.read(ctx, in, id)
		if err != nil {
			return fmt.Errorf("memory: %w", err)
		}
		out := r.export(s.scope)
		if err := f(&out); err != nil {
			return err
		}
		out.Draft.Kind, out.Draft.Key, out.Draft.Source = kinds[r.Kind], r.more().Key, r.source()
		if err := s.clean(&out.Draft); err != nil {
			return fmt.Errorf("memory: %q: %w", id, err)
		}
		err = s.update(ctx, func(b *store.Batch) error {
			return s.edit(ctx, b, id, func(now *record) error {
				if again = now.rev != r.rev; again { // of what others have staged just now it is 0
					return nil
				}
				was := now.text()
				now.setDraft(&out.Draft, now.own())
				now.Archived = out.Archived
				if now.text() == was {
					return nil
				}
				return b.Delete(s.vectorKey(now.id), store.Any)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Trust vouches for a memory, which leaves quarantine.
func (s Space) Trust(ctx context.Context, id ID) error {
	return s.change(ctx, id, func(r *record) error {
		r.Trusted = true
		return nil
	})
}

// maxFormer is how many memories one may stand for.
const maxFormer = 1024

// Merge makes one memory of several, because a person or a model says that they are one: the first stays,
// takes up the counters, sources, links and what the others supersede, and is found by their ids. It is
// trusted only if all are. At most 64 at once, and 1,024 in all, since none may be lost.
func (s Space) Merge(ctx context.Context, ids ...ID) error {
	if err := cmp.Or(refuse(len(ids) < 2, "memories to merge must be two or more"),
		store.Limit("memories to merge", len(ids), maxLinks)); err != nil {
		return err
	}
	return s.update(ctx, func(b *store.Batch) error {
		return s.edit(ctx, b, ids[0], func(r *record) error {
			for _, id := range ids[1:] {
				if slices.Contains(r.ids(), id) {
					continue // it was merged before
				}
				o, err := s.read(ctx, b, id)
				if err != nil {
					return err
				}
				r.strengthen(o)
				m := r.own()
				m.sum(o.more())
				m.Former = slices.Concat(m.Former, o.ids())
				m.Supersedes = slices.DeleteFunc(slices.Clone(m.Supersedes), func(id ID) bool {
					return id == r.id || id == o.id
				})
				r.Trusted = r.Trusted && o.Trusted
				err = store.Limit("memories that are merged in one", len(m.Former), maxFormer)
				if err = cmp.Or(err, s.stageForget(b, o)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Forget removes a memory: nothing of it is left in the store, the index and the vectors, but for the store's
// files until it is compacted. An unknown id is [store.ErrNotFound].
func (s Space) Forget(ctx context.Context, id ID) error {
	return s.update(ctx, func(b *store.Batch) error {
		r, err := s.read(ctx, b, id)
		if err != nil {
			return err
		}
		return s.stageForget(b, r)
	})
}

// stageForget deletes a record, on the revision that it was read at, and its vector.
func (s Space) stageForget(b *store.Batch, r *record) error {
	return cmp.Or(b.Delete(s.key(r.id), store.At(r.rev)), b.Delete(s.vectorKey(r.id), store.Any))
}

// Revoke removes what a source has said, and what was drawn from that, and returns how many memories. Of
// Origin, Ref and Run each that is set must be that of the memory; Host alone names no source. A memory that
// another source has said as well stays.
func (s Space) Revoke(ctx context.Context, src Source) (n int, err error) {
	if src.Origin == Host && src.Ref+src.Run == "" {
		return 0, fmt.Errorf("memory: %w: a source to revoke has an origin, a ref or a run", store.ErrInvalid)
	}
	src.Ref, src.Run = s.tidy(src.Ref), s.tidyName(src.Run)
	t, err := s.now(ctx)
	if err != nil {
		return 0, err
	}
	gone := map[ID]bool{}
	revoked := func(o Source) bool {
		origin := src.Origin == Host || src.Origin == o.Origin
		ref := src.Ref == "" || src.Ref == o.Ref
		run := src.Run == "" || src.Run == o.Run
		return origin && ref && run || slices.ContainsFunc(o.Parents, func(id ID) bool { return gone[id] })
	}
	for before := -1; before < n; { // what was drawn from what went, goes in a further turn
		before = n
		for _, r := range t.snapshot() {
			if !slices.ContainsFunc(r.sources(), revoked) {
				continue
			}
			removed := false
			err := s.update(ctx, func(b *store.Batch) error {
				r, err := s.read(ctx, b, r.id)
				if err != nil {
					return err
				}
				left := slices.DeleteFunc(r.sources(), revoked)
				removed = len(left) == 0
				if removed {
					return s.stageForget(b, r)
				}
				m := r.own()
				r.setSource(left[0], m)
				m.Sources = left[1:]
				return s.put(b, r, nil)
			})
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return n, err
			}
			if removed {
				n++
				for _, id := range r.ids() {
					gone[id] = true
				}
			}
		}
	}
	return n, nil
}

// Erase removes all that is kept of the scope and of those below it, by whatever package: memories, plans,
// figures, an identity, jobs. It does not end runs of an Agent: its View.Erase does. It commits 1,000 keys at
// a time; after an error, call it again. What others write meanwhile may stay. Never call it inside an Update
// of the Group: it would wait for ever.
func (s Space) Erase(ctx context.Context) error {
	err := s.scope.Check()
	if err == nil {
		entries := s.b.g.Store().Scan(ctx, store.Range{Prefix: s.scope.Below()})
		_, err = codec.Sweep(ctx, s.b.g, entries, func(store.Entry) bool { return true }, true)
	}
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	return nil
}
