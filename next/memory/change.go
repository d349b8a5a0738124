package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/next/store"
)

// Update has f change a memory, and writes it. F may run again where others change the memory meanwhile; an error of
// f is returned, and nothing is written. ID, Scope, Kind, Key, Source, Sources, Created, Trusted, SupersededBy, Stats
// and Vector stay as they were, whatever f does.
func (s Space) Update(ctx context.Context, id ID, f func(*Record) error) error {
	for {
		key := s.key(s.resolve(id))
		e, err := s.b.g.Store().Get(ctx, key)
		if err != nil {
			return fmt.Errorf("memory: %q: %w", id, err)
		}
		old, err := decode(e)
		if err != nil {
			return err
		}
		r := old.entry(s.resolve(id), e.Rev).record(s.scope)
		if err := f(&r); err != nil {
			return err
		}
		_, zone := r.At.Zone()
		rec := old
		rec.Trigger, rec.Content = s.b.clean(r.Trigger), s.b.clean(r.Content)
		rec.At, rec.Zone, rec.Actor, rec.Thread = r.At.UnixMicro(), int32(zone), s.b.clean(r.Actor), r.Thread
		rec.Slot, rec.Supersedes, rec.Links = s.b.clean(r.Slot), slices.Clone(r.Supersedes), slices.Clone(r.Links)
		rec.Plan, rec.Archived = bytes.Clone(r.Plan), r.Archived
		if err := rec.check(); err != nil {
			return fmt.Errorf("memory: %q: %w", id, err)
		}
		changed := false
		err = s.b.g.Update(ctx, func(b *store.Batch) error {
			now, err := b.Get(ctx, key)
			if changed = err == nil && !bytes.Equal(now.Value, e.Value); err != nil || changed {
				return err
			}
			return s.put(b, r.ID, &rec, now.Rev, nil)
		})
		if err != nil {
			return fmt.Errorf("memory: %q: %w", id, err)
		}
		if !changed {
			return nil
		}
	}
}

// change commits an edit of a memory.
func (s Space) change(ctx context.Context, id ID, f func(*stored) (bool, error)) error {
	err := cmp.Or(s.scope.Check(), store.CheckID(string(id)))
	if err == nil {
		err = s.b.g.Update(ctx, func(b *store.Batch) error { return s.edit(ctx, b, id, f) })
	}
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	return nil
}

// Trust vouches for a memory, which leaves quarantine.
func (s Space) Trust(ctx context.Context, id ID) error {
	return s.change(ctx, id, func(r *stored) (bool, error) {
		changed := !r.Trusted
		r.Trusted = true
		return changed, nil
	})
}

// Archive puts a memory where only queries find it that nothing else answers, or brings it back.
func (s Space) Archive(ctx context.Context, id ID, archived bool) error {
	return s.change(ctx, id, func(r *stored) (bool, error) {
		changed := r.Archived != archived
		r.Archived = archived
		return changed, nil
	})
}

