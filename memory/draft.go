package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/vectors"
	"github.com/arc-learn/arc/store"
)

// Draft is a memory to be kept. Its texts are sanitised, and invalid UTF-8 in them is
// replaced, before anything else happens. Key, Actor and Thread have at most 256 bytes
// each.
type Draft struct {
	Kind    Kind      // required
	Trigger string    // when it applies; Episode and Fact need none
	Content string    // what to know or do
	Key     string    // the same Key again changes nothing; "": none
	At      time.Time // when it happened or began to hold; zero: now
	Source  Source    // provenance
	Actor   string    // the speaker or agent: a name, or a role such as user
	Thread  string    // the conversation, session or document it belongs to
	Links   []Link    // what it is related to; at most MaxLinks
	Quotes  []Source  // whose words the texts repeat; at most MaxLinks
	Vector  []float32 // of the texts; nil: Options.Embedder makes it, if any
	Slot    Slot      // what it states, which hides another value of an earlier At

	// Triggers are phrases for Query.Triggered: at most MaxLinks, of 256 bytes each. If one
	// is in the objective or situation of a run, arc.Agent tells the run this record first.
	Triggers []string
	Plan     json.RawMessage // run when a Pattern fires; memory does not read it
	// Passing marks an Episode that is one of many and of use for a while, such as how a run
	// ended. It states no slots, and is visible at once. Below 4 KiB and without a Vector, the
	// Bank writes it with the next group, as it does Feedback. It is removed by the 256th after
	// it, where the Bank is Shared by the 240th or later, or by Decay once it is unused, unless
	// Trust has vouched for it. Other kinds do not pass.
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

// Receipt says what became of a Draft. ID is the record that holds it, empty if the draft
// was rejected. Into is the same ID if a record that was there before took it in, "" if the record is
// that of the Key.
type Receipt struct {
	ID          ID
	Disposition Disposition
	Into        ID
	Reason      string
	// Revision is a revision of the store that has the record, for Query.After, if the Bank is
	// Shared. 0: it is not known, as of a passing Episode.
	Revision store.Revision
}

func (d *Draft) check() error {
	switch {
	case !d.Kind.valid():
		return fmt.Errorf("%w: %.32q", ErrKind, string(d.Kind))
	case !d.Source.Origin.valid():
		return fmt.Errorf("%w: %.32q", ErrOrigin, string(d.Source.Origin))
	}
	err := cmp.Or(
		limit("trigger", MaxText, len(d.Trigger)), limit("content", MaxText, len(d.Content)),
		limit("plan", MaxRecord, len(d.Plan)), required("content", d.Content))
	switch y := d.At.Year(); {
	case err != nil:
		return err
	case d.Kind.learned() && required("", d.Trigger) != nil:
		return fmt.Errorf("trigger of a %s: %w", d.Kind, ErrEmpty)
	case len(d.Plan) > 0 && !json.Valid(d.Plan):
		return fmt.Errorf("%w: not JSON", ErrPlan)
	case y < 1 || y > 9999:
		return &store.LimitError{Field: "year of At", Limit: 9999, Got: y}
	}
	err = cmp.Or(
		key.CheckID("key", d.Key), key.CheckID("actor", d.Actor), key.CheckID("thread", d.Thread),
		key.CheckID("source ref", d.Source.Ref), key.CheckID("source run", d.Source.Run),
		limit("links", MaxLinks, len(d.Links)), limit("quotes", MaxLinks, len(d.Quotes)),
		limit("triggers", MaxLinks, len(d.Triggers)))
	if err != nil {
		return err
	}
	for _, l := range d.Links {
		err = cmp.Or(err, required("link", string(l.To)), key.CheckID("link", string(l.To)), key.CheckID("link rel", l.Rel))
	}
	for _, q := range d.Quotes {
		if err == nil && !q.Origin.valid() {
			err = fmt.Errorf("quotes: %w: %.32q", ErrOrigin, string(q.Origin))
		}
		err = cmp.Or(err, key.CheckID("quoted ref", q.Ref), key.CheckID("quoted run", q.Run))
	}
	for _, phrase := range d.Triggers {
		err = cmp.Or(err, required("trigger phrase", phrase), key.CheckID("trigger phrase", phrase))
	}
	return cmp.Or(err, vectors.Check(d.Vector))
}

// forgotten is the reason of a draft that is delivered again after Forget.
var forgotten = Receipt{Disposition: Rejected, Reason: "forgotten"}
