package memory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/internal/index"
	"github.com/arc-learn/arc/next/internal/text"
	"github.com/arc-learn/arc/next/store"
)

// What a scope's keys are of.
const (
	recordKind   = "m"  // by ID
	vectorKind   = "mv" // by ID of the record
	feedbackKind = "mf" // by hash of the Key of a Feedback
	draftKind    = "mk" // by hash of the Key of a Draft
)

// kinds are all kinds of keys that memory owns.
var kinds = []string{recordKind, vectorKind, feedbackKind, draftKind}

// stored is a record as it lies in the store. Times are microseconds since 1970.
type stored struct {
	Kind         Kind            `cbor:"1,keyasint"`
	Trigger      string          `cbor:"2,keyasint,omitempty"`
	Content      string          `cbor:"3,keyasint"`
	Key          string          `cbor:"4,keyasint,omitempty"`
	At           int64           `cbor:"5,keyasint"`
	Zone         int32           `cbor:"6,keyasint,omitempty"` // of At, in seconds east of UTC
	Source       Source          `cbor:"7,keyasint"`
	Actor        string          `cbor:"8,keyasint,omitempty"`
	Thread       string          `cbor:"9,keyasint,omitempty"`
	Slot         string          `cbor:"10,keyasint,omitempty"`
	Supersedes   []ID            `cbor:"11,keyasint,omitempty"`
	Links        []Link          `cbor:"12,keyasint,omitempty"`
	Plan         json.RawMessage `cbor:"13,keyasint,omitempty"`
	Sources      []Source        `cbor:"14,keyasint,omitempty"`
	Former       []ID            `cbor:"15,keyasint,omitempty"` // ids of records that were merged into it
	Created      int64           `cbor:"16,keyasint"`
	Trusted      bool            `cbor:"17,keyasint,omitempty"`
	Archived     bool            `cbor:"18,keyasint,omitempty"`
	Stats        *stats          `cbor:"19,keyasint,omitempty"`
	Strengthened int             `cbor:"20,keyasint,omitempty"`
	LastSaid     int64           `cbor:"21,keyasint,omitempty"`
}

// stats are the counters that feedback moves.
type stats struct {
	counts
	Uses       []int64     `cbor:"4,keyasint,omitempty"` // when it helped, the last ten in order
	Situations []situation `cbor:"5,keyasint,omitempty"` // the latest last
}

type counts struct {
	Helped int `cbor:"1,keyasint,omitempty"`
	Failed int `cbor:"2,keyasint,omitempty"`
	Misled int `cbor:"3,keyasint,omitempty"`
}

type situation struct {
	counts
	Hash uint64 `cbor:"4,keyasint"`
}

const (
	maxUses       = 10
	maxSituations = 32
	maxSources    = 15
)

// entry is a record in memory. It does not change: a change puts another in its place, so what a reader has found
// stays what it was. Fields that most records lack are behind pointers.
type entry struct {
	id               ID
	trigger, content string
	actor, thread    string
	at, created      int64
	rev              store.Revision
	more             *more
	stats            *stats
	strengthened     *strengthened
	zone             int32
	kind             uint8
	origin           uint8
	trusted          bool
	archived         bool
}

type more struct {
	key, slot  string
	source     Source
	sources    []Source
	supersedes []ID
	former     []ID
	links      []Link
	plan       json.RawMessage
}

type strengthened struct {
	n    int
	said int64
}

var none more

var (
	kindsInOrder   = []Kind{Failure, Pattern, Fact, Episode, Rule}
	originsInOrder = []Origin{Host, Derived, Model, Executor, User, Web}
)

// rest returns the fields that most records lack.
func (e *entry) rest() *more {
	if e.more == nil {
		return &none
	}
	return e.more
}

func (e *entry) is(k Kind) bool { return kindsInOrder[e.kind] == k }

// said is when the record was last said, or used.
func (e *entry) said() int64 {
	if e.strengthened != nil {
		return max(e.at, e.strengthened.said)
	}
	return e.at
}

// later orders statements of one thing.
func (e *entry) later(o *entry) int {
	return cmp.Or(cmp.Compare(e.said(), o.said()), cmp.Compare(e.created, o.created), cmp.Compare(e.id, o.id))
}

// decode returns the record of a stored entry.
func decode(e store.Entry) (s stored, err error) {
	if err = codec.Unmarshal(e.Value, &s); err == nil && !slices.Contains(kindsInOrder, s.Kind) {
		err = fmt.Errorf("%w: a memory of kind %.32q", store.ErrDamaged, s.Kind)
	}
	if err != nil {
		err = fmt.Errorf("memory: %s: %w", e.Key, err)
	}
	return s, err
}

