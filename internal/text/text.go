// Package text turns text into the terms that are indexed and compared.
//
// Words are those of Unicode's default segmentation (UAX #29), in lower case.
// English ones are reduced to their stem (Porter2) unless the language is
// [Plain]; an identifier such as
// fooBar or foo_bar yields itself and its parts. Of scripts that are written without
// spaces (Han, Hiragana, Thai, Lao, Khmer, Myanmar) each sign is a term, and each two that
// stand together are; of a Korean word each two syllables. Function words, signs that are no
// Han, and pairs of Hiragana stay in, with a low weight.
package text

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"
)

// StopWeight is the weight of a function word. It is a power of two, so that
// sums of weights are exact in any order.
const StopWeight = 0.125

// maxTerm is the number of bytes after which a word is cut.
const maxTerm = 128

// Term is a word of a text as it is indexed.
type Term struct {
	Text string
	Stop bool // a function word
	Mark bool // a number, or a negation: without it the statement is another
}

// Weight returns how much the term counts: 1, or StopWeight.
func (t Term) Weight() float64 {
	if t.Stop {
		return StopWeight
	}
	return 1
}

// Language says what is done with words.
type Language uint8

// The languages.
const (
	// English reduces words to their stems, and knows function words.
	English Language = iota
	// Plain is no language, or several: words stay as they are, and no word is
	// a function word.
	Plain
)

// Append appends the terms of s, in English, to dst, in order of their
// occurrence.
func Append(dst []Term, s string) []Term { return English.Append(dst, s) }

// Append appends the terms of s to dst, in order of their occurrence.
func (l Language) Append(dst []Term, s string) []Term {
	it := words.FromString(s)
	sign := "" // the last word, if it is of a script without spaces
	for it.Next() {
		w := it.Value()
		if !hasWord(w) {
			sign = ""
			continue
		}
		if w[0] >= utf8.RuneSelf && isSign(w) {
			if _, n := utf8.DecodeRuneInString(w); n < len(w) {
				w = norm.NFC.String(w)
			}
			if sign != "" {
				dst = append(dst, Term{Text: sign + w, Stop: polite[sign+w]})
			}
			sign = w
			dst = append(dst, Term{Text: w, Stop: !starts(w, unicode.Han)})
			continue
		}
		if sign = ""; w[len(w)-1] >= utf8.RuneSelf && strings.ContainsFunc(w, isHangul) {
			dst = l.appendHangul(dst, fold(w))
			continue
		}
		dst = append(dst, l.term(w))
		if compound(w) {
			dst = l.appendParts(dst, w)
		}
	}
	return dst
}

