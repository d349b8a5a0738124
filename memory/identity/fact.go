package identity

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
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

func (m Maturity) rank() int {
	switch m {
	case Candidate:
		return 1
	case Established:
		return 2
	case Proven:
		return 3
	}
	return 0
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

func (v Visibility) rank() int {
	switch v {
	case Public:
		return 1
	case Trusted:
		return 2
	case Local:
		return 3
	}
	return 0
}

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
