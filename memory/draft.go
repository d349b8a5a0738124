package memory

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/ident"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
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
	maxFeedback  = 1024      // ids in a Feedback
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
	// Revision is that by which the record is in the store, for Query.After, if the Bank is
	// Shared. 0: it is not known, as of a passing Episode.
	Revision store.Revision
}

// ErrID: an id, a key, or another name is not valid UTF-8, or holds control
// characters or a token that has the form of an issuer's.
var ErrID = key.ErrID

// minTrigger is the number of characters below which the trigger of a Failure
// or Pattern says too little to be found by.
const minTrigger = 10

// candidate is a draft that was checked and cleaned: the record that it would
// be. The ID is set if the draft has a Key.
type candidate struct {
	rec      *Record
	doc      index.Doc // of rec
	with     stowed
	rejected string // why, or ""
	behind   bool   // written with the next group of the Writer
	// What it writes, once it is in a group. Without a Key: no vector.
	record, vector store.Op
}

// clean checks the draft against the limits, sanitises it, and returns what
// would be kept.
func (b *Bank) clean(s Scope, d *Draft, now time.Time) (candidate, error) {
	if err := d.check(); err != nil {
		return candidate{}, err
	}
	r := &Record{
		Scope: s, Kind: d.Kind, At: d.At, Known: now,
		Source:  b.cleanSource(d.Source),
		Actor:   b.sanitize.Sanitize(d.Actor),
		Thread:  b.sanitize.Sanitize(d.Thread),
		Vector:  slices.Clone(d.Vector),
		Plan:    slices.Clone(b.sanitize.JSON(d.Plan)),
		Passing: d.Passing && d.Kind == Episode,
	}
	if r.At.IsZero() {
		r.At = now
	}
	r.At = r.At.UTC().Truncate(time.Microsecond)
	r.Trigger = b.cleanText(d.Trigger, r)
	r.Content = b.cleanText(d.Content, r)
	for _, l := range d.Links {
		if ident.Of(l.To).Foreign() { // what this package has made is no secret
			l.To = ID(b.sanitize.Sanitize(string(l.To)))
		}
		r.Links = append(r.Links, Link{To: l.To, Rel: b.sanitize.Sanitize(l.Rel)})
	}
	for _, q := range d.Quotes {
		r.Quotes = append(r.Quotes, b.cleanSource(q))
	}
	for _, phrase := range d.Triggers {
		r.Triggers = append(r.Triggers, b.sanitize.Sanitize(phrase))
	}
	slices.SortFunc(r.Quotes, compareSources)
	r.Quotes = slices.Compact(r.Quotes)
	slot, err := b.cleanSlot(d.Slot)
	if err != nil {
		return candidate{}, err
	}
	r.Slot = slot
	if d.Key != "" {
		r.ID = ID(ident.Keyed(string(s), d.Key))
	}
	if err := limit("record", MaxRecord, r.size()); err != nil {
		return candidate{}, err
	}
	with := stowed{dim: uint16(len(r.Vector))}
	c := candidate{rec: r, doc: b.document(r, with), with: with}
	c.behind = r.Passing && len(d.Vector) == 0 && r.textSize() < coldText
	if d.Kind.learned() && utf8.RuneCountInString(strings.TrimSpace(r.Trigger)) < minTrigger {
		c.rejected = fmt.Sprintf("trigger shorter than %d characters", minTrigger)
	}
	return c, nil
}

func (b *Bank) cleanText(s string, r *Record) string {
	if !utf8.ValidString(s) {
		r.Repaired = true
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	return b.sanitize.Sanitize(s)
}

func (b *Bank) cleanSource(s Source) Source {
	return Source{Origin: s.Origin, Ref: b.sanitize.Sanitize(s.Ref), Run: b.sanitize.Sanitize(s.Run)}
}

// learned says that the kind is a lesson, which has to say when it applies.
func (k Kind) learned() bool { return k == Failure || k == Pattern }

func (d *Draft) check() error {
	switch {
	case !d.Kind.valid():
		return fmt.Errorf("%w: %.32q", ErrKind, string(d.Kind))
	case !d.Source.Origin.valid():
		return fmt.Errorf("%w: %.32q", ErrOrigin, string(d.Source.Origin))
	}
	err := cmp.Or(
		limit("trigger", MaxText, len(d.Trigger)), limit("content", MaxText, len(d.Content)), limit("plan", MaxRecord, len(d.Plan)),
		required("content", d.Content))
	switch y := d.At.Year(); {
	case err != nil:
		return err
	case d.Kind.learned() && strings.TrimSpace(d.Trigger) == "":
		return fmt.Errorf("trigger of a %s: %w", d.Kind, ErrEmpty)
	case len(d.Plan) > 0 && !json.Valid(d.Plan):
		return fmt.Errorf("%w: not JSON", ErrPlan)
	case y < 1 || y > 9999:
		return &store.LimitError{Field: "year of At", Limit: 9999, Got: y}
	}
	err = cmp.Or(
		key.CheckID("key", d.Key), key.CheckID("actor", d.Actor), key.CheckID("thread", d.Thread),
		key.CheckID("source ref", d.Source.Ref), key.CheckID("source run", d.Source.Run),
		limit("links", MaxLinks, len(d.Links)), limit("quotes", MaxLinks, len(d.Quotes)), limit("triggers", MaxLinks, len(d.Triggers)))
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
	return cmp.Or(err, checkVector(d.Vector))
}

// limit returns a *store.LimitError for more than there may be of a field.
func limit(field string, most, got int) error {
	if got > most {
		return &store.LimitError{Field: field, Limit: most, Got: got}
	}
	return nil
}

// required returns ErrEmpty for a field that says nothing.
func required(field, text string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("%s: %w", field, ErrEmpty)
	}
	return nil
}

func checkVector(v []float32) error {
	if err := limit("vector", MaxDimension, len(v)); err != nil {
		return err
	}
	for i, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%w: number %d is not finite", ErrVector, i)
		}
	}
	if len(v) > 0 && zero(v) {
		return fmt.Errorf("%w: it is zero", ErrVector)
	}
	return nil
}

// size is about the number of bytes that the record takes in the store.
func (r *Record) size() int {
	n := 256 + len(r.Scope) + len(r.Trigger) + len(r.Content) + len(r.Actor) + len(r.Thread) +
		len(r.Source.Ref) + len(r.Source.Run) + 5*len(r.Vector) + 9*len(r.apart) + len(r.Slot.Subject) + len(r.Slot.Attribute) + len(r.Slot.Value) + len(r.Plan)
	for _, l := range r.Links {
		n += 16 + len(l.To) + len(l.Rel)
	}
	for _, phrase := range r.Triggers {
		n += 8 + len(phrase)
	}
	for _, q := range r.Quotes {
		n += 16 + len(q.Ref) + len(q.Run)
	}
	for _, v := range r.Variants {
		n += 128 + len(v.Trigger) + len(v.Content) + len(v.Source.Ref) + len(v.Source.Run)
	}
	return n
}
