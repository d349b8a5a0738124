package meta

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// MaxText is how many bytes an outcome's Goal, Approach and Note may each
// have. What is over it is refused with a *store.LimitError.
const MaxText = 64 << 10

// ErrOutcome: an outcome lacks its Key or Session, or holds a value out of
// range ([Monitor.Record]), or a session's name cannot be one. Nothing was
// stored.
var ErrOutcome = errors.New("bad outcome")

// Outcome is how one task of a session ended. Secrets are taken out of its
// texts before they are kept.
type Outcome struct {
	// Key makes Record idempotent: a second outcome of the session with the
	// same Key changes nothing. It is required.
	Key string
	// Session is the session that the task belongs to. It is required.
	Session string
	// Goal is what was to be achieved; may be empty.
	Goal string
	// Approach is the way in which it was tried; may be empty.
	Approach string
	// Success says whether the task was delivered.
	Success bool
	// Resonance is how well the task's reflection fitted, in [0,1]; nil if
	// there is none. It is kept.
	Resonance *float64
	// Note is whatever else a reader should know, such as the last
	// complaint; may be empty. It is kept.
	Note string
	// At is when the task ended, in 1970 to 2262; zero: now. The order of outcomes is that in
	// which they were recorded, not that of their times.
	At time.Time
}

// check reports everything that is wrong with the outcome, at once.
func (o *Outcome) check() error {
	var errs []error
	if err := checkSession(o.Session); err != nil {
		errs = append(errs, err)
	}
	if o.Key == "" {
		errs = append(errs, fmt.Errorf("%w: key is empty", ErrOutcome))
	}
	if err := key.CheckID("key", o.Key); err != nil {
		errs = append(errs, fmt.Errorf("%w: %w", ErrOutcome, err))
	}
	for _, t := range []struct{ field, text string }{
		{"goal", o.Goal}, {"approach", o.Approach}, {"note", o.Note},
	} {
		if len(t.text) > MaxText {
			errs = append(errs, &store.LimitError{Field: t.field, Limit: MaxText, Got: len(t.text)})
		}
	}
	if r := o.Resonance; r != nil && !unit(*r) {
		errs = append(errs, fmt.Errorf("%w: resonance is %v", ErrOutcome, *r))
	}
	if o.At.Before(time.Unix(0, 0)) || o.At.After(time.Unix(0, math.MaxInt64)) {
		errs = append(errs, fmt.Errorf("%w: time is %v", ErrOutcome, o.At))
	}
	return errors.Join(errs...)
}

func checkSession(session string) error {
	if session == "" {
		return fmt.Errorf("%w: session is empty", ErrOutcome)
	}
	if err := key.CheckID("session", session); err != nil {
		return fmt.Errorf("%w: %w", ErrOutcome, err)
	}
	return nil
}

// unit reports whether f is a number in [0,1]. NaN is not.
func unit(f float64) bool { return f >= 0 && f <= 1 }
