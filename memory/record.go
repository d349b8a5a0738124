package memory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/date"
	"github.com/arc-learn/arc/store"
)

// What a scope's keys are of.
const (
	recordKind   = "m"  // by ID
	vectorKind   = "mv" // by ID of the record
	feedbackKind = "mf" // by hash of the Key of a Feedback
	draftKind    = "mk" // by hash of the Key of a Draft
)

// record is a memory as it lies in the store and in memory. Once others can see it, neither it nor what it
// points to changes: a change puts another in its place. Times are microseconds since 1970.
type record struct {
	id       ID
	rev      store.Revision
	Trigger  string `cbor:"1,keyasint,omitempty"`
	Content  string `cbor:"2,keyasint"`
	Voice    *voice `cbor:"3,keyasint,omitempty"`
	More     *more  `cbor:"4,keyasint,omitempty"`
	At       int64  `cbor:"5,keyasint"`
	Created  int64  `cbor:"6,keyasint"`
	Zone     int32  `cbor:"7,keyasint,omitempty"` // of At, in seconds east of UTC
	Kind     uint8  `cbor:"8,keyasint,omitempty"` // index of kinds
	Origin   uint8  `cbor:"9,keyasint,omitempty"` // index of origins
	Trusted  bool   `cbor:"10,keyasint,omitempty"`
	Archived bool   `cbor:"11,keyasint,omitempty"`
}

// voice is shared by the records of one actor in one thread.
type voice struct {
	Actor  string `cbor:"1,keyasint,omitempty"`
	Thread string `cbor:"2,keyasint,omitempty"`
}

// more has what most records lack.
type more struct {
	Key          string          `cbor:"1,keyasint,omitempty"`
	Slot         string          `cbor:"2,keyasint,omitempty"`
	Ref          string          `cbor:"3,keyasint,omitempty"`
	Run          string          `cbor:"4,keyasint,omitempty"`
	Parents      []ID            `cbor:"5,keyasint,omitempty"`
	Sources      []Source        `cbor:"6,keyasint,omitempty"`
	Supersedes   []ID            `cbor:"7,keyasint,omitempty"`
	Former       []ID            `cbor:"8,keyasint,omitempty"` // ids of records that were merged into it
	Links        []Link          `cbor:"9,keyasint,omitempty"`
	Plan         json.RawMessage `cbor:"10,keyasint,omitempty"`
	Strengthened int             `cbor:"11,keyasint,omitempty"`
	Said         int64           `cbor:"12,keyasint,omitempty"` // when it was last strengthened
	Counts       counts          `cbor:"16,keyasint,omitzero"`
	Uses         []int64         `cbor:"14,keyasint,omitempty"` // when it helped, the last ten in order
	Situations   []situation     `cbor:"15,keyasint,omitempty"` // the latest last
}

var (
	kinds   = []Kind{Failure, Pattern, Fact, Episode, Rule}
	origins = []Origin{Host, Derived, Model, Executor, User, Web}
	nobody  voice
	nothing more
)

func (r *record) is(k Kind) bool { return kinds[r.Kind] == k }

func (r *record) voice() *voice { return cmp.Or(r.Voice, &nobody) }

func (r *record) more() *more { return cmp.Or(r.More, &nothing) }

// ids are those that the record is found by.
func (r *record) ids() []ID { return append([]ID{r.id}, r.more().Former...) }

// own returns r.More to change, in a record that nobody else has seen.
func (r *record) own() *more {
	m := *r.more()
	r.More = &m
	return &m
}

// said is when the record was last said.
func (r *record) said() int64 { return max(r.At, r.more().Said) }

// compare orders records by their time, and those of one instant as they came: the same in each process.
func (r *record) compare(o *record) int {
	return cmp.Or(cmp.Compare(r.At, o.At), cmp.Compare(r.Created, o.Created), cmp.Compare(r.id, o.id))
}

// later orders statements of one thing.
func (r *record) later(o *record) int {
	return cmp.Or(cmp.Compare(r.said(), o.said()), cmp.Compare(r.Created, o.Created), cmp.Compare(r.id, o.id))
}

