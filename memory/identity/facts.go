package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/identity/internal/inference"
	"github.com/arc-learn/arc/memory/identity/internal/lists"
	"github.com/arc-learn/arc/memory/identity/internal/rows"
	"github.com/arc-learn/arc/memory/identity/internal/wording"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/store"
)

// Add keeps a fact and returns it. A fact of the category that says the same
// (the same words, whatever the case and punctuation, of no other slot) is returned
// instead, with nothing stored, except that a Manual draft lifts it to what a manual
// fact begins with, also if it has faded since, and that an archived one is brought
// back. So Add may be called again, and two writers never make two of one.
//
// A draft that is not Manual and that was rejected is a *RejectedError; what
// the person says by hand is kept all the same. The other errors are
// [memory.ErrEmpty], ErrValue, [memory.ErrID] and [*store.LimitError].
func (x *Identity) Add(ctx context.Context, d Draft) (Fact, error) {
	said, err := x.fact(d)
	if err != nil {
		return Fact{}, err
	}
	var f Fact
	err = x.rows.Alone(ctx, func(b *rows.Batch) error {
		if said.Source != Manual {
			if err := x.checkRejected(ctx, said.Content); err != nil {
				return err
			}
		}
		said := said
		if d.At.IsZero() && said.Slot != "" {
			if err := x.begin(ctx, &said); err != nil {
				return err
			}
		}
		r, err := x.owner(ctx, &said)
		if r.Stored() && said.Slot != "" && err == nil {
			r, err = x.sayAgain(ctx, r, &said)
		}
		if err != nil {
			return err
		}
		lifted := false
		if f = r.Value; !r.Stored() {
			f = said
			f.ID = ID(x.ids.Draw(x.now()))
		} else if lifted = f.lift(&said); d.Visibility.rank() > f.Visibility.rank() {
			f.Visibility, f.Updated = d.Visibility, after(said.Updated, f.Updated)
		} else if !lifted {
			return nil
		}
		putFact(b, r, &f)
		return nil
	})
	return orNone(f, err)
}

// begin moves the beginning of a fact behind what was told of its slot before, if the clock is behind that.
func (x *Identity) begin(ctx context.Context, f *Fact) error {
	list, err := x.all(ctx)
	for i := range list {
		if o := &list[i].Value; o.slotKey() == f.slotKey() && !o.At.After(o.Created) {
			f.At = after(f.At, o.Created)
		}
	}
	return err
}

// sayAgain returns the fact that says f by now, where r has said it: none, where another fact
// has answered the slot since.
func (x *Identity) sayAgain(ctx context.Context, r rows.Row[Fact], f *Fact) (rows.Row[Fact], error) {
	views, err := x.List(ctx, Filter{Subject: f.Subject, Slot: f.Slot, At: f.At})
	if err != nil || len(views) == 0 || !r.Value.At.Before(views[0].At) {
		return r, err
	}
	said := wording.Canonical(f.Content)
	for _, v := range views {
		if v.Category == f.Category && wording.Canonical(v.Content) == said && !v.At.Before(views[0].At) {
			return rows.Get[Fact](ctx, x.rows, v.ID)
		}
	}
	f.Again = true
	return rows.Row[Fact]{}, nil
}

// fact checks a draft and returns what it would make, without an ID.
func (x *Identity) fact(d Draft) (Fact, error) {
	if (wording.Canonical(d.Subject) == "") != (wording.Canonical(d.Slot) == "") {
		return Fact{}, bad("subject and slot", "one without the other")
	}
	now := x.clock()
	f := Fact{
		Category: d.Category, Content: d.Content, Subject: d.Subject, Slot: d.Slot,
		Confidence: d.Confidence, Maturity: d.Maturity, Source: cmp.Or(d.Source, Manual), Ref: d.Ref,
		Visibility: cmp.Or(d.Visibility, Trusted), At: cmp.Or(keptTime(d.At), now),
		Created: now, Updated: now, Validated: now,
	}
	err := cmp.Or(checkYear(f.At), scrub(x.sanitize, &f))
	f.Category = cmp.Or(f.Category, Category(wording.Category(f.Content)))
	f.begin()
	return f, cmp.Or(err, f.check())
}

