package memory

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/text"
)

// trigger is a phrase that brings a record.
type trigger struct {
	e     *entry
	words []string // folded
}

// foldedPhrase returns the words of a phrase, those of an identifier apart.
func foldedPhrase(s string) []string {
	return foldedWords(strings.Map(func(r rune) rune {
		if r == '_' || r == '.' || r == '-' {
			return ' '
		}
		return r
	}, s))
}

// findTriggered finds the records of which a phrase is in the text. The caller
// holds mu.
func (sh *shard) findTriggered(sc *scratch) {
	if len(sh.triggers) == 0 {
		return
	}
	ws := foldedPhrase(sc.query.asked)
	from := len(sc.found)
	for _, t := range sh.triggers {
		at := t.in(ws)
		if at < 0 {
			continue
		}
		rank := float64(at+1) - float64(len(t.words))/256 // the first in the text, and the longer phrase
		if i := slices.IndexFunc(sc.found[from:], func(f found) bool { return f.entry == t.e }); i >= 0 {
			sc.found[from+i].ratio = max(sc.found[from+i].ratio, 1/rank)
			continue
		}
		sh.addRated(sc, t.e.row, rated{ratio: 1 / rank, relevance: 1, lexical: 1})
	}
}

// byPhrase scores what phrases have brought, in their order in the text.
func byPhrase(fs []found) {
	for i := range fs {
		fs[i].score = fs[i].ratio
	}
}

// in returns where the phrase stands in a text, or -1.
func (t *trigger) in(ws []string) int {
	for at := 0; at+len(t.words) <= len(ws) && len(t.words) > 0; at++ {
		if slices.EqualFunc(t.words, ws[at:at+len(t.words)], near) {
			return at
		}
	}
	return -1
}

// near reports whether a word is that of a phrase, or one edit away from it: of
// letters, since another number is another thing.
func near(phrase, word string) bool {
	return phrase == word || utf8.RuneCountInString(phrase) >= text.FuzzyFrom && !strings.ContainsFunc(phrase+word, unicode.IsDigit) && text.Near(phrase, word)
}
