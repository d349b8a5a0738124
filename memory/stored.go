package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/memory/internal/vectors"
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
	sum := ident.Digest("scope", string(s))
	return longMark + string(ident.Append(nil, sum[:20]))
}

// longMark begins the parts of long scopes, and no scope.
const longMark = "#"

// place is where a scope is in the store.
type place struct {
	part   string // of keys
	counts string // prefix of the keys of counters
	marks  string // prefix of the keys of feedback
}

func newPlace(s Scope) place {
	part := scopePart(s)
	return place{part, key.Prefix(root, countsPart, part), key.Prefix(root, feedbackPart, part)}
}

func (p *place) recordKey(id ID) string  { return key.Join(root, recordPart, p.part, string(id)) }
func (p *place) vectorKey(id ID) string  { return key.Join(root, vectorPart, p.part, string(id)) }
func (p *place) countsKey(id ID) string  { return p.counts + string(id) }
func readKey(s Scope, id ID) string      { return key.Join(root, readPart, scopePart(s), string(id)) }
func (p *place) receiptKey(id ID) string { return key.Join(root, receiptPart, p.part, string(id)) }

func (p *place) guessKey(id ID) string { return key.Join(root, guessPart, p.part, string(id)) }

func modelKey() string { return key.Join(root, modelPart) }

// feedbackKey hashes the host's key: what is not kept cannot leak.
func (p *place) feedbackKey(k string) string {
	sum := ident.Digest("feedback", k)
	var id [ident.Length]byte
	return p.marks + string(ident.Append(id[:0], sum[:15]))
}

// storedRecord is a Record on disk, without its counters and its vector.
type storedRecord struct {
	Record
	At       int64           `cbor:"5,keyasint,omitempty"` // microseconds since 1970, as Known
	Known    int64           `cbor:"6,keyasint,omitempty"`
	Variants []storedVariant `cbor:"11,keyasint,omitempty"`
	Dim      uint16          `cbor:"12,keyasint,omitempty"` // of the vector
	Seq      uint32          `cbor:"16,keyasint,omitempty"` // as in stowed
	Apart    []uint64        `cbor:"19,keyasint,omitempty"` // see apartMark
}

type storedVariant struct {
	ID      ID     `cbor:"1,keyasint,omitempty"`
	Source  Source `cbor:"2,keyasint,omitzero"`
	At      int64  `cbor:"3,keyasint,omitempty"`
	Trigger string `cbor:"4,keyasint,omitempty"`
	Content string `cbor:"5,keyasint,omitempty"`
}

func (p *place) encodeRecord(r *Record, with stowed) (store.Op, error) {
	s := storedRecord{
		Record: *r, At: r.At.UnixMicro(), Known: r.Known.UnixMicro(), Dim: with.dim, Seq: with.seq, Apart: r.apart,
	}
	for _, v := range r.Variants {
		s.Variants = append(s.Variants, storedVariant{v.ID, v.Source, v.At.UnixMicro(), v.Trigger, v.Content})
	}
	k := p.recordKey(r.ID)
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
	r := &s.Record
	r.ID, r.At, r.Known, r.apart = ID(parts[3]), micros(s.At), micros(s.Known), s.Apart
	for _, v := range s.Variants {
		r.Variants = append(r.Variants, Variant{v.ID, v.Source, micros(v.At), v.Trigger, v.Content})
	}
	return r, stowed{seq: s.Seq, dim: s.Dim}, nil
}

// change is the new counters of a record.
type change struct {
	entry  *table.Entry
	counts *tally.Counts
}

// countsSize is as much as most counters take, in bytes.
const countsSize = 64

// encodeCounts appends the writes of changes to ops. Their keys share memory,
// and so do their values, behind buf.
func (p *place) encodeCounts(ops []store.Op, buf []byte, changes ...table.Change) ([]store.Op, error) {
	var keys strings.Builder
	keys.Grow((len(p.counts) + ident.Length) * len(changes))
	buf = slices.Grow(buf, countsSize*len(changes))
	var id [ident.Length]byte
	for _, c := range changes {
		at, start := keys.Len(), len(buf)
		keys.WriteString(p.counts)
		keys.Write(c.Entry.AppendName(id[:0]))
		k := keys.String()[at:]
		var err error
		if buf, err = codec.Append(buf, k, c.Counts); err != nil {
			return nil, err
		}
		ops = append(ops, store.Op{Key: k, Value: buf[start:len(buf):len(buf)]})
	}
	return ops, nil
}

func decodeCounts(e store.Entry) (*tally.Counts, error) {
	c := new(tally.Counts)
	if err := codec.Decode(e, c); err != nil {
		return nil, err
	}
	if !c.Valid() {
		return nil, fmt.Errorf("%w: %q: impossible counts", store.ErrDamaged, e.Key)
	}
	c.Rev = e.Rev
	return c, nil
}

// storedReceipt is what a Key whose draft has no record comes to.
type storedReceipt struct {
	Disposition Disposition `cbor:"1,keyasint,omitempty"`
	Into        ID          `cbor:"2,keyasint,omitempty"`
	Reason      string      `cbor:"3,keyasint,omitempty"`
}

