package memory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Everything lies under "memory": r holds the records, v their vectors, m the model of these, s their counters, f the
// keys of the feedback that was applied, k the receipts of drafts with a Key
// that have no record of their own, p what a record perhaps replaces, x the records
// that the Extractor has yet to read.
const (
	root         = "memory"
	recordPart   = "r"
	countsPart   = "s"
	feedbackPart = "f"
	receiptPart  = "k"
	vectorPart   = "v"
	modelPart    = "m"
	guessPart    = "p"
	readPart     = "x"
)

// scopePart is the scope as part of a key. Long ones are hashed, so that the
// key stays within the store's limit; no scope begins with '#'.
func scopePart(s Scope) string {
	if len(s) <= 512 {
		return string(s)
	}
	sum := digest("scope", string(s))
	return longMark + encodeID(sum[:20])
}

// longMark begins the parts of long scopes, and no scope.
const longMark = "#"

func (sh *shard) recordKey(id ID) string  { return key.Join(root, recordPart, sh.part, string(id)) }
func (sh *shard) vectorKey(id ID) string  { return key.Join(root, vectorPart, sh.part, string(id)) }
func (sh *shard) countsKey(id ID) string  { return sh.counts + string(id) }
func (sh *shard) readKey(id ID) string    { return key.Join(root, readPart, sh.part, string(id)) }
func (sh *shard) receiptKey(id ID) string { return key.Join(root, receiptPart, sh.part, string(id)) }

// feedbackKey hashes the host's key: what is not kept cannot leak.
func (sh *shard) feedbackKey(k string) string {
	sum := digest("feedback", k)
	var id [idLength]byte
	return sh.marks + string(base.AppendEncode(id[:0], sum[:15]))
}

// storedRecord is a Record on disk, without its counters and its vector.
type storedRecord struct {
	Scope    Scope           `cbor:"1,keyasint"`
	Kind     Kind            `cbor:"2,keyasint"`
	Trigger  string          `cbor:"3,keyasint,omitempty"`
	Content  string          `cbor:"4,keyasint"`
	At       int64           `cbor:"5,keyasint,omitempty"` // microseconds since 1970, as Known
	Known    int64           `cbor:"6,keyasint,omitempty"`
	Source   storedSource    `cbor:"7,keyasint,omitzero"`
	Actor    string          `cbor:"8,keyasint,omitempty"`
	Thread   string          `cbor:"9,keyasint,omitempty"`
	Links    []storedLink    `cbor:"10,keyasint,omitempty"`
	Variants []storedVariant `cbor:"11,keyasint,omitempty"`
	Dim      uint16          `cbor:"12,keyasint,omitempty"` // of the vector
	Plan     []byte          `cbor:"13,keyasint,omitempty"`
	Trusted  bool            `cbor:"14,keyasint,omitempty"`
	Repaired bool            `cbor:"15,keyasint,omitempty"`
	Seq      uint32          `cbor:"16,keyasint,omitempty"` // as in stowed
	Slot     storedSlot      `cbor:"17,keyasint,omitzero"`
	Apart    []uint64        `cbor:"19,keyasint,omitempty"` // see apartMark
	Quotes   []Source        `cbor:"20,keyasint,omitempty"`
	Passing  bool            `cbor:"24,keyasint,omitempty"`
	Triggers []string        `cbor:"85,keyasint,omitempty"`
}

type storedSource struct {
	Origin Origin `cbor:"1,keyasint,omitempty"`
	Ref    string `cbor:"2,keyasint,omitempty"`
	Run    string `cbor:"3,keyasint,omitempty"`
}

type storedSlot struct {
	Subject   string `cbor:"1,keyasint,omitempty"`
	Attribute string `cbor:"2,keyasint,omitempty"`
	Value     string `cbor:"3,keyasint,omitempty"`
}

type storedLink struct {
	To  ID     `cbor:"1,keyasint"`
	Rel string `cbor:"2,keyasint,omitempty"`
}

type storedVariant struct {
	ID      ID           `cbor:"1,keyasint,omitempty"`
	Source  storedSource `cbor:"2,keyasint,omitzero"`
	At      int64        `cbor:"3,keyasint,omitempty"`
	Trigger string       `cbor:"4,keyasint,omitempty"`
	Content string       `cbor:"5,keyasint,omitempty"`
}

