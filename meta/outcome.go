package meta

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// maxText bounds each text of an outcome, in bytes.
const maxText = 64 << 10

// ErrInvalid is the error of an [Outcome] or [Episode] that lacks a required field or
// holds a value out of range, and of a name that no session or treatment can have.
// Nothing was stored.
var ErrInvalid = errors.New("invalid")

// Outcome is how one task of a session ended. Secrets are taken out of its
// texts before they are kept. Goal, Approach and Note have at most 64 KiB each;
// a longer one is a *store.LimitError.
type Outcome struct {
	// Key makes Record idempotent: a second outcome of the session with the
	// same Key changes nothing. Required.
	Key string
	// Session is the session that the task belongs to. Required.
	Session string
	// Goal is what was to be achieved; may be empty.
	Goal string
	// Approach is the way in which it was tried; may be empty.
	Approach string
	// User is whose words Goal and Approach may repeat, if not the host's.
	User string
	// Success says whether the task was delivered.
	Success bool
	// Resonance is how well the task's reflection fitted, in [0,1]; nil: none.
	Resonance *float64
	// Note is the last complaint, or what else a reader should know; may be
	// empty. An Agent's proposals read from it what ran out of time.
	Note string
	// At is when the task ended, from 1970 to 2262; zero: now. Outcomes are in
	// the order in which they were recorded, not in that of their times.
	At time.Time
}

// check reports everything that is wrong with the outcome, at once.
func (o *Outcome) check() error {
	err := errors.Join(
		checkName("session", o.Session), checkName("key", o.Key), checkLength("goal", len(o.Goal)),
		checkLength("approach", len(o.Approach)), checkLength("note", len(o.Note)))
	if o.User != "" {
		err = errors.Join(err, checkName("user", o.User))
	}
	if r := o.Resonance; r != nil && !(*r >= 0 && *r <= 1) {
		err = errors.Join(err, fmt.Errorf("%w: resonance is %v", ErrInvalid, *r))
	}
	if o.At.Before(time.Unix(0, 0)) || o.At.After(time.Unix(0, math.MaxInt64)) {
		err = errors.Join(err, fmt.Errorf("%w: time is %v", ErrInvalid, o.At))
	}
	return err
}

// checkName checks an id that is required.
func checkName(field, name string) error {
	if name == "" {
		return fmt.Errorf("%w: %s is empty", ErrInvalid, field)
	}
	if err := key.CheckID(field, name); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

func checkLength(field string, n int) error {
	if n > maxText {
		return &store.LimitError{Field: field, Limit: maxText, Got: n}
	}
	return nil
}

// Episode is one draw of an experiment: chance decided whether the treatments
// were given, and Success is what came of it.
type Episode struct {
	// Key makes RecordEpisode idempotent, for all time. Required.
	Key string `cbor:"1,keyasint,omitempty"`
	// Treatments are given together or withheld together, at most 64; each is
	// an experiment of its own. Required.
	Treatments []string `cbor:"2,keyasint,omitempty"`
	// Treated says whether they were given.
	Treated bool `cbor:"3,keyasint,omitempty"`
	// Chance is the probability with which they are given, in (0,1).
	Chance float64 `cbor:"4,keyasint,omitempty"`
	// Success is what the treatments should raise.
	Success bool `cbor:"5,keyasint,omitempty"`
}

// maxTreatments bounds the treatments of an Episode.
const maxTreatments = 64

func (e *Episode) check() error {
	errs := []error{checkName("key", e.Key)}
	for _, name := range e.Treatments {
		errs = append(errs, checkName("treatment", name))
	}
	if n := len(e.Treatments); n == 0 || n > maxTreatments || !(e.Chance > 0 && e.Chance < 1) {
		errs = append(errs, fmt.Errorf("%w: %d treatments with a chance of %v", ErrInvalid, n, e.Chance))
	}
	return errors.Join(errs...)
}

// Ending is how an objective of a scope ended.
type Ending struct {
	// Run makes Conclude idempotent while the ending is kept. Required.
	Run string `cbor:"1,keyasint,omitempty"`
	// Situation is that of the objective, Approach the last that was taken; both
	// are cut at 200 bytes, and have no secrets.
	Situation string `cbor:"2,keyasint,omitempty"`
	Approach  string `cbor:"3,keyasint,omitempty"`
	Delivered bool   `cbor:"4,keyasint,omitempty"`
	// User is whose words the Approach may repeat, if not the host's.
	User string `cbor:"6,keyasint,omitempty"`
}

// Bounds of what is kept of a scope.
const (
	keptEndings = 8
	endingText  = 200 // bytes of a text
)
