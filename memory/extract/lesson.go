// Package extract draws from a case what is to be remembered: the lesson of a complaint, and the episode.
package extract

import (
	"encoding/json"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/text"
)

// Said returns texts as whoever reads them does, to be compared: without what does not show, and again with
// escapes of JSON and HTML as what they stand for. So a text may be JSON of any form, or a page.
func Said(texts ...string) (out []string) {
	for _, s := range texts {
		for n, was := 0, ""; s != was && n < 4; n++ { // JSON may stand in a string of JSON, in a page
			out, was = append(out, fence.Visible(strings.Join(strings.FieldsFunc(s, fence.Joins), ""))), s
			if strings.ContainsAny(s, `\&`) { // most texts have no escape
				s = html.UnescapeString(escapes.ReplaceAllStringFunc(s, unescape))
			}
		}
	}
	return out
}

func unescape(s string) (plain string) {
	_ = json.Unmarshal([]byte(`"`+s+`"`), &plain) // which is a string
	return plain
}

// Lesson returns, for complaints about a case, the words of the case that one says, as the case writes them,
// which [Tell] keeps from others, and its class. Of strangers' words only names count. A {name} stands for a
// value. Complaints that differ in names, words with a digit and {name} are of one class.
func Lesson(own, strangers []string) func(complaint string) (said []string, class string) {
	spell := sync.OnceValues(func() (_, _ map[string]string) { return spelled(own...), spelled(strangers...) })
	return func(complaint string) (said []string, class string) {
		mine, theirs := spell()
		class = visit(complaint, func(word string, parts map[string]string, sure bool) string {
			name := strings.ContainsFunc(word, unicode.IsNumber) || strings.ContainsAny(word, "{}…")
			for p, as := range parts {
				var of []string
				near := mine
				if utf8.RuneCountInString(p) < 3 { // says only itself
					near = map[string]string{p: mine[p]}
				}
				for o, raw := range near {
					alike := raw != "" && (strings.Contains(o, p) || strings.Contains(p, o)) // says is slow
					if alike && says(p, o, sure, marked(raw)) {
						of = append(of, raw)
					}
				}
				if len(of) > 8 {
					of = []string{as} // what is kept has a bound
				}
				if theirs[p] != "" && (sure || marked(as) && utf8.RuneCountInString(p) > 3) {
					of = append(of, as)
				}
				name = name || len(of) > 0 && (sure || marked(as))
				said = append(said, of...)
			}
			if name {
				return "#"
			}
			return strings.ToLower(word)
		})
		slices.Sort(said)
		return slices.Compact(said), class
	}
}

// Tell tells complaints to a case of these texts, which may lack words that a complaint says of another case.
// A name that they lack leaves a …; any other word takes the complaint with it, since without a word such as
// "never" it might say the opposite: then it is "".
func Tell(texts ...string) func(complaint string, said []string) string {
	spell := sync.OnceValue(func() map[string]string { return spelled(texts...) }) // most cases have no warning
	return func(complaint string, said []string) string {
		now, theirs, told := spell(), spelled(said...), true
		maps.DeleteFunc(theirs, func(o, _ string) bool { return now[o] != "" })
		if len(theirs) == 0 {
			return complaint
		}
		complaint = visit(complaint, func(word string, parts map[string]string, sure bool) string {
			for p := range parts {
				for o, raw := range theirs {
					if now[p] == "" && says(p, o, sure, marked(raw)) {
						word, told = "…", told && sure && marked(raw)
					}
				}
			}
			return word
		})
		if !told {
			return ""
		}
		return complaint
	}
}

// says reports whether p, a word of a complaint, is the word o of a case, or one is written onto the other:
// behind it, or in scripts without capitals before it, too. Short words say nothing ("not"), unless the
// complaint is sure that they are a name, the case has marked them as one, or their script has no capitals.
func says(p, o string, sure, named bool) bool {
	n := min(utf8.RuneCountInString(p), utf8.RuneCountInString(o))
	switch {
	case strings.ToUpper(p) == p:
		return p == o || n > 2 && (strings.Contains(p, o) || strings.Contains(o, p))
	case n > 3, n > 2 && (sure || named):
		return strings.HasPrefix(p, o) || strings.HasPrefix(o, p)
	}
	return p == o && (sure || named && n > 1)
}

// visit returns a complaint with what f makes of each of its words, by their parts, and whether it is sure
// that one is a name: it has a digit, an @, a capital behind a small letter, or behind a small word.
func visit(complaint string, f func(word string, parts map[string]string, sure bool) string) string {
	small := false
	return words.ReplaceAllStringFunc(norm.NFC.String(complaint), func(word string) string {
		sure := names.MatchString(word) || small && capital.MatchString(word)
		first, _ := utf8.DecodeRuneInString(word)
		small = (small || unicode.IsLower(first)) && !strings.ContainsAny(word, "\n.!?:;…")
		return f(word, spelled(braced.ReplaceAllString(word, " ")), sure)
	})
}

// marked reports whether a word has what names have.
func marked(word string) bool {
	return strings.ContainsFunc(word, func(r rune) bool { return unicode.IsNumber(r) || unicode.IsUpper(r) })
}

// without are the letters of scripts without spaces.
const without = `\p{Han}\p{Hiragana}\p{Katakana}ーｰﾞﾟ\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}`

// words are what is between spaces, runs of scripts without them, and ends of lines; runs are parts of them.
var (
	escapes = regexp.MustCompile(`(?:\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]))+`)
	words   = regexp.MustCompile(`\n|[` + without + `]+|[^\s` + without + `]+`)
	runs    = regexp.MustCompile(`\pN+|[` + without + `]+|[^\pN\pS\pP\pZ\pC` + without + `]+`)
	names   = regexp.MustCompile(`[\pN@]|\p{Ll}\p{Lu}`)
	capital = regexp.MustCompile(`^\p{Lu}\p{Ll}`)
	braced  = regexp.MustCompile(`\{[^{}]+\}`)
)

// spelled are the words of texts as they stand, in small letters where one does, by how they are compared:
// without accents, and in one width. Of scripts without spaces, where nobody sees the ends of words, and of
// Korean they are each two letters that meet, or three of an alphabet.
func spelled(texts ...string) map[string]string {
	out := make(map[string]string)
	for _, run := range runs.FindAllString(norm.NFKC.String(strings.Join(Said(texts...), "\n")), -1) {
		rs := []rune(run)
		n := len(rs)
		switch {
		case unicode.In(rs[0], unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			n = min(n, 2)
		case unicode.In(rs[0], text.Spaceless...):
			n = min(n, 3)
		}
		for i := range len(rs) - n + 1 {
			raw := string(rs[i : i+n])
			if key := text.Plain(raw); out[key] == "" || !strings.ContainsFunc(raw, unicode.IsUpper) {
				out[key] = raw
			}
		}
	}
	return out
}
