package memory

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/arc-learn/arc/internal/text"
)

// setApart takes those Facts for no near match that say of another what the best match says of what is asked for, so
// that a change of bed 4 does not come before what holds of bed 3 for being newer. Of equally good matches the oldest
// is compared, with the first 32; what comes behind those, and is less than the best, is not near.
func (b *Bank) setApart(question string, fs []found, best float64) {
	const most = 32
	var oldest *found
	for i := range fs {
		if f := &fs[i]; f.near && f.ratio == best && f.r.is(Fact) && (oldest == nil || f.r.later(oldest.r) < 0) {
			oldest = f
		}
	}
	if oldest == nil {
		return
	}
	sc := sentencesPool.Get().(*sentences)
	defer sentencesPool.Put(sc)
	sc.words = sc.words[:0]
	asked, own := sc.add(b.an, question), sc.add(b.an, oldest.r.Content)
	end, seen := len(sc.words), 0
	for i := range fs {
		f := &fs[i]
		if !f.near || !f.r.is(Fact) || f.r.said() <= oldest.r.said() {
			continue
		}
		if seen++; seen > most {
			f.near = f.ratio == best
			continue
		}
		sc.words = sc.words[:end]
		f.near = !ofAnother(asked, own, sc.add(b.an, f.r.Content))
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

// add returns the words of a sentence, or its signs where words are not parted, which stay until sc.words is cut.
func (sc *sentences) add(an *text.Analyzer, s string) []token {
	from := len(sc.words)
	for it := words.FromString(strings.ToLower(s)); it.Next() && len(sc.words)-from < maxSentence; {
		if sc.terms = an.Append(sc.terms[:0], it.Value()); len(sc.terms) > 0 {
			sc.words = append(sc.words, token{sc.terms[0], it.Value()})
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
