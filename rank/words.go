package rank

import (
	"math/bits"
	"strings"
	"unicode"
)

// WordsOf returns the words of a text as a set in which each is a bit, whatever their
// order, number and case; several may share one. Of a text of more than some 30
// different words it says nothing.
func WordsOf(text string) (w uint64) {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), apart) {
		w |= 1 << (hash(0, word) >> (64 - 6))
	}
	return w
}

// Words that are much the same.
const (
	leastWords = 3   // that both have …
	leastAlike = 0.5 // … and their share of the words of both …
	mostWords  = 40  // … which beyond this are too many to tell apart by bits
)

// alike is the share of words that both have, 0 where it says nothing.
func alike(v, w uint64) float64 {
	both, all := bits.OnesCount64(v&w), bits.OnesCount64(v|w)
	share := float64(both) / float64(max(1, all))
	if both < leastWords || share < leastAlike || all > mostWords {
		return 0
	}
	return share
}