// Supersede says that by holds in the place of old from its At on; by "" takes that back, whoever said it. A
// quarantined memory supersedes no trusted one until it is trusted. What says that it is superseded by old itself is
// refused with a *[store.LimitError].
func (s Space) Supersede(ctx context.Context, old, by ID) error {
	old = s.resolve(old)
	if by != "" {
		if err := s.circle(old, s.resolve(by)); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
		return s.change(ctx, by, func(r *stored) (bool, error) {
			if slices.Contains(r.Supersedes, old) {
				return false, nil
			}
			r.Supersedes = append(slices.Clip(r.Supersedes), old)
			return true, limit("supersedes", len(r.Supersedes), MaxLinks)
		})
	}
	for _, id := range s.overs(old) {
		err := s.change(ctx, id, func(r *stored) (bool, error) {
			n := len(r.Supersedes)
			r.Supersedes = slices.DeleteFunc(slices.Clone(r.Supersedes), func(o ID) bool { return s.resolve(o) == old })
			return len(r.Supersedes) < n, nil
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// overs returns what says that it supersedes a memory.
func (s Space) overs(id ID) (out []ID) {
	t := s.b.table(s.scope)
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	ids := []ID{id}
	if e := t.entry(id); e != nil {
		ids = append(ids, e.rest().former...)
	}
	for _, id := range ids {
		for _, e := range t.over[id] {
			out = append(out, e.id)
		}
	}
	return out
}

// circle returns an error if old says, over however many, that it supersedes by, or one of them is missing.
func (s Space) circle(old, by ID) error {
	t := s.b.table(s.scope)
	if t == nil {
		return fmt.Errorf("%q: %w", old, store.ErrNotFound)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.entry(old) == nil {
		return fmt.Errorf("%q: %w", old, store.ErrNotFound)
	}
	seen := map[ID]bool{}
	for next := []ID{old}; len(next) > 0; next = next[1:] {
		if next[0] == by {
			return &store.LimitError{What: "a memory must not supersede itself, or what supersedes it"}
		}
		if e := t.entry(next[0]); e != nil && !seen[e.id] {
			seen[e.id] = true
			next = append(next, e.rest().supersedes...)
		}
	}
	return nil
}

// Merge makes one memory of several, because a person or a model says that they are one: the first stays, takes up
// the counters, sources, links and what the others supersede, and is found by their ids. It is trusted only if all
// are. At most 64 at once.
func (s Space) Merge(ctx context.Context, ids ...ID) error {
	err := cmp.Or(s.scope.Check(), limit("memories to merge", len(ids), MaxLinks))
	for _, id := range ids {
		err = cmp.Or(err, store.CheckID(string(id)))
	}
	if err == nil && len(ids) > 1 {
		err = s.b.g.Update(ctx, func(b *store.Batch) error { return s.merge(ctx, b, ids) })
	}
	if err != nil {
		return fmt.Errorf("memory: merge: %w", err)
	}
	return nil
}

func (s Space) merge(ctx context.Context, b *store.Batch, ids []ID) error {
	return s.edit(ctx, b, ids[0], func(r *stored) (bool, error) {
		into := s.resolve(ids[0])
		counters := r.counters()
		changed := false
		for _, id := range ids[1:] {
			id = s.resolve(id)
			if id == into || slices.Contains(r.Former, id) {
				continue
			}
			e, err := b.Get(ctx, s.key(id))
			if err != nil {
				return false, fmt.Errorf("%q: %w", id, err)
			}
			o, err := decode(e)
			if err != nil {
				return false, err
			}
			counters.sum(o.Stats)
			strengthened := r.Strengthened + 1 + o.Strengthened
			r.strengthen(&o)
			r.LastSaid, r.Strengthened = max(r.LastSaid, o.LastSaid), strengthened
			for _, src := range o.Sources {
				if len(r.Sources) < maxSources && !slices.ContainsFunc(r.Sources, func(v Source) bool { return sameSource(v, src) }) {
					r.Sources = append(r.Sources, src)
				}
			}
			r.Former = union(r.Former, append([]ID{id}, o.Former...))
			r.Supersedes = slices.DeleteFunc(slices.Clone(r.Supersedes), func(v ID) bool { return v == into || v == id })
			r.Trusted = r.Trusted && o.Trusted
			if err := s.stageForget(b, id, e.Rev); err != nil {
				return false, err
			}
			changed = true
		}
		if *counters = (stats{counters.counts, counters.Uses, counters.Situations}); changed {
			r.Stats = counters
		}
		return changed, nil
	})
}

// stageForget deletes a record that was read at a revision, and its vector.
func (s Space) stageForget(b *store.Batch, id ID, rev store.Revision) error {
	key := s.key(id)
	if err := b.Delete(key, store.At(rev)); err != nil {
		return err
	}
	if err := b.Delete(s.scope.Key(vectorKind, string(id)), store.Any); err != nil {
		return err
	}
	b.After(func(rev store.Revision) {
		_ = s.b.apply(store.Entry{Key: key, Rev: rev, Deleted: true}) // an entry without a value has no error
	})
	return nil
}

// Forget removes a memory: nothing of it is left in the store, the index and the vectors, but for the store's files
// until it is compacted. An unknown id is [store.ErrNotFound].
func (s Space) Forget(ctx context.Context, id ID) error {
	return s.b.g.Update(ctx, func(b *store.Batch) error { return s.StageForget(ctx, b, id) })
}

// StageForget is Forget into a batch: of a function that the Bank's Group runs, at the tenant's keys.
func (s Space) StageForget(ctx context.Context, b *store.Batch, id ID) error {
	err := cmp.Or(s.scope.Check(), store.CheckID(string(id)))
	if err == nil {
		id = s.resolve(id)
		var e store.Entry
		if e, err = b.Get(ctx, s.key(id)); err == nil {
			err = s.stageForget(b, id, e.Rev)
		}
	}
	if err != nil {
		return fmt.Errorf("memory: forget %q: %w", id, err)
	}
	return nil
}

// Revoke removes what a source has said, and what was drawn from that, and returns how many memories. Each of Ref and
// Run that is set must be that of the memory; the Origin counts where neither is, or it is not Host. A memory that
// another source has said as well stays. Host alone names no source, and is refused.
func (s Space) Revoke(ctx context.Context, src Source) (int, error) {
	if err := s.scope.Check(); err != nil {
		return 0, fmt.Errorf("memory: revoke: %w", err)
	}
	if src.Origin == Host && src.Ref == "" && src.Run == "" {
		return 0, &store.LimitError{What: "a source to revoke must have an origin, a ref or a run"}
	}
	src.Ref = s.b.clean(src.Ref)
	gone, n := map[ID]bool{}, 0
	revoked := func(o Source) bool {
		said := (src.Origin == Host || src.Origin == o.Origin) && (src.Ref == "" || src.Ref == o.Ref) &&
			(src.Run == "" || src.Run == o.Run)
		return said || slices.ContainsFunc(o.Parents, func(id ID) bool { return gone[id] || gone[s.resolve(id)] })
	}
	for again := true; again; { // what is drawn from what goes, goes in a further turn
		again = false
		t := s.b.table(s.scope)
		if t == nil {
			break
		}
		for _, e := range t.snapshot() {
			m := e.rest()
			source := m.source
			source.Origin = originsInOrder[e.origin]
			if !revoked(source) && !slices.ContainsFunc(m.sources, revoked) {
				continue
			}
			removed := false
			err := s.b.g.Update(ctx, func(b *store.Batch) error {
				removed = false
				return s.edit(ctx, b, e.id, func(r *stored) (bool, error) {
					left := slices.DeleteFunc(append([]Source{r.Source}, r.Sources...), revoked)
					if removed = len(left) == 0; removed {
						now, err := b.Get(ctx, s.key(e.id))
						if err != nil {
							return false, err
						}
						return false, s.stageForget(b, e.id, now.Rev)
					}
					r.Source, r.Sources = left[0], left[1:]
					return true, nil
				})
			})
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return n, fmt.Errorf("memory: revoke: %w", err)
			}
			if removed {
				n, again = n+1, true
				gone[e.id] = true
				for _, id := range m.former {
					gone[id] = true
				}
			}
		}
	}
	return n, nil
}

// Erase removes all memories of the scope and of those below it, and what was counted of them, in commits of 1,000
// keys. After an error it goes on where it stopped when it is called again. What others write meanwhile may stay.
func (s Space) Erase(ctx context.Context) error {
	if err := s.scope.Check(); err != nil {
		return fmt.Errorf("memory: erase: %w", err)
	}
	var keys []string
	erase := func() error {
		err := s.b.g.Update(ctx, func(b *store.Batch) error {
			for _, key := range keys {
				if err := b.Delete(key, store.Any); err != nil {
					return err
				}
				b.After(func(rev store.Revision) {
					_ = s.b.apply(store.Entry{Key: key, Rev: rev, Deleted: true}) // as in stageForget
				})
			}
			return nil
		})
		keys = nil
		return err
	}
	for e, err := range s.b.g.Store().Scan(ctx, store.Range{Prefix: s.scope.Below()}) {
		if err == nil {
			if _, kind, _, ok := store.ParseKey(e.Key); ok && slices.Contains(kinds, kind) {
				keys = append(keys, e.Key)
			}
			if len(keys) == 1000 {
				err = erase()
			}
		}
		if err != nil {
			return fmt.Errorf("memory: erase: %w", err)
		}
	}
	if err := erase(); err != nil {
		return fmt.Errorf("memory: erase: %w", err)
	}
	return nil
}
