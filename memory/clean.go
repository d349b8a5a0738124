package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

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
		if keyOf(l.To)[0] == foreignID { // what this package has made is no secret
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
		r.ID = keyedID(s, d.Key)
	}
	if size := r.size(); size > MaxRecord {
		return candidate{}, &store.LimitError{Field: "record", Limit: MaxRecord, Got: size}
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
	if !d.Kind.valid() {
		return fmt.Errorf("%w: %.32q", ErrKind, string(d.Kind))
	}
	if !d.Source.Origin.valid() {
		return fmt.Errorf("%w: %.32q", ErrOrigin, string(d.Source.Origin))
	}
	for _, f := range []struct{ name, text string }{{"trigger", d.Trigger}, {"content", d.Content}} {
		if len(f.text) > MaxText {
			return &store.LimitError{Field: f.name, Limit: MaxText, Got: len(f.text)}
		}
	}
	if len(d.Plan) > MaxRecord {
		return &store.LimitError{Field: "plan", Limit: MaxRecord, Got: len(d.Plan)}
	}
	switch {
	case strings.TrimSpace(d.Content) == "":
		return fmt.Errorf("content: %w", ErrEmpty)
	case d.Kind.learned() && strings.TrimSpace(d.Trigger) == "":
		return fmt.Errorf("trigger of a %s: %w", d.Kind, ErrEmpty)
	case len(d.Plan) > 0 && !json.Valid(d.Plan):
		return fmt.Errorf("%w: not JSON", ErrPlan)
	}
	if y := d.At.Year(); y < 1 || y > 9999 {
		return &store.LimitError{Field: "year of At", Limit: 9999, Got: y}
	}
	for _, f := range []struct{ name, id string }{
		{"key", d.Key}, {"actor", d.Actor}, {"thread", d.Thread}, {"source ref", d.Source.Ref}, {"source run", d.Source.Run},
	} {
		if err := key.CheckID(f.name, f.id); err != nil {
			return err
		}
	}
	if err := checkLinks(d.Links); err != nil {
		return err
	}
	if err := checkQuotes(d.Quotes); err != nil {
		return err
	}
	if len(d.Triggers) > MaxLinks {
		return &store.LimitError{Field: "triggers", Limit: MaxLinks, Got: len(d.Triggers)}
	}
	for _, phrase := range d.Triggers {
		if strings.TrimSpace(phrase) == "" {
			return fmt.Errorf("trigger phrase: %w", ErrEmpty)
		}
		if err := key.CheckID("trigger phrase", phrase); err != nil {
			return err
		}
	}
	return checkVector(d.Vector)
}

func checkLinks(links []Link) error {
	if len(links) > MaxLinks {
		return &store.LimitError{Field: "links", Limit: MaxLinks, Got: len(links)}
	}
	for _, l := range links {
		if l.To == "" {
			return fmt.Errorf("link: %w", ErrEmpty)
		}
		if err := key.CheckID("link", string(l.To)); err != nil {
			return err
		}
		if err := key.CheckID("link rel", l.Rel); err != nil {
			return err
		}
	}
	return nil
}

func checkQuotes(quotes []Source) error {
	if len(quotes) > MaxLinks {
		return &store.LimitError{Field: "quotes", Limit: MaxLinks, Got: len(quotes)}
	}
	for _, q := range quotes {
		if !q.Origin.valid() {
			return fmt.Errorf("quotes: %w: %.32q", ErrOrigin, string(q.Origin))
		}
		if err := cmp.Or(key.CheckID("quoted ref", q.Ref), key.CheckID("quoted run", q.Run)); err != nil {
			return err
		}
	}
	return nil
}

func checkVector(v []float32) error {
	if len(v) > MaxDimension {
		return &store.LimitError{Field: "vector", Limit: MaxDimension, Got: len(v)}
	}
	zero := true
	for i, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%w: number %d is not finite", ErrVector, i)
		}
		zero = zero && x == 0
	}
	if len(v) > 0 && zero {
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
