// Package memory keeps what an agent has learned and was told, and finds it again: failures, patterns, facts,
// episodes and standing rules, recalled by relevance, effectiveness and recency.
//
// This file has the nouns. A [Bank] is one tenant's memory over its store; a [Space] is the view of one scope.
package memory

import (
	"encoding/json"
	"time"

	"github.com/arc-learn/arc/next/store"
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
	Rule    Kind = "rule"    // a standing instruction: told in every run of its scope, or where its Trigger stands in the text
)

// Origin says who a memory's words come from. Host is trusted; Derived has the least trust of its parents; all
// others are quarantined until somebody vouches for them with [Space.Trust].
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
	Origin  Origin
	Ref     string // a path, an address or another name
	Run     string // the run that it came up in
	Parents []ID   // of a Derived memory: what it was drawn from
}

// Link points from a memory to another of the same tenant.
type Link struct {
	To  ID
	Rel string
}

// Draft is a memory to be written. Content is required; texts have at most 16 KiB.
type Draft struct {
	Kind       Kind
	Trigger    string // the situation it is for; of a Rule: the phrase that brings it, "" for every run
	Content    string
	Key        string    // makes Remember idempotent: the same Key in a scope is the same memory
	At         time.Time // when it happened or began to hold; its zone is that of its dates. Zero: now, in UTC
	Source     Source
	Actor      string // who said or did it
	Thread     string // the conversation it belongs to
	Slot       string // what it states the value of; a later Fact of the same Slot supersedes the former
	Supersedes []ID
	Links      []Link
	Vector     []float32
	Plan       json.RawMessage // the host's; at most 64 KiB
}

// Record is a memory as it is kept.
type Record struct {
	ID    ID
	Scope Scope
	Draft
	Created      time.Time
	Trusted      bool // false: quarantined
	Archived     bool
	SupersededBy ID
	Stats        Stats
}

// Stats are a memory's counters. Effectiveness is the mean of a Beta posterior over them, ½ where nothing is known.
type Stats struct {
	Helped, Failed, Misled, Strengthened int
	LastUsed                             time.Time // when it last helped
}

// Trust selects memories by trust.
type Trust int

const (
	AnyTrust    Trust = iota
	Trusted           // only what the host, a gate or a person vouches for
	Quarantined       // only the rest
)

// Query asks a Space. The zero value of a field does not restrict.
type Query struct {
	Text      string
	Vector    []float32 // instead of the Embedder's
	K         int       // at most so many hits; 0: 10
	Floor     float64   // the least Score of a hit
	Kinds     []Kind    // none: all but Rule, which Recall returns beside the others when its turn comes
	Also      []Scope   // further scopes of the tenant
	Trust     Trust
	At        time.Time // the time of the question, with its zone; zero: now
	Since     time.Time // only memories with At from then on
	Archived  bool      // archived ones, too
	Linked    bool      // what hits link to comes along
	Situation string    // effectiveness in this situation counts
	Context   []ID      // sources of spreading activation, for ACTR
}

// Parts are what a Score is made of, each in [0,1].
type Parts struct{ Relevance, Lexical, Cosine, Effectiveness, Recency float64 }

// Hit is a memory that was found.
type Hit struct {
	Record     Record
	Score      float64 // in (0,1]
	Parts      Parts
	Superseded *Record // the former statement of the same slot, if it matched better
	Linked     ID      // it came along with this hit
}

// Feedback says what became of memories that were shown. The same Key again within 90 days replaces what it
// counted.
type Feedback struct {
	Key       string
	Shown     []ID
	Utilized  []ID // nil: not known, counts nothing; empty: none of them helped
	Misled    []ID
	Delivered bool
	Situation string
}

// Receipt says what Remember did with a draft.
type Receipt struct {
	ID           ID
	Strengthened bool // an equal memory was there
}
