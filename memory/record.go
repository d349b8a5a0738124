package memory

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/arc-learn/arc/memory/internal/tally"
)

// ID names a record within its scope. The package makes IDs: a host passes them around
// and does not build them.
type ID string

// Kind says what a record is.
type Kind string

// The kinds of records.
const (
	Failure Kind = "failure" // what went wrong in a situation, and what to do instead
	Pattern Kind = "pattern" // an approach that worked in a situation
	Fact    Kind = "fact"    // a statement that holds from a time on
	Episode Kind = "episode" // something that was said or happened
)

func (k Kind) valid() bool { return slices.Contains(kinds[:], k) }

// Origin says where a text comes from. The zero Origin is Host.
type Origin string

// The origins. Host is trusted, Derived as much as its sources are; the others are in
// quarantine.
const (
	Host     Origin = ""         // the program that links arc in
	Model    Origin = "model"    // a language model
	Executor Origin = "executor" // the output of an executor
	User     Origin = "user"     // a person who talks to the host
	Web      Origin = "web"      // pages, mails and other outside documents
	Derived  Origin = "derived"  // drawn by arc from an outcome that gates have judged
)

func (o Origin) valid() bool {
	return slices.Contains([]Origin{Host, Model, Executor, User, Web, Derived}, o)
}

func (o Origin) trusted() bool { return o == Host || o == Derived }

// Source is the provenance of a text. Ref and Run have at most 256 bytes each.
type Source struct {
	Origin Origin `cbor:"1,keyasint,omitempty"`
	Ref    string `cbor:"2,keyasint,omitempty"` // a path, an address or another name
	Run    string `cbor:"3,keyasint,omitempty"` // the run that it came up in
}

// Link points from a record to another record of the same scope. Rel says how they are related. "" says that
// the record was derived from the other: Revoke follows that.
type Link struct {
	To  ID     `cbor:"1,keyasint"`
	Rel string `cbor:"2,keyasint,omitempty"`
}

// Variant is a near-duplicate that was merged into a record.
type Variant struct {
	ID      ID // its former id, which leads to the record; "": it had none
	Source  Source
	At      time.Time
	Trigger string // its own texts; both are empty if they equal the record's
	Content string
}

// Stats are the counters of a record.
type Stats struct {
	// Helped counts delivered tasks that were shown the record and used it, and those from
	// which the same was derived again.
	Helped int
	Failed int // shown but not used in a task that was delivered
	// Quiet is how many of the Failed are of tasks that named no record as used.
	Quiet    int
	Misled   int       // named as misleading, delivered or not
	Exposed  int       // feedbacks that changed one of the other counters
	LastUsed time.Time // when it helped last; zero: never
}

func statsOf(c *tally.Counts) Stats {
	return Stats{
		Helped: c.Helped, Failed: c.Failed, Quiet: c.Quiet, Misled: c.Misled, Exposed: c.Exposed, LastUsed: c.LastUsed.Time(),
	}
}

// Record is what is kept of a Draft. It is a copy: changing it changes nothing
// in the Bank.
type Record struct {
	ID       ID              `cbor:"-"`
	Scope    Scope           `cbor:"1,keyasint"`
	Kind     Kind            `cbor:"2,keyasint"`
	Trigger  string          `cbor:"3,keyasint,omitempty"`
	Content  string          `cbor:"4,keyasint"`
	At       time.Time       `cbor:"-"` // when it happened or began to hold
	Known    time.Time       `cbor:"-"` // when it was recorded
	Vouched  time.Time       `cbor:"-"` // when its quarantine ended; zero: it was in none
	Source   Source          `cbor:"7,keyasint,omitzero"`
	Actor    string          `cbor:"8,keyasint,omitempty"`
	Thread   string          `cbor:"9,keyasint,omitempty"`
	Links    []Link          `cbor:"10,keyasint,omitempty"`
	Quotes   []Source        `cbor:"20,keyasint,omitempty"` // as in Draft, sorted
	Variants []Variant       `cbor:"-"`                     // near-duplicates that were merged into it
	Vector   []float32       `cbor:"-"`                     // filled by Get and All alone
	Plan     json.RawMessage `cbor:"13,keyasint,omitempty"` // what to run when a Pattern fires; opaque here
	Trusted  bool            `cbor:"14,keyasint,omitempty"` // false: quarantined
	Archived bool            `cbor:"-"`                     // put aside by Decay
	Triggers []string        `cbor:"85,keyasint,omitempty"` // phrases that bring it, see Query.Triggered
	Slot     Slot            `cbor:"17,keyasint,omitzero"`  // what it states, if the host said so
	Repaired bool            `cbor:"15,keyasint,omitempty"` // U+FFFD stands for invalid UTF-8
	Passing  bool            `cbor:"24,keyasint,omitempty"` // as in Draft
	Stats    Stats           `cbor:"-"`
	// SupersededBy is what a Slot or Supersede says to hold in its place now, filled by Get alone. "": nothing.
	SupersededBy ID `cbor:"-"`

	// apart has the records that this one is known to stay apart from, see apartMark. It is
	// nil in the copy that a host gets.
	apart []uint64
}

