package memory

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// storedRecord is a Record on disk, without its counters and its vector.
type storedRecord struct {
	Record
	At       int64           `cbor:"5,keyasint,omitempty"` // microseconds since 1970, as Known
	Known    int64           `cbor:"6,keyasint,omitempty"`
	Vouched  int64           `cbor:"25,keyasint,omitempty"` // 0: the zero time
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

func (sh *shard) encodeRecord(r *Record, with stowed) (store.Op, error) {
	s := storedRecord{
		Record: *r, At: r.At.UnixMicro(), Known: r.Known.UnixMicro(), Dim: with.dim, Seq: with.seq, Apart: r.apart,
	}
	if !r.Vouched.IsZero() {
		s.Vouched = r.Vouched.UnixMicro()
	}
	for _, v := range r.Variants {
		s.Variants = append(s.Variants, storedVariant{v.ID, v.Source, v.At.UnixMicro(), v.Trigger, v.Content})
	}
	return stored.Put(sh.key(stored.Records, r.ID), s)
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
	case len(parts) != 4 || parts[2] != stored.Scope(string(s.Scope)) || parts[3] == "":
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
	if s.Vouched != 0 {
		r.Vouched = micros(s.Vouched)
	}
	for _, v := range s.Variants {
		r.Variants = append(r.Variants, Variant{v.ID, v.Source, micros(v.At), v.Trigger, v.Content})
	}
	return r, stowed{seq: s.Seq, dim: s.Dim}, nil
}

// check returns what is wrong with a record that the host gives.
func (r *Record) check() error {
	d := Draft{
		Kind: r.Kind, Trigger: r.Trigger, Content: r.Content, Key: string(r.ID), At: r.At, Source: r.Source, Actor: r.Actor,
		Thread: r.Thread, Links: r.Links, Quotes: r.Quotes, Triggers: r.Triggers, Plan: r.Plan,
	}
	return d.check()
}

// storedReceipt is the receipt of a Key whose draft has no record.
type storedReceipt struct {
	Disposition Disposition `cbor:"1,keyasint,omitempty"`
	Into        ID          `cbor:"2,keyasint,omitempty"`
	Reason      string      `cbor:"3,keyasint,omitempty"`
}

func (sh *shard) encodeReceipt(id ID, r Receipt) (store.Op, error) {
	return stored.Put(sh.key(stored.Receipts, id), storedReceipt{r.Disposition, r.Into, r.Reason})
}

func decodeReceipt(e store.Entry) (Receipt, error) {
	var s storedReceipt
	if err := codec.Decode(e, &s); err != nil {
		return Receipt{}, err
	}
	return Receipt{ID: s.Into, Disposition: s.Disposition, Into: s.Into, Reason: s.Reason}, nil
}

// contents reads what a store has of a scope and of those below it; "" is every scope.
type contents struct {
	st    store.Store
	scope Scope
	// long has the parts of keys of scopes too long for a key. It is known once the records were read.
	long map[string]bool
}

// under yields the entries under a part.
func (in *contents) under(ctx context.Context, part string) iter.Seq2[store.Entry, error] {
	return stored.Under(ctx, in.st, part, string(in.scope), in.has)
}

// has reports whether an entry of a scope that is too long for a key is of one of these scopes.
func (in *contents) has(e store.Entry) (bool, error) {
	part, scope, _, _ := stored.Split(e.Key)
	if part == stored.Records {
		r, _, err := decodeRecord(e)
		if err != nil {
			return false, err
		}
		in.long[scope] = r.Scope.Within(in.scope)
	}
	return in.long[scope] || scope == stored.Scope(string(in.scope)), nil
}

// Checker returns a function that returns why an entry cannot be one that Entries yields of a scope, or nil:
// ErrTenant for an entry of a scope elsewhere, store.ErrDamaged for one that no Bank has written. Call it
// with entries in the order of Entries.
func Checker(scope Scope) func(store.Entry) error {
	in := contents{scope: scope, long: make(map[string]bool)}
	return func(e store.Entry) error {
		part, of, _, ok := stored.Split(e.Key)
		if !ok {
			return fmt.Errorf("%w: %q is no memory", store.ErrDamaged, e.Key)
		}
		var err error
		switch part {
		case stored.Records:
			_, _, err = decodeRecord(e)
		case stored.Vectors:
			_, _, err = stored.VectorOf(e)
		case stored.Counts:
			_, err = stored.CountsOf(e)
		case stored.Receipts:
			_, err = decodeReceipt(e)
		case stored.Guesses:
			_, err = stored.GuessesOf(e)
		case stored.Feedback, stored.Unread:
			err = codec.Decode(e, new(applied))
		default:
			err = fmt.Errorf("%w: %q is no memory", store.ErrDamaged, e.Key)
		}
		ours := err == nil && Scope(of).Check() == nil && Scope(of).Within(scope)
		if err == nil && !ours {
			ours, err = in.has(e)
		}
		if err == nil && !ours {
			err = fmt.Errorf("%w: %q is of another scope", ErrTenant, e.Key)
		}
		return err
	}
}

// applied is what the store has under the key of a feedback.
type applied struct {
	At tally.Instant `cbor:"1,keyasint,omitempty"`
	// Unheeded are the records for which the feedback has not counted, or counts no more.
	Unheeded []ID `cbor:"2,keyasint,omitempty"`
	// Helped are those that it has counted as helped. An earlier version did not note them.
	Helped []ID `cbor:"3,keyasint,omitempty"`
}

// mergedKey is the key of what a draft with an ID has counted that strengthened a record.
func (sh *shard) mergedKey(id string) string { return sh.at.FeedbackKey("merged " + id) }
