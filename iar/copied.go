package iar

import (
	"index/suffixarray"
	"regexp"
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

// Copied tells which values somebody else has said, and not the case's own texts: what strangers have made to
// be copied, such as addresses and numbers, and what is a quotation of them or of a complaint. Spaces, signs,
// case and width do not matter. What is translated or encoded is not seen, nor a value of fewer than eight
// letters and digits that is written otherwise ("5.000").
//
// Three rules, as each alone is got round: a value, or an address in it, that stands in their texts; an
// address of theirs that stands in the value, across its spaces and signs; and a run of minQuote letters of
// theirs, whatever is around it. What the case says, too, is its own by each of them.
func Copied(own, strangers, complaints []string) func(value string) bool {
	theirs, refused := spelt(strings.Join(strangers, "\n")), spelt(strings.Join(complaints, "\n"))
	if theirs+refused == "" { // nobody else has said anything
		return func(string) bool { return false }
	}
	inMine, inTheirs, inRefused := finder(spelt(strings.Join(own, "\n"))), finder(theirs), finder(refused)
	copied := func(p string) bool { return inTheirs(p) && !inMine(p) }
	made := addresses(strings.Join(strangers, "\n"))
	slices.Sort(made) // a page may name one a thousand times
	made = slices.DeleteFunc(slices.Compact(made), func(p string) bool { return !copied(p) })
	return func(value string) bool {
		said := spelt(value)
		letters := []rune(said)
		for i := minQuote; i <= len(letters); i++ {
			if run := string(letters[i-minQuote : i]); (inTheirs(run) || inRefused(run)) && !inMine(run) {
				return true
			}
		}
		parts := append(addresses(value), said)
		return slices.ContainsFunc(parts, copied) || slices.ContainsFunc(made, finder(said))
	}
}

// finder tells whether a text has a part of minMade letters and digits or more. Of a long one it sorts the
// endings once: many parts, each looked for in a long text, would take time by the product of both.
func finder(s string) func(part string) bool {
	has := func(part string) bool { return strings.Contains(s, part) }
	if len(s) > 1<<10 {
		endings := suffixarray.New([]byte(s))
		has = func(part string) bool { return len(endings.Lookup([]byte(part), 1)) > 0 }
	}
	return func(part string) bool { return utf8.RuneCountInString(part) >= minMade && has(part) }
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

// group matches a word, or words beside each other that have digits or an "@" between them.
var group = regexp.MustCompile(`\S*\pN\S*([\s\pP\pS]+\S*\pN\S*)*|\S*\s*@\s*\S*|\S+`)

// Unsaid reports whether a text has what is made to be copied, and the case's own texts do not say: what has
// "@", or eight or more letters and digits, also in groups. A name with underscores is none: a program's.
func Unsaid(own []string, text string) bool {
	text, mine := strings.ReplaceAll(norm.NFKC.String(text), "_", " "), spelt(strings.Join(own, "\n"))
	return slices.ContainsFunc(group.FindAllString(text, -1), func(w string) bool {
		made := addresses(strings.Join(strings.Fields(w), "")) // none, or one, which of an "@" alone is ""
		long := strings.Contains(w, "@") || utf8.RuneCountInString(spelt(w)) >= minMade
		return len(made) > 0 && long && (made[0] == "" || !strings.Contains(mine, made[0]))
	})
}

// addresses are the words of a text, as spelt, that are made to be copied: they have a digit, or a sign
// inside that is no hyphen or apostrophe. Plain words are anybody's.
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
