package memory

import (
	"encoding/json"
	"errors"
	"log/slog"
	"time"
)

// Errors of drafts, queries and feedback. Nothing was stored.
var (
	// ErrEmpty: a text or key that is required is empty or white space.
	ErrEmpty = errors.New("empty")
	// ErrKind: a Kind is not one of the four.
	ErrKind = errors.New("unknown kind")
	// ErrOrigin: an Origin is not one of the six.
	ErrOrigin = errors.New("unknown origin")
	// ErrVector: a vector holds a number that is not finite, is zero, or has
	// another dimension than those of the Bank.
	ErrVector = errors.New("bad vector")
	// ErrPlan: a plan is not JSON.
	ErrPlan = errors.New("bad plan")
	// ErrQuery: a query asks for a negative number of hits.
	ErrQuery = errors.New("bad query")
)

// Limits of drafts and feedback, in bytes unless said otherwise. Over one the
// error is a *store.LimitError.
const (
	MaxText      = 64 << 10  // Trigger and Content, each; also Query.Text
	MaxRecord    = 512 << 10 // the record as it is stored
	MaxDimension = 4096      // numbers in a vector
	MaxLinks     = 256       // links of a record, and quotes
	MaxFeedback  = 1024      // ids in a Feedback
)

// Draft is a memory that is to be kept. Texts are sanitised and invalid UTF-8
// in them is replaced before anything else happens.
type Draft struct {
	Kind    Kind      // required
	Trigger string    // the situation in which it applies; may be empty for Episode and Fact
	Content string    // what to know or do
	Key     string    // idempotency: the same Key again changes nothing; "": none; at most 256 bytes
	At      time.Time // when it happened or began to hold, to the microsecond; zero: now
	Source  Source    // provenance
	Actor   string    // who said or did it, if anybody: a name, or a role such as user or assistant; at most 256 bytes
	Thread  string    // the conversation, session or document it belongs to; at most 256 bytes
	Links   []Link    // what it is related to; at most MaxLinks
	Quotes  []Source  // whose words the texts repeat; at most MaxLinks
	Vector  []float32 // that of the texts; nil: Options.Embedder makes it, or there is none
	Slot    Slot      // what it states, which hides what states another value of an earlier At

	// Triggers are phrases for Query.Triggered: at most MaxLinks, of 256 bytes each.
	Triggers []string
	Plan     json.RawMessage // what to run when a Pattern fires; JSON that memory does not read

	// Passing marks an Episode that is one of many and of use for a while, such as
	// how a run ended. It states no slots, and is visible at once, but written
	// with the next group, as Feedback is, if it has less than 4 KiB and no Vector.
	// It gives way to the 256th after it, is removed by Decay once it is
	// unused, and stays when Trust has vouched for it. Other kinds do not pass.
	Passing bool
}

// String names the draft without its texts, which are not sanitised yet.
func (d Draft) String() string { return "draft " + string(d.Kind) }

// GoString is String: no verb of package fmt prints the texts.
func (d Draft) GoString() string { return d.String() }

// LogValue names the draft without its texts.
func (d Draft) LogValue() slog.Value { return slog.StringValue(d.String()) }

// Disposition says what became of a Draft.
type Disposition string

// The dispositions.
const (
	Stored       Disposition = "stored"       // a record of its own
	Strengthened Disposition = "strengthened" // said by a record already, which counts as helped once more
	Merged       Disposition = "merged"       // said by a record already, which counts nothing for it
	Rejected     Disposition = "rejected"     // not kept, for Reason
)

// Receipt says what became of a Draft. ID is the record that holds it, empty
// if it was rejected; Into is the same if the record was there before.
type Receipt struct {
	ID          ID
	Disposition Disposition
	Into        ID
	Reason      string
}
