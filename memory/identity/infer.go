package identity

import (
	"context"
	"errors"
	"time"

	"github.com/arc-learn/arc/memory/identity/internal/inference"
	"github.com/arc-learn/arc/memory/identity/internal/lists"
	"github.com/arc-learn/arc/memory/identity/internal/rollup"
	"github.com/arc-learn/arc/memory/identity/internal/rows"
	"github.com/arc-learn/arc/memory/identity/internal/wording"
	"github.com/arc-learn/arc/memory/internal/ident"
)

// defaultLookback is how far back Infer looks unless told otherwise.
const defaultLookback = 7 * day

// What Infer suggests.
const (
	maxSuggested = 5
	suggestTimes = 2 // how often something is suggested before it is let be
)

// Suggestion is a fact that events speak for. Validate keeps it as established (with Weak,
// as a candidate that was confirmed once), and Reject as one that was refused. To keep it
// as it is, Add its Draft.
type Suggestion struct {
	ID    ID // for Validate and Reject; always the same
	Draft Draft
	Topic string
	Count int // visits, or other events
	Days  int // on which there were any, in UTC
}

// Infer returns what the events of the last lookback (0: defaultLookback) speak
// for, the best founded first, five at most. Nothing is added to the facts.
//
// A topic needs events of a weight of three; its confidence is 0.4 + 0.05 of their
// weight, 0.8 at most. An event weighs as many minutes as its Dwell has, from 0.2 to
// 3, and 1 without. The topic is that of the event, or what is known of the site at its
// address. Left out are topics that were rejected or that a fact in use
// mentions already, both by whole words, and those that were suggested twice
// before: who has not taken them up by then does not want to. The same events
// always give the same suggestions.
func (x *Identity) Infer(ctx context.Context, lookback time.Duration) ([]Suggestion, error) {
	found, err := x.infer(ctx, lookback)
	var out []Suggestion
	for i := 0; i < len(found) && len(out) < maxSuggested && err == nil; i++ {
		s, fresh := found[i], false
		err = x.rows.Change(ctx, func(b *rows.Batch) error {
			r, err := rows.Get[suggestion](ctx, x.rows, rows.ID(suggestionPart, string(s.ID)))
			if fresh = r.Value.Times < suggestTimes; fresh {
				rows.Put(b, r, suggestionPart, string(s.ID), time.Time{},
					&suggestion{r.Value.Times + 1, s.Draft.Content, s.Draft.Category, s.Draft.Confidence, s.Draft.Ref})
			}
			return err
		})
		if fresh {
			out = append(out, s)
		}
	}
	return orNone(out, err)
}

// infer returns all that the events speak for, the best founded first. Those that were rolled
// up are among them if their whole day is within the lookback, those of the future are not.
func (x *Identity) infer(ctx context.Context, lookback time.Duration) (out []Suggestion, err error) {
	if lookback <= 0 {
		lookback = defaultLookback
	}
	now := x.clock()
	p, err := x.Profile(ctx)
	events := inference.Events{From: now.Add(-lookback), To: now, Without: p.Settings.ExcludedDomains}
	ring, err2 := rows.All[Event](ctx, x.rows, eventPart)
	for i := range ring {
		events.Add(countOf(&ring[i].Value), ring[i].Value.At)
	}
	days, err3 := rows.All[rollup.Day](ctx, x.rows, rollupPart)
	for _, d := range days {
		for _, c := range d.Value.Counts {
			events.Add(c, d.Was.At)
		}
	}
	var known []string
	views, err4 := x.List(ctx, Filter{})
	for _, v := range views {
		known = append(known, v.Content)
	}
	refused, err5 := x.refused(ctx)
	for _, r := range refused {
		known = append(known, r.Content)
	}
	for _, t := range events.Topics(known) {
		out = append(out, Suggestion{
			ID: ID(ident.Name("suggestion", t.Category, wording.Canonical(t.Content))),
			Draft: Draft{
				Content: t.Content, Category: Category(t.Category), Source: Inferred, Ref: t.Ref, Confidence: t.Confidence,
			},
			Topic: t.Name, Count: t.Count, Days: t.Days,
		})
	}
	return out, errors.Join(err, err2, err3, err4, err5)
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
func (x *Identity) Maintain(ctx context.Context) (u MaintainReport, err error) {
	p, err := x.Profile(ctx)
	list, err2 := x.all(ctx)
	if err = errors.Join(err, err2); err != nil {
		return u, err
	}
	u.Facts = len(list)
	for _, r := range list {
		var demoted, archived bool
		// No update: it follows from the time alone.
		f, err := x.edit(ctx, r.Value.ID, func(_ *rows.Batch, f *Fact, _ bool) (bool, error) {
			demoted, archived = f.fade(x.clock(), p.Settings.halfLife(f.Category))
			return demoted || archived, nil
		})
		if err != nil {
			return u, err
		}
		u.Demoted, u.Archived = u.Demoted+lists.Number(demoted), u.Archived+lists.Number(archived)
		u.Already += lists.Number(!archived && !f.Archived.IsZero())
	}
	u.Kept = u.Facts - u.Archived - u.Already
	if err := x.rollOld(ctx, &u); err != nil || !p.Settings.AutoInfer {
		return u, err
	}
	found, err := x.infer(ctx, 0)
	for _, s := range found {
		_, added := x.Add(ctx, s.Draft)
		if !errors.Is(added, ErrRejected) { // meanwhile
			err = errors.Join(err, added)
		}
		u.Inferred += lists.Number(added == nil)
	}
	return u, err
}

// rollOld rolls up the events that are old enough, and forgets the keys of
// those that are twice as old.
func (x *Identity) rollOld(ctx context.Context, u *MaintainReport) error {
	for more := true; more; {
		n := 0
		if err := x.rows.Alone(ctx, func(b *rows.Batch) error {
			ring, err := rows.All[Event](ctx, x.rows, eventPart)
			days, err2 := x.days(ctx)
			if err = errors.Join(err, err2); err != nil {
				return err
			}
			n = x.roll(b, days, ring, 0)
			more = n > 0
			for name, d := range days {
				old := name < x.clock().Add(-markFor).Format(time.DateOnly)
				if n == 0 && old && len(d.Value.Marks) > 0 && !b.Full() {
					d.Value.Marks, more = nil, true
					rows.Put(b, d, rollupPart, name, d.Was.At, &d.Value)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		u.RolledUp += n
	}
	return nil
}
