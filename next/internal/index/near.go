package index

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Two words are taken for forms of one another if they begin alike and end soon after, or, in scripts whose
// articles and prepositions are written with the word, if one is the other with letters before or after it.
const (
	formFrom  = 4    // letters that forms have in common at least
	formShare = 0.55 // and of the longer one
	affix     = 3    // letters before or after a word
	maxForms  = 24
	spellFrom = 5 // letters of a word that may be misspelt
)

// nearKeys returns the keys under which terms lie that may be forms of w, and that under which lie those of its
// length and first letter.
func nearKeys(w string) (forms []string, spelt string) {
	n := utf8.RuneCountInString(w)
	if strings.ContainsFunc(w, notLetter) {
		return nil, ""
	}
	if n >= formFrom {
		forms = append(forms, "^"+runes(w, formFrom))
	}
	if n >= 2 && prefixed(w) {
		forms = append(forms, "^"+runes(w, 2), "$"+lastRunes(w, 2))
	}
	if n >= spellFrom {
		spelt = spellKey(w, n)
	}
	return forms, spelt
}

func spellKey(w string, n int) string { return runes(w, 1) + string(rune('0'+n)) }

func notLetter(r rune) bool { return !unicode.IsLetter(r) && !unicode.Is(unicode.M, r) && r != '\'' }

// prefixed reports whether w is of a script in which articles are written with the word.
func prefixed(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.In(r, unicode.Arabic, unicode.Hebrew)
}

// runes returns the first n runes of w.
func runes(w string, n int) string {
	for i := range w {
		if n == 0 {
			return w[:i]
		}
		n--
	}
	return w
}

func lastRunes(w string, n int) string {
	i := len(w)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(w[:i])
		i -= size
	}
	return w[i:]
}

// learn makes a new term known to forms and spelling, and unlearn undoes that.
func (ix *Index) learn(t *term) {
	forms, spelt := nearKeys(t.text)
	for _, key := range forms {
		ix.near[key] = append(ix.near[key], t)
	}
	if spelt != "" && !t.stop {
		ix.near[spelt] = append(ix.near[spelt], t)
	}
}

func (ix *Index) unlearn(t *term) {
	forms, spelt := nearKeys(t.text)
	for _, key := range append(forms, spelt) {
		without(ix.near, key, t)
	}
}

// forms returns the terms that may be forms of w, without w: the most alike first.
func (ix *Index) forms(w string) (out []*term) {
	keys, _ := nearKeys(w)
	rest := map[*term]int{}
	for _, key := range keys {
		for _, t := range ix.near[key] {
			if n, ok := isForm(w, t.text); ok && t.text != w && !t.stop {
				rest[t] = n
			}
		}
	}
	for t := range rest {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *term) int {
		return cmp.Or(cmp.Compare(rest[a], rest[b]), cmp.Compare(len(b.rows), len(a.rows)), strings.Compare(a.text, b.text))
	})
	return out[:min(len(out), maxForms)]
}

// isForm reports whether t may be a form of w, and how many letters they differ in.
func isForm(w, t string) (rest int, ok bool) {
	i := 0
	for i < len(w) && i < len(t) && w[i] == t[i] {
		i++
	}
	for i < len(w) && i > 0 && !utf8.RuneStart(w[i]) {
		i--
	}
	same := utf8.RuneCountInString(w[:i])
	a, b := utf8.RuneCountInString(w[i:]), utf8.RuneCountInString(t[i:])
	if same >= formFrom && float64(same) >= formShare*float64(same+max(a, b)) {
		return a + b, true
	}
	if n := a - b; prefixed(w) && -affix <= n && n <= affix {
		return max(n, -n), strings.HasPrefix(w, t) || strings.HasPrefix(t, w) || strings.HasSuffix(w, t) || strings.HasSuffix(t, w)
	}
	return 0, false
}

// nearest returns the most frequent term one edit away from w.
func (ix *Index) nearest(w string) (best *term) {
	n := utf8.RuneCountInString(w)
	if _, spelt := nearKeys(w); spelt == "" {
		return nil
	}
	for m := n - 1; m <= n+1; m++ {
		for _, t := range ix.near[spellKey(w, m)] {
			better := best == nil || len(t.rows) > len(best.rows) || len(t.rows) == len(best.rows) && t.text < best.text
			if better && oneEdit(w, t.text) {
				best = t
			}
		}
	}
	return best
}

// oneEdit reports whether a becomes b by adding, leaving out or changing a letter, or by exchanging two.
func oneEdit(a, b string) bool {
	for a != "" && b != "" {
		r, n := utf8.DecodeRuneInString(a)
		s, m := utf8.DecodeRuneInString(b)
		if r != s {
			break
		}
		a, b = a[n:], b[m:]
	}
	for a != "" && b != "" {
		r, n := utf8.DecodeLastRuneInString(a)
		s, m := utf8.DecodeLastRuneInString(b)
		if r != s {
			break
		}
		a, b = a[:len(a)-n], b[:len(b)-m]
	}
	x, y := []rune(a), []rune(b)
	return len(x) <= 1 && len(y) <= 1 || len(x) == 2 && len(y) == 2 && x[0] == y[1] && x[1] == y[0]
}

// dayAfter returns the term of the day after that of which w is the term.
func dayAfter(w string) (string, bool) {
	const layout = "@01-02"
	if !strings.HasPrefix(w, "@") {
		return "", false
	}
	at, err := time.Parse(layout+" 2006", w+" 2024") // a leap year
	return at.AddDate(0, 0, 1).Format(layout), err == nil
}
