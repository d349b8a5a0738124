package learn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// A plan is drawn from memories, by links. What they say may stand in it: it holds no
// longer than they do. Nor does it fire before its reasoner has been told what is new.

// holding leaves out the plans that have lapsed, of which the first so many are trusted.
func (l *Learner) holding(ctx context.Context, hits []memory.Hit, trusted *int) ([]memory.Hit, error) {
	for i := len(hits) - 1; i >= 0; i-- {
		lapsed, err := l.lapsed(ctx, &hits[i].Record, hits)
		switch {
		case err != nil:
			return nil, err
		case lapsed && i < *trusted:
			*trusted--
			fallthrough
		case lapsed:
			hits = slices.Delete(hits, i, i+1)
		}
	}
	return hits, nil
}

// lapsed reports whether a plan was drawn from what does not hold any more: from a memory
// that is forgotten, from a fact or episode that is put aside or that another has taken the
// place of, by what hits say. One with variables has if a plan that it was drawn from has.
func (l *Learner) lapsed(ctx context.Context, r *memory.Record, hits []memory.Hit) (bool, error) {
	if len(r.Plan) == 0 || r.Source.Origin != memory.Derived {
		return false, nil
	}
	rel := ""
	if generalises(r) > 0 {
		rel = isGeneral
	}
	for _, link := range r.Links {
		if link.Rel != rel {
			continue
		}
		from, err := l.bank.In(r.Scope).Get(ctx, link.To)
		gone := errors.Is(err, store.ErrNotFound)
		switch {
		case gone:
			err = nil
		case err != nil:
		case from.Kind == memory.Fact || from.Kind == memory.Episode:
			gone = from.Archived || slices.ContainsFunc(hits, func(h memory.Hit) bool { return replaces(&h, &from) })
		case rel == isGeneral && generalises(&from) == 0:
			gone, err = l.lapsed(ctx, &from, hits)
		}
		if gone || err != nil {
			return gone, err
		}
	}
	return false, nil
}

// replaces reports whether a hit says that a record is not current any more.
func replaces(h *memory.Hit, r *memory.Record) bool {
	is := &h.Record
	switch {
	case is.Scope != r.Scope:
		return false
	case is.ID == r.ID:
		return h.Replaced.By != ""
	case h.Superseded != nil && h.Superseded.ID == r.ID:
		return true
	}
	same := is.Slot.Subject == r.Slot.Subject && is.Slot.Attribute == r.Slot.Attribute
	return same && is.Slot.Attribute != "" && is.Slot.Value != r.Slot.Value && is.At.After(r.At)
}

// isGeneral is the relation of a pattern with variables to those that it was
// drawn from.
const isGeneral = "generalises"

// generalises returns how many patterns one with variables was drawn from.
func generalises(r *memory.Record) (n int) {
	for _, l := range r.Links {
		if l.Rel == isGeneral {
			n++
		}
	}
	return n
}

// inform keeps a chunk from firing where hits, or facts that concern it, are news to it:
// what the host or a person has recorded, or vouched for, later than the plan was made
// last. Whether that changes it is the reasoner's to say.
func (l *Learner) inform(c *Chunk, r *memory.Record, hits []memory.Hit, a *Ask) {
	c.since, c.acted = r.Known.UnixMicro(), r.Stats.Helped+r.Stats.Misled
	if stored, err := l.decoded.chunk(r); err == nil {
		c.since, c.told = max(c.since, stored.Heard), stored.Told
	}
	for i := range hits {
		c.heeds(&hits[i], nil) // found by its words
	}
	for i := range a.Facts {
		c.heeds(&a.Facts[i], a)
	}
}

// heeds keeps the chunk from firing if a hit, which concerns what is asked unless that is nil, is
// news to it, and reports whether it is.
func (c *Chunk) heeds(h *memory.Hit, a *Ask) bool {
	r := &h.Record
	if !c.news(h) || a != nil && !c.concerned(a, r.Trigger+"\n"+r.Content) {
		return false
	}
	if c.heard == 0 {
		why := fmt.Sprintf("it was made before %q was known", text.Line(r.Content))
		c.Differs = append(slices.Clip(c.Differs), why)
	}
	c.heard = max(c.heard, recorded(r))
	return true
}

// recorded is when a record was made, or vouched for, the later.
func recorded(r *memory.Record) int64 { return max(r.Known.UnixMicro(), r.Vouched.UnixMicro()) }

// texts are those of the plan.
func (c *Chunk) texts() []string {
	return (&reason.Decision{Approach: c.Approach, Tasks: c.Tasks}).Texts(nil)
}

// concerned reports whether a fact has a word in common with the plan or its case.
func (c *Chunk) concerned(a *Ask, fact string) bool {
	said := text.Append(nil, a.Situation+"\n"+a.Objective)
	for _, s := range c.texts() {
		said = text.Append(said, s)
	}
	return slices.ContainsFunc(text.Append(nil, fact), func(t text.Term) bool {
		return !t.Stop && slices.Contains(said, t)
	})
}

// news reports whether a hit is new to the chunk and what plans are made by: not what runs have
// taught or how they ended, nor what is only linked with another.
func (c *Chunk) news(h *memory.Hit) bool {
	r := &h.Record
	return recorded(r) > c.since && r.Trusted && r.Source.Origin != memory.Derived &&
		r.Kind != memory.Episode && len(r.Plan) == 0 && h.Linked == ""
}
