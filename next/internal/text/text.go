// Package text makes terms of texts, and dates of questions: what memory finds records by.
//
// An [Analyzer] knows the languages whose words are reduced to stems. Its terms are what package index takes.
package text

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"
)

// StopWeight is what a function word weighs in a length and a query; other words weigh 1.
const StopWeight = 0.125

const maxTerm = 128 // bytes of a word; the rest is left out

// Term is a word as it is indexed: folded, and reduced to its stem where its language is known.
type Term struct {
	Text string
	Stop bool // a function word
	Open bool // its language is not known: other words that begin alike may be forms of it
}

// Weight is 1, or StopWeight.
func (t Term) Weight() float64 {
	if t.Stop {
		return StopWeight
	}
	return 1
}

// Analyzer makes terms. It is safe for concurrent use, and cheap to have: equal languages share one.
type Analyzer struct {
	english bool
	dates   []*dateWords
	stems   map[*unicode.RangeTable][]stemmer // by script, in the order of the languages
	memo    memo
}

var analyzers sync.Map // by languages

// New returns the Analyzer of languages, by their two-letter codes ("en", "de"). None: English. Where a word's
// script belongs to one stemmer only (Arabic, Cyrillic, Tamil), that one is used in any case. A language without a
// stemmer is no error: its words are found by how they begin.
func New(languages ...string) (*Analyzer, error) {
	if len(languages) == 0 {
		languages = []string{"en"}
	}
	key := strings.Join(languages, " ")
	if a, ok := analyzers.Load(key); ok {
		return a.(*Analyzer), nil
	}
	a := &Analyzer{stems: map[*unicode.RangeTable][]stemmer{}}
	for _, l := range languages {
		if len(l) < 2 || len(l) > 3 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz") != "" {
			return nil, fmt.Errorf("text: %q is not the code of a language, such as \"en\"", l)
		}
		a.english = a.english || l == "en"
		if s, ok := stemmers[l]; ok {
			a.stems[s.script] = append(a.stems[s.script], s)
		}
	}
	for _, l := range []string{"ar", "ru", "ta"} {
		if s := stemmers[l]; a.stems[s.script] == nil {
			s.guess = true
			a.stems[s.script] = []stemmer{s}
		}
	}
	a.dates = dateWordsOf(languages)
	shared, _ := analyzers.LoadOrStore(key, a)
	return shared.(*Analyzer), nil
}

// Append appends the terms of a text: its words, the parts of compounds such as fooBar and foo.bar, signs that are
// words (C++, C#, .NET, an emoji), and in scripts without spaces each sign and each pair of signs.
func (a *Analyzer) Append(dst []Term, s string) []Term {
	sign := "" // the last word, if it is of a script without spaces
	end := 0
	for it := words.FromString(s); it.Next(); {
		w := it.Value()
		start := end
		end += len(w)
		if !hasWord(w) {
			if sign = ""; isEmoji(w) {
				dst = append(dst, Term{Text: plainEmoji(w)})
			}
			continue
		}
		if w[0] >= utf8.RuneSelf && spaceless(w) {
			w = norm.NFC.String(w)
			if sign != "" {
				dst = append(dst, Term{Text: sign + w, Stop: polite[sign+w]})
			}
			sign = w
			dst = append(dst, Term{Text: w, Stop: !starts(w, unicode.Han)})
			continue
		}
		sign = ""
		if w[len(w)-1] >= utf8.RuneSelf && strings.ContainsFunc(w, isHangul) {
			dst = a.appendHangul(dst, lower(w))
			continue
		}
		if long := withSigns(s, start, end); len(long) > len(w) {
			dst = append(dst, Term{Text: strings.ToLower(cut(long, maxTerm))})
			if utf8.RuneCountInString(w) <= 2 { // C++ is not C; Disney+ is Disney as well
				continue
			}
		}
		dst = append(dst, a.term(w))
		if compound(w) {
			dst = a.appendParts(dst, w)
		}
	}
	return dst
}

// withSigns returns the word s[start:end] with the signs that belong to it: "C++", "C#", ".NET".
func withSigns(s string, start, end int) string {
	if rest := s[end:]; rest != "" && (rest[0] == '+' || rest[0] == '#') && !isDigit(s[end-1]) {
		after := strings.TrimLeft(rest, rest[:1])
		n := len(rest) - len(after)
		r, _ := utf8.DecodeRuneInString(after)
		if n > 1 || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return s[start : end+min(n, 2)]
		}
	}
	if start > 0 && s[start-1] == '.' && !isDigit(s[start]) {
		if r, _ := utf8.DecodeLastRuneInString(s[:start-1]); start == 1 || unicode.IsSpace(r) || unicode.IsPunct(r) && r != '.' {
			return s[start-1 : end]
		}
	}
	return s[start:end]
}

