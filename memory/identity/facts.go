package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Add keeps a fact and returns it. A fact of the category that says the same
// (the same words, whatever the case and punctuation) is returned instead,
// with nothing stored, except that a Manual draft lifts it to what a manual
// fact begins with, and that an archived one is brought back. So Add may be
// called again, and two writers never make two of one.
//
// A draft that is not Manual and that was rejected is a *RejectedError; what
// the person says by hand is kept all the same. The other errors are
// [memory.ErrEmpty], ErrValue, [memory.ErrID] and [*store.LimitError].
func (x *Identity) Add(ctx context.Context, d Draft) (Fact, error) {
	f, err := x.fact(d)
	if err != nil {
		return Fact{}, err
	}
	var kept Fact
	err = x.change(ctx, func(b *batch) error {
		if f.Source != Manual {
			if err := x.checkRejected(ctx, f.Content); err != nil {
				return err
			}
		}
		owner, err := x.owner(ctx, &f)
		switch {
		case err != nil:
			return err
		case owner.rev == 0:
			f.ID = ID(x.draw())
			kept = f
			b.putFact(0, f)
			return x.claim(ctx, b, &f)
		}
		kept = owner.v
		if lift(&kept, &f) {
			b.putFact(owner.rev, kept)
			if !owner.v.Rejected.IsZero() {
				return x.unblock(ctx, b, kept.Content)
			}
		}
		return nil
	})
	if err != nil {
		return Fact{}, err
	}
	return kept, nil
}

// lift applies what was said again, and reports whether that changed anything.
func lift(known, said *Fact) bool {
	change := false
	if !known.Archived.IsZero() {
		change = true
		known.Archived, known.Rejected, known.Demoted = time.Time{}, time.Time{}, time.Time{}
		known.Confidence, known.Validated = max(known.Confidence, said.Confidence), said.Validated
	}
	if said.Source == Manual && (known.Maturity.rank() < said.Maturity.rank() || known.Confidence < said.Confidence) {
		change = true
		if known.Maturity.rank() < said.Maturity.rank() {
			known.Maturity = said.Maturity
		}
		known.Confidence, known.Validated = max(known.Confidence, said.Confidence), said.Validated
		known.Validations = max(known.Validations, said.Validations)
	}
	if change {
		known.Updated = said.Updated
	}
	return change
}

// fact checks a draft and returns what it would make, without an ID.
func (x *Identity) fact(d Draft) (Fact, error) {
	if (canonical(d.Subject) == "") != (canonical(d.Slot) == "") {
		return Fact{}, fmt.Errorf("identity: %w: a subject without a slot, or a slot without a subject", ErrValue)
	}
	now := x.clock()
	if d.Source == "" {
		d.Source = Manual
	}
	f := Fact{
		Category: Category(x.clean(string(d.Category))), Content: x.clean(d.Content), Subject: x.clean(d.Subject), Slot: x.clean(d.Slot),
		Confidence: d.Confidence, Maturity: d.Maturity, Source: Source(x.clean(string(d.Source))), Ref: x.clean(d.Ref), Visibility: d.Visibility,
		At: keptTime(d.At), Created: now, Updated: now, Validated: now,
	}
	if f.Category == "" {
		f.Category = Categorize(f.Content)
	}
	if f.Visibility == "" {
		f.Visibility = Trusted
	}
	if f.At.IsZero() {
		f.At = now
	}
	begin(&f)
	return f, f.check()
}

// begin fills what the source of a fact decides, where it is empty.
func begin(f *Fact) {
	confidence, maturity := 0.5, Candidate
	if f.Source == Manual {
		confidence, maturity = 1, Established
		f.Validations = 1
	}
	if f.Confidence == 0 {
		f.Confidence = confidence
	}
	if f.Maturity == "" {
		f.Maturity = maturity
	}
}

