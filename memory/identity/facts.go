package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// ID names a fact within its identity.
type ID = memory.ID

// Category says what a fact is about. The constants are those of the format;
// any other name of at most 64 bytes is kept as it is.
type Category string

// The categories.
const (
	Core       Category = "core"       // who it is
	Expertise  Category = "expertise"  // what they know
	Preference Category = "preference" // how they like things done
	Context    Category = "context"    // where and with what they work
	Focus      Category = "focus"      // what they are at just now
)

// Maturity says how well a fact is established.
type Maturity string

// The maturities, in rising order.
const (
	Candidate   Maturity = "candidate"   // proposed, by inference or import
	Established Maturity = "established" // said by hand, or validated twice
	Proven      Maturity = "proven"      // validated five times
)

// Validations at which a fact rises.
const (
	establishedAt = 2
	provenAt      = 5
)

// rank is from 1 on; 0: it is none.
func (m Maturity) rank() int {
	return 1 + slices.Index([]Maturity{Candidate, Established, Proven}, m)
}

// below is one step down.
func (m Maturity) below() Maturity {
	if m == Proven {
		return Established
	}
	return Candidate
}

// matured is what a fact with so many validations is at least.
func matured(validations int) Maturity {
	switch {
	case validations >= provenAt:
		return Proven
	case validations >= establishedAt:
		return Established
	}
	return Candidate
}

// Visibility says how far a fact may go.
type Visibility string

// The visibilities, in order of narrowing.
const (
	Public  Visibility = "public"  // to anybody
	Trusted Visibility = "trusted" // to the assistants that the host trusts; the default
	Local   Visibility = "local"   // not off this device, nor into a prompt unless asked for
)

// rank is from 1 on; 0: it is none.
func (v Visibility) rank() int { return 1 + slices.Index([]Visibility{Public, Trusted, Local}, v) }

// Within reports whether v goes at least as far as limit: what is public may
// be shown wherever what is trusted may.
func (v Visibility) Within(limit Visibility) bool { return v.rank() <= limit.rank() }

// Source says how a fact came about. The constants are those of the format;
// any other name of at most 64 bytes is kept as it is.
type Source string

// The sources.
const (
	Manual       Source = "manual"       // said by the person, or by the host for it
	Inferred     Source = "inferred"     // drawn from events
	Conversation Source = "conversation" // picked up in a conversation
	Imported     Source = "imported"     // from elsewhere
)

// Draft is a fact that is to be added. Only Content is required.
type Draft struct {
	Content    string     // the fact, as a short statement
	Category   Category   // "": guessed from the words of Content
	Source     Source     // "": Manual
	Ref        string     // where it comes from: a conversation, an address; at most 256 bytes
	Visibility Visibility // "": Trusted
	// Confidence is in (0,1]. 0: 1 for a Manual fact, 0.5 otherwise.
	Confidence float64
	// Maturity "" is Established for a Manual fact, Candidate otherwise.
	Maturity Maturity
	// Subject and Slot say what the fact answers: whose property, and which
	// one, as in "me" and "employer". Facts that share both replace one
	// another by At. Both or neither.
	Subject, Slot string
	// At is when it began to hold. Zero: now.
	At time.Time
}

// String names the draft without its text, which is not sanitised yet.
func (d Draft) String() string { return fmt.Sprintf("draft (%s, %s)", d.Category, d.Source) }

// GoString is String: no verb of package fmt prints the text.
func (d Draft) GoString() string { return d.String() }

// Fact is what is kept of a Draft, and what became of it. It is a copy:
// changing it changes nothing in the store.
type Fact struct {
	ID          ID         `json:"id" cbor:"1,keyasint"`
	Category    Category   `json:"category" cbor:"2,keyasint"`
	Content     string     `json:"content" cbor:"3,keyasint"`
	Confidence  float64    `json:"confidence" cbor:"6,keyasint,omitempty"` // in [0,1], as of Validated
	Validations int        `json:"validationCount" cbor:"11,keyasint,omitempty"`
	Maturity    Maturity   `json:"maturity" cbor:"7,keyasint"`
	Source      Source     `json:"source" cbor:"8,keyasint"`
	Ref         string     `json:"sourceRef,omitempty" cbor:"9,keyasint,omitempty"`
	Visibility  Visibility `json:"visibility" cbor:"10,keyasint"`
	Subject     string     `json:"subject,omitempty" cbor:"4,keyasint,omitempty"`
	// Slot is as in the draft. Former versions read it from Content: then Subject is "".
	Slot string `json:"slot,omitempty" cbor:"5,keyasint,omitempty"`

	At        time.Time `json:"heldSince,omitzero" cbor:"13,keyasint,omitzero"`     // when it began to hold
	Created   time.Time `json:"createdAt,omitzero" cbor:"14,keyasint,omitzero"`     // when it was learned
	Updated   time.Time `json:"updatedAt,omitzero" cbor:"15,keyasint,omitzero"`     // when it last changed
	Validated time.Time `json:"lastValidated,omitzero" cbor:"16,keyasint,omitzero"` // confidence fades from here
	Demoted   time.Time `json:"demotedAt,omitzero" cbor:"17,keyasint,omitzero"`     // since it was validated; zero: not
	Archived  time.Time `json:"archivedAt,omitzero" cbor:"18,keyasint,omitzero"`    // put aside; zero: in use
	Rejected  time.Time `json:"rejectedAt,omitzero" cbor:"19,keyasint,omitzero"`    // which archives it too; zero: not
	Restored  time.Time `json:"restoredAt,omitzero" cbor:"130,keyasint,omitzero"`   // a rejection was taken back

	Evidence []Evidence `json:"evidence,omitempty" cbor:"12,keyasint,omitempty"` // last validations, the newest last
	Past     []Past     `json:"past,omitempty" cbor:"20,keyasint,omitempty"`     // former wordings, the oldest first
	Variants []Variant  `json:"variants,omitempty" cbor:"21,keyasint,omitempty"` // duplicates that it stands for

	// Extra holds fields of an imported fact that this package does not
	// know; Damaged the raw values of those that it could not read. Both are
	// exported again.
	Damaged map[string]json.RawMessage `json:"damaged,omitempty" cbor:"23,keyasint,omitempty"`
	Extra   map[string]json.RawMessage `json:"extra,omitempty" cbor:"22,keyasint,omitempty"`
}

