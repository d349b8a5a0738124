// Package text makes terms of texts: what memory finds records by.
//
// An [Analyzer] knows the languages whose words are reduced to stems. Its terms are what package index takes.
package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"

	"github.com/arc-learn/arc/internal/fence"
)

const (
	stopWeight = 0.125
	maxTerm    = 128 // bytes of a word; the rest is left out
)

// Term is a word as it is indexed: folded, and reduced to its stem where its language is known.
type Term struct {
	Text string
	Stop bool // a function word
	Open bool // its language is not known: other words that begin alike may be forms of it
}

// Weight is what a term counts in a length and a query: 1, or an eighth if it is a function word.
func (t Term) Weight() float64 {
	if t.Stop {
		return stopWeight
	}
	return 1
}

// Analyzer makes terms. It is safe for concurrent use, and cheap to have: equal languages share one.
type Analyzer struct {
	english bool
	stems   []stemmer

	lexicons sync.Pool // that nobody uses
}

var analyzers sync.Map // by languages

// New returns the Analyzer of languages, by their two-letter codes ("en", "de"). None: English. Arabic,
// Cyrillic and Tamil words are stemmed in any case. A language without a stemmer is no error: its words are
// found by how they begin.
func New(languages ...string) (*Analyzer, error) {
	if len(languages) == 0 {
		languages = []string{"en"}
	}
	key := strings.Join(languages, " ")
	if a, ok := analyzers.Load(key); ok {
		return a.(*Analyzer), nil
	}
	a := &Analyzer{}
	a.lexicons.New = func() any { return &Lexicon{a: a, numbers: map[Term]uint32{}, words: map[string]uint32{}} }
	for _, l := range languages {
		if len(l) < 2 || len(l) > 3 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz") != "" {
			return nil, fmt.Errorf("text: %q is not the code of a language, such as \"en\"", l)
		}
		a.english = a.english || l == "en"
		if stem, ok := stems[l]; ok {
			a.stems = append(a.stems, stemmer{cmp.Or(script[l], unicode.Latin), stem, l == "en", false})
		}
	}
	for _, l := range slices.Sorted(maps.Keys(script)) {
		if !slices.Contains(languages, l) {
			a.stems = append(a.stems, stemmer{script[l], stems[l], false, true})
		}
	}
	shared, _ := analyzers.LoadOrStore(key, a)
	return shared.(*Analyzer), nil
}

// Append appends the terms of a text: its words, the parts of compounds such as fooBar and foo.bar, signs
// that are words (C++, C#, .NET, an emoji), and in scripts without spaces each sign and each pair of signs.
func (a *Analyzer) Append(dst []Term, s string) []Term {
	l := a.Lexicon()
	defer l.Done()
	var buf [64]uint32
	for _, n := range l.Append(buf[:0], s) {
		dst = append(dst, l.Terms[n])
	}
	return dst
}

// Append is that of an Analyzer, for the numbers of the terms.
func (l *Lexicon) Append(dst []uint32, s string) []uint32 {
	if !isASCII(s) {
		s = width.Fold.String(s) // ＡＢＣ is ABC, and ｺ is コ
	}
	sign, end := "", 0 // the last word, if it is of a script without spaces, and where it ends
	for it := words.FromString(s); it.Next(); {
		w := it.Value()
		start := end
		end += len(w)
		switch {
		case !hasWord(w):
			if sign = ""; starts(w, unicode.So) {
				dst = append(dst, l.Number(Term{Text: fence.Cut(plainEmoji.Replace(w), maxTerm)}))
			}
		case starts(w, Spaceless...):
			w = norm.NFC.String(w)
			if sign != "" {
				dst = append(dst, l.Number(Term{Text: sign + w}))
			}
			sign = w
			dst = append(dst, l.Number(Term{Text: w, Stop: !starts(w, unicode.Han)}))
		case w[len(w)-1] >= utf8.RuneSelf && strings.ContainsFunc(w, isHangul):
			sign, dst = "", l.appendHangul(dst, lower(w))
		default:
			sign = ""
			if long := withSigns(s, start, end); len(long) > len(w) {
				dst = append(dst, l.Number(Term{Text: strings.ToLower(fence.Cut(long, maxTerm))}))
				if utf8.RuneCountInString(w) <= 2 { // C++ is not C; Disney+ is Disney as well
					continue
				}
			}
			dst = l.appendParts(append(dst, l.word(w)), w)
		}
	}
	return dst
}

