package iar

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// How many letters and digits must be equal: of what is made to be copied, and of a quotation.
const (
	minMade  = 8
	minQuote = 24
)

// Copied tells which values somebody else has said, and not the case's own texts: what strangers have made to be copied,
// such as addresses and numbers, and what is a quotation of them or of a complaint. Spaces, signs, case and width do not
// matter. What is translated or encoded is not seen, nor a value of fewer than eight letters and digits that is written
// otherwise ("5.000").
func Copied(own, strangers, complaints []string) func(value string) bool {
	all := strings.Join(strangers, "\n")
	mine, theirs, refused := spelt(strings.Join(own, "\n")), spelt(all), spelt(strings.Join(complaints, "\n"))
	made := addresses(all)
	return func(value string) bool {
		said := spelt(value)
		copied := func(p string) bool {
			return utf8.RuneCountInString(p) >= minMade && !strings.Contains(mine, p) && strings.Contains(theirs, p) && strings.Contains(said, p)
		}
		return slices.ContainsFunc(append(append(addresses(value), said), made...), copied) || quotes(said, mine, theirs+"\n"+refused)
	}
}

// quotes reports whether a text has a long run of letters and digits of another that own has not. All are spelt.
func quotes(text, own, other string) bool {
	r := []rune(text)
	for i := minQuote; i <= len(r); i++ {
		if run := string(r[i-minQuote : i]); strings.Contains(other, run) && !strings.Contains(own, run) {
			return true
		}
	}
	return false
}

func isSign(r rune) bool { return !unicode.IsNumber(r) && !unicode.IsLetter(r) && !unicode.IsMark(r) }

// spelt is a text without what a model changes as it likes: its letters and digits in one case and width.
func spelt(s string) string {
	return strings.Map(func(r rune) rune {
		if isSign(r) {
			return -1
		}
		return r
	}, strings.ToLower(norm.NFKC.String(s)))
}

// addresses are the words of a text, as spelt, that are made to be copied: they have a digit, or a sign inside that is
// no hyphen or apostrophe. Plain words are anybody's.
func addresses(s string) (out []string) {
	for _, w := range strings.Fields(s) {
		w = strings.TrimFunc(w, func(r rune) bool { return isSign(r) && r != '@' })
		if strings.ContainsFunc(w, func(r rune) bool {
			return unicode.IsNumber(r) || isSign(r) && unicode.IsPrint(r) && !strings.ContainsRune("-'’", r)
		}) {
			out = append(out, spelt(w))
		}
	}
	return out
}