// check tells what of a fact cannot be kept.
func (f *Fact) check() error {
	if len(f.Content) > MaxContent {
		return &store.LimitError{Field: "content", Limit: MaxContent, Got: len(f.Content)}
	}
	if strings.TrimSpace(f.Content) == "" {
		return fmt.Errorf("identity: content: %w", memory.ErrEmpty)
	}
	bad := func(field, got string) error { return fmt.Errorf("identity: %w: %s %.32q", ErrValue, field, got) }
	switch {
	case !isName(string(f.Category)):
		return bad("category", string(f.Category))
	case !isName(string(f.Source)):
		return bad("source", string(f.Source))
	case f.Visibility.rank() == 0:
		return bad("visibility", string(f.Visibility))
	case f.Maturity.rank() == 0:
		return bad("maturity", string(f.Maturity))
	case !(f.Confidence >= 0 && f.Confidence <= 1): // NaN too
		return fmt.Errorf("identity: %w: confidence %v", ErrValue, f.Confidence)
	case f.Subject != "" && canonical(f.Slot) == "":
		return fmt.Errorf("identity: %w: a subject without a slot", ErrValue)
	case len(f.Variants) > maxVariants:
		return &store.LimitError{Field: "variants", Limit: maxVariants, Got: len(f.Variants)}
	case !goodYear(f.At):
		return &store.LimitError{Field: "year of At", Limit: 9999, Got: f.At.Year()}
	}
	for _, s := range []struct{ field, text string }{{"subject", f.Subject}, {"slot", f.Slot}, {"ref", f.Ref}} {
		if err := key.CheckID(s.field, s.text); err != nil {
			return fmt.Errorf("identity: %w", err)
		}
	}
	return nil
}

