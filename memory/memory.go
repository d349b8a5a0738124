// Package memory keeps what an agent has learned and was told, and finds it again: failures, patterns, facts,
// episodes and standing rules, recalled by relevance, effectiveness and recency.
//
// A [Bank] is one tenant's memory over its store; [Bank.In] gives the [Space] of one scope, which remembers
// and recalls; [Render] writes what was found into a prompt.
//
// # What is merged, replaced and forgotten
//
// Equal drafts are one memory: those of one kind, trust, actor, thread and slot whose texts have equal words
// in equal order, where capitals count in words like MB and userId. All else stays apart. One memory replaces
// another where a Slot or Supersedes says so, never by a guess; of Facts that answer about as well, the newer
// one comes first, unless it has another word, or actor, in place of one that the query names. A memory that
// is not used loses recency, and is found. [Space.Maintain] archives only what nobody vouches for.
//
// # Where things are
//
// Begin with Recall (recall.go) and Remember (remember.go). record.go has a memory as it is stored, table.go
// those of a scope as they are found, and apply (bank.go) takes the one into the other. It is the only way
// in, for Open, for a writer and for what another process wrote, so these cannot differ.
//
// # Concurrency and persistence
//
// All methods may be called concurrently. A write is one conditional commit, durable when the call returns. A
// tenant's are all in memory: beside texts some 430 bytes each, and 4 KB a scope. Several processes may share
// a store that is a [store.Changer]: whoever reads sees what another wrote.
package memory

import (
	"encoding/json"
	"time"

	"github.com/arc-learn/arc/store"
)

// Scope names whose a memory is: "acme/anna". See [store.Scope].
type Scope = store.Scope

// ID identifies a memory within its scope.
type ID string

// Kind says what a memory is.
type Kind string

const (
	Failure Kind = "failure" // what went wrong in a situation, and what to do instead
	Pattern Kind = "pattern" // an approach that worked in a situation
	Fact    Kind = "fact"    // a statement that holds from a time on
	Episode Kind = "episode" // something that was said or happened
	Rule    Kind = "rule"    // a standing instruction: told in every run, or where its Trigger stands in a text
)

// Origin says who a memory's words come from. Host is trusted; Derived has the least trust of its parents;
// all others are quarantined until somebody vouches for them with [Space.Trust].
type Origin string

const (
	Host     Origin = ""         // the program that links arc in
	Derived  Origin = "derived"  // drawn by arc from an outcome that gates have judged
	Model    Origin = "model"    // a language model
	Executor Origin = "executor" // the output of a worker or tool
	User     Origin = "user"     // a person who talks to the host
	Web      Origin = "web"      // pages, mails and other outside documents
)

// Source says where a memory comes from. [Space.Revoke] removes all that one source has said.
type Source struct {
	Origin  Origin `cbor:"1,keyasint,omitempty"`
	Ref     string `cbor:"2,keyasint,omitempty"` // a path, an address or another name
	Run     string `cbor:"3,keyasint,omitempty"` // the run that it came up in
	Parents []ID   `cbor:"4,keyasint,omitempty"` // of a Derived memory: what of its scope it was drawn from
}

// Link points from a memory to another of its scope.
type Link struct {
	To ID `cbor:"1,keyasint"`
}

// MaxText is the most bytes of a Trigger, a Content and the Text of a Query. A Plan has at most 64 KiB; of
// Links, Supersedes and Parents there are at most 64 each; Key, Actor, Thread, Slot and what a Source and a
// Link name have at most [store.MaxID] bytes, and one with a secret or what is no UTF-8 becomes its hash.
const MaxText = 16 << 10

const maxPlan, maxLinks = 64 << 10, 64

