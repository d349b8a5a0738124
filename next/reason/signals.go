package reason

import (
	"regexp"
	"strings"
	"unicode"
)

// sentence matches the end of one, or of a line.
var sentence = regexp.MustCompile(`[.?!;]+(?:\s|$)|[。？！；\n]`)

// Signals estimates the size of an objective by its form alone, before a model has read it: to choose that model.
//
// The estimate is "unclear" without a word; "complex" above 40 words or from four parts; "moderate" above 20 words or
// from two parts; else "simple". A part is a sentence or a line. Of scripts without spaces, two characters are a word. 20
// and 40 words are the rule of the arc plugin (enzokro/crinzo-plugins).
func Signals(objective string) string {
	words, dense, parts := 0, 0, 0
	for _, part := range sentence.Split(objective, -1) {
		before := words + dense
		for _, word := range strings.Fields(part) {
			spaced := 0
			for _, r := range word {
				switch {
				case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
					dense++
				case unicode.IsLetter(r) || unicode.IsDigit(r):
					spaced = 1
				}
			}
			words += spaced
		}
		if words+dense > before {
			parts++
		}
	}
	words += (dense + 1) / 2
	switch {
	case words == 0:
		return "unclear"
	case words > 40 || parts >= 4:
		return "complex"
	case words > 20 || parts >= 2:
		return "moderate"
	}
	return "simple"
}
