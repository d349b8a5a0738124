package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Versions before this one kept an identity in records of its own, below "identity" by
// part and scope: p the profile, f the facts, b what was rejected, s what was suggested,
// e the events, k when those with a Key were, r the roll-ups; and c and h, which follow
// from these. A scope of more than 512 bytes was hashed.
const (
	oldRoot   = "identity"
	longScope = 512
)

// oldParts decode what lies under each part.
var oldParts = map[string]func(store.Entry) error{
	"p": decodes[Profile], "f": decodes[Fact], "b": decodes[Rejection], "s": decodes[suggestion], "e": decodes[oldEvent],
	"k": decodes[oldMark], "r": decodes[rollup], "c": decodes[struct{}], "h": decodes[struct{}],
}

func decodes[T any](e store.Entry) error { return codec.Decode(e, new(T)) }

// Check returns why Adopt could not move an entry of a scope, or nil: store.ErrDamaged for
// one that no Identity has written, memory.ErrTenant for one of another scope.
func Check(e store.Entry, scope memory.Scope) error {
	p := key.Split(e.Key)
	if len(p) < 3 || len(p) > 4 || p[0] != oldRoot || oldParts[p[1]] == nil {
		return fmt.Errorf("%w: %q is no identity", store.ErrDamaged, e.Key)
	}
	if of := memory.Scope(p[2]); of.Check() != nil || !of.Within(scope) {
		return fmt.Errorf("%w: %q is of another scope", memory.ErrTenant, e.Key)
	}
	return oldParts[p[1]](e)
}

// oldEvent is an event of before, with its mark.
type oldEvent struct {
	Mark string `cbor:"1,keyasint"`
	Event
}

// oldMark is when an event was that has a Key.
type oldMark struct {
	At time.Time `cbor:"1,keyasint"`
}

// groupOld is how many records move together.
const groupOld = 64

// Adopt moves the identities of earlier versions into a Bank over the same store, with
// their facts, ids, evidence and history. Call it when the Bank was opened, as an Agent
// does. An identity of a scope of more than 512 bytes, by whose hash it lies, moves once
// the Bank has memories of the scope, and stays where it is until then. After an error,
// or a crash, call it again.
func Adopt(ctx context.Context, st store.Store, bank *memory.Bank) error {
	long := map[string]memory.Scope{}
	var group []store.Entry
	var of [2]string // part and scope of the group
	for e, err := range st.Scan(ctx, store.Range{Prefix: key.Prefix(oldRoot)}) {
		if err != nil {
			return fmt.Errorf("identity: adopt: %w", err)
		}
		if group == nil {
			for scope := range bank.Scopes() {
				if len(scope) > longScope {
					long["#"+digest(string(scope))] = scope
				}
			}
		}
		p := append(key.Split(e.Key), "", "")
		if next := [2]string{p[1], p[2]}; len(group) == groupOld || next != of && len(group) > 0 {
			if err := adopt(ctx, st, bank, long, group); err != nil {
				return err
			}
			group = group[:0]
		}
		group, of = append(group, e), [2]string{p[1], p[2]}
	}
	return adopt(ctx, st, bank, long, group)
}

// adopt moves records of one part and scope: it writes the new ones, unless they are
// there, and then removes the old ones.
func adopt(ctx context.Context, st store.Store, bank *memory.Bank, long map[string]memory.Scope, group []store.Entry) error {
	if len(group) == 0 {
		return nil
	}
	p := append(key.Split(group[0].Key), "", "")
	scope := memory.Scope(p[2])
	if p[2] != "" && p[2][0] == '#' {
		if scope = long[p[2]]; scope == "" {
			return nil
		}
	}
	x, err := New(bank, scope, nil)
	if err == nil {
		err = x.alone(ctx, func(b *batch) error { return b.adopt(ctx, p[1], group) })
	}
	if err != nil {
		return fmt.Errorf("identity: adopt %q: %w", group[0].Key, err)
	}
	var ops []store.Op
	for _, e := range group {
		ops = append(ops, store.Op{Key: e.Key, Delete: true})
	}
	if _, err := st.Commit(ctx, ops...); err != nil {
		return fmt.Errorf("identity: adopt: %w", err)
	}
	return nil
}

func (b *batch) adopt(ctx context.Context, part string, group []store.Entry) error {
	marks := map[string][]string{}
	for _, e := range group {
		p := key.Split(e.Key)
		last := p[len(p)-1]
		var err error
		switch part {
		case "p":
			err = moveOne(ctx, b, e, func(*Profile) ID { return profileID }, b.putProfile)
		case "f":
			err = moveOne(ctx, b, e, func(f *Fact) ID { return f.ID }, b.putFact)
		case "b":
			err = moveOne(ctx, b, e, func(r *Rejection) ID { return rejectionID(r.Content) }, b.putRejection)
		case "s":
			err = moveOne(ctx, b, e, func(*suggestion) ID { return idOf(suggestionPart, last) },
				func(was row[suggestion], s *suggestion) { b.putSuggestion(was, last, s) })
		case "e":
			err = moveOne(ctx, b, e, func(e *oldEvent) ID { return idOf(eventPart, e.Mark) },
				func(_ row[oldEvent], e *oldEvent) { b.putEvent(row[Event]{}, e.Mark, &e.Event) })
		case "r":
			err = b.moveRollup(ctx, e, last)
		case "k":
			var m oldMark
			r, lost := fetch[Event](ctx, b.x, idOf(eventPart, last))
			if err = errors.Join(codec.Decode(e, &m), lost); err == nil && !r.stored() {
				day := m.At.Format(time.DateOnly)
				marks[day] = append(marks[day], last)
			}
		}
		if err != nil {
			return err
		}
	}
	for day, more := range marks {
		r, err := fetch[rollup](ctx, b.x, idOf(rollupPart, day))
		if err != nil {
			return err
		}
		next := r.v.dup()
		next.Marks = lastOf(slices.Compact(slices.Sorted(slices.Values(append(next.Marks, more...)))), maxMarks)
		b.putRollup(r, day, &next)
	}
	return nil
}

// moveRollup moves the counts of a day, beside the marks that were moved before.
func (b *batch) moveRollup(ctx context.Context, e store.Entry, day string) error {
	var old rollup
	r, err := fetch[rollup](ctx, b.x, idOf(rollupPart, day))
	if err = errors.Join(err, codec.Decode(e, &old)); err == nil && len(r.v.Counts) == 0 {
		old.Marks = r.v.Marks
		b.putRollup(r, day, &old)
	}
	return err
}

// moveOne puts what a record holds under its new id, unless there is something.
func moveOne[T any](ctx context.Context, b *batch, e store.Entry, id func(*T) ID, put func(row[T], *T)) error {
	var v T
	if err := codec.Decode(e, &v); err != nil {
		return err
	}
	r, err := fetch[T](ctx, b.x, id(&v))
	if err == nil && !r.stored() {
		put(r, &v)
	}
	return err
}
