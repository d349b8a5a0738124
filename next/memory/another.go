package memory

import (
	"slices"
	"strings"
	"unicode"

	"github.com/arc-learn/arc/next/internal/text"
)

// setApart takes those Facts for no near match that say of another what a best match says of what is asked for, so
// that a change of bed 4 does not come before what holds of bed 3 for being newer. It looks at the first matches only.
func (b *Bank) setApart(question string, fs []found, best float64) {
	const mostBest, most = 4, 32
	var asked []token
	var bests, others [][]token
	for i := range fs {
		f := &fs[i]
		if !f.near || !f.r.is(Fact) || len(fs) == 1 || len(others) == most {
			continue
		}
		if asked == nil {
			asked = b.tokens(question)
		}
		words := b.tokens(f.r.Content)
		if others = append(others, words); f.ratio == best && len(bests) < mostBest {
			bests = append(bests, words)
		}
	}
	n := 0
	for i := range fs {
		if f := &fs[i]; f.near && f.r.is(Fact) && n < len(others) {
			words := others[n]
			f.near = !slices.ContainsFunc(bests, func(o []token) bool { return ofAnother(asked, o, words) })
			n++
		}
	}
}

// token is a word of a sentence, in lower case, with its term.
type token struct {
	text.Term
	word string
}

func (b *Bank) tokens(s string) (out []token) {
	part := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' }
	for _, w := range strings.FieldsFunc(strings.ToLower(s), part) {
		var buf [8]text.Term
		if terms := b.an.Append(buf[:0], w); len(terms) > 0 {
			out = append(out, token{terms[0], w})
		}
	}
	return out
}

// ofAnother reports whether the sentence n has other words in the place of words of o that the question names. Such a
// word stands in the question as it does in o (a verb is often in another form, and may be said in another way), and
// nowhere in n, unless it has a digit. Function words are such only where both sentences begin ("I am", "Tom is").
func ofAnother(question, o, n []token) bool {
	has := func(in []token, w token) bool {
		return slices.ContainsFunc(in, func(v token) bool { return v.Text == w.Text })
	}
	named := func(w token) bool {
		if w.Stop {
			return has(question, w)
		}
		same := func(v token) bool { return v.word == w.word }
		return slices.ContainsFunc(question, same) && (strings.ContainsFunc(w.word, unicode.IsDigit) || !has(n, w))
	}
	other := func(w token) bool { return !w.Stop && !has(question, w) && !has(o, w) }
	all := func(ws []token, is func(token) bool) bool {
		return !slices.ContainsFunc(ws, func(w token) bool { return !is(w) })
	}
	i, j := 0, 0
	for _, same := range append(common(o, n), [2]int{len(o), len(n)}) {
		was, is, first := o[i:same[0]], n[j:same[1]], i == 0 && j == 0
		i, j = same[0]+1, same[1]+1
		if len(was) > 0 && all(was, named) && slices.ContainsFunc(is, other) &&
			(first || !all(was, func(w token) bool { return w.Stop })) {
			return true
		}
	}
	return false
}

// common returns where the longest common subsequence of two sentences is in both.
func common(a, b []token) (out [][2]int) {
	a, b = a[:min(len(a), maxSentence)], b[:min(len(b), maxSentence)]
	left := make([]uint8, (len(a)+1)*(len(b)+1)) // how many words a[i:] and b[j:] have in common
	at := func(i, j int) *uint8 { return &left[i*(len(b)+1)+j] }
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if *at(i, j) = max(*at(i+1, j), *at(i, j+1)); a[i].Text == b[j].Text {
				*at(i, j) = *at(i+1, j+1) + 1
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].Text == b[j].Text:
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
	return out
}

// maxSentence is how many words of a Fact are compared.
const maxSentence = 64
