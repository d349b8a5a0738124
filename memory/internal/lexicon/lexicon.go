// Package lexicon reads texts and queries in a language, as they are indexed and looked for.
package lexicon

import (
	"time"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/asker"
	"github.com/arc-learn/arc/memory/internal/calendar"
)

// Lexicon reads texts of a language.
type Lexicon struct {
	lang  text.Language
	dates *calendar.Calendar
}

// New returns the Lexicon of a language.
func New(lang text.Language) *Lexicon { return &Lexicon{lang, calendar.New(lang)} }

// Text is what is read of a record.
type Text struct {
	Trigger, Content, Actor, Thread string
	At                              time.Time
	Extra                           []string // what it says besides
	Tie                             int64    // orders those of one At
	Asks                            bool     // it is a question
	Machine                         bool     // a program has made it, or the web has it
}

// Doc returns what is indexed of a text. The terms are appended to buf.
func (x *Lexicon) Doc(buf []text.Term, t *Text) (index.Doc, []text.Term) {
	terms := func(texts ...string) []text.Term {
		start := len(buf)
		for _, s := range texts {
			buf = x.lang.Append(buf, s)
		}
		return buf[start:len(buf):len(buf)]
	}
	d := index.Doc{
		Trigger: terms(t.Trigger), Content: terms(t.Content), Actor: terms(asker.Name(t.Actor)), Extra: terms(t.Extra...),
		Thread: t.Thread, At: t.At.UnixMicro(), Tie: t.Tie, Asks: t.Asks, Other: asker.Other(t.Actor, t.Machine),
	}
	start := len(buf)
	buf = x.dates.Append(buf, t.At)
	d.Date = buf[start:len(buf):len(buf)]
	return d, buf
}

// Terms returns the terms of a text, nil if it is empty.
func (x *Lexicon) Terms(s string) []text.Term {
	if s == "" {
		return nil
	}
	return x.lang.Append(make([]text.Term, 0, len(s)/5+1), s)
}

// Query appends the terms of a query to buf, with the days that it names. Half has the day after
// each, see index.Query.
func (x *Lexicon) Query(buf []text.Term, s string) (terms []text.Term, half map[string]string) {
	return x.dates.AppendNamed(x.lang.Append(buf, s)), x.dates.Next
}
