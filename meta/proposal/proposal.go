package proposal

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// ErrInvalid is the error of a [Proposal] that lacks a required field or holds a
// value out of range, and of a verdict that Decide does not know. Nothing was
// stored.
var ErrInvalid = errors.New("invalid")

// The statuses of a Proposal, and what follows what:
//
//	gathering → open → approved → applied → undoing → undone
//	                            → failed            → applied
//	      gathering, open       → rejected
//	      gathering, open       → expired
const (
	gathering = "gathering"
	open      = "open"
	approved  = "approved"
	applied   = "applied"
	failed    = "failed"
	rejected  = "rejected"
	expired   = "expired"
	undoing   = "undoing"
	undone    = "undone"
)

var kinds = []string{"goal", "config", "executor", "action", "memory"}

// maxText bounds each text of a proposal, in bytes.
const maxText = 64 << 10

// Proposal is a change that a person decides about. [Book.Propose] reads Kind,
// Subject, Change, Reason, Samples, Needs and Advice, and sets the other fields.
type Proposal struct {
	ID string `cbor:"-"`
	// Kind of what would change: "goal", "config", "executor", "action" or
	// "memory". Required.
	Kind string `cbor:"1,keyasint"`
	// Subject is what it is about, such as the skill; at most 256 bytes.
	// Required.
	Subject string `cbor:"2,keyasint"`
	// Change is what Options.Apply makes, JSON of at most 64 KiB. Required, unless
	// there is Advice.
	Change json.RawMessage `cbor:"3,keyasint"`
	// Reason is the alert in words, at most 64 KiB.
	Reason string `cbor:"4,keyasint,omitempty"`
	// Samples is the number of samples that Reason rests on, Needs the number
	// that an approval takes; 0: 50.
	Samples int `cbor:"5,keyasint,omitempty"`
	Needs   int `cbor:"6,keyasint,omitempty"`
	// Status is "gathering" while Samples are below Needs, and "open" while the
	// Proposal may be approved. Afterwards it is "rejected", "expired",
	// "approved" (being applied, or was when the process ended), "applied",
	// "failed" (Apply gave an error), "undoing" or "undone".
	Status string `cbor:"7,keyasint"`
	// By and Note say who decided, and why. Note is the error of Apply if it
	// gave one.
	By      string    `cbor:"8,keyasint,omitempty"`
	Note    string    `cbor:"9,keyasint,omitempty"`
	Made    time.Time `cbor:"10,keyasint"`
	Decided time.Time `cbor:"11,keyasint,omitzero"` // zero: not yet
	Expires time.Time `cbor:"12,keyasint"`          // 7 days after Made
	// Undo is the change that Apply returned to undo this one, JSON of at most 64
	// KiB without secrets; nil if it cannot be undone.
	Undo json.RawMessage `cbor:"13,keyasint,omitempty"`
	// Advice says what a person can do about Reason, at most 64 KiB. A Proposal
	// without a Change is advice only: it can be rejected, and expires.
	Advice string `cbor:"14,keyasint,omitempty"`

	rev store.Revision // as read; 0: not stored
}

// flaws is everything that is wrong with a draft, or nil.
func (p *Proposal) flaws() error {
	known := slices.Contains(kinds, p.Kind)
	if !known || strings.TrimSpace(p.Subject) == "" || !p.whole() || min(p.Samples, p.Needs) < 0 {
		return fmt.Errorf("%w: it needs a kind of %v, a subject, a change in JSON or advice, and counts from 0",
			ErrInvalid, kinds)
	}
	return errors.Join(key.CheckID("subject", p.Subject), checkLength("change", len(p.Change)),
		checkLength("reason", len(p.Reason)), checkLength("advice", len(p.Advice)))
}

func checkLength(field string, n int) error {
	if n > maxText {
		return &store.LimitError{Field: field, Limit: maxText, Got: n}
	}
	return nil
}

// whole reports whether there is what the status asks for: a change, or its Undo.
// Advice takes the place of a change unless that is to be made.
func (p *Proposal) whole() bool {
	switch p.Status {
	case approved:
		return json.Valid(p.Change)
	case undoing:
		return json.Valid(p.Undo)
	}
	return json.Valid(p.Change) || p.Change == nil && p.Advice != ""
}

// undecided reports whether a person may still decide.
func (p *Proposal) undecided() bool { return p.Status == gathering || p.Status == open }

// gauge sets the status of an undecided proposal by its evidence.
func (p *Proposal) gauge() {
	if p.Status = gathering; p.Samples >= p.Needs {
		p.Status = open
	}
}

// lapse has an undecided proposal expire once its time is over.
func (p *Proposal) lapse(now time.Time) {
	if !p.undecided() || now.Before(p.Expires) {
		return
	}
	p.Note = "no person decided in time"
	if p.Status == gathering {
		p.Note = fmt.Sprintf("%d of %d samples came in time", p.Samples, p.Needs)
	}
	p.Status, p.Decided = expired, p.Expires
}

// subjectPrefix begins the ids of the proposals about a subject.
func subjectPrefix(kind, subject string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + subject))
	return fmt.Sprintf("%x-", sum[:12])
}

// Check returns store.ErrDamaged, or store.ErrNewer, for an entry that is no
// proposal of a Book.
func Check(e store.Entry) error {
	_, err := decode(e)
	return err
}

// decode reads a proposal without its ID.
func decode(e store.Entry) (p Proposal, err error) {
	if err = codec.Decode(e, &p); err == nil && !p.whole() {
		err = fmt.Errorf("%w: %q is not a proposal", store.ErrDamaged, e.Key)
	}
	p.rev = e.Rev
	return p, err
}
