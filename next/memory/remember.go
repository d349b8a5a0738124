package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/internal/index"
	"github.com/arc-learn/arc/next/store"
)

// prepared is a Draft that was checked and cleaned, as it will be stored but for its trust.
type prepared struct {
	stored
	vector []float32
	terms  *index.Terms
}

// Remember writes a memory. Where an equal one is there, that is strengthened instead: it counts the draft, takes up
// its source, links and what it supersedes, and is archived no more. Two drafts with one Key are one memory, whatever
// they say: the later one changes nothing. It returns a *[store.LimitError] for a draft that cannot be kept.
func (s Space) Remember(ctx context.Context, d Draft) (Receipt, error) {
	rs, err := s.RememberAll(ctx, []Draft{d})
	if err != nil {
		return Receipt{}, err
	}
	return rs[0], nil
}

// drafts of a commit of RememberAll, and their bytes beside vectors.
const maxDrafts, maxDraftBytes = 500, 2 << 20

// RememberAll is Remember for several drafts, in their order, 500 in a commit. It returns the receipts of those that
// were written, also with an error. A draft that cannot be kept is an error before anything is written.
func (s Space) RememberAll(ctx context.Context, ds []Draft) ([]Receipt, error) {
	ps := make([]*prepared, len(ds))
	for i, d := range ds {
		p, err := s.prepare(d, i)
		if err != nil {
			return nil, fmt.Errorf("memory: draft %d: %w", i, err)
		}
		ps[i] = p
	}
	out := make([]Receipt, 0, len(ds))
	for len(ps) > 0 {
		n, size := 0, 0
		for n < len(ps) && n < maxDrafts && (n == 0 || size < maxDraftBytes) {
			size += len(ps[n].Trigger) + len(ps[n].Content) + len(ps[n].Plan) + 4*len(ps[n].vector)
			n++
		}
		rs := make([]Receipt, n)
		err := s.b.g.Update(ctx, func(b *store.Batch) (err error) {
			for i, p := range ps[:n] {
				if rs[i], err = s.stage(ctx, b, p); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return out, fmt.Errorf("memory: remember: %w", err)
		}
		out, ps = append(out, rs...), ps[n:]
	}
	return out, nil
}

// StageRemember is Remember into a batch: of a function that the Bank's Group runs, at the tenant's keys. The memory
// is found once that is committed. The Receipt holds if it is.
func (s Space) StageRemember(ctx context.Context, b *store.Batch, d Draft) (Receipt, error) {
	p, err := s.prepare(d, 0)
	if err != nil {
		return Receipt{}, fmt.Errorf("memory: %w", err)
	}
	return s.stage(ctx, b, p)
}

// prepare checks and cleans a draft, the n-th of a call.
func (s Space) prepare(d Draft, n int) (*prepared, error) {
	if d.At.IsZero() {
		d.At = s.b.o.Now().UTC()
	}
	_, zone := d.At.Zone()
	p := &prepared{vector: slices.Clone(d.Vector), stored: stored{
		Kind: d.Kind, Trigger: s.b.clean(d.Trigger), Content: s.b.clean(d.Content), Key: d.Key, At: d.At.UnixMicro(),
		Zone: int32(zone), Source: d.Source, Actor: s.b.clean(d.Actor), Thread: d.Thread, Slot: s.b.clean(d.Slot),
		Supersedes: slices.Clone(d.Supersedes), Links: slices.Clone(d.Links), Plan: bytes.Clone(d.Plan), Created: s.b.now() + int64(n), // in their order
	}}
	p.Source.Ref, p.Source.Parents = s.b.clean(d.Source.Ref), slices.Clone(d.Source.Parents)
	if err := cmp.Or(s.scope.Check(), checkVector(d.Vector), p.check()); err != nil {
		return nil, err
	}
	p.terms = index.New(s.b.an).Analyze(p.entry("", 0).doc())
	return p, nil
}

// clean returns a text without secrets, as valid UTF-8.
func (b *Bank) clean(s string) string {
	if s != "" && b.o.Sanitizer != nil {
		s = b.o.Sanitizer.Prose(s)
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

func limit(what string, size, most int) error {
	if size > most {
		return &store.LimitError{What: what, Size: size, Max: most}
	}
	return nil
}

// check returns what is wrong with a record.
func (s *stored) check() error {
	refuse := func(bad bool, why string) error {
		if bad {
			return &store.LimitError{What: why}
		}
		return nil
	}
	year := timeOf(s.At, 0).Year()
	err := cmp.Or(
		refuse(!slices.Contains(kindsInOrder, s.Kind), fmt.Sprintf("a memory of kind %.32q", s.Kind)),
		refuse(!slices.Contains(originsInOrder, s.Source.Origin), fmt.Sprintf("an origin %.32q", s.Source.Origin)),
		refuse(strings.TrimSpace(s.Content) == "", "a memory must have a content"),
		refuse(year < 1 || year > 9999, "a time must be of the years 1 to 9999"),
		refuse(s.Plan != nil && !json.Valid(s.Plan), "a plan must be JSON"),
		limit("trigger", len(s.Trigger), MaxText), limit("content", len(s.Content), MaxText),
		limit("plan", len(s.Plan), MaxPlan), limit("links", len(s.Links), MaxLinks),
		limit("supersedes", len(s.Supersedes), MaxLinks), limit("parents", len(s.Source.Parents), MaxLinks))
	names := []string{s.Key, s.Actor, s.Thread, s.Slot, s.Source.Ref, s.Source.Run}
	for _, l := range s.Links {
		names = append(names, string(l.To), l.Rel)
	}
	for _, id := range slices.Concat(s.Supersedes, s.Source.Parents) {
		names = append(names, string(id))
	}
	for _, name := range names {
		if name != "" {
			err = cmp.Or(err, store.CheckID(name))
		}
	}
	return err
}

// stage writes a record into a batch, or strengthens an equal one.
func (s Space) stage(ctx context.Context, b *store.Batch, p *prepared) (Receipt, error) {
	var err error
	rec := p.stored
	if rec.Trusted, err = s.trusted(ctx, b, &rec.Source); err != nil {
		return Receipt{}, err
	}
	marker, known := s.scope.Key(draftKind, hashed(rec.Key)), store.Revision(0)
	if rec.Key != "" {
		var id ID
		if id, known, err = s.keyed(ctx, b, marker); id != "" || err != nil {
			return Receipt{ID: id}, err
		}
	}
	for n := 0; ; n++ {
		id := rec.id(s.scope, n)
		e, err := b.Get(ctx, s.key(id))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return Receipt{}, err
		}
		r := Receipt{ID: id, Strengthened: err == nil}
		if err == nil {
			old, err := decode(e)
			if err != nil {
				return Receipt{}, err
			}
			if !old.equal(&rec) || s.replaced(id) {
				continue
			}
			old.strengthen(&rec)
			if err := s.put(b, id, &old, e.Rev, nil); err != nil {
				return Receipt{}, err
			}
		} else if err := s.put(b, id, &rec, 0, p.terms); err != nil {
			return Receipt{}, err
		} else if p.vector != nil {
			if err := s.putVector(b, id, "", embedded(rec.Trigger, rec.Content), p.vector); err != nil {
				return Receipt{}, err
			}
		}
		if rec.Key != "" {
			value, err := codec.Marshal(&draftMarker{id, s.b.now()})
			if err == nil {
				err = b.Put(marker, value, store.At(known))
			}
			if err != nil {
				return Receipt{}, err
			}
		}
		return r, nil
	}
}

// draftMarker says what a Key stands for.
type draftMarker struct {
	ID ID    `cbor:"1,keyasint"`
	At int64 `cbor:"2,keyasint"`
}

// markersLast is how long a Key is known.
const markersLast = 90 * 24 * time.Hour

// keyed returns the memory that a Key stands for, "" if none that is still there, and the revision of its marker.
func (s Space) keyed(ctx context.Context, b *store.Batch, marker string) (ID, store.Revision, error) {
	var m draftMarker
	e, err := b.Get(ctx, marker)
	if errors.Is(err, store.ErrNotFound) {
		return "", 0, nil
	}
	if err == nil {
		err = codec.Unmarshal(e.Value, &m)
	}
	if err != nil {
		return "", 0, err
	}
	m.ID = s.resolve(m.ID)
	_, err = b.Get(ctx, s.key(m.ID))
	if errors.Is(err, store.ErrNotFound) {
		return "", e.Rev, nil
	}
	return m.ID, e.Rev, err
}

// trusted reports whether what a source says is trusted: the host, and what was drawn from trusted memories alone.
func (s Space) trusted(ctx context.Context, b *store.Batch, src *Source) (bool, error) {
	if src.Origin != Derived {
		return src.Origin == Host, nil
	}
	for _, id := range src.Parents {
		e, err := b.Get(ctx, s.key(s.resolve(id)))
		if errors.Is(err, store.ErrNotFound) {
			return false, nil // it cannot be told
		}
		if err != nil {
			return false, err
		}
		if parent, err := decode(e); err != nil || !parent.Trusted {
			return false, err
		}
	}
	return true, nil
}

// strengthen takes up an equal draft.
func (s *stored) strengthen(d *stored) {
	s.Strengthened++
	s.LastSaid, s.Archived = max(s.LastSaid, d.At), false
	same := func(o Source) bool { return sameSource(o, d.Source) }
	if !same(s.Source) && !slices.ContainsFunc(s.Sources, same) && len(s.Sources) < maxSources {
		s.Sources = append(s.Sources, d.Source)
	}
	s.Links = union(s.Links, d.Links)
	s.Supersedes = union(s.Supersedes, d.Supersedes)
}

func sameSource(a, b Source) bool {
	return a.Origin == b.Origin && a.Ref == b.Ref && a.Run == b.Run && slices.Equal(a.Parents, b.Parents)
}

// union returns both without duplicates, at most MaxLinks.
func union[T comparable](a, b []T) []T {
	for _, v := range b {
		if !slices.Contains(a, v) && len(a) < MaxLinks {
			a = append(slices.Clip(a), v)
		}
	}
	return a
}

// resolve returns the id that a record has now, if it was merged into another.
func (s Space) resolve(id ID) ID {
	if t := s.b.table(s.scope); t != nil {
		t.mu.RLock()
		defer t.mu.RUnlock()
		if e := t.entry(id); e != nil {
			return e.id
		}
	}
	return id
}

// replaced reports whether something else holds in the place of a record.
func (s Space) replaced(id ID) bool {
	t := s.b.table(s.scope)
	if t == nil {
		return false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	e := t.entry(id)
	return e != nil && t.standing(e, forever) != e
}

// put stages a record that was read at a revision, 0: a new one. Terms are those of its doc, nil: not made yet.
func (s Space) put(b *store.Batch, id ID, rec *stored, rev store.Revision, terms *index.Terms) error {
	value, err := codec.Marshal(rec)
	if err == nil {
		err = b.Put(s.key(id), value, store.At(rev))
	}
	if err != nil {
		return err
	}
	kept := *rec
	b.After(func(rev store.Revision) { s.b.take(s.scope, kept.entry(id, rev), terms) })
	return nil
}

// edit stages a change of a record by f, which returns false where there is nothing to change.
func (s Space) edit(ctx context.Context, b *store.Batch, id ID, f func(*stored) (bool, error)) error {
	id = s.resolve(id)
	e, err := b.Get(ctx, s.key(id))
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%q: %w", id, store.ErrNotFound)
	}
	if err != nil {
		return err
	}
	rec, err := decode(e)
	if err != nil {
		return err
	}
	changed, err := f(&rec)
	if err != nil || !changed {
		return err
	}
	return s.put(b, id, &rec, e.Rev, nil)
}
