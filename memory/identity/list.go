package identity

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/arc-learn/arc/memory/identity/internal/lists"
	"github.com/arc-learn/arc/memory/identity/internal/rows"
	"github.com/arc-learn/arc/memory/identity/internal/wording"
)

// View is a fact as it stands at a time.
type View struct {
	Fact
	Effective float64 // the confidence in it, faded
	// Superseded is the fact of the same subject and slot that answers
	// instead; "": none, so that this one does.
	Superseded ID
	slot       string // slotKey
	later      bool   // it has not begun to hold
}

// Filter selects facts. The zero Filter selects all that are in use.
type Filter struct {
	Category   Category   // "": any
	Maturity   Maturity   // "": any
	Visibility Visibility // those Within it; "": any
	// Subject and Slot select the statements that answer one question, the
	// answering one first: its Superseded is "". One of them alone: the facts that were given it.
	// Empty: any.
	Subject, Slot string
	// Archived brings in those that were archived or rejected.
	Archived bool
	// At asks for what held then: facts that began later are left out, and
	// what answers is what answered then. Zero: now.
	At time.Time
	// Known asks for what was known then, in the wording of then: facts that
	// were learned later are left out, and those that were archived later are
	// in. Zero: now.
	Known time.Time
}

// List returns facts. Those of one subject and slot stand together, the one
// that answers first; otherwise the older come first. An unknown Maturity or Visibility is
// an ErrValue.
func (x *Identity) List(ctx context.Context, f Filter) ([]View, error) {
	switch {
	case f.Maturity != "" && f.Maturity.rank() == 0:
		return nil, bad("maturity", f.Maturity)
	case f.Visibility != "" && f.Visibility.rank() == 0:
		return nil, bad("visibility", f.Visibility)
	}
	views, err := x.views(ctx, f.At, f.Known)
	views = slices.DeleteFunc(views, func(v View) bool { return !f.selects(&v) })
	first := map[string]int{}
	for i := range views {
		if _, seen := first[views[i].slot]; !seen {
			first[views[i].slot] = i
		}
	}
	slices.SortStableFunc(views, func(a, b View) int {
		return cmp.Or(first[a.slot]-first[b.slot],
			lists.Number(a.Superseded != "")-lists.Number(b.Superseded != ""), newest(&a.Fact, &b.Fact))
	})
	return views, err
}

// Due returns the facts that f selects whose effective confidence is below DemoteBelow, the
// most faded first: a person is to confirm them (Validate) or remove them (Archive,
// Reject). The last of a fact's Evidence, or its Source and Ref, says what it rests on.
// One that another fact has superseded is not asked about.
func (x *Identity) Due(ctx context.Context, f Filter) ([]View, error) {
	f.Archived = false
	views, err := x.List(ctx, f)
	views = slices.DeleteFunc(views, func(v View) bool { return v.Superseded != "" || v.Effective >= DemoteBelow })
	slices.SortStableFunc(views, func(a, b View) int { return cmp.Compare(a.Effective, b.Effective) })
	return views, err
}

// selects reports whether a fact is one of those that are asked for.
func (f *Filter) selects(v *View) bool {
	return (f.Archived || v.inUse(f.Known)) && !v.later &&
		(f.Category == "" || f.Category == v.Category) &&
		(f.Maturity == "" || f.Maturity == v.Maturity) &&
		(f.Visibility == "" || v.Visibility.Within(f.Visibility)) &&
		(f.Subject == "" || wording.Canonical(f.Subject) == wording.Canonical(v.Subject)) &&
		(f.Slot == "" || wording.Canonical(f.Slot) == wording.Canonical(v.Slot))
}

// views returns the facts as they stood at a time and were known at another (zero: now),
// those that had not begun or were archived too.
func (x *Identity) views(ctx context.Context, at, known time.Time) ([]View, error) {
	list, err := x.all(ctx)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	p, err := x.Profile(ctx)
	fading := cmp.Or(at, x.clock())
	if at.IsZero() {
		// What is stored was not learned in the future, whatever another writer's clock says.
		at = fading
		for i := range list {
			at = later(at, list[i].Value.Created)
		}
	}
	heads := answers(list, at, known)
	var out []View
	for i := range list {
		v := View{Fact: list[i].Value, slot: list[i].Value.slotKey(), later: list[i].Value.At.After(at)}
		if !v.learned(known) {
			continue
		}
		v.Content = v.wordingAt(known)
		v.Effective = v.Fact.Effective(fading, p.Settings.halfLife(v.Category))
		if head := heads[v.slot]; head != nil && head.ID != v.ID {
			v.Superseded = head.ID
		}
		out = append(out, v)
	}
	return out, err
}

// answers returns for each slot the fact that answers: the newest of those
// that held at a time, and were known and in use at another.
func answers(list []rows.Row[Fact], at, known time.Time) map[string]*Fact {
	out := map[string]*Fact{}
	for i := range list {
		f := &list[i].Value
		if f.Slot == "" || f.At.After(at) || !f.learned(known) || !f.inUse(known) {
			continue
		}
		if head := out[f.slotKey()]; head == nil || newest(f, head) < 0 {
			out[f.slotKey()] = f
		}
	}
	return out
}
