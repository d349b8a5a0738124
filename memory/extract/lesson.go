// Package extract draws from a case what is to be remembered: the lesson of a complaint, and the episode.
package extract

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/text"
)

// Lesson returns the words of a complaint that [Tell] shows to cases that have them, too, and its class. They
// are names, which have a digit, a capital or an @, of the case's own texts or of what strangers said; and other
// words of the case with four letters or more. Of the case is a word with a part that is one of it, or begins as
// one of three letters or more does, or the other way round ("Krügers", "Krüger-Konto"). A {name} stands for a
// value. Complaints that differ in names of the case, words with a digit and {name} are of one class.
func Lesson(complaint string, own, strangers []string) (hidden []string, class string) {
	var names []string
	mine, theirs := Words(own...), Words(strangers...)
	brought := func(p string) bool {
		for o := range mine {
			short := min(utf8.RuneCountInString(o), utf8.RuneCountInString(p)) < 3
			if o == p || !short && (strings.HasPrefix(o, p) || strings.HasPrefix(p, o)) {
				return true
			}
		}
		return false
	}
	for _, word := range words.FindAllString(complaint, -1) {
		named := strings.ContainsFunc(word, func(r rune) bool {
			return unicode.IsNumber(r) || unicode.IsUpper(r) || r == '@'
		})
		for p := range Words(braced.ReplaceAllString(word, " ")) {
			letters := utf8.RuneCountInString(p) // of an alphabet, three say nothing ("not"); in Chinese one does
			switch {
			case named && !strings.Contains(word, "{") && (brought(p) || theirs[p]):
				names = append(names, word)
			case brought(p) && (named || letters > 3 || len(p) > 2*letters):
				hidden = append(hidden, word)
			}
		}
	}
	parts := strings.Fields(strings.ToLower(Tell(complaint, names, nil)))
	for i, word := range parts {
		if strings.ContainsFunc(word, unicode.IsNumber) || strings.ContainsAny(word, "{}…") {
			parts[i] = "#"
		}
	}
	return append(names, hidden...), strings.Join(parts, " ")
}

// Tell returns a complaint for a case of these texts: with … for a hidden word of which they lack a part.
func Tell(complaint string, hidden, texts []string) string {
	now := Words(texts...)
	return gaps.ReplaceAllString(words.ReplaceAllStringFunc(complaint, func(word string) string {
		if slices.Contains(hidden, word) {
			for p := range Words(braced.ReplaceAllString(word, " ")) {
				if !now[p] {
					return "…"
				}
			}
		}
		return word
	}), "…")
}

// without are the letters of scripts without spaces, and those are the scripts.
const without = `\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}`

var spaceless = append(slices.Clip(text.Spaceless), unicode.Katakana)

// words are what is between spaces, and single letters of scripts without them.
var (
	words  = regexp.MustCompile(`[` + without + `]|[^\s` + without + `]+`)
	gaps   = regexp.MustCompile(`…{2,}`)
	braced = regexp.MustCompile(`\{[^{}]+\}`)
)

// Words are the runs of letters and the runs of digits of texts, in lower case. In scripts without spaces
// each letter is one.
func Words(texts ...string) map[string]bool {
	out, at, was := make(map[string]bool), 0, 0
	s := strings.ToLower(strings.Join(texts, " ")) + " "
	for i, r := range s {
		kind := 0
		switch {
		case unicode.IsNumber(r):
			kind = 1
		case unicode.In(r, spaceless...):
			kind = 2 + i // no other is of it
		case unicode.IsLetter(r), unicode.IsMark(r):
			kind = -1
		}
		if kind != was {
			if was != 0 {
				out[s[at:i]] = true
			}
			at, was = i, kind
		}
	}
	return out
}