func isEmoji(w string) bool { return w[0] >= utf8.RuneSelf && starts(w, unicode.So) }

// plainEmoji leaves out what says how an emoji is drawn: its colour of skin, and that it is no letter.
func plainEmoji(w string) string {
	return cut(strings.Map(func(r rune) rune {
		if r == 0xFE0F || 0x1F3FB <= r && r <= 0x1F3FF {
			return -1
		}
		return r
	}, w), maxTerm)
}

// spaceless reports whether w is of a script that does not part words by spaces.
func spaceless(w string) bool {
	return starts(w, unicode.Han, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func starts(w string, in ...*unicode.RangeTable) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.In(r, in...)
}

func isHangul(r rune) bool { return unicode.Is(unicode.Hangul, r) }

// appendHangul appends the pairs of syllables of a Korean word, which has its particles at its end.
func (a *Analyzer) appendHangul(dst []Term, w string) []Term {
	for w != "" {
		n := len(w) - len(strings.TrimLeftFunc(w, isHangul))
		if n == 0 {
			if n = strings.IndexFunc(w, isHangul); n < 0 {
				n = len(w)
			}
			dst, w = append(dst, a.term(w[:n])), w[n:]
			continue
		}
		last := ""
		for _, r := range w[:n] {
			if last != "" || utf8.RuneCountInString(w[:n]) == 1 {
				dst = append(dst, Term{Text: last + string(r)})
			}
			last = string(r)
		}
		w = w[n:]
	}
	return dst
}

func hasWord(w string) bool {
	if c := w[0]; c < utf8.RuneSelf && isAlnum(c) {
		return true
	}
	return strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool { return isLower(c) || isUpper(c) || isDigit(c) }

// cut returns the first n bytes of s, or a rune less.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// compound reports whether w has parts that may be looked for: fooBar, foo_bar, foo.bar, İzmir'de.
func compound(w string) bool {
	for i := 1; i < len(w); i++ {
		switch c := w[i]; {
		case c == '_' || c == '.' || c == ':':
			return strings.ContainsFunc(w, unicode.IsLetter)
		case c == '\'' || strings.HasPrefix(w[i:], "’"):
			return len(w)-i > 2 || i > 2 // the 's of English is left to its stemmer
		case isUpper(c) && (isLower(w[i-1]) || isUpper(w[i-1]) && i+1 < len(w) && isLower(w[i+1])):
			return true
		}
	}
	return false
}

func (a *Analyzer) appendParts(dst []Term, w string) []Term {
	if strings.ContainsAny(w, "'’") {
		if whole := a.term(w); whole.Stop || strings.HasSuffix(w, "'s") || strings.HasSuffix(w, "’s") {
			return dst
		}
		for part := range strings.FieldsFuncSeq(w, func(r rune) bool { return r == '\'' || r == '’' }) {
			if utf8.RuneCountInString(part) > 2 {
				dst = append(dst, a.term(part))
			}
		}
		return dst
	}
	start := 0
	emit := func(end int) {
		if part := w[start:end]; len(part) > 1 && len(part) < len(w) && hasWord(part) {
			dst = append(dst, a.term(part))
		}
		start = end
	}
	for i := range len(w) {
		switch c := w[i]; {
		case c == '_' || c == '.' || c == ':':
			emit(i)
			start = i + 1
		case i > start && isUpper(c) && (!isUpper(w[i-1]) || i+1 < len(w) && isLower(w[i+1])):
			emit(i)
		}
	}
	emit(len(w))
	return dst
}

// Fold returns a text in one case and one form of composed letters, with one space where it has several and
// without a final full stop. Texts with equal folds have equal words in equal order.
func Fold(s string) string {
	s = strings.Join(strings.Fields(lower(s)), " ")
	return strings.TrimRight(s, ".。")
}

func lower(s string) string {
	s = strings.ToLower(strings.ReplaceAll(s, "’", "'"))
	return norm.NFC.String(s)
}

// Similarity is the cosine of two texts' terms, in [0,1].
func Similarity(a, b []Term) float64 {
	counts := make(map[string][2]float64, len(a))
	for side, terms := range [][]Term{a, b} {
		for _, t := range terms {
			n := counts[t.Text]
			n[side] += t.Weight()
			counts[t.Text] = n
		}
	}
	dot, x, y := 0.0, 0.0, 0.0 // sums of eighths are exact, so their order does not matter
	for _, n := range counts {
		dot, x, y = dot+n[0]*n[1], x+n[0]*n[0], y+n[1]*n[1]
	}
	if dot == 0 {
		return 0
	}
	return min(1, dot/math.Sqrt(x*y))
}