// owner returns another fact that says what f says, or a zero row: of the same slot, else
// where one of the two has none.
func (x *Identity) owner(ctx context.Context, f *Fact) (owner rows.Row[Fact], err error) {
	list, err := x.all(ctx)
	said, claim := f.said(), f.claim()
	for _, r := range list {
		switch o := &r.Value; {
		case o.ID == f.ID || err != nil:
		case o.claim() == claim:
			return r, nil
		case !owner.Stored() && (f.Slot == "") != (o.Slot == "") && o.said() == said:
			owner = r
		}
	}
	return owner, err
}

// find returns the fact of an id. One that was merged leads to the fact that stands for
// it, and one that is not there to what Infer has suggested under the id, which is not stored.
func (x *Identity) find(ctx context.Context, id ID) (r rows.Row[Fact], err error) {
	if err := key.CheckID("id", string(id)); err != nil {
		return r, fmt.Errorf("identity: %w", err)
	}
	if id != "" && !strings.HasPrefix(string(id), own) {
		r, err = rows.Get[Fact](ctx, x.rows, id)
	}
	if err != nil || r.Stored() {
		return r, err
	}
	list, err := x.all(ctx)
	for _, r := range list {
		if slices.ContainsFunc(r.Value.Variants, func(v Variant) bool { return v.ID == id }) {
			return r, err
		}
	}
	s, err2 := rows.Get[suggestion](ctx, x.rows, rows.ID(suggestionPart, string(id)))
	if err = errors.Join(err, err2); err == nil && s.Value.Content == "" {
		err = fmt.Errorf("identity: fact %.64q: %w", string(id), store.ErrNotFound)
	}
	if err != nil {
		return r, err
	}
	f, err := x.fact(s.Value.draft())
	if err == nil {
		r, err = x.owner(ctx, &f)
	}
	if !r.Stored() {
		r.Value, r.Value.ID = f, id
	}
	return r, err
}

// Get returns a fact, archived or not. The id of a Variant leads to the fact
// that stands for it, that of a Suggestion to the candidate that it would be. One
// that is not there is [store.ErrNotFound].
func (x *Identity) Get(ctx context.Context, id ID) (Fact, error) {
	r, err := x.find(ctx, id)
	return r.Value, err
}

// editor changes a fact, or returns false to leave it as it is. One that is not stored was
// suggested.
type editor func(b *rows.Batch, f *Fact, stored bool) (bool, error)

// edit changes a fact by fn.
func (x *Identity) edit(ctx context.Context, id ID, fn editor) (f Fact, err error) {
	err = x.rows.Alone(ctx, func(b *rows.Batch) error {
		r, err := x.find(ctx, id)
		if err != nil {
			return err
		}
		f = r.Value
		changed, err := fn(b, &f, r.Stored())
		if err == nil && changed { // by a clock that may be behind
			f.Updated, f.Validated = after(f.Updated, r.Value.Updated), later(f.Validated, r.Value.Validated)
			putFact(b, r, &f)
		}
		return err
	})
	return orNone(f, err)
}

// Edit says what to change of a fact. Empty fields stay as they are.
type Edit struct {
	Content    string
	Category   Category
	Visibility Visibility
	Ref        string
	// Subject and Slot, both or neither, as in Draft.
	Subject, Slot string
}

