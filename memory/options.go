package memory

import (
	"errors"
	"fmt"
	"time"

	"github.com/arc-learn/arc/redact"
)

// DefaultHalfLife is the default of Options.HalfLife.
const DefaultHalfLife = 7 * 24 * time.Hour

// Options configure a [Bank]. Nil and the zero value are ready.
type Options struct {
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Seed makes the ids of drafts without a Key repeatable under a given
	// clock. 0: a random seed.
	Seed uint64
	// HalfLife is the time in which the recency of a record halves. 0:
	// DefaultHalfLife. Negative is an error.
	HalfLife time.Duration
	// Sanitizer takes secrets out of every text before it is kept. Nil: the
	// zero Sanitizer.
	Sanitizer *redact.Sanitizer
	// Sync makes Feedback wait until it is on disk.
	Sync bool
}

func (o *Options) fill() error {
	var errs []error
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HalfLife == 0 {
		o.HalfLife = DefaultHalfLife
	}
	if o.HalfLife < 0 {
		errs = append(errs, fmt.Errorf("memory: HalfLife %v is negative", o.HalfLife))
	}
	return errors.Join(errs...)
}
