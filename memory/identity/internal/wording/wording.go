// Package wording compares statements by their words, whatever the case, spacing and punctuation.
package wording

import (
	"cmp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/arc-learn/arc/internal/fence"
)

// Marks around a word that are not part of it. A '.' in front of one is
// (.NET), and so are '+' and '#' behind it (C++, C#).
const (
	before = "\"'`“”‘’„«»‹›([{<*_~-–—,;:!?¡¿"
	behind = "\"'`“”‘’„«»‹›)]}>*_~-–—,;:!?.…"
	// between words they stand without a space, or at an end: those of Chinese and Japanese, of Arabic and Urdu, of
	// Hindi and its neighbours, of Burmese, Khmer and Amharic.
	between = "。．｡，､、！？；：（）「」『』【】《》〈〉،؛؟۔।॥၊။។៕።፣"
)

// wordsIn returns the words of s in lower case, without what surrounds them.
func wordsIn(s string) (out []string) {
	parts := func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(between, c) }
	for w := range strings.FieldsFuncSeq(strings.ToLower(norm.NFC.String(fence.Visible(s))), parts) {
		if w = bare(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// bare returns a word without its marks: not without the sign of a number or a letter
// (-18, >30, A-), nor is one that stands alone (<, >) none.
func bare(w string) string {
	left := strings.TrimLeft(w, before)
	out := strings.TrimRight(left, behind)
	if out == "" {
		return strings.Trim(w, strings.ReplaceAll(behind, ">", "")+"¡¿([{")
	}
	sign, number := len(w)-len(left)-1, '0' <= out[0] && out[0] <= '9'
	if number && sign >= 0 && strings.IndexByte("-<>~", w[sign]) >= 0 {
		out = w[sign:sign+1] + out
	}
	if len(out) == 1 && (left == out+"-" || left == out+"*") {
		out = left
	}
	return out
}

// Canonical returns the form in which two statements are the same: their
// words, whatever the case, spacing and punctuation. A text without words is
// its own form, so that "!!!" is not "???".
func Canonical(s string) string {
	return cmp.Or(strings.Join(wordsIn(s), " "), strings.Join(strings.Fields(strings.ToLower(s)), " "))
}

// Overlap reports whether one text holds the other as whole words.
func Overlap(a, b string) bool {
	a, b = " "+Canonical(a)+" ", " "+Canonical(b)+" "
	return strings.TrimSpace(a) != "" && strings.TrimSpace(b) != "" && (strings.Contains(a, b) || strings.Contains(b, a))
}
