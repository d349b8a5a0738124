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
	"github.com/arc-learn/arc/reason/internal/survey"
)

// maxSigns is the largest number of signs of an estimate.
const maxSigns = 64

// signKinds are what a word can be a sign of.
var signKinds = [...]string{"part", "file", "scope", "hedge", "choice", "question", "fix", "add", "change"}

// signWords are the kinds of whole words in lower case, signVerbs those of
// stems, so that "fixed" and "fixing" count. Verbs set parts apart at the
// beginning of a sentence and do not count otherwise.
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

// Signals estimates an objective by its words, before a model has read it. It
// is a pure function, takes time in proportion to the text, and looks at whole
// words only, by Unicode's segmentation: there is no "then" in "authentication"
// and no "and" in "android". It reads English. It costs nothing, so it can
// choose the model that reads.
//
// The estimate is
//
//   - unclear without a word, or where hedges count two, choices and question marks one, and the sum is at least three
//     and a tenth of the words;
//   - complex above 40 words, from four parts, or with two that name files or a scope;
//   - moderate above 20 words, from two parts, with a scope, or with a sum of two of what is not decided;
//   - else simple.
//
// 20 and 40 words, the joining words, and parts together with files are the
// rule of the arc plugin (enzokro/crinzo-plugins, arc/lib/context.py), which
// looked for them inside of words; the rest is judgement.
//
// The signs are the number of words and of parts, such as "12 words" and "2
// parts", and then the words that the estimate goes by, in order of the text,
// each after its kind, such as `scope "every"`: part, file, scope, hedge,
// choice, question, fix, add or change. There are 64 at most.
func Signals(objective string) (estimate Complexity, signs []string) {
	r := signReader{start: true, signs: make([]string, 2, 10)} // numbers come first
	r.text.Grow(64)
	for it := words.FromString(objective); it.Next(); {
		r.token(it.Value())
	}
	parts := min(r.words, r.n("part")+1)
	signs = r.signs
	if parts > 1 {
		signs[0], signs[1] = r.countOf(r.words, " word"), r.countOf(parts, " part")
	} else {
		signs = signs[1:]
		signs[0] = r.countOf(r.words, " word")
	}
	signs = signs[:min(len(signs), maxSigns)]
	undecided := 2*r.n("hedge") + r.n("choice") + r.n("question")
	wide := r.n("file")+r.n("scope") > 0
	switch {
	case r.words == 0 || undecided >= 3 && r.words <= 10*undecided:
		return Unclear, signs
	case r.words > 40 || parts >= 4 || parts > 1 && wide:
		return Complex, signs
	case r.words > 20 || parts > 1 || r.n("scope") > 0 || undecided >= 2:
		return Moderate, signs
	}
	return Simple, signs
}

// signReader reads an objective word by word.
type signReader struct {
	words  int
	signs  []string
	counts [len(signKinds)]int
	start  bool            // of a sentence or line
	said   bool            // something that is no mark of a part
	next   string          // the mark of the part that comes next; "": none
	text   strings.Builder // of the signs, in one piece of memory
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

// word reads a word. A part counts once something follows its mark; of several
// marks in a row, as in "; and then", the first counts.
func (r *signReader) word(w string) {
	r.words++
	lower := strings.ToLower(w)
	kind, verb := signWords[lower], ""
	var few [4]text.Term
	if stems := text.Append(few[:0], lower); len(stems) > 0 {
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
	if ext := path.Ext(lower); kind == "" && verb == "" && ext != lower && survey.IsText(ext) {
		kind = "file"
	}
	if kind = cmp.Or(kind, verb); kind != "" {
		r.sign(kind, w)
	}
}

func (r *signReader) sign(kind, w string) {
	r.counts[slices.Index(signKinds[:], kind)]++
	if len(r.signs) < 2+maxSigns {
		var few [64]byte
		r.signs = append(r.signs, r.asSign(strconv.AppendQuote(append(append(few[:0], kind...), ' '), w)))
	}
}

// asSign returns a text as one of the signs.
func (r *signReader) asSign(text []byte) string {
	start := r.text.Len()
	r.text.Write(text)
	return r.text.String()[start:]
}

// countOf returns a number of things as one of the signs.
func (r *signReader) countOf(n int, unit string) string {
	var few [32]byte
	text := append(strconv.AppendInt(few[:0], int64(n), 10), unit...)
	if n != 1 {
		text = append(text, 's')
	}
	return r.asSign(text)
}

// n returns how many signs of a kind there are.
func (r *signReader) n(kind string) int { return r.counts[slices.Index(signKinds[:], kind)] }
