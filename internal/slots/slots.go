// Package slots reads from a text what it says of slots: that an attribute of
// a subject has a value, as in "Alice's port is 8080", "Alice moved to Berlin"
// or "we changed the deadline of the audit from Friday to Monday".
//
// It knows patterns of English sentences and a table of verbs, and no names. A
// slot is the set of the canonical words of subject and attribute, so that
// "the port of the billing service" and "the billing service listens on port"
// are one. What is asked, conditional, negated, planned, guessed or past is no
// value. Being wrong is worse than being silent: a sentence that fits no
// pattern says nothing.
package slots

import (
	"strings"
	"sync"
)

// MaxStatements is the number of statements above which a text is a document
// and not a statement, and has none.
const MaxStatements = 4

// maxText is the number of bytes of a text that are read.
const maxText = 4096

// Statement is what a text says of one slot.
type Statement struct {
	Key    uint64 // of the slot; never 0
	Self   uint64 // of the slot with "user" for who speaks, if it is about that one; else 0
	Value  uint64 // of the value, for comparison; never 0
	Former uint64 // of the value that it replaces, if the text names it; else 0
	Change bool   // in words of change: now, new, moved, from … to
	Secret bool   // the value has a part that a sanitizer has taken out
	Many   bool   // the slot may have several values: only Former is replaced
	Words  string // the slot's words, in order, for a human eye
	Text   string // the value's words
}

// Reading is what was read of a text.
type Reading struct {
	Statements []Statement
	Rest       int // words of the text that are in no sentence with a statement
	Used       int // words of the others
}

// Read returns what the text says. actor is who speaks: "I" is that one, or
// "user" if it is empty. The result is the same for the same text.
func Read(s, actor string) Reading {
	if len(s) > maxText {
		return Reading{}
	}
	p := parsers.Get().(*parser)
	defer p.release()
	p.actor = actor
	p.tokens = scan(p.tokens[:0], s)
	p.text()
	if len(p.out) == 0 || len(p.out) > MaxStatements {
		return Reading{}
	}
	return Reading{append([]Statement(nil), p.out...), p.rest, p.used}
}

// Of returns the statement that a subject has an attribute of a value, given
// in so many words.
func Of(subject, attribute, value, actor string) Statement {
	p := parsers.Get().(*parser)
	defer p.release()
	p.actor = actor
	p.tokens = scan(p.tokens[:0], subject)
	n := len(p.tokens)
	p.tokens = scan(p.tokens, attribute)
	m := len(p.tokens)
	p.tokens = scan(p.tokens, value)
	var b bag
	for i := range p.tokens[:m] {
		if t := &p.tokens[i]; !t.mark && !determiner[t.low] && !(i >= n && fresh[t.low]) && t.low != "of" {
			b = p.append(b, t)
		}
	}
	return p.statement(b, p.tokens[m:], nil)
}

func (p *parser) statement(b bag, val, from []token) Statement {
	var s Statement
	b = b.settle(val)
	if b.has(me) {
		s.Self = b.as("user").key()
		b = b.as(p.speaker()...)
	}
	s.Key, s.Words, s.Text = b.key(), strings.Join(b, " "), canonValue(val)
	s.Secret = secretIn(val)
	if s.Self == s.Key {
		s.Self = 0
	}
	s.Value = hash(offset, s.Text) | 1
	if f := canonValue(from); f != "" {
		s.Former = hash(offset, f) | 1
	}
	return s
}

// parser is the state of one reading.
type parser struct {
	actor   string
	tokens  []token
	out     []Statement
	rest    int
	used    int
	subject bag  // whom the text spoke of last
	topic   bag  // of which slot
	open    bool // the topic has got no value yet
	as      bag  // the attribute that the clause begins with: "as editor, …"
	of      bag  // what it begins with being about: "as for Alice, …"
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

func (p *parser) release() {
	clear(p.tokens[:cap(p.tokens)])
	clear(p.out[:cap(p.out)])
	*p = parser{tokens: p.tokens[:0], out: p.out[:0]}
	parsers.Put(p)
}

// text reads the sentences.
func (p *parser) text() {
	start := 0
	for i := range p.tokens {
		t := &p.tokens[i]
		if !t.mark {
			continue
		}
		switch t.low {
		case ".", "!":
			p.sentence(p.tokens[start:i], false)
			start = i + 1
		case "?":
			p.sentence(p.tokens[start:i], true)
			start = i + 1
		}
	}
	p.sentence(p.tokens[start:], false)
}

func (p *parser) sentence(ts []token, question bool) {
	if len(ts) == 0 || len(p.out) > MaxStatements {
		return
	}
	before := len(p.out)
	if question {
		p.ask(ts)
	} else {
		p.clauses(ts)
	}
	if len(p.out) > before {
		p.used += len(ts)
	} else {
		p.rest += len(ts)
	}
}

// ask notes what a question of a noun alone is about: "My color? It's teal."
func (p *parser) ask(ts []token) {
	if ph := p.phrase(ts); ph.ok && ph.attributive() && len(ts) <= 5 && p.verbAt(ts, 0) < 0 {
		p.topic, p.open = ph.words, true
	}
}