// isSign reports whether w is one sign of a script that writes no spaces between words: it counts
// together with the one before it and, of Han, by itself.
func isSign(w string) bool {
	return starts(w, unicode.Han, unicode.Hiragana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// starts reports whether w begins with a letter of one of the scripts.
func starts(w string, scripts ...*unicode.RangeTable) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.In(r, scripts...)
}

// polite are the pairs of Hiragana in the endings of polite sentences.
var polite = set(`です ます でし まし した ませ せん すか ください さい くだ`)

func isHangul(r rune) bool { return unicode.Is(unicode.Hangul, r) }

// appendHangul appends the terms of a Korean word, which has particles at its end: each two syllables
// that stand together, and what is no Hangul as a word.
func (l Language) appendHangul(dst []Term, w string) []Term {
	for w != "" {
		n := len(w) - len(strings.TrimLeftFunc(w, isHangul))
		if n == 0 {
			if n = strings.IndexFunc(w, isHangul); n < 0 {
				n = len(w)
			}
			dst, w = append(dst, l.term(w[:n])), w[n:]
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

// Letters returns how many characters a text has, without the blanks around it. A sign of Han, Hiragana,
// Katakana or Hangul counts as three, since it says about as much as three letters.
func Letters(s string) (n int) {
	for _, r := range strings.TrimSpace(s) {
		if n++; r > unicode.MaxLatin1 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n += 2
		}
	}
	return n
}

func hasWord(w string) bool {
	if c := w[0]; c < utf8.RuneSelf && isAlnum(c) {
		return true
	}
	return strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// term returns the term of a whole word. A word in ASCII, which is nearly
// every one, costs no allocation once it is in the memo.
func (l Language) term(w string) Term {
	w = Cut(w, maxTerm)
	var buf [maxTerm]byte
	for i := range len(w) {
		c := w[i]
		if c >= utf8.RuneSelf {
			return l.analyze(fold(w))
		}
		if isUpper(c) {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	return l.recall(buf[:len(w)])
}

// Cut returns the first n bytes of s, less a character that they would split.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Shorten is Cut, with an ellipsis behind what it has cut.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Cut(s, n) + "…"
}

// maxLine is the length of a Line, in bytes.
const maxLine = 240

// Line is the beginning of s on one line, as lessons and prompts quote it.
func Line(s string) string {
	if strings.ContainsAny(s, "\t\n\v\f\r") || strings.Contains(s, "  ") {
		s = strings.Join(strings.Fields(s), " ")
	}
	return Shorten(s, maxLine)
}

// fold returns w in lower case, with the typewriter's apostrophe. A letter and its
// mark are one, as file systems and browsers part them.
func fold(w string) string {
	return norm.NFC.String(strings.ToLower(strings.ReplaceAll(w, "\u2019", "'")))
}

// analyze returns the term of a word in lower case.
func (l Language) analyze(w string) Term {
	t := Term{Text: w, Stop: l == English && stop[w], Mark: negation[w] || strings.HasSuffix(w, "n't")}
	letters := true
	for i := range len(w) {
		switch c := w[i]; {
		case '0' <= c && c <= '9':
			t.Mark, letters = true, false
		case c != '\'' && !isLower(c):
			letters = false
		}
	}
	if !letters || l == Plain {
		return t
	}
	if s := stem(w); s != "" { // "'s" alone has none
		t.Text = s
	}
	return t
}

// compound reports whether the word has parts: letters, and between them a
// separator or a change of case.
func compound(w string) bool {
	for i := 1; i < len(w); i++ {
		switch c := w[i]; {
		case c == '_' || c == '.' || c == ':':
			return strings.ContainsFunc(w, unicode.IsLetter)
		case isUpper(c) && (isLower(w[i-1]) || isUpper(w[i-1]) && i+1 < len(w) && isLower(w[i+1])):
			return true
		}
	}
	return false
}

// appendParts appends the parts of an identifier that have two bytes or more:
// "HTTPServer_v2" has http, server and v2.
func (l Language) appendParts(dst []Term, w string) []Term {
	start := 0
	emit := func(end int) {
		if part := w[start:end]; len(part) > 1 && len(part) < len(w) && hasWord(part) {
			dst = append(dst, l.term(part))
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

// Similarity returns the cosine of the weighted counts of two texts' terms, in
// [0,1], whatever their order: 1 if the terms are the same, 0 if they share
// none. It is 0 if there are none to compare.
func Similarity(a, b []Term) float64 {
	x, y := count(a), count(b)
	dot := 0.0
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch c := strings.Compare(x[i].text, y[j].text); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			dot += x[i].weight * y[j].weight
			i, j = i+1, j+1
		}
	}
	return Cosine(dot, length(x), length(y))
}

// Cosine returns dot over the root of the squared norms a and b, in [0,1]; 0 if
// one of them is 0.
func Cosine(dot, a, b float64) float64 {
	if dot == 0 {
		return 0
	}
	return min(1, dot/math.Sqrt(a*b))
}

type counted struct {
	text   string
	weight float64
}

// count returns the terms in order of their text, each once.
func count(terms []Term) []counted {
	out := make([]counted, 0, len(terms))
	for _, t := range terms {
		out = append(out, counted{t.Text, t.Weight()})
	}
	slices.SortFunc(out, func(a, b counted) int { return strings.Compare(a.text, b.text) })
	n := 0
	for i := range out {
		if n > 0 && out[n-1].text == out[i].text {
			out[n-1].weight += out[i].weight
			continue
		}
		out[n] = out[i]
		n++
	}
	return out[:n]
}

func length(xs []counted) float64 {
	n := 0.0
	for _, x := range xs {
		n += x.weight * x.weight
	}
	return n
}

// FuzzyFrom is the number of letters from which on a word may be meant that is one
// edit away.
const FuzzyFrom = 5

// Near reports whether two words are the same, or one edit apart: a letter more,
// less or another, or two exchanged (Damerau 1964).
func Near(a, b string) bool {
	for a != "" && b != "" {
		r, n := utf8.DecodeRuneInString(a)
		s, m := utf8.DecodeRuneInString(b)
		if r != s {
			break
		}
		a, b = a[n:], b[m:]
	}
	for a != "" && b != "" {
		r, n := utf8.DecodeLastRuneInString(a)
		s, m := utf8.DecodeLastRuneInString(b)
		if r != s {
			break
		}
		a, b = a[:len(a)-n], b[:len(b)-m]
	}
	n, m := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	if n != 2 || m != 2 {
		return n <= 1 && m <= 1
	}
	r, i := utf8.DecodeRuneInString(a)
	s, j := utf8.DecodeRuneInString(b)
	return a[i:] == string(s) && b[j:] == string(r)
}
