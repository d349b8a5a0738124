package text

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
	"golang.org/x/text/unicode/norm"
)

// stemmer reduces the words of a language, which are of one script.
type stemmer struct {
	script *unicode.RangeTable
	stem   func(*snowballstem.Env) bool
	ascii  bool // words with other letters are of another language
	guess  bool // nobody said that words of the script are of this language
}

// stemmers are those of Snowball (snowballstem.org), by the code of their language.
var stemmers = map[string]stemmer{
	"ar": {script: unicode.Arabic, stem: arabic.Stem}, "da": {script: unicode.Latin, stem: danish.Stem},
	"de": {script: unicode.Latin, stem: german.Stem}, "en": {script: unicode.Latin, stem: english.Stem, ascii: true},
	"es": {script: unicode.Latin, stem: spanish.Stem}, "fi": {script: unicode.Latin, stem: finnish.Stem},
	"fr": {script: unicode.Latin, stem: french.Stem}, "ga": {script: unicode.Latin, stem: irish.Stem},
	"hu": {script: unicode.Latin, stem: hungarian.Stem}, "it": {script: unicode.Latin, stem: italian.Stem},
	"nl": {script: unicode.Latin, stem: dutch.Stem}, "no": {script: unicode.Latin, stem: norwegian.Stem},
	"pt": {script: unicode.Latin, stem: portuguese.Stem}, "ro": {script: unicode.Latin, stem: romanian.Stem},
	"ru": {script: unicode.Cyrillic, stem: russian.Stem}, "sv": {script: unicode.Latin, stem: swedish.Stem},
	"ta": {script: unicode.Tamil, stem: tamil.Stem}, "tr": {script: unicode.Latin, stem: turkish.Stem},
}

// Lexicon numbers the terms of texts, and remembers those of words: to stem a word takes longer than to find it here.
// It is one goroutine's until it calls Done. A number means the same term as long as the Lexicon lives.
type Lexicon struct {
	Terms   []Term // that were numbered so far, by number; they do not change
	a       *Analyzer
	numbers map[Term]uint32
	words   map[string]uint32 // of their terms
}

// Lexicon returns one that nobody uses.
func (a *Analyzer) Lexicon() *Lexicon {
	if l, ok := a.lexicons.Get().(*Lexicon); ok {
		return l
	}
	return &Lexicon{a: a, numbers: map[Term]uint32{}, words: map[string]uint32{}}
}

// Done gives l back, unless it has become large.
func (l *Lexicon) Done() {
	if len(l.Terms)+len(l.words) < 1<<16 {
		l.a.lexicons.Put(l)
	}
}

// Number returns the number of a term.
func (l *Lexicon) Number(t Term) uint32 {
	n, ok := l.numbers[t]
	if !ok {
		n, t.Text = uint32(len(l.Terms)), strings.Clone(t.Text) // which may be a part of a long text
		l.Terms, l.numbers[t] = append(l.Terms, t), n
	}
	return n
}

// word returns the number of the term of a word.
func (l *Lexicon) word(w string) uint32 {
	w = cut(w, maxTerm)
	n, ok := l.words[w]
	if !ok {
		n = l.Number(l.a.analyze(lower(w)))
		l.words[strings.Clone(w)] = n
	}
	return n
}

// analyze returns the term of a word in lower case.
func (a *Analyzer) analyze(w string) Term {
	t := Term{Text: w, Stop: a.english && stop[w]}
	if strings.ContainsFunc(w, unicode.IsDigit) {
		return t
	}
	r, _ := utf8.DecodeRuneInString(w)
	ascii := isASCII(w)
	t.Open = true
	for _, s := range a.stems { // with several languages of a script, one after the other
		if !unicode.Is(s.script, r) || s.ascii && !ascii {
			continue
		}
		env := snowballstem.NewEnv(t.Text)
		s.stem(env)
		t.Text = cmp.Or(env.Current(), t.Text)
		t.Open = t.Open && s.guess
	}
	t.Text = withoutAccents(t.Text)
	return t
}

// accented are the scripts in which an accent does not make another word, or none that matters here.
var accented = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew}

// withoutAccents leaves out accents and points, and spells ß, ı, ς, ł and ø as others do.
func withoutAccents(s string) string {
	if isASCII(s) {
		return s
	}
	drop := false // marks of the last letter
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			if drop {
				return -1
			}
			return r
		}
		drop = r > 'z' && unicode.In(r, accented...) || 'a' <= r && r <= 'z'
		if i := strings.IndexRune("ıςłø", r); i >= 0 {
			return []rune("iσlo")[i/2]
		}
		return r
	}, norm.NFD.String(s))
	return norm.NFC.String(strings.ReplaceAll(s, "ß", "ss"))
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