// Draft is a memory to be written. Kind and Content are required.
type Draft struct {
	Kind       Kind      `cbor:"1,keyasint,omitzero"`
	Trigger    string    `cbor:"2,keyasint,omitzero"` // the situation; of a Rule: what brings it, one a line
	Content    string    `cbor:"3,keyasint,omitzero"`
	Key        string    `cbor:"4,keyasint,omitzero"` // the same Key in a scope is the same memory, for 90 days
	At         time.Time // when it happened or began to hold, in the zone of its dates; zero: now, in Now's
	Source     Source    `cbor:"5,keyasint,omitzero"`
	Actor      string    `cbor:"6,keyasint,omitzero"`  // who said or did it
	Thread     string    `cbor:"7,keyasint,omitzero"`  // the conversation it belongs to
	Slot       string    `cbor:"8,keyasint,omitzero"`  // names a value ("budget"); its later Fact replaces this
	Supersedes []ID      `cbor:"9,keyasint,omitzero"`  // memories of the scope that do not hold any more
	Links      []Link    `cbor:"10,keyasint,omitzero"` // what it goes with; see Query.Linked

	Vector []float32 `cbor:"11,keyasint,omitzero"` // nil: the Embedder's; up to 8,192 numbers, not all 0

	Plan json.RawMessage `json:",omitempty" cbor:"12,keyasint,omitzero"` // the host's
}

// Record is a memory as it is kept. It has no Vector.
type Record struct {
	ID    ID    `cbor:"17,keyasint,omitzero"`
	Scope Scope `cbor:"18,keyasint,omitzero"`
	Draft
	Stats
	Trusted      bool `cbor:"19,keyasint,omitzero"` // false: quarantined
	Archived     bool `cbor:"20,keyasint,omitzero"` // found only where nothing else matches
	SupersededBy ID   `cbor:"21,keyasint,omitzero"`
}

// Stats are a memory's counters. Effectiveness is the mean of a Beta posterior over them, ½ where nothing is
// known: (1 + Helped) / (2 + Helped + Misled + ½·Unused), since not to be used tells less than to mislead.
type Stats struct {
	Helped       int `cbor:"13,keyasint,omitzero"`
	Unused       int `cbor:"14,keyasint,omitzero"` // how many delivered tasks were shown it and did not use it
	Misled       int `cbor:"15,keyasint,omitzero"`
	Strengthened int `cbor:"16,keyasint,omitzero"` // how often an equal draft came
}

// Trust selects memories by trust. The zero value selects all.
type Trust int

const (
	Trusted     Trust = iota + 1 // only what the host, a gate or a person vouches for
	Quarantined                  // only the rest
)

// Query asks a Space. The zero value of a field does not restrict.
type Query struct {
	Text      string    // "": all, the most effective and most recent first
	Vector    []float32 // instead of the Embedder's; it is compared with those of its length
	K         int       // the most hits, Rules apart; 0: 10
	Floor     float64   // the least Relevance of a hit, in [0,1]
	Kinds     []Kind    // none: all. A Rule comes when its turn comes, beside and before the K others
	Also      []Scope   // further scopes of the tenant
	Trust     Trust
	At        time.Time // what held then, in the zone of the question; zero: what holds now, or is dated ahead
	Since     time.Time // only memories with At from then on
	Archived  bool      // archived ones, too; otherwise they come only where nothing else matches
	Linked    bool      // what hits link to, and what links to them, fills up to K
	Situation string    // effectiveness in this situation counts
	Context   []ID      // sources of spreading activation, for ACTR
}

// Parts are what a Score is made of. All are in [0,1].
type Parts struct {
	Relevance     float64 // how likely it answers, by words, speaker and vector
	Effectiveness float64
	Recency       float64 // 2^(-age/7 days), of a Fact before the newest like it
}

// Hit is a memory that was found.
type Hit struct {
	Record
	Parts      `cbor:"-"` // 0 in the Brief of a run that was taken up again
	Score      float64    `cbor:"25,keyasint,omitzero"` // in (0,1]
	Superseded *Record    `cbor:"26,keyasint,omitzero"` // the former statement, if it matched better
	Linked     ID         `cbor:"27,keyasint,omitzero"` // it came along with this hit
}

// Feedback says what became of memories that were shown. The same Key again within 90 days replaces what it
// counted. Ids that the scope does not have are ignored.
type Feedback struct {
	Key       string
	Shown     []ID // at most 1,000, as Misled
	Utilized  []ID // those of Shown that helped; empty: none did; nil: not known, or the task was not delivered
	Misled    []ID // led astray, shown or not
	Situation string
}
