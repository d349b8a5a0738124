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
			f.near = f.near && !ofAnother(asked, o, words)
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
func ofAnother(question, o, n []token) bool {
	best, all := o, n
	for first := true; len(o) > 0 && len(n) > 0; first = false {
		i, j := common(o, n)
		was, is := o[:i], n[:j]
		o, n = o[min(i+1, len(o)):], n[min(j+1, len(n)):]
		if len(was) == 0 || len(is) == 0 {
			continue
		}
		named, names, other := true, first, false
		for _, w := range was {
			names = names || !w.Stop
			named = named && (w.Stop && has(question, w) || !w.Stop && slices.ContainsFunc(question, w.same) &&
				(strings.ContainsFunc(w.word, unicode.IsDigit) || !has(all, w)))
		}
		for _, w := range is {
			other = other || !w.Stop && !has(question, w) && !has(best, w)
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

// common returns where the next word is that two sentences have in common, the nearest to both beginnings; their ends
// if there is none.
func common(a, b []token) (int, int) {
	for d := range max(len(a), len(b)) {
		for k := range d + 1 {
			if d < len(a) && k < len(b) && a[d].Text == b[k].Text {
				return d, k
			}
			if k < len(a) && d < len(b) && a[k].Text == b[d].Text {
				return k, d
			}
		}
	}
	return len(a), len(b)
}
