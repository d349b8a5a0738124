package memory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unique"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/asker"
	"github.com/arc-learn/arc/memory/internal/calendar"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// coldText is the number of bytes of texts and plan from which on they stay on
// disk, and are read when the record is returned.
const coldText = 4 << 10

// entry is a record as it is kept in memory. Only its counters change: a change
// of anything else replaces it. What most records have is here, what few have is
// in more. Names are shared with the other records that have them.
type entry struct {
	id     ident.Key
	text   string // trigger and content; "" if the record is cold
	count  atomic.Pointer[tally.Counts]
	more   *more // nil: none of that
	actor  unique.Handle[string]
	thread unique.Handle[string]
	source unique.Handle[Source]
	at     int64 // microseconds since 1970, as known is
	known  int64
	rev    store.Revision // of the record, not of the counters
	row    uint32
	cut    uint16 // length of the trigger, unless the record is cold
	flags  flags
	stowed
}

// stowed is what is kept with a Record and not in it.
type stowed struct {
	seq uint32 // above those of the records made before in the scope
	dim uint16 // of the vector, which has a key of its own; 0: none
}

// more is what few records have. In a cold record only foreign, former,
// slot, triggers, apart, the quotes and the targets of the links are set.
type more struct {
	foreign  ID          // the id, if this package has not made it
	former   []ident.Key // ids of records that became part of it
	links    []Link
	quotes   []Source
	variants []Variant
	plan     json.RawMessage
	slot     *Slot // that the host gave
	triggers []string
	apart    []uint64
}

// some reports whether there is any of it.
func (m *more) some() bool {
	return m.foreign != "" || m.former != nil || m.links != nil || m.quotes != nil || m.variants != nil ||
		m.plan != nil || m.slot != nil || m.triggers != nil || m.apart != nil
}

// flags are what a query can leave out by.
type flags uint16

const (
	isFailure flags = 1 << iota
	isPattern
	isFact
	isEpisode
	isQuarantined
	isArchived // in the index only: the counters say so
	isCold
	isRepaired
	isPassing

	kindFlags = isFailure | isPattern | isFact | isEpisode
)

func (k Kind) flag() flags { return 1 << slices.Index(kinds[:], k) }

func (f flags) kind() Kind { return kinds[bits.TrailingZeros16(uint16(f&kindFlags))] }

// marks are the flags that the index has of e.
func (e *entry) marks() index.Flags {
	f := e.flags & (kindFlags | isQuarantined)
	if e.counts().Archived {
		f |= isArchived
	}
	return index.Flags(f)
}

func (f flags) trusted() bool { return f&isQuarantined == 0 }

// newEntry returns r as it is kept in memory. It has no row yet.
func newEntry(r *Record, s stowed, c *tally.Counts, rev store.Revision) *entry {
	e := &entry{
		id: ident.Of(r.ID), actor: intern(r.Actor), thread: intern(r.Thread), source: intern(r.Source),
		at: r.At.UnixMicro(), known: r.Known.UnixMicro(),
		rev: rev, cut: uint16(len(r.Trigger)), stowed: s, flags: r.Kind.flag(),
	}
	if !r.Trusted {
		e.flags |= isQuarantined
	}
	if r.Repaired {
		e.flags |= isRepaired
	}
	if r.Passing {
		e.flags |= isPassing
	}
	var m more
	if e.id.Foreign() {
		m.foreign = r.ID
	}
	for _, v := range r.Variants {
		if v.ID != "" {
			m.former = append(m.former, ident.Of(v.ID))
		}
	}
	m.links, m.quotes, m.triggers, m.apart = r.Links, r.Quotes, r.Triggers, r.apart
	if r.Slot != (Slot{}) {
		slot := r.Slot
		m.slot = &slot
	}
	if r.textSize() >= coldText {
		e.flags |= isCold
	} else {
		e.text = r.Trigger + r.Content
		m.variants, m.plan = r.Variants, r.Plan
	}
	if m.some() {
		e.more = &m
	}
	e.tally(c)
	return e
}

// intern returns the handle of a value that records share, and name what it stands for: the
// zero handle of the zero value.
func intern[T comparable](v T) (h unique.Handle[T]) {
	var zero T
	if v != zero {
		h = unique.Make(v)
	}
	return h
}

func name[T comparable](h unique.Handle[T]) (v T) {
	if h != (unique.Handle[T]{}) {
		v = h.Value()
	}
	return v
}

func (e *entry) from() Source { return name(e.source) }

// none is the counters of a record that has none. It is never changed.
var none tally.Counts

// counts returns the counters as they stand.
func (e *entry) counts() *tally.Counts {
	if c := e.count.Load(); c != nil {
		return c
	}
	return &none
}

func (e *entry) tally(c *tally.Counts) {
	if c.Zero() {
		c = nil
	}
	e.count.Store(c)
}

