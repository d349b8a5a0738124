package identity

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// View is a fact as it stands at a time.
type View struct {
	Fact
	Effective float64 // the confidence in it, faded
	// Superseded is the fact of the same subject and slot that answers
	// instead; "": none, so that this one does.
	Superseded ID
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
// that answers first; otherwise the older come first.
func (x *Identity) List(ctx context.Context, f Filter) ([]View, error) {
	rows, err := x.all(ctx)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	p, err := x.Profile(ctx)
	if err != nil {
		return nil, err
	}
	return f.apply(rows, p.Settings, x.clock()), nil
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

// latest is now, or the latest time at which a fact was learned by the clock
// of another writer: what is stored was not learned in the future.
func latest(rows []row[Fact], now time.Time) time.Time {
	for i := range rows {
		if c := rows[i].v.Created; c.After(now) {
			now = c
		}
	}
	return now
}

// look returns the facts as they stood at a time and were known at another
// (zero: by now), those that had not begun or were archived too.
func look(rows []row[Fact], at, known time.Time) []View {
	heads := answers(rows, at, known)
	var out []View
	for i := range rows {
		v := View{Fact: rows[i].v}
		if !v.learned(known) {
			continue
		}
		v.Content = v.wordingAt(known)
		if head := heads[slotKey(&v.Fact)]; head != nil && head.ID != v.ID {
			v.Superseded = head.ID
		}
		out = append(out, v)
	}
	return out
}

// apply returns the views of the rows that f selects.
func (f *Filter) apply(rows []row[Fact], s Settings, now time.Time) []View {
	at, fading := f.At, f.At
	if at.IsZero() {
		at, fading = latest(rows, now), now
	}
	out := slices.DeleteFunc(look(rows, at, f.Known), func(v View) bool {
		return v.At.After(at) || !f.Archived && !v.inUse(f.Known) || !f.selects(&v.Fact)
	})
	for i := range out {
		out[i].Effective = out[i].Fact.Effective(fading, s.halfLife(out[i].Category))
	}
	first := map[string]int{}
	for i := range out {
		k := slotKey(&out[i].Fact)
		if _, seen := first[k]; !seen {
			first[k] = i
		}
	}
	slices.SortStableFunc(out, func(a, b View) int {
		if c := cmp.Compare(first[slotKey(&a.Fact)], first[slotKey(&b.Fact)]); c != 0 || a.Slot == "" {
			return c
		}
		if answers := a.Superseded == ""; answers != (b.Superseded == "") {
			if answers {
				return -1
			}
			return 1
		}
		return newest(&a.Fact, &b.Fact)
	})
	return out
}

func (f *Filter) selects(v *Fact) bool {
	return (f.Category == "" || f.Category == v.Category) &&
		(f.Maturity == "" || f.Maturity == v.Maturity) &&
		(f.Visibility == "" || v.Visibility.Within(f.Visibility)) &&
		f.asks(v)
}

// asks reports whether a fact is of the subject and slot.
func (f *Filter) asks(v *Fact) bool {
	if f.Subject != "" && f.Slot != "" {
		return v.Slot != "" && slotKey(v) == question(f.Subject, f.Slot)
	}
	return (f.Subject == "" || canonical(f.Subject) == canonical(v.Subject)) &&
		(f.Slot == "" || canonical(f.Slot) == canonical(v.Slot))
}

// slotKey is equal for facts that answer the same, and unique for others.
func slotKey(f *Fact) string {
	switch {
	case f.Slot == "":
		return "id\x00" + string(f.ID)
	case f.Subject == "": // former versions read it from the text
		return f.Slot
	}
	return question(f.Subject, f.Slot)
}

// question is the slotKey of what has a subject and a slot.
func question(subject, slot string) string { return canonical(subject) + "\x00" + canonical(slot) }

// newest orders what answers before what it replaces. A candidate replaces
// nothing that was confirmed.
func newest(a, b *Fact) int {
	confirmed := func(f *Fact) int { return number(f.Maturity != Candidate) }
	return cmp.Or(confirmed(b)-confirmed(a), b.At.Compare(a.At), b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
}

// answers returns for each slot the fact that answers: the newest of those
// that held at a time, and were known and in use at another.
func answers(rows []row[Fact], at, known time.Time) map[string]*Fact {
	out := map[string]*Fact{}
	for i := range rows {
		f := &rows[i].v
		if f.Slot == "" || f.At.After(at) || !f.learned(known) || !f.inUse(known) {
			continue
		}
		if head := out[slotKey(f)]; head == nil || newest(f, head) < 0 {
			out[slotKey(f)] = f
		}
	}
	return out
}

// MaintainReport says what Maintain did. Facts = Kept + Archived + Already.
type MaintainReport struct {
	Facts    int // all there are
	Kept     int // in use
	Demoted  int // of Kept and Archived: lost a step of maturity in this call
	Archived int // by this call
	Already  int // archived before
	RolledUp int // events
	Inferred int // candidates that were added, with Settings.AutoInfer
}

// Maintain does what time asks for; call it once a day or so. A fact whose
// effective confidence is below DemoteBelow loses one step of maturity, once
// until it is validated again; one below archiveBelow is archived, whatever
// its maturity. Nothing is deleted, and no confidence is written back, so that
// a second call changes nothing. Events that are 30 days old are rolled up.
// After an interruption, call it again.
func (x *Identity) Maintain(ctx context.Context) (MaintainReport, error) {
	var u MaintainReport
	p, err := x.Profile(ctx)
	if err != nil {
		return u, err
	}
	rows, err := x.all(ctx)
	if err != nil {
		return u, err
	}
	for _, r := range rows {
		u.Facts++
		if err := x.fade(ctx, r.v, p.Settings, &u); err != nil {
			return u, err
		}
	}
	if err := x.rollOld(ctx, &u); err != nil || !p.Settings.AutoInfer {
		return u, err
	}
	found, err := x.infer(ctx, defaultLookback)
	for _, s := range found {
		_, added := x.Add(ctx, s.Draft)
		if added == nil {
			u.Inferred++
		} else if !errors.Is(added, ErrRejected) { // rejected meanwhile
			return u, added
		}
	}
	return u, err
}

// fade demotes and archives one fact.
func (x *Identity) fade(ctx context.Context, f Fact, s Settings, u *MaintainReport) error {
	var demoted, archived, already bool
	step := func(f *Fact) bool {
		now := x.clock()
		demoted, archived, already = false, false, !f.Archived.IsZero()
		if already {
			return false
		}
		effective := f.Effective(now, s.halfLife(f.Category))
		if effective < DemoteBelow && f.Demoted.IsZero() && f.Maturity != Candidate {
			demoted, f.Demoted = true, now
			f.Maturity = f.Maturity.below()
		}
		if effective < archiveBelow {
			archived, f.Archived = true, now
		}
		return demoted || archived
	}
	if step(&f) {
		if _, err := x.edit(ctx, f.ID, func(_ *batch, f *Fact) (bool, error) { return step(f), nil }); err != nil {
			return err
		}
	}
	u.Demoted += number(demoted)
	u.Archived += number(archived)
	u.Already += number(already)
	u.Kept += number(!archived && !already)
	return nil
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rollOld rolls up the events that are old enough, and forgets the keys of
// those that are twice as old.
func (x *Identity) rollOld(ctx context.Context, u *MaintainReport) error {
	for more := true; more; {
		n := 0
		err := x.alone(ctx, func(b *batch) error {
			ring, err := each[Event](ctx, x, eventPart)
			if err != nil {
				return err
			}
			days, err := x.days(ctx)
			n = x.roll(b, days, ring, 0)
			return err
		})
		if err != nil {
			return err
		}
		u.RolledUp += n
		more = n == groupEvents
	}
	return x.alone(ctx, func(b *batch) error {
		days, err := x.days(ctx)
		last := x.clock().Add(-markFor).Format(time.DateOnly)
		for name, d := range days {
			if len(d.v.Marks) > 0 && name < last {
				next := d.v.dup()
				next.Marks = nil
				b.putRollup(d, name, &next)
			}
		}
		return err
	})
}
