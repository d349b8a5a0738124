package iar

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold returns a text without what makes no difference between cases: runs of spaces, one final full stop, and
// the capital of a plain first word.
func Fold(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for _, stop := range []string{".", "。", "।"} {
		t, ends := strings.CutSuffix(s, stop)
		last, _ := utf8.DecodeLastRuneInString(t)
		ofWord := unicode.IsNumber(last) || unicode.IsLetter(last) || unicode.IsMark(last)
		if ends && (ofWord || last == '}') {
			s = t
		}
	}
	if head, _, _ := strings.Cut(s, " "); plainWord.MatchString(head) {
		s = strings.ToLower(head) + s[len(head):]
	}
	return s
}

var plainWord = regexp.MustCompile(`^\p{Lu}\p{Ll}+$`)
