package text

import (
	"cmp"
	_ "embed" // of the function words
	"slices"
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

	"github.com/arc-learn/arc/internal/fence"
)

// stemmer reduces the words of a language, which are of one script.
type stemmer struct {
	script *unicode.RangeTable
	stem   func(*snowballstem.Env) bool
	ascii  bool // words with other letters are of another language
	guess  bool // nobody said that words of the script are of this language
}

// stems are those of Snowball (snowballstem.org), by the code of their language.
var stems = map[string]func(*snowballstem.Env) bool{
	"ar": arabic.Stem, "da": danish.Stem, "de": german.Stem, "en": english.Stem, "es": spanish.Stem,
	"fi": finnish.Stem, "fr": french.Stem, "ga": irish.Stem, "hu": hungarian.Stem, "it": italian.Stem,
	"nl": dutch.Stem, "no": norwegian.Stem, "pt": portuguese.Stem, "ro": romanian.Stem, "ru": russian.Stem,
	"sv": swedish.Stem, "ta": tamil.Stem, "tr": turkish.Stem,
}

// script has those of languages that are not written in Latin.
var script = map[string]*unicode.RangeTable{"ar": unicode.Arabic, "ru": unicode.Cyrillic, "ta": unicode.Tamil}

//go:embed stop.txt
var functionWords string

// stop are the function words of English. They stay findable, and count little: see stopWeight.
var stop = strings.Fields(functionWords)

// Lexicon numbers the terms of texts, and remembers those of words: to stem a word takes longer than to find
// it here. It is one goroutine's until it calls Done. A number keeps its term while the Lexicon lives.
type Lexicon struct {
	Terms   []Term // that were numbered so far, by number; they do not change
	a       *Analyzer
	numbers map[Term]uint32
	words   map[string]uint32 // of their terms
}

// Lexicon returns one that nobody uses.
func (a *Analyzer) Lexicon() *Lexicon { return a.lexicons.Get().(*Lexicon) }

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
	w = fence.Cut(w, maxTerm)
	n, ok := l.words[w]
	if !ok {
		n = l.Number(l.a.analyze(lower(w)))
		l.words[strings.Clone(w)] = n
	}
	return n
}

// analyze returns the term of a word in lower case.
func (a *Analyzer) analyze(w string) Term {
	t := Term{Text: w, Stop: a.english && slices.Contains(stop, w)}
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
var accented = []*unicode.RangeTable{
	unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew,
}

// withoutAccents leaves out accents and points, and spells ß, ı, ς, ł and ø as others do.
func withoutAccents(s string) string {
	if isASCII(s) {
		return s
	}
	drop := false // marks of the last letter
	s = strings.Map(func(r rune) rune {
		if drop && unicode.Is(unicode.Mn, r) {
			return -1
		}
		drop = r > 'z' && unicode.In(r, accented...) || 'a' <= r && r <= 'z'
		return r
	}, norm.NFD.String(s))
	return norm.NFC.String(respelt.Replace(s))
}

var respelt = strings.NewReplacer("ß", "ss", "ı", "i", "ς", "σ", "ł", "l", "ø", "o")

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
