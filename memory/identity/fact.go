package identity

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity/internal/lists"
	"github.com/arc-learn/arc/memory/identity/internal/rollup"
	"github.com/arc-learn/arc/memory/identity/internal/v2"
	"github.com/arc-learn/arc/memory/identity/internal/wording"
	"github.com/arc-learn/arc/memory/internal/ident"
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

// Visibility says how far a fact may go.
type Visibility string

// The visibilities, in order of narrowing.
const (
	Public  Visibility = "public"  // to all
	Trusted Visibility = "trusted" // to the assistants that the host trusts; the default
	Local   Visibility = "local"   // not off this device, nor into a prompt unless asked for
)

// rank is from 1 on; 0: it is none.
func (v Visibility) rank() int { return 1 + slices.Index([]Visibility{Public, Trusted, Local}, v) }

// Within reports whether what has the Visibility v may be shown where limit may:
// what is Public may be shown wherever what is Trusted may.
func (v Visibility) Within(limit Visibility) bool { return v.rank() <= limit.rank() }

// stricter returns the narrower of two, a if there is none.
func stricter(a, b Visibility) Visibility {
	return slices.MaxFunc([]Visibility{a, b}, func(a, b Visibility) int { return a.rank() - b.rank() })
}

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
	Ref        string     // a conversation or an address; at most 256 bytes
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
	// Again is whether another fact has answered since what this one says was said first.
	Again bool `json:"again,omitempty" cbor:"-"`

	At        time.Time `json:"heldSince,omitzero" cbor:"13,keyasint,omitzero"`     // when it began to hold
	Created   time.Time `json:"createdAt,omitzero" cbor:"14,keyasint,omitzero"`     // when it was learned
	Updated   time.Time `json:"updatedAt,omitzero" cbor:"15,keyasint,omitzero"`     // when it last changed
	Validated time.Time `json:"lastValidated,omitzero" cbor:"16,keyasint,omitzero"` // confidence fades from here
	Demoted   time.Time `json:"demotedAt,omitzero" cbor:"17,keyasint,omitzero"`     // since it was validated; zero: not
	Archived  time.Time `json:"archivedAt,omitzero" cbor:"18,keyasint,omitzero"`    // put aside; zero: in use
	Rejected  time.Time `json:"rejectedAt,omitzero" cbor:"19,keyasint,omitzero"`    // which archives it too; zero: not
	Restored  time.Time `json:"restoredAt,omitzero" cbor:"130,keyasint,omitzero"`   // a rejection was taken back

	Evidence []Evidence `json:"evidence,omitempty" cbor:"12,keyasint,omitempty"` // last validations, the newest last
	Past     []Past     `json:"past,omitempty" cbor:"20,keyasint,omitempty"`     // last former wordings, the oldest first
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
	// Updated is when it last changed: older states of it say nothing new.
	Updated time.Time `json:"updatedAt,omitzero" cbor:"-"`
	// Extra is its own, and its Damaged under their names.
	Extra map[string]json.RawMessage `json:"extra,omitempty" cbor:"Extra"`
}

// Rejection is a text that is not to be suggested again.
type Rejection struct {
	Content string    `json:"content" cbor:"1,keyasint"`
	Reasons []string  `json:"reasons,omitempty" cbor:"2,keyasint,omitempty"` // each once, the oldest first; the last 16
	At      time.Time `json:"at" cbor:"3,keyasint"`
	// Given is when each of Reasons was given. What former versions stored has no such times.
	Given []time.Time `json:"given,omitempty" cbor:"-"`
}

// suggestion is what was suggested, and how often.
type suggestion struct {
	Times      int      `cbor:"1,keyasint"`
	Content    string   `cbor:"130,keyasint,omitempty"`
	Category   Category `cbor:"131,keyasint,omitempty"`
	Confidence float64  `cbor:"132,keyasint,omitempty"`
	Ref        string   `cbor:"133,keyasint,omitempty"`
}

