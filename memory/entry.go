package memory

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/lexicon"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// stowed is what the store keeps with a Record and hosts do not see.
type stowed struct {
	seq uint32 // as in table.Entry
	dim uint16 // of the vector, which has a key of its own; 0: none
}

func stowedWith(e *table.Entry) stowed { return stowed{e.Seq, e.Dim} }

// rest has the fields that only hosts read and few records have. A cold record has neither
// variants nor a plan here.
type rest struct {
	links    []Link
	quotes   []Source
	variants []Variant
	plan     json.RawMessage
	slot     Slot
	apart    []uint64
}

// flag is that of the kind.
func (k Kind) flag() table.Flags { return 1 << slices.Index(kinds[:], k) }

func kindOf(e *table.Entry) Kind { return kinds[bits.TrailingZeros16(uint16(e.Flags&table.Kinds))] }

// newEntry returns r in the form that memory keeps. It has no row yet.
func newEntry(r *Record, s stowed, c *tally.Counts, rev store.Revision) *table.Entry {
	e := &table.Entry{
		Key: ident.Of(r.ID), Actor: table.Intern(r.Actor), Thread: table.Intern(r.Thread),
		Source: table.Intern(table.Source{Origin: string(r.Source.Origin), Ref: r.Source.Ref, Run: r.Source.Run}),
		At:     r.At.UnixMicro(), Known: r.Known.UnixMicro(), Rev: rev,
		Cut: uint16(len(r.Trigger)), Seq: s.seq, Dim: s.dim, Flags: r.Kind.flag(),
	}
	note := func(f table.Flags, is bool) {
		if is {
			e.Flags |= f
		}
	}
	note(table.Quarantined, !r.Trusted)
	note(table.Repaired, r.Repaired)
	note(table.Passing, r.Passing)
	note(table.Derived, r.Source.Origin == Derived)
	note(table.Cold, r.textSize() >= table.ColdText)
	if e.Flags&table.Cold == 0 {
		e.Text = r.Trigger + r.Content
	}
	e.More = moreOf(r, e)
	e.Count(c)
	return e
}

// moreOf returns the fields of r that few records have; nil if it has none of them.
func moreOf(r *Record, e *table.Entry) *table.More {
	some := len(r.Links) + len(r.Quotes) + len(r.Variants) + len(r.Plan) + len(r.Triggers) + len(r.apart)
	if some == 0 && r.Slot == (Slot{}) && r.Vouched.IsZero() && !e.Key.Foreign() {
		return nil
	}
	m := &struct { // in one piece of memory
		table.More
		rest
	}{table.More{Triggers: r.Triggers}, rest{links: r.Links, quotes: r.Quotes, slot: r.Slot, apart: r.apart}}
	m.Rest = &m.rest
	if !r.Vouched.IsZero() {
		m.Vouched = r.Vouched.UnixMicro()
	}
	if e.Key.Foreign() {
		m.Foreign = string(r.ID)
	}
	if e.Flags&table.Cold == 0 {
		m.variants, m.plan = r.Variants, r.Plan
	}
	if len(r.Links) > 0 {
		m.Links = make([]table.Link, len(r.Links))
	}
	for i, l := range r.Links {
		m.Links[i] = table.Link{To: ident.Of(l.To), Rel: l.Rel}
	}
	for _, v := range r.Variants {
		if v.ID != "" {
			m.Former = append(m.Former, ident.Of(v.ID))
		}
	}
	if r.Slot != (Slot{}) {
		m.Slot = table.SlotOf(r.Slot.Subject, r.Slot.Attribute, r.Slot.Value, r.Actor)
	}
	return &m.More
}

// linksOf are the Links of e.
func linksOf(e *table.Entry) []Link {
	if e.More == nil {
		return nil
	}
	return e.More.Rest.(*rest).links
}

// fill writes the record of e to r, without the texts of a cold one, the vector, the ID and the
// Scope. It shares its slices with e.
func fill(e *table.Entry, r *Record) {
	r.Kind, r.Trusted, r.Repaired = kindOf(e), e.Flags.Trusted(), e.Flags&table.Repaired != 0
	r.Passing = e.Flags&table.Passing != 0
	r.At, r.Known = micros(e.At), micros(e.Known)
	r.Source, r.Actor, r.Thread = sourceOf(e), table.Value(e.Actor), table.Value(e.Thread)
	if e.Flags&table.Cold == 0 {
		r.Trigger, r.Content = e.Text[:e.Cut], e.Text[e.Cut:]
	}
	if e.More != nil {
		m := e.More.Rest.(*rest)
		if r.Triggers = e.More.Triggers; e.More.Vouched != 0 {
			r.Vouched = micros(e.More.Vouched)
		}
		r.Links, r.Quotes, r.Variants, r.Plan, r.Slot, r.apart = m.links, m.quotes, m.variants, m.plan, m.slot, m.apart
	}
}

// sourceOf is the Source of e.
func sourceOf(e *table.Entry) Source {
	s := table.Value(e.Source)
	return Source{Origin(s.Origin), s.Ref, s.Run}
}

func micros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// tie orders r among the records of its At in its Thread: by seq, and then by ID, as two Banks may have given the same.
func (r *Record) tie(seq uint32) int64 {
	if r.Thread == "" {
		return 0
	}
	k := ident.Of(r.ID)
	return int64(seq)<<31 | int64(binary.BigEndian.Uint32(k[len(k)-4:])>>1)
}

// document returns the document to index for r.
func (b *Bank) document(r *Record, s stowed) index.Doc {
	d, _ := b.appendDocument(make([]text.Term, 0, (len(r.Trigger)+len(r.Content)+len(r.Actor))/5+8), r, s)
	return d
}

// appendDocument returns the document to index for r. It appends the terms to buf.
func (b *Bank) appendDocument(buf []text.Term, r *Record, s stowed) (index.Doc, []text.Term) {
	t := lexicon.Text{
		Trigger: r.Trigger, Content: r.Content, Actor: r.Actor, Thread: r.Thread, At: r.At, Tie: r.tie(s.seq),
		Asks:    r.Kind == Episode && (strings.Contains(r.Content, "?") || strings.Contains(r.Content, "？")),
		Machine: r.Source.byMachine(),
	}
	for _, v := range r.Variants {
		t.Extra = append(t.Extra, v.Trigger, v.Content)
	}
	if r.Slot != (Slot{}) {
		t.Extra = append(t.Extra, r.Slot.Subject, r.Slot.Attribute)
	}
	return b.lexicon.Doc(buf, &t)
}