// Update changes a fact. A former wording is kept in Past, with the last 256. For something that
// has changed in the world, Add a fact of the same subject and slot instead:
// then both stay readable as of their time. The errors are those of Add and
// Get, and ErrKnown.
func (x *Identity) Update(ctx context.Context, id ID, e Edit) (Fact, error) {
	if (e.Subject == "") != (e.Slot == "") {
		return Fact{}, bad("subject and slot", "one without the other")
	}
	if err := scrub(x.sanitize, &e); err != nil {
		return Fact{}, err
	}
	return x.edit(ctx, id, func(b *rows.Batch, f *Fact, _ bool) (bool, error) {
		was := Edit{f.Content, f.Category, f.Visibility, f.Ref, f.Subject, f.Slot}
		is := Edit{
			cmp.Or(e.Content, was.Content), cmp.Or(e.Category, was.Category), cmp.Or(e.Visibility, was.Visibility),
			cmp.Or(e.Ref, was.Ref), cmp.Or(e.Subject, was.Subject), cmp.Or(e.Slot, was.Slot),
		}
		if is.Subject == "" && is.Content != was.Content { // former versions read the slot from the text
			is.Slot = ""
		}
		claim, now := f.claim(), x.clock()
		f.Content, f.Category, f.Visibility = is.Content, is.Category, is.Visibility
		f.Ref, f.Subject, f.Slot = is.Ref, is.Subject, is.Slot
		if err := f.check(); err != nil || is == was {
			return false, err
		}
		if is.Content != was.Content {
			f.Past = lists.Latest(lists.Once(append(f.Past, Past{was.Content, now}), Past.order), maxPast)
		}
		if f.claim() != claim {
			if owner, err := x.owner(ctx, f); err != nil || owner.Stored() {
				return false, cmp.Or(err, fmt.Errorf("%w: %s", ErrKnown, owner.Value.ID))
			}
		}
		f.Updated = now
		return true, nil
	})
}

// Validation says that a fact still holds.
type Validation struct {
	// Key makes it idempotent: of the last 16 validations of a fact, one Key
	// counts once. "": each call counts.
	Key    string
	Reason string // why, in words; kept with the fact
	// Weak is the word of a model, which may repeat itself or another. One Key
	// counts once a day (UTC), also "", and the fact rises to Established at most.
	Weak bool
}

// Validate confirms a fact: validationBoost more of confidence, which fades
// from now on, and one more validation, which with the second makes it
// Established and with the fifth Proven. It never lowers a fact, and brings an
// archived one back. A Suggestion becomes such a fact: Established at once, unless the
// word is Weak. A rejected fact is a *RejectedError: see Archive.
func (x *Identity) Validate(ctx context.Context, id ID, v Validation) (Fact, error) {
	if err := cmp.Or(key.CheckID("key", v.Key), over("reason", len(v.Reason), maxContent)); err != nil {
		return Fact{}, fmt.Errorf("identity: %w", err)
	}
	return x.edit(ctx, id, func(_ *rows.Batch, f *Fact, stored bool) (bool, error) {
		if !f.Rejected.IsZero() {
			return false, &RejectedError{Rejection{Content: f.Content, At: f.Rejected}}
		}
		e := Evidence{Reason: x.clean(v.Reason), At: x.clock()}
		name := v.Key
		if v.Weak {
			name += "\x00" + e.At.Format(time.DateOnly) // no Key has a \x00
		}
		if name != "" {
			e.Key = ident.Name("validation", name)
			if slices.ContainsFunc(f.Evidence, func(o Evidence) bool { return o.Key == e.Key }) {
				return false, nil
			}
		}
		if f.validate(e, v.Weak); !stored && !v.Weak { // a person has taken up what was suggested
			f.Maturity = Established
		}
		return true, nil
	})
}

// Archive puts a fact aside, so that it is neither listed nor projected by default, and
// nothing of it is deleted; or it brings one back that was archived or rejected, with its
// maturity and with at least DemoteBelow of confidence, which fades from now on. The
// rejection of its text is taken back then.
func (x *Identity) Archive(ctx context.Context, id ID, archived bool) (Fact, error) {
	return x.edit(ctx, id, func(_ *rows.Batch, f *Fact, _ bool) (bool, error) {
		if archived != f.Archived.IsZero() {
			return false, nil
		}
		f.Updated = x.clock()
		if archived {
			f.Archived = f.Updated
			return true, nil
		}
		f.restore(f.Updated)
		f.Confidence, f.Validated = max(f.Confidence, DemoteBelow), f.Updated
		return true, nil
	})
}

