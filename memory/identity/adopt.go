package identity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity/internal/rollup"
	"github.com/arc-learn/arc/memory/identity/internal/rows"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/store"
)

// Versions before this one kept an identity in records of its own, below "identity" by
// part and scope. A scope of more than 512 bytes was hashed.
const (
	oldRoot   = "identity"
	longScope = 512
)

// decodeOld takes what a record of a part holds. Its name is the last of its key.
func (in *incoming) decodeOld(e store.Entry, part, name string) (err error) {
	switch part {
	case "p": // the profile
		in.profile = decodeTo[Profile](e, &err)
	case "f":
		in.facts = append(in.facts, *decodeTo[Fact](e, &err))
	case "b": // what was rejected
		in.rejections = append(in.rejections, *decodeTo[Rejection](e, &err))
	case "s": // what was suggested
		in.suggested[name] = *decodeTo[suggestion](e, &err)
	case "e":
		v := decodeTo[struct {
			Mark string `cbor:"1,keyasint"`
			Event
		}](e, &err)
		in.events = append(in.events, noted{v.Mark, true, v.Event})
	case "r":
		in.rollups[name] = decodeTo[rollup.Day](e, &err)
	case "k": // when an event was that has a Key
		day := decodeTo[struct {
			At time.Time `cbor:"1,keyasint"`
		}](e, &err).At.Format(time.DateOnly)
		if in.rollups[day] == nil {
			in.rollups[day] = new(rollup.Day)
		}
		in.rollups[day].Marks = append(in.rollups[day].Marks, name)
	case "c", "h": // which follow from the others
		decodeTo[struct{}](e, &err)
	default:
		err = fmt.Errorf("%w: %q is no identity", store.ErrDamaged, e.Key)
	}
	return err
}

func decodeTo[T any](e store.Entry, err *error) *T {
	v := new(T)
	*err = codec.Decode(e, v)
	return v
}

// Check returns why Adopt could not move an entry of a scope, or nil: store.ErrDamaged for
// one that no Identity has written, memory.ErrTenant for one of another scope.
func Check(e store.Entry, scope memory.Scope) error {
	p := key.Split(e.Key)
	if len(p) < 3 || len(p) > 4 || p[0] != oldRoot {
		return fmt.Errorf("%w: %q is no identity", store.ErrDamaged, e.Key)
	}
	if of := memory.Scope(p[2]); of.Check() != nil || !of.Within(scope) {
		return fmt.Errorf("%w: %q is of another scope", memory.ErrTenant, e.Key)
	}
	return newIncoming().decodeOld(e, p[1], "")
}

// groupOld is how many records move together.
const groupOld = 64

// Adopt moves the identities of earlier versions into a Bank over the same store, with
// their facts, ids, evidence and history. Call it when the Bank was opened, as an Agent
// does. An identity of a scope of more than 512 bytes, by whose hash it lies, moves once
// the Bank has memories of the scope, and stays where it is until then. After an error,
// or a crash, call it again.
func Adopt(ctx context.Context, st store.Store, bank *memory.Bank) error {
	var group []store.Entry
	var err error
	for e, failed := range st.Scan(ctx, store.Range{Prefix: key.Prefix(oldRoot)}) {
		if err = failed; err != nil {
			break
		}
		if len(group) == groupOld || len(group) > 0 && !slices.Equal(oldPlace(e), oldPlace(group[0])) {
			if err = adopt(ctx, st, bank, group); err != nil {
				break
			}
			group = group[:0]
		}
		group = append(group, e)
	}
	if err == nil && len(group) > 0 {
		err = adopt(ctx, st, bank, group)
	}
	if err != nil {
		return fmt.Errorf("identity: adopt: %w", err)
	}
	return nil
}

// oldPlace is the part and the scope of an old record.
func oldPlace(e store.Entry) []string { return append(key.Split(e.Key), "", "")[1:3] }

// adopt moves records of one part and scope: it merges them with what is there, and then
// removes the old ones.
func adopt(ctx context.Context, st store.Store, bank *memory.Bank, group []store.Entry) error {
	in, p := newIncoming(), oldPlace(group[0])
	scope := memory.Scope(p[1])
	if p[1] != "" && p[1][0] == '#' {
		for of := range bank.Scopes() {
			if len(of) > longScope && "#"+ident.Name(string(of)) == p[1] {
				scope = of
			}
		}
		if p[1] == string(scope) {
			return nil
		}
	}
	x, err := New(bank, scope, nil)
	if err != nil {
		return err
	}
	var ops []store.Op
	for _, e := range group {
		parts := key.Split(e.Key)
		if err := in.decodeOld(e, p[0], parts[len(parts)-1]); err != nil {
			return err
		}
		ops = append(ops, store.Op{Key: e.Key, Delete: true})
	}
	err = x.unify(ctx, in, new(ImportReport))
	for _, v := range in.events {
		err = cmp.Or(err, rows.Merge(ctx, x.rows, eventPart, v.mark, func(e *Event) time.Time {
			*e = v.Event
			return v.At
		}))
	}
	for name, v := range in.suggested {
		err = cmp.Or(err, rows.Merge(ctx, x.rows, suggestionPart, name, func(s *suggestion) time.Time {
			*s = v
			return time.Time{}
		}))
	}
	if err == nil {
		_, err = st.Commit(ctx, ops...)
	}
	return err
}
