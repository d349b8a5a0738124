package identity

import (
	"context"
	"errors"
	"time"
)

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
// until it is validated again; one below ArchiveBelow is archived, whatever
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
	found, err := x.infer(ctx, DefaultLookback)
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
		if effective < ArchiveBelow {
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