// RejectedError says that something was rejected, and why. It matches
// [ErrRejected].
type RejectedError struct{ Rejection }

// Error names the reason, not the text.
func (e *RejectedError) Error() string {
	s := fmt.Sprintf("%v, on %s", ErrRejected, e.At.Format(time.DateOnly))
	if n := len(e.Reasons); n > 0 {
		s += ": " + e.Reasons[n-1]
	}
	return s
}

// Unwrap returns ErrRejected.
func (e *RejectedError) Unwrap() error { return ErrRejected }

// Reject archives a fact, and has it never suggested again, for a reason, which may be
// empty: Infer leaves out every candidate that holds its words, whole and next to each
// other, or whose words it holds; and Add refuses a draft like that unless it is Manual.
// A Suggestion becomes such a fact. It is idempotent.
func (x *Identity) Reject(ctx context.Context, id ID, reason string) (Fact, error) {
	reason = x.clean(reason)
	if err := over("reason", len(reason), maxContent); err != nil {
		return Fact{}, err
	}
	return x.edit(ctx, id, func(b *rows.Batch, f *Fact, stored bool) (bool, error) {
		err := x.block(ctx, b, f, f.Content, reason)
		if topic, of := strings.CutSuffix(f.Content, inference.Developing); of && !stored { // it was suggested
			err = errors.Join(err, x.block(ctx, b, f, topic, reason))
		}
		if err != nil || !f.Rejected.IsZero() {
			return false, err
		}
		f.reject(after(x.clock(), f.Restored))
		f.Updated = f.Rejected
		return true, nil
	})
}

// block has a text of a fact never suggested again.
func (x *Identity) block(ctx context.Context, b *rows.Batch, f *Fact, text, reason string) error {
	return rows.MergeIn(ctx, x.rows, b, rejectionPart, rejectionName(text), func(r *Rejection) time.Time {
		if f.Rejected.IsZero() && !r.At.After(f.Restored) { // it was taken back
			*r = Rejection{}
		}
		if known := slices.Contains(r.Reasons, reason); r.Content == "" || reason != "" && !known {
			r.Content, r.At = text, later(r.At, cmp.Or(f.Rejected, after(x.clock(), f.Restored)))
			if reason != "" {
				r.give(reason, after(x.clock(), f.Restored))
			}
		}
		return r.At
	})
}

// Rejections returns what is not to be suggested, the oldest first. What was taken back with
// a fact, by all of its wordings, is not among them.
func (x *Identity) Rejections(ctx context.Context) ([]Rejection, error) {
	list, err := rows.All[Rejection](ctx, x.rows, rejectionPart)
	stand, err2 := x.standing(ctx)
	var out []Rejection
	for _, r := range list {
		if stand(&r.Value); r.Value.Content != "" {
			out = append(out, r.Value)
		}
	}
	slices.SortFunc(out, func(a, b Rejection) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Content, b.Content)) })
	return out, errors.Join(err, err2)
}

// refused returns what is not to be suggested, that of a fact that only a document calls
// rejected too.
func (x *Identity) refused(ctx context.Context) ([]Rejection, error) {
	out, err := x.Rejections(ctx)
	facts, err2 := x.all(ctx)
	for _, r := range facts {
		if f := &r.Value; !f.Rejected.IsZero() {
			out = append(out, Rejection{Content: f.Content, At: f.Rejected})
		}
	}
	return out, errors.Join(err, err2)
}

// checkRejected returns a *RejectedError for a text that a rejection covers: one of them
// holds the other as whole words. So «Go» covers «Learning Go», and not «MongoDB».
func (x *Identity) checkRejected(ctx context.Context, text string) error {
	refused, err := x.refused(ctx)
	topic := strings.TrimSuffix(wording.Canonical(text), inference.Developing)
	for _, r := range refused {
		if wording.Overlap(r.Content, text) || wording.Overlap(r.Content, topic) {
			return &RejectedError{r}
		}
	}
	return err
}
