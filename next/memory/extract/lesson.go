// Package extract draws from a case what is to be remembered: the lesson of a complaint, and the episode.
package extract

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lesson returns which words of a complaint are of one case alone, so that [Tell] leaves them out for others: words with
// a part that is one of the case's own texts, or begins as one of three letters or more does, or the other way round
// ("Krügers", "Krüger-Konto"). A short word is such only where it names something: with a digit, a capital or an @. So
// is what strangers said. A {name} in the complaint stands for a value. The class of a lesson is what it says, where each
// word of the case, with a digit, or with a {name} is any: complaints of one class are the same to learn from.
func Lesson(complaint string, own, strangers []string) (hidden []string, class string) {
	mine, theirs := Words(own...), Words(strangers...)
	brought := func(p string) bool {
		for o := range mine {
			if o == p || min(utf8.RuneCountInString(o), utf8.RuneCountInString(p)) >= 3 && (strings.HasPrefix(o, p) || strings.HasPrefix(p, o)) {
				return true
			}
		}
		return false
	}
	for _, word := range words.FindAllString(complaint, -1) {
		names := strings.ContainsFunc(word, func(r rune) bool { return unicode.IsNumber(r) || unicode.IsUpper(r) || r == '@' })
		for p := range Words(braced.ReplaceAllString(word, " ")) {
			letters := utf8.RuneCountInString(p) // of an alphabet, two say nothing ("of"); in Chinese one does
			if brought(p) && (names || letters >= 3 || len(p) > 2*letters) || theirs[p] && names {
				hidden = append(hidden, word)
				break
			}
		}
	}
	said := strings.Fields(strings.ToLower(Tell(complaint, hidden, nil)))
	for i, word := range said {
		if strings.ContainsFunc(word, unicode.IsNumber) || strings.ContainsAny(word, "{}…") {
			said[i] = "#"
		}
	}
	return hidden, strings.Join(said, " ")
}

// Tell returns a complaint for a case of these texts: with … for each hidden word that has a part which they have not.
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

// words are what is between spaces, and single letters of scripts without them.
var (
	words  = regexp.MustCompile(`[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|[^\s\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+`)
	gaps   = regexp.MustCompile(`…{2,}`)
	braced = regexp.MustCompile(`\{[^{}]+\}`)
)

// Words are the runs of letters and the runs of digits of texts, in lower case. In scripts without spaces each letter is
// one.
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

var spaceless = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
	unicode.Khmer, unicode.Myanmar}
