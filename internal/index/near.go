package index

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Two words are taken for forms of one another if they begin alike and end soon after, or, in scripts whose
// articles and prepositions are written with the word, if one is the other with letters before or after it.
// Tuned on half of Snowball's vocabularies of 18 languages and of UniMorph's Hebrew, Hindi and Ukrainian.
const (
	keyLetters = 3    // that all forms have in common
	sameFrom   = 4    // that two words have in common which both have endings,
	sameShare  = 0.55 // and of the longer one
	affix      = 3    // of an ending or a beginning, if one word is the other with it
	bareFrom   = 5    // of a word that has any ending
	spellFrom  = 5    // of a word that may be misspelt
	maxForms   = 24
	maxAlike   = 1 << 12 // terms of a key that are found: no vocabulary makes a search or Remove slow
)

// nearKeys returns the keys under which terms lie that may be forms of w, and that under which lie those of
// its length and first letter.
func nearKeys(w string) (forms []string, spelt string) {
	if strings.ContainsFunc(w, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M) && r != '\'' }) {
		return nil, ""
	}
	letters := []rune(w)
	n := len(letters)
	if n >= sameFrom {
		forms = append(forms, "^"+string(letters[:sameFrom]))
	}
	if n >= keyLetters && n <= keyLetters+affix { // longer ones must have more in common
		forms = append(forms, "^"+string(letters[:keyLetters]))
	}
	if n >= 2 && prefixed(w) {
		forms = append(forms, "^"+string(letters[:2]), "$"+string(letters[n-2:]))
	}
	if n >= spellFrom {
		spelt = spellKey(letters[0], n)
	}
	return forms, spelt
}

func spellKey(first rune, n int) string { return string([]rune{first, rune(n)}) }

// prefixed reports whether w is of a script in which articles are written with the word.
func prefixed(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.In(r, unicode.Arabic, unicode.Hebrew)
}

// learn makes a new term known to forms and spelling, or forgets one.
func (ix *Index) learn(t *term, in bool) {
	forms, spelt := nearKeys(t.text)
	for _, key := range append(forms, spelt) {
		known := ix.near[key]
		if in && key != "" && len(known) < maxAlike {
			known = append(known, t)
		} else if !in {
			known = slices.DeleteFunc(known, func(o *term) bool { return o == t })
		}
		ix.near[key] = known
		if len(known) == 0 {
			delete(ix.near, key)
		}
	}
}

// forms returns the terms that may be forms of w, without w: the most alike first.
func (ix *Index) forms(w string) (out []*term) {
	keys, _ := nearKeys(w)
	rest := map[*term]int{}
	for _, key := range keys {
		for _, t := range ix.near[key] {
			if n, ok := isForm(w, t.text); ok && t.text != w && rest[t] == 0 { // one that differs has a rest
				out, rest[t] = append(out, t), n
			}
		}
	}
	slices.SortFunc(out, func(a, b *term) int { return cmp.Or(rest[a]-rest[b], byFrequency(a, b)) })
	return out[:min(len(out), maxForms)]
}

// byFrequency has the more frequent of two terms first.
func byFrequency(a, b *term) int {
	return cmp.Or(len(b.postings)-len(a.postings), strings.Compare(a.text, b.text))
}

// isForm reports whether t may be a form of w, and how many letters they differ in.
func isForm(w, t string) (rest int, ok bool) {
	x, y, same := []rune(w), []rune(t), 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	a, b := len(x)-same, len(y)-same
	longer, before := max(a, b), max(a-b, b-a)
	switch {
	case same >= sameFrom && float64(same) >= sameShare*float64(same+longer):
	case same >= bareFrom && min(a, b) == 0:
	case same >= keyLetters && min(a, b) == 0 && longer <= affix:
	case same >= keyLetters && w[0] >= 0xE0 && longer <= 2: // in scripts of India marks are endings
	case prefixed(w) && same < 2 && before <= affix && (strings.HasSuffix(w, t) || strings.HasSuffix(t, w)):
		return before, true
	case prefixed(w) && same >= 2 && min(a, b) == 0 && longer <= affix:
	default:
		return 0, false
	}
	return a + b, true
}

// nearest returns the most frequent term one edit away from w.
func (ix *Index) nearest(w string) (best *term) {
	if _, spelt := nearKeys(w); spelt == "" {
		return nil
	}
	letters := []rune(w)
	for n := len(letters) - 1; n <= len(letters)+1; n++ {
		for _, t := range ix.near[spellKey(letters[0], n)] {
			if (best == nil || byFrequency(t, best) < 0) && oneEdit(letters, []rune(t.text)) {
				best = t
			}
		}
	}
	return best
}

// oneEdit reports whether a becomes b by adding, leaving out or changing a letter, or by exchanging two.
func oneEdit(a, b []rune) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
