package memory

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/redact"
)

// The defaults of Options. With embed.Hashed, the weakest embedder there is, those of
// MinCosine and CosineWeight lower the recall at 10 and at 50 of no category of
// questions about real dialogue, and raise some.
const (
	defaultHalfLife     = 7 * 24 * time.Hour
	defaultCache        = 256
	defaultMinCosine    = 0.3
	defaultCosineWeight = 0.2
)

// Options configure a [Bank]. Nil and the zero value are ready.
type Options struct {
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Seed makes the ids of drafts without a Key repeatable under a given
	// clock. 0: a random seed.
	Seed uint64
	// HalfLife is the time in which the recency of a record halves. 0:
	// seven days. Negative is an error.
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
	// are kept there after they were read. 0: 256. Negative is an
	// error.
	Cache int
	// Embedder makes vectors of texts, so that Recall finds what says the same
	// in other words. A recall waits for it two seconds at most. Nil: vectors
	// are those of Draft and Query, if any.
	Embedder Embedder
	// Extractor reads what texts state, behind the write, so that what has
	// changed is known though it is said in other words. Nil: none.
	Extractor Extractor
	// MinCosine is the cosine with the query from which on a record's vector
	// counts, in (0,1); see Parts.Relevance. It depends on the model: a value
	// that unrelated texts rarely reach. 0: 0.3.
	MinCosine float64
	// CosineWeight is how much a cosine of 1 adds to the score, in (0,4]; 1 is
	// what words have to say for a relevance of 0.5. See Parts.Relevance. 0:
	// 0.2, which is safe with a weak model. A good one
	// deserves 1 or more.
	CosineWeight float64
	// IndexBytes bounds what is in memory of tenants that no call uses, roughly, and
	// without the vectors of an Embedder: a tenant is read from the store when it is
	// first used, and leaves memory when others have been used since. 0: all is read
	// by Open, and stays. Negative is an error.
	IndexBytes int64
	// Home says which tenants stay in memory in preference, if it is not nil: others share a
	// quarter of IndexBytes, and what is left.
	Home func(tenant string) bool
	// Sync makes Feedback wait until it is on disk.
	Sync bool
	// Shared says that other Banks are open on the store, of which this one is told by
	// Follow. Feedback is then a commit of its own, which no other's is lost by.
	Shared bool
}

func (o *Options) fill() error {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Policy == nil {
		o.Policy = Weighted{}
	}
	if guard.IsNil(o.Embedder) {
		o.Embedder = nil
	}
	if guard.IsNil(o.Extractor) {
		o.Extractor = nil
	}
	o.HalfLife, o.Cache = cmp.Or(o.HalfLife, defaultHalfLife), cmp.Or(o.Cache, defaultCache)
	o.MinCosine, o.CosineWeight = cmp.Or(o.MinCosine, defaultMinCosine), cmp.Or(o.CosineWeight, defaultCosineWeight)
	errs := []error{o.Policy.check()}
	for _, f := range []struct {
		field string
		value any
		good  bool
		want  string
	}{
		{"HalfLife", o.HalfLife, o.HalfLife > 0, "positive"},
		{"Cache", o.Cache, o.Cache > 0, "positive"},
		{"IndexBytes", o.IndexBytes, o.IndexBytes >= 0, "positive or 0"},
		{"Language", o.Language, slices.Contains([]string{"", "en", "none"}, o.Language), "en or none"},
		{"MinCosine", o.MinCosine, o.MinCosine > 0 && o.MinCosine < 1, "in (0,1)"},
		{"CosineWeight", o.CosineWeight, o.CosineWeight > 0 && o.CosineWeight <= 4, "in (0,4]"},
	} {
		if !f.good {
			errs = append(errs, fmt.Errorf("memory: %s %.32v is not %s", f.field, f.value, f.want))
		}
	}
	return errors.Join(errs...)
}
