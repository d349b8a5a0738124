package memory

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/arc-learn/arc/next/internal/text"
)

// setApart takes those Facts for no near match that say of another what a best match says of what is asked for, so
// that a change of bed 4 does not come before what holds of bed 3 for being newer. It compares the first 32 with the
// first four of the best; what comes behind those, and is less than the best, is not near.
func (b *Bank) setApart(question string, fs []found, best float64) {
	const mostBest, most = 4, 32
	sc := sentencesPool.Get().(*sentences)
	defer sentencesPool.Put(sc)
	sc.words = sc.words[:0]
	asked := sc.add(b.an, question)
	var bests [mostBest][]token
	oldest, n := int64(forever), 0
	for i := range fs {
		if f := &fs[i]; f.near && f.ratio == best && f.r.is(Fact) && n < mostBest {
			bests[n] = sc.add(b.an, f.r.Content)
			oldest = min(oldest, f.r.said())
			n++
		}
	}
	end, seen := len(sc.words), 0
	for i := range fs {
		f := &fs[i]
		if n == 0 || !f.near || !f.r.is(Fact) || f.r.said() <= oldest {
			continue
		}
		if seen++; seen > most {
			f.near = f.ratio == best
			continue
		}
		sc.words = sc.words[:end]
		words := sc.add(b.an, f.r.Content)
		for _, o := range bests[:n] {
			f.near = f.near && !sc.ofAnother(asked, o, words)
		}
	}
}

// token is a word of a sentence, in lower case, with its term.
type token struct {
	text.Term
	word string
}

// sentences is memory that is used again.
type sentences struct {
	words []token
	terms []text.Term
	left  []uint8
	same  [][2]int
}

var sentencesPool = sync.Pool{New: func() any { return new(sentences) }}

// maxSentence is how many words of a sentence are compared.
const maxSentence = 64

// add returns the words of a sentence, which stay until sc.words is cut.
func (sc *sentences) add(an *text.Analyzer, s string) []token {
	from := len(sc.words)
	for w := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' }) {
		if sc.terms = an.Append(sc.terms[:0], w); len(sc.terms) > 0 && len(sc.words)-from < maxSentence {
			sc.words = append(sc.words, token{sc.terms[0], w})
		}
	}
	return sc.words[from:len(sc.words):len(sc.words)]
}

// ofAnother reports whether the sentence n has other words in the place of words of o that the question names. Such a
// word stands in the question as it does in o (a verb is often in another form, and may be said in another way), and
// nowhere in n, unless it has a digit. Function words are such only where both sentences begin ("I am", "Tom is").
func (sc *sentences) ofAnother(question, o, n []token) bool {
	i, j := 0, 0
	for _, same := range append(sc.common(o, n), [2]int{len(o), len(n)}) {
		was, is, first := o[i:same[0]], n[j:same[1]], i == 0 && j == 0
		i, j = same[0]+1, same[1]+1
		if len(was) == 0 || len(is) == 0 {
			continue
		}
		named, names, other := true, first, false
		for _, w := range was {
			names = names || !w.Stop
			named = named && (w.Stop && has(question, w) || !w.Stop && slices.ContainsFunc(question, w.same) &&
				(strings.ContainsFunc(w.word, unicode.IsDigit) || !has(n, w)))
		}
		for _, w := range is {
			other = other || !w.Stop && !has(question, w) && !has(o, w)
		}
		if named && names && other {
			return true
		}
	}
	return false
}

func (w token) same(o token) bool { return w.word == o.word }

func has(in []token, w token) bool {
	return slices.ContainsFunc(in, func(o token) bool { return o.Text == w.Text })
}

// common returns where the longest common subsequence of two sentences is in both.
func (sc *sentences) common(a, b []token) [][2]int {
	size := (len(a) + 1) * (len(b) + 1)
	left := slices.Grow(sc.left[:0], size)[:size] // how many words a[i:] and b[j:] have in common
	clear(left)
	at := func(i, j int) *uint8 { return &left[i*(len(b)+1)+j] }
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if *at(i, j) = max(*at(i+1, j), *at(i, j+1)); a[i].Text == b[j].Text {
				*at(i, j) = *at(i+1, j+1) + 1
			}
		}
	}
	sc.left, sc.same = left, sc.same[:0]
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].Text == b[j].Text:
			sc.same = append(sc.same, [2]int{i, j})
			i, j = i+1, j+1
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
	return sc.same
}
