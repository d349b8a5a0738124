package identity

import (
	"cmp"
	"context"
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
	err = x.alone(ctx, func(b *batch) error {
		if f.Source != Manual {
			if err := x.checkRejected(ctx, f.Content); err != nil {
				return err
			}
		}
		r, err := x.owner(ctx, &f)
		if err != nil {
			return err
		}
		if kept = r.v; !r.stored() {
			f.ID = ID(x.draw())
			kept = f
		} else if !lift(&kept, &f) {
			return nil
		} else if !r.v.Rejected.IsZero() {
			if err := x.unblock(ctx, b, kept.Content); err != nil {
				return err
			}
		}
		b.putFact(r, &kept)
		return nil
	})
	if err != nil {
		return Fact{}, err
	}
	return kept, nil
}

// lift applies what was said again, and reports whether that changed anything.
func lift(known, said *Fact) bool {
	archived := !known.Archived.IsZero()
	rank, more := said.Maturity.rank()-known.Maturity.rank(), said.Confidence > known.Confidence
	manual := said.Source == Manual && (rank > 0 || more)
	if !archived && !manual {
		return false
	}
	if archived {
		known.restore(said.Updated)
	}
	if manual {
		if rank > 0 {
			known.Maturity = said.Maturity
		}
		known.Validations = max(known.Validations, said.Validations)
	}
	known.Confidence, known.Validated, known.Updated = max(known.Confidence, said.Confidence), said.Validated, said.Updated
	return true
}

// restore brings a fact back that was put aside.
func (f *Fact) restore(now time.Time) {
	if !f.Rejected.IsZero() {
		f.Restored = now
	}
	f.Archived, f.Rejected, f.Demoted = time.Time{}, time.Time{}, time.Time{}
}

// fact checks a draft and returns what it would make, without an ID.
func (x *Identity) fact(d Draft) (Fact, error) {
	if (canonical(d.Subject) == "") != (canonical(d.Slot) == "") {
		return Fact{}, fmt.Errorf("identity: %w: a subject without a slot, or a slot without a subject", ErrValue)
	}
	now := x.clock()
	f := Fact{
		Category: d.Category, Content: d.Content, Subject: d.Subject, Slot: d.Slot,
		Confidence: d.Confidence, Maturity: d.Maturity, Source: cmp.Or(d.Source, Manual), Ref: d.Ref,
		Visibility: cmp.Or(d.Visibility, Trusted), At: keptTime(d.At), Created: now, Updated: now, Validated: now,
	}
	scrub(x.sanitize, &f)
	f.Category = cmp.Or(f.Category, categorize(f.Content))
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
	f.Confidence, f.Maturity = cmp.Or(f.Confidence, confidence), cmp.Or(f.Maturity, maturity)
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

// claim is equal for facts that say the same.
func (f *Fact) claim() string { return digest("claim", string(f.Category), canonical(f.Content)) }

// putFact writes a fact. The text of one that is Local is for no embedder.
func (b *batch) putFact(was row[Fact], f *Fact) {
	is := memory.Record{ID: f.ID, Kind: memory.Fact, Thread: factPart, Actor: f.claim(), At: f.At, Known: f.Created}
	if f.Visibility.Within(Trusted) {
		is.Content = f.Content
	}
	put(b, was, is, f)
}

// owner returns the fact that says what f says, or a zero row.
func (x *Identity) owner(ctx context.Context, f *Fact) (r row[Fact], err error) {
	recs, err := x.space.Latest(ctx, factPart, math.MaxInt)
	if err != nil {
		return r, fmt.Errorf("identity: %w", err)
	}
	if i := slices.IndexFunc(recs, func(r memory.Record) bool { return r.Actor == f.claim() }); i >= 0 {
		return decoded[Fact](recs[i])
	}
	return r, nil
}

// row returns the fact of an id, or a zero row.
func (x *Identity) row(ctx context.Context, id ID) (r row[Fact], err error) {
	if err := key.CheckID("id", string(id)); err != nil {
		return r, fmt.Errorf("identity: %w", err)
	}
	if id == "" || strings.HasPrefix(string(id), own) {
		return r, nil
	}
	if r, err = fetch[Fact](ctx, x, id); err != nil || r.stored() {
		return r, err
	}
	rows, err := each[Fact](ctx, x, factPart)
	for i := range rows { // it may have been merged into another
		if slices.ContainsFunc(rows[i].v.Variants, func(v Variant) bool { return v.ID == id }) {
			return rows[i], nil
		}
	}
	return r, err
}

// find is row, where a fact that is not there is what Infer has suggested under the id,
// or else store.ErrNotFound.
func (x *Identity) find(ctx context.Context, id ID) (r row[Fact], topic string, err error) {
	if r, err = x.row(ctx, id); err != nil || r.stored() {
		return r, "", err
	}
	return x.suggested(ctx, id)
}

// all returns all facts with their records, the oldest first.
func (x *Identity) all(ctx context.Context) ([]row[Fact], error) {
	out, err := each[Fact](ctx, x, factPart)
	slices.SortFunc(out, func(a, b row[Fact]) int { return older(&a.v, &b.v) })
	return out, err
}

// older orders facts by when they were learned.
func older(a, b *Fact) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) }

