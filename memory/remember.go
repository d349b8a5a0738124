package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// prepared is a Draft that was checked and cleaned, as it will be stored but for its id and trust.
type prepared struct {
	record
	terms  *index.Terms // of its doc, made before others have to wait for it
	vector []float32
}

// Remember writes a memory. Where an equal one is there, that is strengthened instead: it counts the draft,
// takes up its source, links and what it supersedes, and leaves the archive. Two drafts with one Key are one
// memory, whatever they say: the later one changes nothing.
//
// A Fact whose Slot has had another value in between is a memory of its own, so that a Query.At finds what
// held then; but not one that was said twice before that other value came to light.
//
// It returns the memory as it is now: with Strengthened above 0 where an equal one was there.
func (s Space) Remember(ctx context.Context, d Draft) (Record, error) {
	rs, err := s.RememberAll(ctx, []Draft{d})
	if err != nil {
		return Record{}, err
	}
	return rs[0], nil
}

// maxDrafts and maxDraftBytes bound the drafts of a commit of RememberAll.
const maxDrafts, maxDraftBytes = 250, 2 << 20

// RememberAll is Remember for several drafts, in their order, up to 250 in a commit. With an error it returns
// the memories that were written. A draft that cannot be kept is an error before anything is written.
func (s Space) RememberAll(ctx context.Context, ds []Draft) ([]Record, error) {
	ps, now := make([]*prepared, len(ds)), s.b.o.Now()
	for i, d := range ds {
		var err error
		if ps[i], err = s.prepare(d, now, i); err != nil {
			return nil, fmt.Errorf("memory: draft %d: %w", i, err)
		}
	}
	out := make([]Record, 0, len(ds))
	for len(ps) > 0 {
		is := make([]*record, together(ps))
		err := s.update(ctx, func(b *store.Batch) (err error) {
			for i := 0; i < len(is) && err == nil; i++ {
				is[i], err = s.stage(ctx, b, ps[i])
			}
			return err
		})
		if err != nil {
			return out, err
		}
		for _, r := range is {
			out = append(out, r.export(s.scope))
		}
		ps = ps[len(is):]
	}
	return out, nil
}

// together returns how many of the next drafts go into one commit: as many as it may have, up to the second
// of a slot, as whether that is a new value depends on the one before.
func together(ps []*prepared) (n int) {
	size, slots := 0, map[string]bool{}
	for n < len(ps) && n < maxDrafts && (n == 0 || size < maxDraftBytes) {
		m := ps[n].more()
		if m.Slot != "" && slots[m.Slot] {
			break
		}
		slots[m.Slot] = true
		size += len(ps[n].Trigger) + len(ps[n].Content) + len(m.Plan) + 4*len(ps[n].vector)
		n++
	}
	return n
}

// prepare checks and cleans a draft, the n-th of a call.
func (s Space) prepare(d Draft, now time.Time, n int) (*prepared, error) {
	if d.At.IsZero() {
		d.At = now // in the zone in which questions are, too
	}
	if err := s.clean(&d); err != nil {
		return nil, err
	}
	p := &prepared{vector: slices.Clone(d.Vector)}
	p.Kind = uint8(slices.Index(kinds, d.Kind))
	p.Created = now.UnixMicro() + int64(n) // in the order of the drafts
	p.More = &more{Key: d.Key}
	p.setDraft(&d, p.More)
	p.setSource(d.Source, p.More)
	p.Trusted = d.Source.Origin == Host // of a Derived one stage knows
	p.terms = analyze(s.b.an, &p.record)
	return p, nil
}

// clean checks a draft, and takes secrets and invalid UTF-8 out of it.
func (s Space) clean(d *Draft) error {
	var unnamed error // the first name that cannot be one
	name := func(clean string) string {
		if clean != "" {
			unnamed = cmp.Or(unnamed, store.CheckID(clean))
		}
		return clean
	}
	d.Trigger, d.Content = s.tidy(d.Trigger), s.tidy(d.Content)
	d.Actor, d.Source.Ref = name(s.tidy(d.Actor)), name(s.tidy(d.Source.Ref))
	for _, n := range []*string{&d.Key, &d.Thread, &d.Slot, &d.Source.Run} {
		*n = name(s.tidyName(*n))
	}
	d.Supersedes, d.Source.Parents = slices.Clone(d.Supersedes), slices.Clone(d.Source.Parents)
	for _, ids := range [][]ID{d.Supersedes, d.Source.Parents} {
		for i, id := range ids {
			ids[i] = ID(name(s.tidyName(string(id))))
		}
	}
	d.Links = slices.Clone(d.Links)
	for i, l := range d.Links {
		d.Links[i].To = ID(name(s.tidyName(string(l.To))))
	}
	if d.Plan != nil && s.b.o.Sanitizer != nil && json.Valid(d.Plan) {
		d.Plan = s.b.o.Sanitizer.Data(d.Plan)
	}
	return cmp.Or(s.scope.Check(), checkVector(d.Vector), checkTime(d.At),
		refuse(!slices.Contains(kinds, d.Kind), "a memory of an unknown kind"),
		refuse(!slices.Contains(origins, d.Source.Origin), "a memory of an unknown origin"),
		refuse(strings.TrimSpace(d.Content) == "", "a memory must have a content"),
		refuse(d.Plan != nil && !json.Valid(d.Plan), "a plan must be JSON"),
		store.Limit("trigger", len(d.Trigger), MaxText), store.Limit("content", len(d.Content), MaxText),
		store.Limit("plan", len(d.Plan), maxPlan), store.Limit("links", len(d.Links), maxLinks),
		store.Limit("supersedes", len(d.Supersedes), maxLinks),
		store.Limit("parents", len(d.Source.Parents), maxLinks), unnamed)
}