func (p *place) encodeReceipt(id ID, r Receipt) (store.Op, error) {
	k := p.receiptKey(id)
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

// scopeParts are the parts under which keys of a scope lie, records before what is kept
// of them.
var scopeParts = [...]string{recordPart, vectorPart, countsPart, feedbackPart, receiptPart, guessPart, readPart}

// stored is what a store holds of a scope and of those below it; "" is every scope.
type stored struct {
	st    store.Store
	scope Scope
	// long are the parts of keys of those too long for one, known once the records were
	// read.
	long map[string]bool
}

// under yields the entries under a part.
func (in *stored) under(ctx context.Context, part string) iter.Seq2[store.Entry, error] {
	all := key.Prefix(root, part)
	prefixes := []string{all}
	if in.scope != "" {
		prefixes = []string{key.Prefix(root, part, string(in.scope)), all + string(in.scope) + "/", all + longMark}
	}
	return func(yield func(store.Entry, error) bool) {
		for i, prefix := range prefixes {
			for e, err := range in.st.Scan(ctx, store.Range{Prefix: prefix}) {
				var ours bool
				if err == nil && i == 2 {
					ours, err = in.holds(part, e)
				}
				if (i < 2 || ours || err != nil) && !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// holds reports whether an entry of a scope that is too long for a key is one of those.
func (in *stored) holds(part string, e store.Entry) (bool, error) {
	p := key.Split(e.Key)
	if part == recordPart {
		r, _, err := decodeRecord(e)
		if err != nil {
			return false, err
		}
		in.long[p[2]] = r.Scope.Within(in.scope)
	}
	return in.long[p[2]] || p[2] == scopePart(in.scope), nil
}

// Checker returns a function that says why an entry cannot be one of those that Entries
// yields of a scope, or nil: ErrTenant for one of a scope elsewhere, store.ErrDamaged for
// one that no Bank has written. Entries are to come in the order of Entries.
func Checker(scope Scope) func(store.Entry) error {
	in := stored{scope: scope, long: make(map[string]bool)}
	return func(e store.Entry) error {
		p := key.Split(e.Key)
		if len(p) != 4 || p[0] != root {
			return fmt.Errorf("%w: %q is no memory", store.ErrDamaged, e.Key)
		}
		var err error
		switch p[1] {
		case recordPart:
			_, _, err = decodeRecord(e)
		case vectorPart:
			_, _, err = decodeVector(e)
		case countsPart:
			_, err = decodeCounts(e)
		case receiptPart:
			_, err = decodeReceipt(e)
		case guessPart:
			_, err = decodeGuesses(e)
		case feedbackPart, readPart:
			err = codec.Decode(e, new(applied))
		default:
			err = fmt.Errorf("%w: %q is no memory", store.ErrDamaged, e.Key)
		}
		ours := err == nil && Scope(p[2]).Check() == nil && Scope(p[2]).Within(scope)
		if err == nil && !ours {
			ours, err = in.holds(p[1], e)
		}
		if err == nil && !ours {
			err = fmt.Errorf("%w: %q is of another scope", ErrTenant, e.Key)
		}
		return err
	}
}

// storedVector is a vector on disk, beside the record.
type storedVector struct {
	Numbers []byte `cbor:"1,keyasint"`           // packed; none: the text has no vector
	Model   string `cbor:"2,keyasint,omitempty"` // that has made it
}

func (p *place) encodeVector(id ID, model string, v []float32) (store.Op, error) {
	k := p.vectorKey(id)
	value, err := codec.Encode(k, storedVector{vectors.Pack(v), model})
	return store.Op{Key: k, Value: value}, err
}

// decodeVector returns a vector, nil if its text has none, and its model.
func decodeVector(e store.Entry) (model string, v []float32, err error) {
	var s storedVector
	if err := codec.Decode(e, &s); err != nil {
		return "", nil, err
	}
	if v, err = vectors.Unpack(s.Numbers); err != nil {
		return "", nil, fmt.Errorf("%w: %q: %v", store.ErrDamaged, e.Key, err)
	}
	return s.Model, v, nil
}

// applied is what is stored under the key of a feedback.
type applied struct {
	At tally.Instant `cbor:"1,keyasint,omitempty"`
	// Unheeded are the records that it has not counted for, or does no more.
	Unheeded []ID `cbor:"2,keyasint,omitempty"`
}

// storedGuess is what a record perhaps replaces.
type storedGuess struct {
	Old         ID             `cbor:"1,keyasint"`
	Probability float64        `cbor:"2,keyasint"`
	Evidence    table.Evidence `cbor:"3,keyasint"`
}

// decodeGuesses returns what an entry says that a record perhaps replaces.
func decodeGuesses(e store.Entry) (kept []storedGuess, err error) {
	if err := codec.Decode(e, &kept); err != nil {
		return nil, err
	}
	for _, g := range kept {
		if g.Old == "" || !(g.Probability >= 0 && g.Probability <= 1) {
			return nil, fmt.Errorf("%w: %q: impossible guess", store.ErrDamaged, e.Key)
		}
	}
	return kept, nil
}
