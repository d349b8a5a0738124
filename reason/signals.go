package reason

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/arc-learn/arc/internal/text"
)

// Estimate is what the wording of an objective says about its size, before anybody has thought about it.
type Estimate struct {
	Complexity Complexity
	Words      int
	Parts      int // things to do that the wording sets apart; at least 1 if there is a word
	// Signs are the words that the estimate goes by, in order of the text, each after its kind, such as `scope "every"`;
	// the first 64. The kinds are part, file, scope, hedge, choice, question, fix, add and change.
	Signs []string
}

const maxSigns = 64

// signWords are the kinds of whole words in lower case, signVerbs those of stems, so that "fixed" and "fixing" count.
// Verbs set parts apart at the beginning of a sentence and do not count otherwise.
var (
	signWords = map[string]string{
		"and": "part", "then": "part", "also": "part", "plus": "part", "afterwards": "part", "additionally": "part",
		"furthermore": "part", "finally": "part", "file": "file", "files": "file", "module": "file", "modules": "file",
		"class": "file", "classes": "file", "function": "file", "functions": "file", "package": "file", "packages": "file",
		"all": "scope", "every": "scope", "everything": "scope", "everywhere": "scope", "each": "scope", "entire": "scope",
		"whole": "scope", "across": "scope", "throughout": "scope", "maybe": "hedge", "perhaps": "hedge",
		"possibly": "hedge", "somehow": "hedge", "something": "hedge", "whatever": "hedge", "whichever": "hedge",
		"unsure": "hedge", "unclear": "hedge", "tbd": "hedge", "or": "choice", "either": "choice",
	}
	signVerbs = map[string]string{
		"fix": "fix", "bug": "fix", "error": "fix", "issu": "fix", "broken": "fix", "repair": "fix", "add": "add",
		"creat": "add", "implement": "add", "build": "add", "make": "add", "chang": "change", "modifi": "change",
		"updat": "change", "refactor": "change", "renam": "change", "remov": "change",
	}
)

// Signals estimates an objective by its words. It is a pure function, takes time in proportion to the text, and looks
// at whole words only, by Unicode's segmentation: there is no "then" in "authentication" and no "and" in "android". It
// reads English. It is no substitute for reading: it costs nothing, so it can choose the model that reads.
//
// The estimate is
//
//   - unclear without a word, or where hedges count two, choices and question marks one, and the sum is at least three
//     and a tenth of the words;
//   - complex above 40 words, from four parts, or with two that name files or a scope;
//   - moderate above 20 words, from two parts, with a scope, or with a sum of two of what is not decided;
//   - else simple.
//
// 20 and 40 words, the joining words, and parts together with files are the rule of the arc plugin
// (enzokro/crinzo-plugins, arc/lib/context.py), which looked for them inside of words; the rest is judgement.
func Signals(objective string) Estimate {
	r := signReader{counts: make(map[string]int), start: true}
	for it := words.FromString(objective); it.Next(); {
		r.token(it.Value())
	}
	e := r.e
	if e.Words > 0 {
		e.Parts = r.counts["part"] + 1
	}
	undecided := 2*r.counts["hedge"] + r.counts["choice"] + r.counts["question"]
	wide := r.counts["file"]+r.counts["scope"] > 0
	switch {
	case e.Words == 0 || undecided >= 3 && e.Words <= 10*undecided:
		e.Complexity = Unclear
	case e.Words > 40 || e.Parts >= 4 || e.Parts > 1 && wide:
		e.Complexity = Complex
	case e.Words > 20 || e.Parts > 1 || r.counts["scope"] > 0 || undecided >= 2:
		e.Complexity = Moderate
	default:
		e.Complexity = Simple
	}
	return e
}

// String is the estimate in words: the complexity, and what it goes by.
func (e Estimate) String() string {
	return strings.Join(append([]string{string(e.Complexity)}, e.Signs...), ", ")
}

// signReader reads an objective word by word.
type signReader struct {
	e      Estimate
	counts map[string]int
	start  bool   // of a sentence or line
	said   bool   // something that is no mark of a part
	next   string // the mark of the part that begins with the next thing said; "": none
}

func (r *signReader) token(w string) {
	switch {
	case strings.ContainsFunc(w, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }):
		r.word(w)
		r.start = false
	case w == "?" || w == "\uff1f" || w == "\u061f":
		if !r.start { // a row of them is one
			r.sign("question", w)
		}
		r.start = true
	case w == ";" || r.start && (w == "-" || w == "*" || w == "\u2022"):
		r.next = cmp.Or(r.next, w)
		r.start = true
	case strings.ContainsAny(w, ".!:\n\r\u3002"):
		r.start = true
	}
}

// word reads a word. A part counts once something follows its mark; of several marks in a row, as in "; and then", the
// first counts.
func (r *signReader) word(w string) {
	r.e.Words++
	lower := strings.ToLower(w)
	kind, verb := signWords[lower], ""
	if stems := text.Append(nil, lower); len(stems) > 0 {
		verb = signVerbs[stems[0].Text]
	}
	if kind == "part" || r.start && (verb != "" || len(w) < 3 && strings.Trim(w, "0123456789") == "") {
		r.next = cmp.Or(r.next, w)
	}
	if kind == "part" {
		return
	}
	if r.next != "" && r.said {
		r.sign("part", r.next)
	}
	r.next, r.said = "", true
	if ext := path.Ext(lower); kind == "" && verb == "" && ext != lower && slices.Contains(textKinds, ext) {
		kind = "file"
	}
	if kind = cmp.Or(kind, verb); kind != "" {
		r.sign(kind, w)
	}
}

func (r *signReader) sign(kind, w string) {
	r.counts[kind]++
	if len(r.e.Signs) < maxSigns {
		r.e.Signs = append(r.e.Signs, kind+" "+strconv.Quote(w))
	}
}
