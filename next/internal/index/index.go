// Package index finds records by the words of their texts: BM25, in which a record counts with what is said around
// it in its thread, and a bare word finds its forms.
//
// An [Index] is of one scope, so that no figure of a scope reaches another. Records are rows: the Index numbers
// them, and its owner keeps what a row stands for. Any number of searches may run at once; [Index.Insert],
// [Index.Remove] and [Index.SetFlags] need the Index for themselves. The owner's RWMutex sees to that, since it
// guards what the rows stand for as well.
package index

import (
	"time"

	"github.com/arc-learn/arc/next/internal/text"
)

// Doc is what is indexed of a record.
type Doc struct {
	Trigger string // counts twice
	Content string
	Actor   string // who said it; the records of an actor whom a question names come before others
	Thread  string // the conversation it is part of, "" for none; its place in there is that of At and then Tie
	Tie     string // orders records of the same At; its id
	At      time.Time
	Machine bool  // it comes from a machine (a model, a program, the web): it is the other side of a conversation
	Flags   Flags // the owner's
}

// Flags are marks of the owner that a [Query] may exclude: of kind, trust, state.
type Flags uint16

// Index finds the records of one scope. Create one with [New].
type Index struct{}

// New returns an empty Index of texts in the languages of an.
func New(an *text.Analyzer) *Index { panic("contract") }

// Len is the number of records.
func (ix *Index) Len() int { panic("contract") }

// Terms are the terms of a Doc. To make them takes most of the time of Insert, and no Index: do it outside the lock.
type Terms struct{}

// Analyze returns the terms of d.
func (ix *Index) Analyze(d Doc) *Terms { panic("contract") }

// Insert indexes a record and returns its row: that of a removed record, or else the next, from 0 on.
func (ix *Index) Insert(d *Terms) (row uint32) { panic("contract") }

// Remove takes out a row. d is Analyze of the Doc that was inserted.
func (ix *Index) Remove(row uint32, d *Terms) { panic("contract") }

// SetFlags replaces the flags of a row.
func (ix *Index) SetFlags(row uint32, f Flags) { panic("contract") }

// Latest returns the last n rows of a thread, in order.
func (ix *Index) Latest(thread string, n int) []uint32 { panic("contract") }

// Equal returns the rows whose trigger and content have equal words in equal order as those of d.
func (ix *Index) Equal(d *Terms) []uint32 { panic("contract") }

// Query asks an Index.
type Query struct {
	Text    string
	At      time.Time             // when it is asked, with its zone: "yesterday" is the day before
	K       int                   // the K best, and those that are as good as the last of them. 0: all
	Gate    float64               // also those whose Ratio is at least Gate of the K-th best
	Exclude Flags                 // rows that have any of these are left out
	Skip    func(row uint32) bool // rows that are left out; nil: none
}

// Match is a record that a query found. Ratio orders matches; Relevance says how much of the query it is about,
// whatever else there is. Both are greater than 0; Relevance is at most 1.
type Match struct {
	Row              uint32
	Ratio, Relevance float64
	Days             bool // it is of a day that the query names
}

// Found is what a search found: Matches, best first, and Answer, the probability that the best of them answers the
// question: whether it is about the question's words, and by the actor whom it names.
type Found struct {
	Matches []Match
	Answer  float64
}

// Search returns what q finds.
func (ix *Index) Search(q *Query) Found { panic("contract") }

// Word is a word of a query, and what it counts.
type Word struct {
	Text  string  // as it is indexed
	Share float64 // of the query's weight; the shares of a query add up to 1
	Found bool    // the record has it
	Near  bool    // the record has another form or spelling of it
}

// Explain returns what each word of q counts, and which the row has.
func (ix *Index) Explain(q *Query, row uint32) []Word { panic("contract") }
