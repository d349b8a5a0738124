// Package text makes terms of texts, and dates of questions: what memory finds records by.
//
// An [Analyzer] knows the languages whose words are reduced to stems. Its terms are what package index takes.
package text

import "time"

// Term is a word as it is indexed: folded, and reduced to its stem where its language is known.
type Term struct {
	Text string
	Stop bool // a function word: it weighs an eighth
}

// Day is a calendar day in the zone of the time it was made of. Year 0 is any year.
type Day struct {
	Year, Month, Day int
}

// Analyzer makes terms. It is safe for concurrent use, and cheap to have: equal languages share one.
type Analyzer struct{}

// New returns the Analyzer of languages, by their two-letter codes ("en", "de"). None: English.
func New(languages ...string) (*Analyzer, error) { panic("contract") }

// Append appends the terms of a text.
func (a *Analyzer) Append(dst []Term, s string) []Term { panic("contract") }

// AppendDate appends the terms of a day: its year, month and day of the month. The day is that of at's zone.
func (a *Analyzer) AppendDate(dst []Term, at time.Time) []Term { panic("contract") }

// Days returns the days that a question names, as seen at a time and in its zone: "2025-03-06", "3/6/2025",
// "March 6", "last Friday", "yesterday", "3月6日".
func (a *Analyzer) Days(question string, at time.Time) []Day { panic("contract") }

// DayOf returns the day of a time in its own zone.
func DayOf(at time.Time) Day { panic("contract") }

// Fold returns a text's words in their order, in one case and without what two spellings of the same words differ
// in (spaces, punctuation, composed and decomposed letters). Texts with equal folds say the same.
func Fold(s string) string { panic("contract") }

// Similarity is the cosine of two texts' terms, in [0,1].
func Similarity(a, b []Term) float64 { panic("contract") }
