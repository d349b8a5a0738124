package memory

import (
	"errors"
	"fmt"
	"time"

	"github.com/arc-learn/arc/redact"
)

// DefaultHalfLife is the default of Options.HalfLife.
const DefaultHalfLife = 7 * 24 * time.Hour

// DefaultCache is the default of Options.Cache.
const DefaultCache = 256

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
	// Policy says how what a query finds is ranked. Nil: Weighted{}.
	Policy Policy
	// Sanitizer takes secrets out of every text before it is kept. Nil: the
	// zero Sanitizer.
	Sanitizer *redact.Sanitizer
	// Language is that of the texts: "en" has words reduced to their stems and
	// function words weigh little, "none" takes the words as they are. "":
	// "en". Others are an error. It may change from one Open to the next.
	Language string
	// Cache is how many of the records that are too long to be kept in memory
	// are kept there after they were read. 0: DefaultCache. Negative is an
	// error.
	Cache int
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
	if o.Cache == 0 {
		o.Cache = DefaultCache
	}
	if o.Cache < 0 {
		errs = append(errs, fmt.Errorf("memory: Cache %d is negative", o.Cache))
	}
	if o.Policy == nil {
		o.Policy = Weighted{}
	}
	errs = append(errs, o.Policy.check())
	if o.Language != "" && o.Language != "en" && o.Language != "none" {
		errs = append(errs, fmt.Errorf("memory: Language %.32q is neither en nor none", o.Language))
	}
	return errors.Join(errs...)
}