func micros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// links returns what the record points to.
func (e *entry) links() []Link {
	if e.more == nil {
		return nil
	}
	return e.more.links
}

// is reports whether k is the id of e, or a former one that leads to it.
func (e *entry) is(k ident.Key) bool {
	return e.id == k || e.more != nil && slices.Contains(e.more.former, k)
}

// name returns the id.
func (e *entry) name() ID {
	if e.id.Foreign() {
		return e.more.foreign
	}
	var buf [ident.Length]byte
	return ID(e.appendName(buf[:0]))
}

// appendName appends the id to buf.
func (e *entry) appendName(buf []byte) []byte {
	if e.id.Foreign() {
		return append(buf, e.more.foreign...)
	}
	return e.id.Append(buf)
}

// fill writes the record to r, which has nothing of its own then, but not the
// texts of one that is cold, the vector, the ID and the Scope.
func (e *entry) fill(r *Record) {
	r.Kind, r.Trusted, r.Repaired = e.flags.kind(), e.flags.trusted(), e.flags&isRepaired != 0
	r.Passing = e.flags&isPassing != 0
	r.At, r.Known = micros(e.at), micros(e.known)
	r.Source, r.Actor, r.Thread = e.from(), name(e.actor), name(e.thread)
	if e.flags&isCold == 0 {
		r.Trigger, r.Content = e.text[:e.cut], e.text[e.cut:]
	}
	if e.more != nil {
		r.Quotes, r.Triggers = e.more.quotes, e.more.triggers
		r.Links, r.Variants, r.Plan, r.apart = e.more.links, e.more.variants, e.more.plan, e.more.apart
		if e.more.slot != nil {
			r.Slot = *e.more.slot
		}
	}
}

// before orders entries by At, then ID.
func before(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.at, b.at), compareIDs(a, b))
}

// compareIDs orders entries as their IDs are ordered.
func compareIDs(a, b *entry) int {
	if a.id.Foreign() || b.id.Foreign() {
		return cmp.Compare(a.name(), b.name())
	}
	return bytes.Compare(a.id[:], b.id[:])
}

// keys yields the ids that lead to e.
func (e *entry) keys() iter.Seq[ident.Key] {
	return func(yield func(ident.Key) bool) {
		if !yield(e.id) || e.more == nil {
			return
		}
		for _, k := range e.more.former {
			if !yield(k) {
				return
			}
		}
	}
}

func (e *entry) slot() *Slot {
	if e.more == nil {
		return nil
	}
	return e.more.slot
}

// after reports whether e tells of a later time than o, or was made later.
func (e *entry) after(o *entry) bool { return e.at > o.at || e.at == o.at && e.seq > o.seq }

// byTime sorts the entries by At, then ID.
func byTime(es []*entry) []*entry {
	slices.SortFunc(es, before)
	return es
}

// replaces reports whether by may take the place of e unless the host says so:
// what is in quarantine does not take that of what is trusted.
func replaces(by, e *entry) bool { return by.flags.trusted() || !e.flags.trusted() }

// lexicon reads texts as they are indexed.
type lexicon struct {
	lang  text.Language
	dates *calendar.Calendar
}

// document returns what is indexed of r.
func (x *lexicon) document(r *Record, s stowed) index.Doc {
	d, _ := x.appendDocument(make([]text.Term, 0, (len(r.Trigger)+len(r.Content)+len(r.Actor))/5+8), r, s)
	return d
}

// appendDocument returns what is indexed of r. The terms are appended to buf.
func (x *lexicon) appendDocument(buf []text.Term, r *Record, s stowed) (index.Doc, []text.Term) {
	terms := func(texts ...string) []text.Term {
		start := len(buf)
		for _, s := range texts {
			buf = x.lang.Append(buf, s)
		}
		return buf[start:len(buf):len(buf)]
	}
	d := index.Doc{
		Trigger: terms(r.Trigger), Content: terms(r.Content), Actor: terms(asker.Name(r.Actor)),
		Thread: r.Thread, At: r.At.UnixMicro(), Tie: int64(s.seq),
		Asks: r.Kind == Episode && strings.Contains(r.Content, "?"), Other: asker.Other(r.Actor, r.Source.byMachine()),
	}
	for _, v := range r.Variants {
		d.Extra = append(d.Extra, terms(v.Trigger, v.Content)...)
	}
	d.Extra = append(d.Extra, terms(r.Slot.Subject, r.Slot.Attribute)...)
	start := len(buf)
	buf = x.dates.Append(buf, r.At)
	d.Date = buf[start:len(buf):len(buf)]
	return d, buf
}

func (x *lexicon) terms(s string) []text.Term {
	if s == "" {
		return nil
	}
	return x.lang.Append(make([]text.Term, 0, len(s)/5+1), s)
}