// Get returns a fact, archived or not. The id of a Variant leads to the fact
// that stands for it, that of a Suggestion to the candidate that it would be. One
// that is not there is [store.ErrNotFound].
func (x *Identity) Get(ctx context.Context, id ID) (Fact, error) {
	r, _, err := x.find(ctx, id)
	return r.v, err
}

// edit changes a fact by fn, which returns false to leave it as it is. What
// Maintain does is no update: it follows from the time alone.
func (x *Identity) edit(ctx context.Context, id ID, fn func(b *batch, f *Fact) (bool, error)) (Fact, error) {
	var f Fact
	err := x.alone(ctx, func(b *batch) error {
		r, topic, err := x.find(ctx, id)
		if err != nil {
			return err
		}
		f, b.topic = r.v, topic
		changed, err := fn(b, &f)
		if err == nil && changed {
			b.putFact(r, &f)
		}
		return err
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
	if (e.Subject == "") != (e.Slot == "") {
		return Fact{}, fmt.Errorf("identity: %w: a subject without a slot, or a slot without a subject", ErrValue)
	}
	scrub(x.sanitize, &e)
	return x.edit(ctx, id, func(b *batch, f *Fact) (bool, error) {
		was := *f
		f.Content, f.Category, f.Visibility = cmp.Or(e.Content, f.Content), cmp.Or(e.Category, f.Category), cmp.Or(e.Visibility, f.Visibility)
		f.Ref, f.Subject, f.Slot = cmp.Or(e.Ref, f.Ref), cmp.Or(e.Subject, f.Subject), cmp.Or(e.Slot, f.Slot)
		if f.Subject == "" && f.Content != was.Content { // former versions read the slot from the text
			f.Slot = ""
		}
		if err := f.check(); err != nil {
			return false, err
		}
		if f.Content != was.Content {
			f.Past = once(append(f.Past, Past{was.Content, x.clock()}), Past.order)
		}
		if f.claim() != was.claim() {
			if owner, err := x.owner(ctx, f); err != nil {
				return false, err
			} else if owner.stored() {
				return false, fmt.Errorf("identity: %w: %s", ErrKnown, owner.v.ID)
			}
		}
		changed := f.Content != was.Content || f.Category != was.Category || f.Visibility != was.Visibility ||
			f.Ref != was.Ref || f.Subject != was.Subject || f.Slot != was.Slot
		if changed {
			f.Updated = x.clock()
		}
		return changed, nil
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

// Validate confirms a fact: ValidationBoost more of confidence, which fades
// from now on, and one more validation, which with the second makes it
// Established and with the fifth Proven. It never lowers a fact, and brings an
// archived one back. A Suggestion becomes such a fact. A rejected fact is a
// *RejectedError: see Restore.
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
			name += "\x00" + e.At.Format(time.DateOnly) // no Key has a \x00
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
	f.Evidence = lastOf(both(append(f.Evidence, e), nil, Evidence.order), maxEvidence)
}

// lastOf returns the last n of a list.
func lastOf[T any](list []T, n int) []T { return slices.Clone(list[max(0, len(list)-n):]) }

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
		now := x.clock()
		f.restore(now)
		f.Confidence, f.Validated, f.Updated = max(f.Confidence, DemoteBelow), now, now
		return true, nil
	})
}
