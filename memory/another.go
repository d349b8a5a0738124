package memory

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/arc-learn/arc/internal/text"
)

// setApart takes those Facts for no near match that say of another thing what the best match says of the one
// asked for: a change of bed 4 does not come before what holds of bed 3 for being newer, nor what Bo says of
// himself before what Ann does. Of equally good matches the oldest is compared, with the first 32.
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
	said := func(f *found) []token { return sentence(b.an, f.r.voice().Actor+" "+f.r.Content) }
	asked, own, seen := sentence(b.an, question), said(oldest), 0
	for i := range fs {
		f := &fs[i]
		if !f.near || !f.r.is(Fact) || f.r.said() <= oldest.r.said() {
			continue
		}
		if seen++; seen > most {
			break
		}
		f.near = !ofAnother(asked, own, said(f))
	}
}

// token is a word of a sentence, in lower case, with its term.
type token struct {
	text.Term
	word string
}

// maxSentence is how many words of a sentence are compared.
const maxSentence = 64

// sentence returns the words of a sentence, or its signs where words are not parted.
func sentence(an *text.Analyzer, s string) []token {
	var buf [8]text.Term
	out := make([]token, 0, min(maxSentence, len(s)/4+1))
	for it := words.FromString(strings.ToLower(s)); it.Next() && len(out) < maxSentence; {
		if terms := an.Append(buf[:0], it.Value()); len(terms) > 0 {
			out = append(out, token{terms[0], it.Value()})
		}
	}
	return out
}

// ofAnother reports whether the sentence n has other words in place of words of o that the question names.
// Such a word stands in the question as in o (a verb often has another form, and may be said otherwise), and
// nowhere in n, unless it has a digit. Function words count where both sentences begin ("I am", "Tom is").
// "Bed 3 gets 5 mg" and "Bed 4 gets 3 mg" have "bed" in common, and next "gets": between these stands 3 in o,
// which a question for bed 3 names, and in n 4, which neither the question nor o has.
func ofAnother(question, o, n []token) bool {
	best, all := o, n
	unnamed := func(w token) bool {
		if w.Stop {
			return !has(question, w)
		}
		asked := slices.ContainsFunc(question, w.same)
		return !asked || has(all, w) && !strings.ContainsFunc(w.word, unicode.IsDigit)
	}
	content := func(w token) bool { return !w.Stop }
	other := func(w token) bool { return !w.Stop && !has(question, w) && !has(best, w) }
	for first := true; len(o) > 0 && len(n) > 0; first = false {
		i, j := common(o, n)
		was, is := o[:i], n[:j]
		o, n = o[min(i+1, len(o)):], n[min(j+1, len(n)):]
		says := len(was) > 0 && (first || slices.ContainsFunc(was, content))
		if says && !slices.ContainsFunc(was, unnamed) && slices.ContainsFunc(is, other) {
			return true
		}
	}
	return false
}

func (w token) same(o token) bool { return w.word == o.word }

func has(in []token, w token) bool {
	return slices.ContainsFunc(in, func(o token) bool { return o.Text == w.Text })
}

// common returns where the next word is that two sentences share, nearest to both beginnings, or their ends.
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
