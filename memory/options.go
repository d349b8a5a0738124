package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/memory/internal/tally"
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
	o.Now = guard.Clock(o.Now)
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

// uses is how many times of use a record keeps.
func (o *Options) uses() int {
	if a, ok := o.Policy.(ACTR); ok && a.BaseLevel == ExactBase {
		return tally.MostUses
	}
	return tally.Uses
}

// Embedder turns texts into vectors that are near one another if the texts
// mean alike. It is called concurrently: by recalls, and by one goroutine of the
// Bank. memorytest.CheckEmbedder checks what is said here.
type Embedder interface {
	// Embed returns one vector for each text, in their order. All vectors have
	// the same number of finite numbers, at most MaxDimension; their lengths
	// do not matter. Nil says that a text has none, which is no error. The
	// vector of a text depends on nothing but the text.
	//
	// Texts have been sanitised. One may be 128 KiB long: an Embedder with a
	// shorter limit cuts it. After an error the same texts come again later,
	// in smaller batches. Embed must heed ctx, and keeps no slice that it is
	// given or returns.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names the model and all else that the vectors depend on, with at
	// most 256 bytes. Vectors of different models are never compared: when the
	// name changes, all texts are embedded again.
	Model() string
}

// Extractor reads what a text states, and which earlier notes it ends. One goroutine of
// the Bank calls it, behind the write, with each Fact and Episode that is remembered from
// then on, but for those that state a Slot and those that arc has derived. What waits for
// it is on disk. After an error the text comes again, eight times at most.
//
// A statement becomes a Fact, derived from the record, so that it is trusted as that is,
// unless its words are not in the text: then they are the Model's. If its Confidence is .9
// or more and its words are in the text, it hides what states another value of an earlier
// time, as a host's Slot does, and what an Extractor has stated before of those in Replaces. It
// hides no text: an earlier one is perhaps replaced (see Hit.Replaced), and comes after this one.
type Extractor interface {
	// Extract returns what the record states, nothing if nothing, in the same order
	// if it is asked again. Known are up to 16 Facts and Episodes of the scope from before
	// the record, by its Actor or by none and trusted as it is: the most alike, then the latest.
	// It must heed ctx, and change nothing of the records.
	Extract(ctx context.Context, r Record, known []Record) ([]Statement, error)
}

// Statement is what a text states: that a value is set, for one that replaces
// others, or added to others, or removed from them.
type Statement struct {
	Slot
	Change     string    // "set", "add" or "remove"
	From       time.Time // from when on it holds; zero: the At of the text
	Confidence float64   // that the text states it, in [0,1]
	// Replaces are the known records that it ends: what they mainly say holds no more.
	// Nil: it does not say.
	Replaces []ID
}

// check returns what is wrong with a statement of one who was shown these records.
func (s *Statement) check(shown []ID) error {
	for _, id := range s.Replaces {
		if !slices.Contains(shown, id) {
			return fmt.Errorf("a statement that replaces %.64q, which was not shown", id)
		}
	}
	if !slices.Contains([]string{"set", "add", "remove"}, s.Change) || !(s.Confidence >= 0 && s.Confidence <= 1) {
		return fmt.Errorf("a statement with the change %.32q and the confidence %v", s.Change, s.Confidence)
	}
	return nil
}

// String is the statement in words.
func (s Statement) String() string {
	about := strings.TrimSpace(s.Subject + " " + s.Attribute)
	if s.Change == "remove" {
		return about + ": no longer " + s.Value
	}
	return about + ": " + s.Value
}