func (sh *shard) encodeRecord(r *Record, with stowed) (store.Op, error) {
	s := storedRecord{
		Scope: r.Scope, Kind: r.Kind, Trigger: r.Trigger, Content: r.Content, At: r.At.UnixMicro(), Known: r.Known.UnixMicro(),
		Source: storedSource(r.Source), Actor: r.Actor, Thread: r.Thread, Dim: with.dim, Plan: r.Plan,
		Trusted: r.Trusted, Repaired: r.Repaired, Seq: with.seq, Slot: storedSlot(r.Slot), Apart: r.apart,
		Quotes:  r.Quotes,
		Passing: r.Passing, Triggers: r.Triggers,
	}
	for _, l := range r.Links {
		s.Links = append(s.Links, storedLink(l))
	}
	for _, v := range r.Variants {
		s.Variants = append(s.Variants, storedVariant{v.ID, storedSource(v.Source), v.At.UnixMicro(), v.Trigger, v.Content})
	}
	k := sh.recordKey(r.ID)
	value, err := codec.Encode(k, s)
	return store.Op{Key: k, Value: value}, err
}

// decodeRecord returns the record of an entry, or store.ErrDamaged with its key
// if it cannot be one that was stored there.
func decodeRecord(e store.Entry) (*Record, stowed, error) {
	var s storedRecord
	if err := codec.Decode(e, &s); err != nil {
		return nil, stowed{}, err
	}
	parts := key.Split(e.Key)
	damaged := func(what string) (*Record, stowed, error) {
		return nil, stowed{}, fmt.Errorf("%w: %q: %s", store.ErrDamaged, e.Key, what)
	}
	switch {
	case s.Scope.Check() != nil:
		return damaged("bad scope")
	case len(parts) != 4 || parts[2] != scopePart(s.Scope) || parts[3] == "":
		return damaged("not its key")
	case !s.Kind.valid():
		return damaged("unknown kind")
	case !s.Source.Origin.valid():
		return damaged("unknown origin")
	case strings.TrimSpace(s.Content) == "":
		return damaged("no content")
	case s.Dim > MaxDimension:
		return damaged("vector too long")
	}
	r := &Record{
		ID: ID(parts[3]), Scope: s.Scope, Kind: s.Kind, Trigger: s.Trigger, Content: s.Content, At: micros(s.At), Known: micros(s.Known),
		Source: Source(s.Source), Actor: s.Actor, Thread: s.Thread, Plan: s.Plan,
		Trusted: s.Trusted, Repaired: s.Repaired, Slot: Slot(s.Slot), apart: s.Apart,
		Quotes:  s.Quotes,
		Passing: s.Passing, Triggers: s.Triggers,
	}
	for _, l := range s.Links {
		r.Links = append(r.Links, Link(l))
	}
	for _, v := range s.Variants {
		r.Variants = append(r.Variants, Variant{v.ID, Source(v.Source), micros(v.At), v.Trigger, v.Content})
	}
	return r, stowed{seq: s.Seq, dim: s.Dim}, nil
}

// change is the new counters of a record.
type change struct {
	entry  *entry
	counts *counts
}

// countsSize is as much as most counters take, in bytes.
const countsSize = 64

// encodeCounts appends the writes of changes to ops. Their keys share memory,
// and so do their values, behind buf.
func (sh *shard) encodeCounts(ops []store.Op, buf []byte, changes ...change) ([]store.Op, error) {
	var keys strings.Builder
	keys.Grow((len(sh.counts) + idLength) * len(changes))
	buf = slices.Grow(buf, countsSize*len(changes))
	var id [idLength]byte
	for _, c := range changes {
		at, start := keys.Len(), len(buf)
		keys.WriteString(sh.counts)
		keys.Write(c.entry.appendName(id[:0]))
		k := keys.String()[at:]
		var err error
		if buf, err = codec.Append(buf, k, c.counts); err != nil {
			return nil, err
		}
		ops = append(ops, store.Op{Key: k, Value: buf[start:len(buf):len(buf)]})
	}
	return ops, nil
}

func decodeCounts(e store.Entry) (*counts, error) {
	c := new(counts)
	if err := codec.Decode(e, c); err != nil {
		return nil, err
	}
	if !c.valid() {
		return nil, fmt.Errorf("%w: %q: impossible counts", store.ErrDamaged, e.Key)
	}
	return c, nil
}

// storedReceipt is what a Key whose draft has no record comes to.
type storedReceipt struct {
	Disposition Disposition `cbor:"1,keyasint,omitempty"`
	Into        ID          `cbor:"2,keyasint,omitempty"`
	Reason      string      `cbor:"3,keyasint,omitempty"`
}

func (sh *shard) encodeReceipt(id ID, r Receipt) (store.Op, error) {
	k := sh.receiptKey(id)
	value, err := codec.Encode(k, storedReceipt{r.Disposition, r.Into, r.Reason})
	return store.Op{Key: k, Value: value}, err
}

func decodeReceipt(e store.Entry) (Receipt, error) {
	var s storedReceipt
	if err := codec.Decode(e, &s); err != nil {
		return Receipt{}, err
	}
	return Receipt{ID: s.Into, Disposition: s.Disposition, Into: s.Into, Reason: s.Reason}, nil
}