func (r *record) source() Source {
	m := r.more()
	return Source{Origin: origins[r.Origin], Ref: m.Ref, Run: m.Run, Parents: m.Parents}
}

// sources are all that have said it.
func (r *record) sources() []Source { return append([]Source{r.source()}, r.more().Sources...) }

func (r *record) setSource(s Source, m *more) {
	r.Origin = uint8(max(0, slices.Index(origins, s.Origin)))
	m.Ref, m.Run, m.Parents = s.Ref, s.Run, slices.Clone(s.Parents)
}

// setDraft takes over what a draft says. m is r.More, to change, here and in setSource.
func (r *record) setDraft(d *Draft, m *more) {
	_, zone := d.At.Zone()
	r.Trigger, r.Content, r.At, r.Zone = d.Trigger, d.Content, d.At.UnixMicro(), int32(zone)
	r.Voice = &voice{d.Actor, d.Thread}
	m.Slot, m.Plan = d.Slot, bytes.Clone(d.Plan)
	m.Supersedes, m.Links = slices.Clone(d.Supersedes), slices.Clone(d.Links)
}

// encode returns the value of a record, whose empty parts it drops.
func (r *record) encode() ([]byte, error) {
	if *r.voice() == nobody {
		r.Voice = nil
	}
	if r.More != nil && reflect.ValueOf(r.More).Elem().IsZero() {
		r.More = nil
	}
	return codec.Marshal(r)
}

// decode returns the record of a stored entry.
func decode(id ID, e store.Entry) (*record, error) {
	r := &record{id: id, rev: e.Rev}
	err := codec.Unmarshal(e.Value, r)
	if err == nil && (int(r.Kind) >= len(kinds) || int(r.Origin) >= len(origins)) {
		err = fmt.Errorf("%w: a kind or an origin that is not known", store.ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %s: %w", e.Key, err)
	}
	return r, nil
}

// export returns what a host gets, and may change.
func (r *record) export(scope Scope) Record {
	m, v := r.more(), r.voice()
	source := r.source()
	source.Parents = slices.Clone(source.Parents)
	return Record{
		ID: r.id, Scope: scope, Trusted: r.Trusted, Archived: r.Archived,
		Draft: Draft{
			Kind: kinds[r.Kind], Trigger: r.Trigger, Content: r.Content, Key: m.Key, At: timeOf(r.At, r.Zone),
			Source: source, Actor: v.Actor, Thread: v.Thread, Slot: m.Slot, Supersedes: slices.Clone(m.Supersedes),
			Links: slices.Clone(m.Links), Plan: bytes.Clone(m.Plan),
		},
		Stats: Stats{m.Counts[helped], m.Counts[unused], m.Counts[misled], m.Strengthened},
	}
}

func timeOf(micro int64, zone int32) time.Time {
	if zone == 0 {
		return time.UnixMicro(micro).UTC()
	}
	return time.UnixMicro(micro).In(time.FixedZone("", int(zone)))
}

// analyze returns what is indexed of records. It takes time, and is done before they are taken in.
func analyze(an *text.Analyzer, rs ...*record) *index.Terms {
	docs := make([]index.Doc, len(rs))
	for i, r := range rs {
		at, v := timeOf(r.At, r.Zone), r.voice()
		docs[i] = index.Doc{Trigger: r.Trigger, Content: r.Content, Thread: v.Thread, Day: date.Of(at).Terms(an)}
		if !sides[strings.ToLower(v.Actor)] {
			docs[i].Actor = v.Actor
		}
	}
	return index.Analyze(an, docs...)
}

// sides are actors that are but a side of a conversation, as half of all records have: no names to find.
var sides = map[string]bool{"user": true, "human": true, "customer": true, "me": true,
	"assistant": true, "ai": true, "agent": true, "bot": true, "model": true, "system": true, "tool": true}

// sameDoc reports whether the index has the same of both. Created does not change.
func (r *record) sameDoc(o *record) bool {
	return r.Trigger == o.Trigger && r.Content == o.Content && *r.voice() == *o.voice() && r.At == o.At &&
		r.Zone == o.Zone
}

// text is what a vector is of.
func (r *record) text() string { return strings.TrimLeft(r.Trigger+"\n"+r.Content, "\n") }