// Spaceless are scripts that do not part words by spaces.
var Spaceless = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// withSigns returns the word s[start:end] with the signs that belong to it: "C++", "C#", ".NET".
func withSigns(s string, start, end int) string {
	if rest := s[end:]; rest != "" && (rest[0] == '+' || rest[0] == '#') && !isDigit(s[end-1]) {
		after := strings.TrimLeft(rest, rest[:1])
		n := len(rest) - len(after)
		if n > 1 || after == "" || !hasWord(after[:1]) && after[0] < utf8.RuneSelf {
			return s[start : end+min(n, 2)]
		}
	}
	if start > 0 && s[start-1] == '.' && !isDigit(s[start]) {
		before, _ := utf8.DecodeLastRuneInString(s[:start-1])
		if start == 1 || unicode.IsSpace(before) || strings.ContainsRune("([/,\"'", before) {
			return s[start-1 : end]
		}
	}
	return s[start:end]
}

// plainEmoji leaves out what says how an emoji is drawn: its colour of skin, and that it is no letter.
var plainEmoji = strings.NewReplacer("\ufe0f", "", "🏻", "", "🏼", "", "🏽", "", "🏾", "", "🏿", "")

func starts(w string, in ...*unicode.RangeTable) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return r >= utf8.RuneSelf && unicode.In(r, in...)
}

func isHangul(r rune) bool { return unicode.Is(unicode.Hangul, r) }

// appendHangul appends the parts of a Korean word that are of another script, and the pairs of its syllables,
// as it has its particles at its end.
func (l *Lexicon) appendHangul(dst []uint32, w string) []uint32 {
	for _, other := range strings.FieldsFunc(w, isHangul) {
		dst = append(dst, l.word(other))
	}
	for _, run := range strings.FieldsFunc(w, func(r rune) bool { return !isHangul(r) }) {
		last := ""
		for _, r := range run {
			if last != "" || len(run) == utf8.RuneLen(r) {
				dst = append(dst, l.Number(Term{Text: last + string(r)}))
			}
			last = string(r)
		}
	}
	return dst
}

func hasWord(w string) bool {
	return strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// appendParts appends the parts of a compound word that may be looked for alone: of fooBar, foo_bar, foo.bar,
// HTTPServer, and of l'homme and İzmir'de those of more than two letters.
func (l *Lexicon) appendParts(dst []uint32, w string) []uint32 {
	least := 2
	if strings.IndexByte(w, '\'') >= 0 || strings.Contains(w, "’") {
		if least = 3; l.Terms[l.word(w)].Stop || strings.HasSuffix(w, "'s") || strings.HasSuffix(w, "’s") {
			return dst
		}
	}
	start := 0
	emit := func(end int) {
		part := strings.Trim(w[start:end], "_.:'’")
		if part != w && utf8.RuneCountInString(part) >= least && hasWord(part) {
			dst = append(dst, l.word(part))
		}
		start = end
	}
	for i := 1; i < len(w); i++ {
		switch c := w[i]; {
		case c == '_' || c == '.' || c == ':':
			if !isDigit(w[0]) { // 3.14 and 10:30 have no parts
				emit(i)
			}
		case c == '\'' || strings.HasPrefix(w[i:], "’"):
			emit(i)
		case isUpper(c) && (isLower(w[i-1]) || isUpper(w[i-1]) && i+1 < len(w) && isLower(w[i+1])):
			emit(i)
		}
	}
	if start > 0 {
		emit(len(w))
	}
	return dst
}

// Plain returns a text in lower case and without accents.
func Plain(s string) string { return withoutAccents(lower(s)) }

// Fold returns a text with one width and form of letters, single spaces, no final full stop and small
// letters, but for words with a digit or capital behind their first letter (MB, userId). Equal words stay so.
func Fold(s string) string {
	words := strings.Fields(norm.NFC.String(width.Fold.String(s)))
	for i, w := range words {
		_, n := utf8.DecodeRuneInString(w)
		if !strings.ContainsFunc(w[n:], func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) }) {
			words[i] = lower(w)
		}
	}
	return strings.TrimRight(strings.Join(words, " "), ".。")
}

func lower(s string) string {
	return norm.NFC.String(strings.ToLower(strings.ReplaceAll(s, "’", "'")))
}
