package identity

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity/internal/former"
	"github.com/arc-learn/arc/memory/identity/internal/rollup"
	"github.com/arc-learn/arc/memory/identity/internal/rows"
	"github.com/arc-learn/arc/store"
)

// decodeOld takes what a record of a part holds, which has to be something that can be kept.
// Its name is the last of its key.
func (in *incoming) decodeOld(e store.Entry, part, name string) (err error) {
	var b rows.Batch
	switch part {
	case "p": // the profile
		in.profile = decodeTo[Profile](e, &err)
		rows.Put(&b, rows.Row[Profile]{}, profilePart, "", time.Time{}, in.profile)
	case "f":
		in.facts = append(in.facts, *decodeTo[Fact](e, &err))
	case "b": // what was rejected
		in.rejections = append(in.rejections, *decodeTo[Rejection](e, &err))
	case "s": // what was suggested
		s := decodeTo[suggestion](e, &err)
		in.suggested[name] = *s
		rows.Put(&b, rows.Row[suggestion]{}, suggestionPart, name, time.Time{}, s)
	case "e":
		v := decodeTo[struct {
			Mark string `cbor:"1,keyasint"`
			Event
		}](e, &err)
		in.events = append(in.events, noted{mark: v.Mark, imported: true, Event: v.Event})
		rows.Put(&b, rows.Row[Event]{}, eventPart, v.Mark, v.At, &v.Event)
	case "r":
		day := decodeTo[rollup.Day](e, &err)
		in.day(name).Merge(day)
		rows.Put(&b, rows.Row[rollup.Day]{}, rollupPart, name, time.Time{}, day)
	case "k": // when an event was that has a Key
		at := decodeTo[struct {
			At time.Time `cbor:"1,keyasint"`
		}](e, &err).At
		in.day(at.Format(time.DateOnly)).Mark(name)
	case "c", "h": // which follow from the others
		decodeTo[struct{}](e, &err)
	default:
		err = fmt.Errorf("%w: %q is no identity", store.ErrDamaged, e.Key)
	}
	return cmp.Or(err, b.Err(), in.check())
}

func decodeTo[T any](e store.Entry, err *error) *T {
	v := new(T)
	*err = codec.Decode(e, v)
	return v
}

// Check returns why Adopt could not move an entry of a scope, or nil: store.ErrDamaged for
// one that no Identity has written, memory.ErrTenant for one of another scope.
func Check(e store.Entry, scope memory.Scope) error {
	p, name, err := former.Of(e)
	if err != nil {
		return err
	}
	if p.Scope.Check() != nil || !p.Scope.Within(scope) {
		return fmt.Errorf("%w: %q is of another scope", memory.ErrTenant, e.Key)
	}
	if err := newIncoming().decodeOld(e, p.Part, name); err != nil {
		return fmt.Errorf("%w: %q: %w", store.ErrDamaged, e.Key, err)
	}
	return nil
}

// Adopt moves the identities of earlier versions into a Bank over the same store, with
// their facts, ids, evidence and history. Call it when the Bank was opened, as an Agent
// does. An identity of a scope of more than 512 bytes, by whose hash it lies, moves once
// the Bank has memories of the scope, and stays where it is until then. After an error,
// or a crash, call it again.
func Adopt(ctx context.Context, st store.Store, bank *memory.Bank) error {
	for g, err := range former.Groups(ctx, st) {
		if err == nil {
			err = adopt(ctx, st, bank, g)
		}
		if err != nil {
			return fmt.Errorf("identity: adopt: %w", err)
		}
	}
	return nil
}

// adopt moves records of one part and scope: it merges them with what is there, and then
// removes the old ones.
func adopt(ctx context.Context, st store.Store, bank *memory.Bank, g former.Group) error {
	scope, known := g.Owner(bank)
	if !known {
		return nil
	}
	x, err := New(bank, scope, nil)
	if err != nil {
		return err
	}
	in := newIncoming()
	var ops []store.Op
	for _, r := range g.Records {
		if err := in.decodeOld(r.Entry, g.Part, r.Name); err != nil {
			return err
		}
		ops = append(ops, store.Op{Key: r.Key, Delete: true})
	}
	err = x.unify(ctx, in, new(ImportReport))
	for i := 0; i < len(in.events) && err == nil; i++ {
		e := &in.events[i]
		err = rows.Merge(ctx, x.rows, eventPart, e.mark, replaceBy(e.Event, e.At))
	}
	for name, s := range in.suggested {
		if err == nil {
			err = rows.Merge(ctx, x.rows, suggestionPart, name, replaceBy(s, time.Time{}))
		}
	}
	if err == nil {
		_, err = st.Commit(ctx, ops...)
	}
	return err
}

// replaceBy merges by taking v, of a time, for what is there.
func replaceBy[T any](v T, at time.Time) func(*T) time.Time {
	return func(was *T) time.Time {
		*was = v
		return at
	}
}
