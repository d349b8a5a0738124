package rank

import (
	"strings"
	"unicode"

	"github.com/arc-learn/arc/rank/internal/draw"
)

// WordsOf returns the words of a text as a set of bits, whatever their order, number and case. Several words
// may share a bit. A text of more than some 30 different words has too many bits: [Book.Learned] may find no
// other text like it.
func WordsOf(text string) (w uint64) {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), apart) {
		w |= 1 << (draw.Hash(0, word) >> (64 - 6))
	}
	return w
}