func goodYear(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

func (b *batch) putFact(rev store.Revision, f Fact) {
	b.put(factPart, string(f.ID), rev, storedFact(f))
}

// storedFact is a Fact on disk.
type storedFact struct {
	ID          ID                         `cbor:"1,keyasint"`
	Category    Category                   `cbor:"2,keyasint"`
	Content     string                     `cbor:"3,keyasint"`
	Subject     string                     `cbor:"4,keyasint,omitempty"`
	Slot        string                     `cbor:"5,keyasint,omitempty"`
	Confidence  float64                    `cbor:"6,keyasint,omitempty"`
	Maturity    Maturity                   `cbor:"7,keyasint"`
	Source      Source                     `cbor:"8,keyasint"`
	Ref         string                     `cbor:"9,keyasint,omitempty"`
	Visibility  Visibility                 `cbor:"10,keyasint"`
	Validations int                        `cbor:"11,keyasint,omitempty"`
	Evidence    []Evidence                 `cbor:"12,keyasint,omitempty"`
	At          time.Time                  `cbor:"13,keyasint,omitzero"`
	Created     time.Time                  `cbor:"14,keyasint,omitzero"`
	Updated     time.Time                  `cbor:"15,keyasint,omitzero"`
	Validated   time.Time                  `cbor:"16,keyasint,omitzero"`
	Demoted     time.Time                  `cbor:"17,keyasint,omitzero"`
	Archived    time.Time                  `cbor:"18,keyasint,omitzero"`
	Rejected    time.Time                  `cbor:"19,keyasint,omitzero"`
	Past        []Past                     `cbor:"20,keyasint,omitempty"`
	Variants    []Variant                  `cbor:"21,keyasint,omitempty"`
	Extra       map[string]json.RawMessage `cbor:"22,keyasint,omitempty"`
	Damaged     map[string]json.RawMessage `cbor:"23,keyasint,omitempty"`
}

// claimName is the name under which the canonical form of a fact is taken.
func claimName(f *Fact) string { return digest("claim", string(f.Category), canonical(f.Content)) }

// claimed names the fact that has a canonical form.
type claimed struct {
	ID ID `cbor:"1,keyasint"`
}

// owner returns the fact that says what f says, or a zero row.
func (x *Identity) owner(ctx context.Context, f *Fact) (row[Fact], error) {
	c, err := fetch[claimed](ctx, x, canonPart, claimName(f))
	if err != nil || c.rev == 0 {
		return row[Fact]{}, err
	}
	return x.row(ctx, c.v.ID)
}

// claim takes the canonical form of f for it, which owner has found free. It is
// store.ErrConflict if another writer has taken it since.
func (x *Identity) claim(ctx context.Context, b *batch, f *Fact) error {
	free, err := x.claimFree(ctx, b, f)
	if err == nil && !free {
		err = store.ErrConflict
	}
	return err
}

// claimFree takes the canonical form of f for it, and reports false if that is
// another fact's.
func (x *Identity) claimFree(ctx context.Context, b *batch, f *Fact) (bool, error) {
	name := claimName(f)
	c, err := fetch[claimed](ctx, x, canonPart, name)
	if err != nil || c.rev != 0 && c.v.ID == f.ID {
		return true, err
	}
	if c.rev != 0 {
		if owner, err := x.row(ctx, c.v.ID); err != nil || owner.rev != 0 {
			return false, err
		}
	}
	b.put(canonPart, name, c.rev, claimed{f.ID})
	return true, nil
}

// row returns the fact of an id, or a zero row.
func (x *Identity) row(ctx context.Context, id ID) (row[Fact], error) {
	if err := key.CheckID("id", string(id)); err != nil {
		return row[Fact]{}, fmt.Errorf("identity: %w", err)
	}
	if id == "" {
		return row[Fact]{}, nil
	}
	r, err := fetch[storedFact](ctx, x, factPart, string(id))
	if err == nil && r.rev == 0 { // it may have been merged into another
		var c row[claimed]
		if c, err = fetch[claimed](ctx, x, canonPart, aliasName(id)); err == nil && c.rev != 0 {
			r, err = fetch[storedFact](ctx, x, factPart, string(c.v.ID))
		}
	}
	return row[Fact]{r.name, r.rev, Fact(r.v)}, err
}

// all returns all facts with their revisions, the oldest first.
func (x *Identity) all(ctx context.Context) ([]row[Fact], error) {
	var out []row[Fact]
	for r, err := range each[storedFact](ctx, x, factPart, 0) {
		if err != nil {
			return nil, err
		}
		out = append(out, row[Fact]{r.name, r.rev, Fact(r.v)})
	}
	slices.SortStableFunc(out, func(a, b row[Fact]) int { return a.v.Created.Compare(b.v.Created) })
	return out, nil
}

// Get returns a fact, archived or not. The id of a Variant leads to the fact
// that stands for it, that of a Suggestion to the candidate that it would be. One
// that is not there is [store.ErrNotFound].
func (x *Identity) Get(ctx context.Context, id ID) (Fact, error) {
	r, err := x.row(ctx, id)
	if err == nil && r.rev == 0 {
		r, _, err = x.suggested(ctx, id)
	}
	return r.v, err
}

// edit changes a fact by fn, which returns false to leave it as it is. What
// Maintain does is no update: it follows from the time alone.
func (x *Identity) edit(ctx context.Context, id ID, fn func(b *batch, f *Fact) (bool, error)) (Fact, error) {
	var f Fact
	err := x.change(ctx, func(b *batch) error {
		r, err := x.row(ctx, id)
		if err == nil && r.rev == 0 {
			r, b.topic, err = x.suggested(ctx, id)
		}
		if err != nil {
			return err
		}
		f = r.v
		changed, err := fn(b, &f)
		if err != nil || !changed {
			return err
		}
		if b.putFact(r.rev, f); r.rev == 0 { // a suggestion becomes a fact
			return x.claim(ctx, b, &f)
		}
		return nil
	})
	if err != nil {
		return Fact{}, err
	}
	return f, nil
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

// Update changes a fact. A former wording is kept in Past. For something that
// has changed in the world, Add a fact of the same subject and slot instead:
// then both stay readable as of their time. The errors are those of Add and
// Get, and ErrKnown.
func (x *Identity) Update(ctx context.Context, id ID, e Edit) (Fact, error) {
	return x.edit(ctx, id, func(b *batch, f *Fact) (bool, error) {
		was := *f
		set(&f.Content, x.clean(e.Content))
		set(&f.Category, Category(x.clean(string(e.Category))))
		set(&f.Visibility, e.Visibility)
		set(&f.Ref, x.clean(e.Ref))
		if (e.Subject == "") != (e.Slot == "") {
			return false, fmt.Errorf("identity: %w: a subject without a slot, or a slot without a subject", ErrValue)
		}
		set(&f.Subject, x.clean(e.Subject))
		set(&f.Slot, x.clean(e.Slot))
		if f.Subject == "" && f.Content != was.Content { // former versions read the slot from the text
			f.Slot = ""
		}
		if err := f.check(); err != nil {
			return false, err
		}
		if f.Content != was.Content {
			f.Past = append(f.Past, Past{was.Content, x.clock()})
		}
		if claimName(f) != claimName(&was) {
			if err := x.release(ctx, b, &was); err != nil {
				return false, err
			}
			owner, err := x.owner(ctx, f)
			if err != nil {
				return false, err
			}
			if owner.rev != 0 {
				return false, fmt.Errorf("identity: %w: %s", ErrKnown, owner.v.ID)
			}
			if err := x.claim(ctx, b, f); err != nil {
				return false, err
			}
		}
		f.Updated = x.clock()
		return f.Content != was.Content || f.Category != was.Category || f.Visibility != was.Visibility ||
			f.Ref != was.Ref || f.Subject != was.Subject || f.Slot != was.Slot, nil
	})
}

func set[T ~string](field *T, to T) {
	if to != "" {
		*field = to
	}
}

// release gives the canonical form of f back, if it has it.
func (x *Identity) release(ctx context.Context, b *batch, f *Fact) error {
	name := claimName(f)
	c, err := fetch[claimed](ctx, x, canonPart, name)
	if err == nil && c.rev != 0 && c.v.ID == f.ID {
		b.remove(canonPart, name, c.rev)
	}
	return err
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

// Validate confirms a fact: ValidationBoost more of confidence, which fades
// from now on, and one more validation, which with the second makes it
// Established and with the fifth Proven. It never lowers a fact, and brings an
// archived one back. A rejected fact is a *RejectedError: see Restore.
func (x *Identity) Validate(ctx context.Context, id ID, v Validation) (Fact, error) {
	if err := key.CheckID("key", v.Key); err != nil {
		return Fact{}, fmt.Errorf("identity: %w", err)
	}
	if len(v.Reason) > MaxContent {
		return Fact{}, &store.LimitError{Field: "reason", Limit: MaxContent, Got: len(v.Reason)}
	}
	return x.edit(ctx, id, func(_ *batch, f *Fact) (bool, error) {
		if !f.Rejected.IsZero() {
			return false, &RejectedError{Content: f.Content, At: f.Rejected}
		}
		e := Evidence{Reason: x.clean(v.Reason), At: x.clock()}
		name := v.Key
		if v.Weak {
			name += "\x00" + e.At.UTC().Format(time.DateOnly) // no Key has a \x00
		}
		if name != "" {
			e.Key = digest("validation", name)
			if slices.ContainsFunc(f.Evidence, func(o Evidence) bool { return o.Key == e.Key }) {
				return false, nil
			}
		}
		f.validate(e, v.Weak)
		return true, nil
	})
}

func (f *Fact) validate(e Evidence, weak bool) {
	f.Confidence = min(roundOff(f.Confidence+ValidationBoost), 1)
	f.Validations++
	m := matured(f.Validations)
	if weak && m == Proven {
		m = Established
	}
	if m.rank() > f.Maturity.rank() {
		f.Maturity = m
	}
	f.Validated, f.Updated = e.At, e.At
	f.Demoted, f.Archived = time.Time{}, time.Time{}
	f.Evidence = append(f.Evidence, e)
	if n := len(f.Evidence) - maxEvidence; n > 0 {
		f.Evidence = slices.Clone(f.Evidence[n:])
	}
}

// roundOff takes away what adding tenths in binary leaves behind.
func roundOff(v float64) float64 { return math.Round(v*1e12) / 1e12 }

// Archive puts a fact aside: it is neither listed nor projected by default,
// and nothing of it is deleted.
func (x *Identity) Archive(ctx context.Context, id ID) (Fact, error) {
	return x.edit(ctx, id, func(_ *batch, f *Fact) (bool, error) {
		if !f.Archived.IsZero() {
			return false, nil
		}
		f.Archived = x.clock()
		f.Updated = f.Archived
		return true, nil
	})
}

// Restore brings back a fact that was archived or rejected, with its maturity
// and with at least DemoteBelow of confidence, which fades from now on. The
// rejection of its text is taken back.
func (x *Identity) Restore(ctx context.Context, id ID) (Fact, error) {
	return x.edit(ctx, id, func(b *batch, f *Fact) (bool, error) {
		if f.Archived.IsZero() {
			return false, nil
		}
		if !f.Rejected.IsZero() {
			if err := x.unblock(ctx, b, f.Content); err != nil {
				return false, err
			}
		}
		f.Archived, f.Rejected, f.Demoted = time.Time{}, time.Time{}, time.Time{}
		f.Confidence, f.Validated = max(f.Confidence, DemoteBelow), x.clock()
		f.Updated = f.Validated
		return true, nil
	})
}
