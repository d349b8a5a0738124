package reason

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/arc-learn/arc/internal/text"
)

// Estimate is what the wording of an objective says about its size, before
// anybody has thought about it.
type Estimate struct {
	Complexity Complexity
	Words      int
	Parts      int      // things to do that the wording sets apart; at least 1 if there is a word
	Evidence   []Signal // in order of the text; the first 64
}

// Has reports whether a signal of that kind is among the evidence.
func (e Estimate) Has(kind SignalKind) bool {
	for _, s := range e.Evidence {
		if s.Kind == kind {
			return true
		}
	}
	return false
}

// Signal is a place in an objective that says something about its size.
type Signal struct {
	Kind SignalKind
	Text string // as it stands there
	At   int    // its first byte
}

// SignalKind says what a signal is about.
type SignalKind string

// The kinds of signals. Fix, add and change are English words for what is to
// be done; they set parts apart at the beginning of a sentence and do not
// count otherwise.
const (
	SignalPart     SignalKind = "part"     // where another part begins: and, then, also, plus; an item of a list; a semicolon; a further sentence that says what to do
	SignalFile     SignalKind = "file"     // a file, module, class, function or package, or the name of a file
	SignalScope    SignalKind = "scope"    // all, every, entire, across
	SignalHedge    SignalKind = "hedge"    // maybe, somehow, whatever: what is not decided
	SignalChoice   SignalKind = "choice"   // or, either
	SignalQuestion SignalKind = "question" // a question mark
	SignalFix      SignalKind = "fix"
	SignalAdd      SignalKind = "add"
	SignalChange   SignalKind = "change"
)

// signalWords are whole words in lower case.
var signalWords = map[string]SignalKind{
	"and": SignalPart, "then": SignalPart, "also": SignalPart, "plus": SignalPart,
	"afterwards": SignalPart, "additionally": SignalPart, "furthermore": SignalPart, "finally": SignalPart,
	"file": SignalFile, "files": SignalFile, "module": SignalFile, "modules": SignalFile, "class": SignalFile, "classes": SignalFile,
	"function": SignalFile, "functions": SignalFile, "package": SignalFile, "packages": SignalFile,
	"all": SignalScope, "every": SignalScope, "everything": SignalScope, "everywhere": SignalScope, "each": SignalScope,
	"entire": SignalScope, "whole": SignalScope, "across": SignalScope, "throughout": SignalScope,
	"maybe": SignalHedge, "perhaps": SignalHedge, "possibly": SignalHedge, "somehow": SignalHedge, "something": SignalHedge,
	"whatever": SignalHedge, "whichever": SignalHedge, "unsure": SignalHedge, "unclear": SignalHedge, "tbd": SignalHedge,
	"or": SignalChoice, "either": SignalChoice,
}

// signalVerbs are words by their stem, so that "fixed" and "fixing" count too.
var signalVerbs = map[string]SignalKind{
	"fix": SignalFix, "bug": SignalFix, "error": SignalFix, "issu": SignalFix, "broken": SignalFix, "repair": SignalFix,
	"add": SignalAdd, "creat": SignalAdd, "implement": SignalAdd, "build": SignalAdd, "make": SignalAdd,
	"chang": SignalChange, "modifi": SignalChange, "updat": SignalChange, "refactor": SignalChange, "renam": SignalChange, "remov": SignalChange,
}

const maxEvidence = 64