func (s *suggestion) draft() Draft {
	return Draft{Content: s.Content, Category: s.Category, Confidence: s.Confidence, Ref: s.Ref, Source: Inferred}
}

// String names the fact without its text, which belongs to a person.
func (f Fact) String() string { return fmt.Sprintf("fact %s (%s, %s)", f.ID, f.Category, f.Maturity) }

// GoString is String: no verb of package fmt prints the text.
func (f Fact) GoString() string { return f.String() }

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

// begin fills what the source of a fact decides, where it is empty.
func (f *Fact) begin() {
	confidence, maturity := 0.5, Candidate
	if f.Source == Manual {
		confidence, maturity = 1, Established
		f.Validations = cmp.Or(f.Validations, 1)
	}
	f.Confidence, f.Maturity = cmp.Or(f.Confidence, confidence), cmp.Or(f.Maturity, maturity)
}

// check tells what of a fact cannot be kept.
func (f *Fact) check() error {
	switch {
	case fence.Blank(f.Content):
		return fmt.Errorf("identity: content: %w", memory.ErrEmpty)
	case !v2.IsName(f.Category):
		return bad("category", f.Category)
	case !v2.IsName(f.Source):
		return bad("source", f.Source)
	case f.Visibility.rank() == 0:
		return bad("visibility", f.Visibility)
	case f.Maturity.rank() == 0:
		return bad("maturity", f.Maturity)
	case !(f.Confidence >= 0 && f.Confidence <= 1): // NaN too
		return bad("confidence", f.Confidence)
	case f.Subject != "" && wording.Canonical(f.Slot) == "":
		return bad("slot", f.Slot)
	}
	return cmp.Or(over("content", len(f.Content), maxContent), over("variants", len(f.Variants), maxVariants),
		key.CheckID("subject", f.Subject), key.CheckID("slot", f.Slot), key.CheckID("ref", f.Ref))
}

// bad is the error of a field whose value is not one that it can have.
func bad(field string, got any) error {
	return fmt.Errorf("%w: %s %.64q", ErrValue, field, fmt.Sprint(got))
}

// over is the error of what is beyond its limit.
func over(field string, got, limit int) error {
	if got <= limit {
		return nil
	}
	return &store.LimitError{Field: field, Limit: limit, Got: got}
}

// checkYear tells whether JSON can hold a time.
func checkYear(t time.Time) error { return over("year of At", t.Year(), 9999) }

// said is equal for facts of the same words and category.
func (f *Fact) said() string {
	return ident.Name("claim", string(f.Category), wording.Canonical(f.Content))
}

// unmixed is the fact with that first which a merge of two of its states takes from one of them.
func (f *Fact) unmixed() []byte {
	return encoded(&[]any{f.Category, f.Content, f.Source, f.Ref, f.Subject, f.Slot, f.Again, f.At, f})
}

// claim is equal for facts that say the same, of the same slot.
func (f *Fact) claim() string {
	if f.Slot == "" {
		return f.said()
	}
	parts := []string{"claim", string(f.Category), wording.Canonical(f.Content), f.slotKey()}
	if f.Again {
		parts = append(parts, f.At.Format(time.RFC3339Nano))
	}
	return ident.Name(parts...)
}

// wordingAt is the text of the fact as it was known at a time; zero: by now.
func (f *Fact) wordingAt(known time.Time) string {
	for _, p := range f.Past {
		if !known.IsZero() && known.Before(p.Until) {
			return p.Content
		}
	}
	return f.Content
}

func rejectionName(content string) string { return ident.Name("rejection", wording.Canonical(content)) }

// learned reports whether the fact was known at a time; zero: by now.
func (f *Fact) learned(known time.Time) bool { return known.IsZero() || !f.Created.After(known) }

// inUse reports whether the fact was neither archived nor rejected at a time;
// zero: by now.
func (f *Fact) inUse(known time.Time) bool {
	return f.Archived.IsZero() || !known.IsZero() && known.Before(f.Archived)
}

