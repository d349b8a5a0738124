// Package phrase finds phrases in texts: whole words in their order, whatever their case.
package phrase

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"

	"github.com/arc-learn/arc/internal/text"
)

// Words returns the words of s in lower case, each letter and its mark as one.
func Words(s string) (out []string) {
	it := words.FromString(norm.NFC.String(strings.ToLower(strings.ReplaceAll(s, "\u2019", "'"))))
	for it.Next() {
		if w := it.Value(); strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			out = append(out, w)
		}
	}
	return out
}

// Parts returns the words of s, those of an identifier apart.
func Parts(s string) []string {
	return Words(strings.Map(func(r rune) rune {
		if r == '_' || r == '.' || r == '-' {
			return ' '
		}
		return r
	}, s))
}

// In returns where the words of a phrase stand in those of a text, or -1.
func In(text, phrase []string) int {
	for at := 0; at+len(phrase) <= len(text) && len(phrase) > 0; at++ {
		if slices.EqualFunc(phrase, text[at:at+len(phrase)], near) {
			return at
		}
	}
	return -1
}

// near reports whether a word is that of a phrase, or one edit away from it: of
// letters, since another number is another thing.
func near(phrase, word string) bool {
	return phrase == word || utf8.RuneCountInString(phrase) >= text.FuzzyFrom &&
		!strings.ContainsFunc(phrase+word, unicode.IsDigit) && text.Near(phrase, word)
}