// entry returns the record as it lies in memory.
func (s *stored) entry(id ID, rev store.Revision) *entry {
	e := &entry{
		id: id, trigger: s.Trigger, content: s.Content, actor: s.Actor, thread: s.Thread, at: s.At, created: s.Created,
		rev: rev, stats: s.Stats, zone: s.Zone, kind: uint8(slices.Index(kindsInOrder, s.Kind)),
		origin: uint8(max(slices.Index(originsInOrder, s.Source.Origin), 0)), trusted: s.Trusted, archived: s.Archived,
	}
	if s.Strengthened > 0 {
		e.strengthened = &strengthened{s.Strengthened, s.LastSaid}
	}
	if s.Key+s.Slot+s.Source.Ref+s.Source.Run != "" || s.Source.Parents != nil || s.Sources != nil ||
		s.Supersedes != nil || s.Former != nil || s.Links != nil || s.Plan != nil {
		e.more = &more{s.Key, s.Slot, s.Source, s.Sources, s.Supersedes, s.Former, s.Links, s.Plan}
	}
	return e
}

// record returns the record for a host, which may change it.
func (e *entry) record(scope Scope) Record {
	m := e.rest()
	source := m.source
	source.Origin, source.Parents = originsInOrder[e.origin], slices.Clone(source.Parents)
	r := Record{
		ID: e.id, Scope: scope,
		Draft: Draft{
			Kind: kindsInOrder[e.kind], Trigger: e.trigger, Content: e.content, Key: m.key, At: timeOf(e.at, e.zone),
			Source: source, Actor: e.actor, Thread: e.thread, Slot: m.slot, Supersedes: slices.Clone(m.supersedes),
			Links: slices.Clone(m.links), Plan: bytes.Clone(m.plan),
		},
		Sources: slices.Clone(m.sources), Created: timeOf(e.created, 0), Trusted: e.trusted, Archived: e.archived,
	}
	if s := e.stats; s != nil {
		r.Stats.Helped, r.Stats.Failed, r.Stats.Misled = s.Helped, s.Failed, s.Misled
		if n := len(s.Uses); n > 0 {
			r.Stats.LastUsed = timeOf(s.Uses[n-1], 0)
		}
	}
	if s := e.strengthened; s != nil {
		r.Stats.Strengthened, r.Stats.LastSaid = s.n, timeOf(s.said, 0)
	}
	return r
}

func timeOf(micro int64, zone int32) time.Time {
	if zone == 0 {
		return time.UnixMicro(micro).UTC()
	}
	return time.UnixMicro(micro).In(time.FixedZone("", int(zone)))
}

// flags of the index: one for each kind, and those below.
const (
	isTrusted index.Flags = 1 << (iota + 8)
	isQuarantined
	isArchived
	isLive
)

func (e *entry) flags() index.Flags {
	f := index.Flags(1) << e.kind
	if e.trusted {
		f |= isTrusted
	} else {
		f |= isQuarantined
	}
	if e.archived {
		f |= isArchived
	} else {
		f |= isLive
	}
	return f
}

// doc is what is indexed of the record.
func (e *entry) doc() index.Doc {
	machine := slices.Contains([]Origin{Model, Executor, Web}, originsInOrder[e.origin])
	return index.Doc{
		Trigger: e.trigger, Content: e.content, Actor: e.actor, Thread: e.thread, At: timeOf(e.at, e.zone),
		Tie: uint64(e.created), Machine: machine, Flags: e.flags(),
	}
}

// indexedAs reports whether the index has the same of both, but for flags.
func (e *entry) indexedAs(o *entry) bool {
	return e.trigger == o.trigger && e.content == o.content && e.actor == o.actor && e.thread == o.thread &&
		e.at == o.at && e.zone == o.zone && e.created == o.created && e.origin == o.origin
}

// embedded is the text that a vector is of.
func embedded(trigger, content string) string {
	if trigger == "" {
		return content
	}
	return trigger + "\n" + content
}

// counters returns stats to change.
func (s *stored) counters() *stats {
	if s.Stats == nil {
		return &stats{}
	}
	n := *s.Stats
	n.Uses, n.Situations = slices.Clone(n.Uses), slices.Clone(n.Situations)
	return &n
}

// equal reports whether two records say the same: equal words in equal order, by equal standing. Episodes are
// different events, whatever they say.
func (s *stored) equal(o *stored) bool {
	return s.Kind == o.Kind && s.Kind != Episode && s.Trusted == o.Trusted && s.Actor == o.Actor &&
		s.Thread == o.Thread && s.Slot == o.Slot &&
		text.Fold(s.Trigger) == text.Fold(o.Trigger) && text.Fold(s.Content) == text.Fold(o.Content)
}

// id returns the n-th id of a record: equal records have equal ones, so that they meet in the store.
func (s *stored) id(scope Scope, n int) ID {
	if s.Kind == Episode {
		event := cmp.Or(s.Key, fmt.Sprint(s.At, s.Created, s.Actor, s.Thread, s.Content))
		return ID(hashed(string(scope), string(Episode), event, fmt.Sprint(n)))
	}
	return ID(hashed(string(scope), string(s.Kind), s.Actor, s.Thread, s.Slot, fmt.Sprint(s.Trusted, n),
		text.Fold(s.Trigger), text.Fold(s.Content)))
}

// hashed returns 20 letters and digits.
func hashed(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(p))))
		h.Write([]byte(p))
	}
	return strings.ToLower(base32.HexEncoding.EncodeToString(h.Sum(nil)[:15]))[:20]
}