// Signals estimates an objective by its words. It is a pure function, takes
// time in proportion to the text, and looks at whole words only, by Unicode's
// segmentation: there is no "then" in "authentication" and no "and" in
// "android". It is no substitute for reading: it costs nothing, so it can
// choose the model that reads.
//
// The estimate is
//
//   - unclear without a word, or where hedges count two, choices and question
//     marks one, and the sum is at least three and a tenth of the words;
//   - complex above 40 words, from four parts, or with two that name files or
//     a scope;
//   - moderate above 20 words, from two parts, with a scope, or with a sum of
//     two of what is not decided;
//   - else simple.
//
// 20 and 40 words, the joining words, and parts together with files are the
// rule of the arc plugin (enzokro/crinzo-plugins, arc/lib/context.py), which
// looked for them inside of words; the rest is judgement.
func Signals(objective string) Estimate {
	r := signalReader{counts: make(map[SignalKind]int), start: true}
	it := words.FromString(objective)
	at := 0
	for it.Next() {
		r.token(it.Value(), at)
		at += len(it.Value())
	}
	e := r.e
	if e.Words > 0 {
		e.Parts = r.parts + 1
	}
	// A part is noted when it is known that something follows.
	slices.SortStableFunc(e.Evidence, func(a, b Signal) int { return cmp.Compare(a.At, b.At) })
	undecided := 2*r.counts[SignalHedge] + r.counts[SignalChoice] + r.counts[SignalQuestion]
	wide := r.counts[SignalFile]+r.counts[SignalScope] > 0
	switch {
	case e.Words == 0 || undecided >= 3 && e.Words <= 10*undecided:
		e.Complexity = Unclear
	case e.Words > 40 || e.Parts >= 4 || e.Parts > 1 && wide:
		e.Complexity = Complex
	case e.Words > 20 || e.Parts > 1 || r.counts[SignalScope] > 0 || undecided >= 2:
		e.Complexity = Moderate
	default:
		e.Complexity = Simple
	}
	return e
}

// signalReader reads an objective word by word.
type signalReader struct {
	e      Estimate
	counts map[SignalKind]int
	start  bool    // of a sentence or line
	said   bool    // something that is no mark of a part
	parts  int     // after the first
	next   *Signal // the part that begins with the next thing said
	asked  int     // the end of the last question mark
	buf    []text.Term
}

func (r *signalReader) token(w string, at int) {
	switch {
	case strings.ContainsFunc(w, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }):
		r.word(w, at)
		r.start = false
	case w == "?" || w == "\uff1f" || w == "\u061f":
		if at != r.asked || at == 0 { // a row of them is one
			r.signal(SignalQuestion, w, at)
		}
		r.asked = at + len(w)
		r.start = true
	case w == ";":
		r.part(w, at)
		r.start = true
	case r.start && (w == "-" || w == "*" || w == "\u2022"):
		r.part(w, at)
	case strings.ContainsAny(w, ".!:\n\r\u3002"):
		r.start = true
	}
}

func (r *signalReader) word(w string, at int) {
	r.e.Words++
	lower := strings.ToLower(w)
	kind := signalWords[lower]
	if kind == SignalPart {
		r.part(w, at)
		return
	}
	verb := SignalKind("")
	if r.buf = text.Append(r.buf[:0], lower); len(r.buf) > 0 {
		verb = signalVerbs[r.buf[0].Text]
	}
	if r.start && (verb != "" || len(w) < 3 && strings.Trim(w, "0123456789") == "") {
		r.part(w, at)
	}
	if r.next != nil && r.said {
		r.signal(SignalPart, r.next.Text, r.next.At)
		r.parts++
	}
	r.next, r.said = nil, true
	switch {
	case kind != "":
		r.signal(kind, w, at)
	case verb != "":
		r.signal(verb, w, at)
	case strings.Contains(strings.Trim(w, "."), ".") && languages[path.Ext(lower)] != "":
		r.signal(SignalFile, w, at)
	}
}

// part notes that another part begins with the next word, if one has been
// before. Of several marks in a row, as in "; and then", the first counts.
func (r *signalReader) part(w string, at int) {
	if r.next == nil {
		r.next = &Signal{Text: w, At: at}
	}
}

func (r *signalReader) signal(kind SignalKind, w string, at int) {
	r.counts[kind]++
	if len(r.e.Evidence) < maxEvidence {
		r.e.Evidence = append(r.e.Evidence, Signal{kind, w, at})
	}
}