func (s Space) tidy(text string) string {
	if text != "" && s.b.o.Sanitizer != nil {
		text = s.b.o.Sanitizer.Prose(text)
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// tidyName is tidy for what must stay different from other names: one with a secret in it becomes its hash.
func (s Space) tidyName(name string) string {
	if clean := s.tidy(name); clean != name {
		return hashed(name)
	}
	return name
}

// checkTime refuses what RFC 3339, and so JSON, cannot write. A zero time is none.
func checkTime(at time.Time) error {
	_, err := at.MarshalText()
	odd := err != nil || at.Before(time.Time{})
	return refuse(odd, "a time must be of the years 1 to 9999, and its zone of less than a day")
}

func refuse(bad bool, why string) error {
	if bad {
		return fmt.Errorf("%w: %s", store.ErrInvalid, why)
	}
	return nil
}

// marker is what is kept of a Key, for 90 days.
type marker struct {
	At        int64         `cbor:"1,keyasint"`
	ID        ID            `cbor:"3,keyasint,omitempty"` // of a draft: the memory that it became
	Situation uint64        `cbor:"4,keyasint,omitempty"`
	Effects   map[ID]effect `cbor:"5,keyasint,omitempty"` // of a feedback
}

const markersLast = 90 * 24 * time.Hour

// stage writes a record into a batch, or strengthens an equal one, and returns that. A Key that was here in
// the last 90 days stands for what its draft became then, and nothing is written.
func (s Space) stage(ctx context.Context, b *store.Batch, p *prepared) (is *record, err error) {
	n := *p // a copy, as this may run again
	if n.Trusted, err = s.trusted(ctx, b, n.source()); err != nil {
		return nil, err
	}
	if n.more().Key == "" {
		return s.place(ctx, b, &n)
	}
	key := s.scope.Key(draftKind, hashed(n.more().Key))
	m, c, err := codec.Load[marker](ctx, b, key)
	if err != nil {
		return nil, err
	}
	if m.ID != "" {
		known, err := s.read(ctx, b, m.ID)
		if !errors.Is(err, store.ErrNotFound) {
			return known, err
		}
	}
	if is, err = s.place(ctx, b, &n); err == nil {
		err = codec.Put(b, key, marker{At: n.Created, ID: is.id}, c)
	}
	return is, err
}

// place writes a record at the first of its ids that is free, or strengthens the equal one that is there. An
// id is the hash of what a record says and of a number, so equals meet at one key, in every process. The next
// number is tried where the key has another record: it was changed since, or a later value of its slot has
// replaced it, and this one says that the former value holds again.
func (s Space) place(ctx context.Context, b *store.Batch, n *prepared) (*record, error) {
	name, i := n.names(s.scope), 0
	for step := 1; step > 0; { // of equal ones that came again the last may hold, and there may be thousands
		if s.table().current(name(i+step)) != nil {
			i, step = i+step, 2*step
		} else {
			step /= 2
		}
	}
	for ; ; i++ {
		n.id = name(i)
		var old *record
		_, staged := b.Staged(s.key(n.id))
		if staged || s.table().current(n.id) != nil { // else what others have written there is a conflict
			var err error
			if old, err = s.read(ctx, b, n.id); err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
		}
		switch {
		case old == nil:
			err := s.put(b, &n.record, n.terms)
			if err == nil && n.vector != nil {
				err = s.putVector(b, n.id, "", n.text(), n.vector)
			}
			return &n.record, err
		case old.equal(&n.record) && !s.replaced(old.id) && (n.more().Slot == "" || n.At >= old.At):
			old.strengthen(&n.record)
			return old, s.put(b, old, nil)
		}
	}
}

// trusted reports whether a source is trusted: the host is, and what was drawn from trusted memories alone.
func (s Space) trusted(ctx context.Context, b *store.Batch, src Source) (bool, error) {
	if src.Origin != Derived {
		return src.Origin == Host, nil
	}
	for _, id := range src.Parents {
		parent, err := s.read(ctx, b, id)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil // nobody can tell
		}
		if err != nil || !parent.Trusted {
			return false, err
		}
	}
	return true, nil
}

// replaced reports whether something else holds in the place of a record.
func (s Space) replaced(id ID) bool {
	t := s.table()
	r := t.current(id)
	if r == nil {
		return false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.standing(r, forever) != r
}

// strengthen takes up an equal record.
func (r *record) strengthen(o *record) {
	m, from := r.own(), o.more()
	m.Strengthened += 1 + from.Strengthened
	m.Said, r.Archived = max(m.Said, o.said()), false
	for _, src := range o.sources() {
		same := func(k Source) bool { return k.Origin == src.Origin && k.Ref == src.Ref && k.Run == src.Run }
		if !same(r.source()) && !slices.ContainsFunc(m.Sources, same) && len(m.Sources) < maxSources {
			m.Sources = append(slices.Clip(m.Sources), src)
		}
	}
	m.Links, m.Supersedes = union(m.Links, from.Links), union(m.Supersedes, from.Supersedes)
}

const maxSources = 15

// union returns both without duplicates, at most maxLinks.
func union[T comparable](a, b []T) []T {
	for _, v := range b {
		if !slices.Contains(a, v) && len(a) < maxLinks {
			a = append(slices.Clip(a), v)
		}
	}
	return a
}

// update commits what f stages, or leaves that to the owner of the batch. f may run several times.
func (s Space) update(ctx context.Context, f func(*store.Batch) error) error {
	err := s.scope.Check()
	if err == nil && s.batch != nil {
		err = f(s.batch)
	} else if err == nil {
		err = s.b.g.Update(ctx, f)
	}
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	return nil
}

// read returns a record as a batch has it, to change; also by the id of one merged into it.
func (s Space) read(ctx context.Context, b codec.Reader, id ID) (*record, error) {
	if err := cmp.Or(s.scope.Check(), store.CheckID(string(id))); err != nil {
		return nil, err
	}
	if r := s.table().current(id); r != nil {
		id = r.id
	}
	e, err := b.Get(ctx, s.key(id))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", id, err)
	}
	return decode(id, e)
}

// put stages a record on the revision that it was read at, with the terms of its doc; nil: not made yet.
func (s Space) put(b *store.Batch, r *record, terms *index.Terms) error {
	value, err := r.encode()
	if err != nil {
		return err
	}
	b.After(func(rev store.Revision) {
		r.rev = rev
		s.b.take(s.scope, terms, r)
	})
	return b.Put(s.key(r.id), value, store.At(r.rev))
}

// edit stages a change of a record by f. What f leaves as it was is not written.
func (s Space) edit(ctx context.Context, b *store.Batch, id ID, f func(*record) error) error {
	r, err := s.read(ctx, b, id)
	if err != nil {
		return err
	}
	was := *r
	if err := f(r); err != nil || reflect.DeepEqual(was, *r) {
		return err
	}
	return s.put(b, r, nil)
}

// change commits an edit.
func (s Space) change(ctx context.Context, id ID, f func(*record) error) error {
	return s.update(ctx, func(b *store.Batch) error { return s.edit(ctx, b, id, f) })
}

// equal reports whether two records say the same: equal words in equal order, with equal standing. Episodes
// are different events, whatever they say.
func (r *record) equal(o *record) bool {
	return !r.is(Episode) && r.sameStanding(o) && text.Fold(r.Trigger) == text.Fold(o.Trigger) &&
		text.Fold(r.Content) == text.Fold(o.Content)
}

// sameStanding reports whether two records are of one kind, trust, actor, thread and slot.
func (r *record) sameStanding(o *record) bool {
	return r.Kind == o.Kind && r.Trusted == o.Trusted && *r.voice() == *o.voice() &&
		r.more().Slot == o.more().Slot
}

// names returns the ids of a record, by number: equal records have equal ones, and meet in the store.
func (r *record) names(scope Scope) func(n int) ID {
	v, m := r.voice(), r.more()
	if r.is(Episode) {
		event := cmp.Or(m.Key, fmt.Sprint(r.At, r.Created, v.Actor, v.Thread, r.Content))
		return func(n int) ID { return ID(hashed(string(scope), string(Episode), event, fmt.Sprint(n))) }
	}
	trigger, content := text.Fold(r.Trigger), text.Fold(r.Content)
	return func(n int) ID {
		return ID(hashed(string(scope), string(kinds[r.Kind]), v.Actor, v.Thread, m.Slot, fmt.Sprint(r.Trusted, n),
			trigger, content))
	}
}

// hashed returns 20 letters and digits.
func hashed(parts ...string) string {
	all := make([]byte, 0, 512)
	for _, p := range parts {
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(p))), p...)
	}
	sum := sha256.Sum256(all)
	return strings.ToLower(base32.HexEncoding.EncodeToString(sum[:15]))[:20]
}
