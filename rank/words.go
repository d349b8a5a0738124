package rank

import (
	"strings"
	"unicode"

	"github.com/arc-learn/arc/rank/internal/draw"
)

// WordsOf returns the words of a text as a set in which each is a bit, whatever their
// order, number and case; several may share one. Of a text of more than some 30
// different words it says nothing.
func WordsOf(text string) (w uint64) {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), apart) {
		w |= 1 << (draw.Hash(0, word) >> (64 - 6))
	}
	return w
}