// Effectiveness estimates, over all situations, the probability that the record helps
// when it is shown: the mean of a Beta posterior, 0.5 without feedback. See [Parts].
func (r Record) Effectiveness() float64 {
	return tally.Effectiveness(r.Stats.Helped, r.Stats.Failed, r.Stats.Quiet, r.Stats.Misled)
}

// String names the record without its texts.
func (r Record) String() string { return string(r.Kind) + " " + string(r.ID) }

// GoString is String: no verb of package fmt prints the texts.
func (r Record) GoString() string { return r.String() }

// LogValue names the record without its texts.
func (r Record) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", string(r.ID)), slog.String("kind", string(r.Kind)))
}

// MayFire reports whether the record's plan may run without deliberation: the host vouches
// for the record, or arc has derived it, and no words in it are known to come from anyone
// but the host and its model. If gates have passed what the plan delivers, its structure is
// right; text in it is data still.
func (r *Record) MayFire() bool {
	return len(r.Plan) > 0 && (r.Trusted || r.Source.Origin == Derived && !slices.ContainsFunc(r.Quotes, foreign))
}

// foreign reports whether the words come from neither the host nor its model.
func foreign(s Source) bool { return !s.Origin.trusted() && s.Origin != Model }

// byMachine reports whether the text is from a program or the web.
func (s Source) byMachine() bool { return slices.Contains([]Origin{Model, Executor, Web}, s.Origin) }

func compareSources(a, b Source) int {
	return cmp.Or(cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.Run, b.Run))
}

// Clone returns a copy of r that shares nothing with it.
func (r Record) Clone() Record {
	r.own()
	return r
}

// own makes r's slices its own.
func (r *Record) own() {
	r.Links, r.Quotes, r.Variants = slices.Clone(r.Links), slices.Clone(r.Quotes), slices.Clone(r.Variants)
	r.Triggers, r.Vector, r.Plan = slices.Clone(r.Triggers), slices.Clone(r.Vector), slices.Clone(r.Plan)
}

// kinds are in the order of their flags.
var kinds = [...]Kind{Failure, Pattern, Fact, Episode}

// learned reports whether the kind is a lesson, whose Trigger says when it applies.
func (k Kind) learned() bool { return k == Failure || k == Pattern }

// textSize is the number of bytes that a cold record has on disk only.
func (r *Record) textSize() int {
	n := len(r.Trigger) + len(r.Content) + len(r.Plan)
	for _, v := range r.Variants {
		n += len(v.Trigger) + len(v.Content)
	}
	return n
}

// embedded is the text that the Embedder gets.
func (r *Record) embedded() string {
	if r.Trigger == "" {
		return r.Content
	}
	return r.Trigger + "\n" + r.Content
}

// size is about the number of bytes that the record takes in the store.
func (r *Record) size() int {
	n := 256 + len(r.Scope) + len(r.Trigger) + len(r.Content) + len(r.Actor) + len(r.Thread) +
		len(r.Source.Ref) + len(r.Source.Run) + 5*len(r.Vector) + 9*len(r.apart) + r.Slot.size() + len(r.Plan)
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

// asker is the user whose words the record repeats, by the name that the host has given;
// "" if there is none.
func (r *Record) asker() string {
	if i := slices.IndexFunc(r.Quotes, func(s Source) bool { return s.Origin == User && s.Ref != "" }); i >= 0 {
		return r.Quotes[i].Ref
	}
	return ""
}

// Slot is what a record states, by word of the host: an attribute of a subject has a value. The record hides
// those that state another value with an earlier At. Words that differ only in form or order make the same
// slot: "hosts of the cache", "Cache host". "I", "me" and "my" stand for the Actor. The Subject may be empty
// if the Attribute says what it belongs to. A Value is kept as a secret is where its Attribute says that it
// is one ("wifi password").
type Slot struct {
	Subject   string `cbor:"1,keyasint,omitempty"` // whom or what it is about
	Attribute string `cbor:"2,keyasint,omitempty"` // what of it
	Value     string `cbor:"3,keyasint,omitempty"` // at most 4 KiB, with the others
}

// size is the number of bytes of its texts.
func (s Slot) size() int { return len(s.Subject) + len(s.Attribute) + len(s.Value) }