// Evidence is one validation of a fact.
type Evidence struct {
	Key    string    `json:"key,omitempty" cbor:"Key"` // as a hash; "": none was given
	Reason string    `json:"reason,omitempty" cbor:"Reason"`
	At     time.Time `json:"at" cbor:"At"`
}

// Past is a wording that an Update replaced.
type Past struct {
	Content string    `json:"content" cbor:"Content"`
	Until   time.Time `json:"until" cbor:"Until"`
}

// Variant is a duplicate that was merged into a fact on import.
type Variant struct {
	ID      ID     `json:"id,omitempty" cbor:"ID"`
	Content string `json:"content,omitempty" cbor:"Content"`
	Ref     string `json:"sourceRef,omitempty" cbor:"Ref"`
	// Extra is its own, and its Damaged under their names.
	Extra map[string]json.RawMessage `json:"extra,omitempty" cbor:"Extra"`
}

// Effective returns the confidence in the fact at a time: it halves with each
// halfLife since it was validated,
//
//	confidence · 2^(-age/halfLife)
//
// and it never exceeds Confidence, whatever the clocks say. A halfLife of 0 is
// DefaultHalfLife. It is computed, and never written back.
func (f Fact) Effective(at time.Time, halfLife time.Duration) float64 {
	if halfLife <= 0 {
		halfLife = DefaultHalfLife
	}
	age := max(at.Sub(f.Validated), 0)
	return min(max(f.Confidence, 0), 1) * math.Exp2(-age.Seconds()/halfLife.Seconds())
}

// String names the fact without its text, which belongs to a person.
func (f Fact) String() string {
	return fmt.Sprintf("fact %s (%s, %s)", f.ID, f.Category, f.Maturity)
}

// GoString is String: no verb of package fmt prints the text.
func (f Fact) GoString() string { return f.String() }

// wordingAt is the text of the fact as it was known at a time; zero: by now.
func (f *Fact) wordingAt(known time.Time) string {
	for _, p := range f.Past {
		if !known.IsZero() && known.Before(p.Until) {
			return p.Content
		}
	}
	return f.Content
}

// learned reports whether the fact was known at a time; zero: by now.
func (f *Fact) learned(known time.Time) bool { return known.IsZero() || !f.Created.After(known) }

// inUse reports whether the fact was neither archived nor rejected at a time;
// zero: by now.
func (f *Fact) inUse(known time.Time) bool {
	return f.Archived.IsZero() || !known.IsZero() && known.Before(f.Archived)
}

// isName reports whether s can be a category, a source or a kind of event.
func isName(s string) bool {
	return s != "" && len(s) <= 64 && utf8.ValidString(s) && key.CheckID("", s) == nil
}

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
	if len(f.Content) > maxContent {
		return &store.LimitError{Field: "content", Limit: maxContent, Got: len(f.Content)}
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
		is := func() Edit { return Edit{f.Content, f.Category, f.Visibility, f.Ref, f.Subject, f.Slot} }
		was, claimed := is(), f.claim()
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
		if f.claim() != claimed {
			if owner, err := x.owner(ctx, f); err != nil {
				return false, err
			} else if owner.stored() {
				return false, fmt.Errorf("identity: %w: %s", ErrKnown, owner.v.ID)
			}
		}
		if is() == was {
			return false, nil
		}
		f.Updated = x.clock()
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
// archived one back. A Suggestion becomes such a fact. A rejected fact is a
// *RejectedError: see Archive.
func (x *Identity) Validate(ctx context.Context, id ID, v Validation) (Fact, error) {
	if err := key.CheckID("key", v.Key); err != nil {
		return Fact{}, fmt.Errorf("identity: %w", err)
	}
	if len(v.Reason) > maxContent {
		return Fact{}, &store.LimitError{Field: "reason", Limit: maxContent, Got: len(v.Reason)}
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
	f.Confidence = min(roundOff(f.Confidence+validationBoost), 1)
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

// Archive puts a fact aside, so that it is neither listed nor projected by default, and
// nothing of it is deleted; or it brings one back that was archived or rejected, with its
// maturity and with at least DemoteBelow of confidence, which fades from now on. The
// rejection of its text is taken back then.
func (x *Identity) Archive(ctx context.Context, id ID, archived bool) (Fact, error) {
	return x.edit(ctx, id, func(b *batch, f *Fact) (bool, error) {
		if archived != f.Archived.IsZero() {
			return false, nil
		}
		f.Updated = x.clock()
		if archived {
			f.Archived = f.Updated
			return true, nil
		}
		if !f.Rejected.IsZero() {
			if err := x.unblock(ctx, b, f.Content); err != nil {
				return false, err
			}
		}
		f.restore(f.Updated)
		f.Confidence, f.Validated = max(f.Confidence, DemoteBelow), f.Updated
		return true, nil
	})
}
