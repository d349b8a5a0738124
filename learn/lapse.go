package learn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// A plan has links to the memories from which it was made, and may repeat them. So it holds no longer than they
// do, and it does not fire before its reasoner has been told the news.

// holding removes the plans that have lapsed where some scopes are read. trusted is how many of the hits are
// trusted.
func (l *Learner) holding(
	ctx context.Context, hits []memory.Hit, trusted *int, read []memory.Scope,
) ([]memory.Hit, error) {
	for i := len(hits) - 1; i >= 0; i-- {
		lapsed, err := l.lapsed(ctx, &hits[i].Record, hits, read)
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

// lapsed reports whether a plan was made from a memory that no longer holds: one that is forgotten, or in a scope that
// is not read, or a fact or episode that is archived, superseded, or by a hit perhaps replaced. A plan with
// variables has lapsed if a plan from which it was made has.
func (l *Learner) lapsed(ctx context.Context, r *memory.Record, hits []memory.Hit, read []memory.Scope) (bool, error) {
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
		for i := 0; gone && i < len(read); i++ {
			from, err = l.bank.In(read[i]).Get(ctx, link.To)
			gone = errors.Is(err, store.ErrNotFound)
		}
		switch {
		case gone:
			err = nil
		case err != nil:
		case from.Kind == memory.Fact || from.Kind == memory.Episode:
			gone = from.Archived || from.SupersededBy != "" ||
				slices.ContainsFunc(hits, func(h memory.Hit) bool { return replaces(&h, &from) })
		case rel == isGeneral && generalises(&from) == 0:
			gone, err = l.lapsed(ctx, &from, hits, read)
		}
		if gone || err != nil {
			return gone, err
		}
	}
	return false, nil
}

// replaces reports whether a hit says that a record is perhaps no longer current.
func replaces(h *memory.Hit, r *memory.Record) bool {
	is := &h.Record
	switch {
	case is.Scope != r.Scope:
		return false
	case is.ID == r.ID:
		return h.Replaced.By != ""
	}
	same := is.Slot.Subject == r.Slot.Subject && is.Slot.Attribute == r.Slot.Attribute
	return same && is.Slot.Attribute != "" && is.Slot.Value != r.Slot.Value && is.At.After(r.At)
}

// isGeneral is the relation of a pattern with variables to the patterns from which it was made.
const isGeneral = "generalises"

// generalises returns from how many patterns a pattern with variables was made.
func generalises(r *memory.Record) (n int) {
	for _, l := range r.Links {
		if l.Rel == isGeneral {
			n++
		}
	}
	return n
}

// farAhead is how far ahead of the clock a plan may be for memory to tell what is later: where the clock was put
// back by less, what is recorded since is later all the same.
const farAhead = 30 * 24 * time.Hour

// inform keeps a chunk from firing if hits, or facts that concern it, are news: the host or a person has recorded
// them, or vouched for them, after the plan was made last. Whether that changes the plan is for the reasoner
// to decide.
func (l *Learner) inform(c *Chunk, r *memory.Record, hits []memory.Hit, a *Ask) {
	c.since, c.acted = r.Known.UnixMicro(), r.Stats.Helped+r.Stats.Misled
	if stored, err := l.decoded.chunk(r); err == nil {
		c.since, c.told = max(c.since, stored.Heard), stored.Told
	}
	if !a.At.IsZero() && c.since > a.At.Add(farAhead).UnixMicro() {
		c.Differs = append(slices.Clip(c.Differs), "the clock was put back since, so that what is new is not known")
	}
	for i := range hits {
		c.heeds(&hits[i], nil) // found by its words
	}
	for i := range a.Facts {
		c.heeds(&a.Facts[i], a)
	}
}

// heeds keeps the chunk from firing if a hit is news to it, and reports whether it is. If a is not nil the hit
// also has to concern what is asked.
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

// recorded returns when a record was made or vouched for, whichever is later.
func recorded(r *memory.Record) int64 { return max(r.Known.UnixMicro(), r.Vouched.UnixMicro()) }

// texts returns the texts of the plan.
func (c *Chunk) texts() []string {
	return (&reason.Decision{Approach: c.Approach, Tasks: c.Tasks}).Texts(nil)
}

// concerned reports whether a fact shares a word with the plan or its case.
func (c *Chunk) concerned(a *Ask, fact string) bool {
	said := text.Append(nil, a.Situation+"\n"+a.Objective)
	for _, s := range c.texts() {
		said = text.Append(said, s)
	}
	return slices.ContainsFunc(text.Append(nil, fact), func(t text.Term) bool {
		return !t.Stop && slices.Contains(said, t)
	})
}

// news reports whether a hit is later than the chunk's plan and can change it: what runs have taught, how they
// ended, and what is only linked with another memory cannot.
func (c *Chunk) news(h *memory.Hit) bool {
	r := &h.Record
	return recorded(r) > c.since && r.Trusted && r.Source.Origin != memory.Derived &&
		r.Kind != memory.Episode && len(r.Plan) == 0 && h.Linked == ""
}