// slotKey is equal for facts that answer the same, and unique for others.
func (f *Fact) slotKey() string {
	switch {
	case f.Slot == "":
		return "id\x00" + string(f.ID)
	case f.Subject == "": // former versions read it from the text
		return f.Slot
	}
	return wording.Canonical(f.Subject) + "\x00" + wording.Canonical(f.Slot)
}

// older orders facts by when they were learned.
func older(a, b *Fact) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) }

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// after is now, or the next time after t by a clock that is behind.
func after(now, t time.Time) time.Time {
	if t.After(now) {
		return t.Add(time.Microsecond)
	}
	return now
}

// newest orders what answers before what it replaces. A candidate replaces
// nothing that was confirmed.
func newest(a, b *Fact) int {
	return cmp.Or(lists.Number(a.Maturity == Candidate)-lists.Number(b.Maturity == Candidate),
		b.At.Compare(a.At), b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
}

// validate counts a validation.
func (f *Fact) validate(e Evidence, weak bool) {
	f.Confidence = min(rollup.Round(f.Confidence+validationBoost), 1)
	f.Validations++
	switch {
	case f.Validations >= provenAt && !weak:
		f.Maturity = Proven
	case f.Validations >= establishedAt && f.Maturity == Candidate:
		f.Maturity = Established
	}
	f.Validated, f.Updated = e.At, e.At
	f.Demoted, f.Archived = time.Time{}, time.Time{}
	f.Evidence = lists.Latest(lists.Union(append(f.Evidence, e), nil, Evidence.order), maxEvidence)
}

// lift applies what was said again, and reports whether that changed anything.
func (f *Fact) lift(said *Fact) bool {
	archived := !f.Archived.IsZero()
	rises := said.Maturity.rank() > f.Maturity.rank()
	manual := said.Source == Manual && (rises || said.Confidence > f.Effective(said.Updated, 0)+.01)
	if !archived && !manual {
		return false
	}
	if archived {
		f.restore(said.Updated)
	}
	if manual {
		if rises {
			f.Maturity = said.Maturity
		}
		f.Validations = max(f.Validations, said.Validations)
	}
	f.Confidence, f.Demoted = max(f.Confidence, said.Confidence), time.Time{}
	f.Validated, f.Updated = later(f.Validated, said.Validated), after(said.Updated, f.Updated)
	return true
}

// fade does what time asks for, and reports whether that is a demotion or an archival.
func (f *Fact) fade(now time.Time, halfLife time.Duration) (demoted, archived bool) {
	effective := f.Effective(now, halfLife)
	if !f.Archived.IsZero() || effective >= DemoteBelow {
		return false, false
	}
	if f.Demoted.Before(f.Validated) && f.Maturity != Candidate {
		if demoted, f.Demoted = true, later(now, f.Validated); f.Maturity == Proven {
			f.Maturity = Established
		} else {
			f.Maturity = Candidate
		}
	}
	if effective < archiveBelow {
		archived, f.Archived = true, now
	}
	return demoted, archived
}

// reject puts the fact aside for good.
func (f *Fact) reject(at time.Time) {
	f.Rejected = at
	if f.Archived.IsZero() {
		f.Archived = at
	}
}

// restore brings a fact back that was put aside.
func (f *Fact) restore(now time.Time) {
	if !f.Rejected.IsZero() {
		f.Restored = after(now, f.Rejected)
	}
	f.Archived, f.Rejected, f.Demoted = time.Time{}, time.Time{}, time.Time{}
}

func (p Past) order(o Past) int {
	return cmp.Or(p.Until.Compare(o.Until), cmp.Compare(p.Content, o.Content))
}

func (e Evidence) order(o Evidence) int {
	return cmp.Or(e.At.Compare(o.At), cmp.Compare(e.Key, o.Key), cmp.Compare(e.Reason, o.Reason))
}
