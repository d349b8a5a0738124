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
	// Seed makes the ids of drafts without a Key repeatable, with the same clock. 0: a random seed.
	Seed uint64
	// HalfLife is the time in which the recency of a record halves. 0:
	// seven days. Negative is an error.
	HalfLife time.Duration
	// Policy ranks what a query finds. Nil: Weighted{}.
	Policy Policy
	// Sanitizer takes secrets out of every text before it is kept. Nil: the
	// zero Sanitizer.
	Sanitizer *redact.Sanitizer
	// Language is that of the texts: "en" reduces words to their stems and gives function words little
	// weight, "none" takes words as they are. "": "en". Others are an error. It may change from one Open
	// to the next.
	Language string
	// Cache is how many of the records that are too long for memory stay there once they were read. 0:
	// 256. Negative is an error.
	Cache int
	// Embedder makes vectors of texts, so that Recall finds records that say the same in other words. A
	// recall waits for it two seconds at most. Nil: only drafts and queries bring vectors.
	Embedder Embedder
	// Extractor reads, behind the write, what texts state, so that the Bank notices a change that is said
	// in other words. Nil: none.
	Extractor Extractor
	// MinCosine is the cosine with the query above which a record's vector counts, in (0,1); see
	// Parts.Relevance. Set it for the model: a value that unrelated texts rarely reach. 0: 0.3.
	MinCosine float64
	// CosineWeight is how much a cosine of 1 adds to the score, in (0,4]; 1 is as much as the words of a
	// relevance of 0.5. See Parts.Relevance. 0: 0.2, which is safe with a weak model. A good one deserves
	// 1 or more.
	CosineWeight float64
	// IndexBytes bounds, roughly, the memory of tenants that no call uses, without the vectors of an
	// Embedder. The Bank loads a tenant at first use, and unloads it when others have been used since. 0:
	// Open loads all, and all stay. Negative is an error.
	IndexBytes int64
	// Home reports which tenants have preference in memory: the others share a quarter of IndexBytes, and
	// what those leave. Nil: none.
	Home func(tenant string) bool
	// Sync makes Feedback wait until it is on disk.
	Sync bool
	// Shared says that other Banks are open on the store, and that the host calls Follow with their
	// changes. Feedback is then a commit of its own, so that none of another Bank is lost.
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

// uses is the number of times of use that a record keeps.
func (o *Options) uses() int {
	if a, ok := o.Policy.(ACTR); ok && a.BaseLevel == ExactBase {
		return tally.MostUses
	}
	return tally.Uses
}

// Embedder turns texts into vectors, which are near each other if the texts mean alike. Recalls and
// one goroutine of the Bank call it concurrently. memorytest.CheckEmbedder checks this contract.
type Embedder interface {
	// Embed returns one vector for each text, in order. All vectors have the same number of finite
	// numbers, at most MaxDimension; their lengths do not matter. A nil vector says that the text has
	// none, which is no error. The vector of a text depends on the text alone.
	//
	// Texts have been sanitised. One may be 128 KiB long: an Embedder with a shorter limit cuts it. After
	// an error the same texts come again later, in smaller batches. Embed must heed ctx, and must not
	// keep the slices that it gets or returns.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names the model and everything else that the vectors depend on, in at most 256 bytes. Vectors
	// of different models are never compared: when the name changes, the Bank embeds all texts again.
	Model() string
}

// Extractor reads what a text states, and which earlier notes it ends. One goroutine of the Bank calls
// it, behind the write, with each Fact and Episode that is remembered from then on, except those with
// a Slot and those that arc has derived. The store has the texts that wait for it. After an error the
// text comes again, until the Extractor has failed eight times since Open. Errors of the store do not count.
//
// A statement becomes a Fact. If its words are in the text, the Fact is derived from the record, and as
// trusted as that; if not, its origin is Model. If its words are in the text and its Confidence is .9 or
// more, it hides what states another value of an earlier time, as a host's Slot does, and earlier statements
// of an Extractor about those in Replaces. It hides no text: an earlier text is perhaps replaced (see
// Hit.Replaced), and comes after this one.
type Extractor interface {
	// Extract returns what the record states, if anything, in the same order when it is asked again. Known
	// are up to 16 earlier Facts and Episodes of the scope, by the record's Actor or by none, and of the
	// same trust: the most alike first, then the latest. Extract must heed ctx, and must not change the
	// records.
	Extract(ctx context.Context, r Record, known []Record) ([]Statement, error)
}

// Statement is what a text states: that a value is set, which replaces others, or is added to others,
// or is removed from them.
type Statement struct {
	Slot
	Change     string    // "set", "add" or "remove"
	From       time.Time // from when on it holds; zero: the At of the text
	Confidence float64   // that the text states it, in [0,1]
	// Replaces are the known records that the text ends: what they mainly say holds no more. Nil: the
	// Extractor does not say.
	Replaces []ID
}

// check returns what is wrong with a statement of an Extractor that was shown these records.
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
