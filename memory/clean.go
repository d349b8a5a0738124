package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/store"
)

// minTrigger is the least number of characters in the trigger of a Failure or Pattern: a shorter one
// says too little to be found by. See text.Letters.
const minTrigger = 10

// candidate is a draft that was checked and cleaned, as the record that it would be. The ID is
// set if the draft has a Key.
type candidate struct {
	rec      *Record
	doc      index.Doc // of rec
	with     stowed
	rejected string // why, or ""
	behind   bool   // written with the next group of the Writer
	// What it writes, once it is in a group. Without a Key: no vector.
	record, vector store.Op
}

// clean checks the draft against the limits, sanitises it, and returns the record to keep.
func (b *Bank) clean(s Scope, d *Draft, now time.Time) (candidate, error) {
	if err := d.check(); err != nil {
		return candidate{}, err
	}
	r := &Record{
		Scope: s, Kind: d.Kind, At: d.At, Known: now,
		Source:  b.cleanSource(d.Source),
		Actor:   b.sanitize.Sanitize(d.Actor),
		Thread:  b.sanitize.Sanitize(d.Thread),
		Vector:  slices.Clone(d.Vector),
		Plan:    slices.Clone(b.sanitize.JSON(d.Plan)),
		Passing: d.Passing && d.Kind == Episode,
	}
	if r.At.IsZero() {
		r.At = now
	}
	r.At = r.At.UTC().Truncate(time.Microsecond)
	r.Trigger = b.cleanText(d.Trigger, r)
	r.Content = b.cleanText(d.Content, r)
	for _, l := range d.Links {
		if ident.Of(l.To).Foreign() { // what this package has made is no secret
			l.To = ID(b.sanitize.Sanitize(string(l.To)))
		}
		r.Links = append(r.Links, Link{To: l.To, Rel: b.sanitize.Sanitize(l.Rel)})
	}
	for _, q := range d.Quotes {
		r.Quotes = append(r.Quotes, b.cleanSource(q))
	}
	for _, phrase := range d.Triggers {
		r.Triggers = append(r.Triggers, b.sanitize.Sanitize(phrase))
	}
	slices.SortFunc(r.Quotes, compareSources)
	r.Quotes = slices.Compact(r.Quotes)
	slot, err := b.cleanSlot(d.Slot)
	if err != nil {
		return candidate{}, err
	}
	r.Slot = slot
	if d.Key != "" {
		r.ID = ID(ident.Keyed(string(s), d.Key))
	}
	if err := limit("record", MaxRecord, r.size()); err != nil {
		return candidate{}, err
	}
	with := stowed{dim: uint16(len(r.Vector))}
	c := candidate{rec: r, doc: b.document(r, with), with: with}
	c.behind = r.Passing && len(d.Vector) == 0 && r.textSize() < table.ColdText
	if d.Kind.learned() && text.Letters(r.Trigger) < minTrigger {
		c.rejected = fmt.Sprintf("trigger shorter than %d characters", minTrigger)
	}
	return c, nil
}

func (b *Bank) cleanText(s string, r *Record) string {
	if !utf8.ValidString(s) {
		r.Repaired = true
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	return b.sanitize.Sanitize(s)
}

func (b *Bank) cleanSource(s Source) Source {
	return Source{Origin: s.Origin, Ref: b.sanitize.Sanitize(s.Ref), Run: b.sanitize.Sanitize(s.Run)}
}

// cleanSlot checks and sanitises a slot that the host gives. Its attribute names its value.
func (b *Bank) cleanSlot(s Slot) (Slot, error) {
	if s == (Slot{}) {
		return s, nil
	}
	if err := limit("slot", maxSlot, len(s.Subject)+len(s.Attribute)+len(s.Value)); err != nil {
		return s, err
	}
	clean := func(name, s string) string { return b.sanitize.Named(name, strings.ToValidUTF8(s, "\uFFFD")) }
	s = Slot{clean("", s.Subject), clean("", s.Attribute), clean(s.Attribute, s.Value)}
	return s, cmp.Or(required("slot attribute", s.Attribute), required("slot value", s.Value))
}
