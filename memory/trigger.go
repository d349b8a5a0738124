package memory

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// fuzzyFrom is the number of letters from which on a word of a phrase may differ
// by one edit.
const fuzzyFrom = 5

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

// near reports whether a word is that of a phrase, or one edit away from it: a
// letter more, less or another, or two exchanged (Damerau 1964).
func near(phrase, word string) bool {
	if phrase == word {
		return true
	}
	if utf8.RuneCountInString(phrase) < fuzzyFrom {
		return false
	}
	a, b := []rune(phrase), []rune(word)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
