package template

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Two texts are the same case if their words are, after as little folding as
// repeats need: the case of plain words, white space, sentence punctuation
// between words, articles in lower case before a word, and "please" at either
// end. "a" is an article behind the first word or a function word only, and before
// what is none: delete a from b names it. What parts a negation from the next word
// stays: "no, delete it" is not "no delete". What stands inside a word tells cases apart:
// 1.50 and 150, C++ and C, IT and it, /tmp/a and /tmp/A, and 5! is not 5.

// marks are the punctuation of sentences. It ends a word, unless a digit follows.
const marks = ".,;:!?…。！、，"

// asking are the words that begin a question, which needs no question mark then.
var asking = []string{"how", "what", "when", "where", "which", "who", "whom", "whose", "why"}

// Words returns the words of a text in order, without what folding drops. Their
// case is that of the text: see Fold. A question mark that makes the
// difference is a word.
func Words(text string) []string {
	var few [24]string // most texts have no more
	fields := few[:0]
	for f := range strings.FieldsSeq(text) {
		for at := parting(f); at > 0; at = parting(f) {
			fields, f = append(fields, f[:at]), f[at:]
		}
		fields = append(fields, f)
	}
	out := make([]string, 0, len(fields))
	at, asks := 0, false // the word of the sentence; it has one that asks
	for i, f := range fields {
		next := ""
		if i+1 < len(fields) {
			next = fields[i+1]
		}
		w, mark := f, ""
		if r, _ := utf8.DecodeRuneInString(next); !unicode.IsDigit(r) {
			w, mark = cutMarks(f)
		}
		if at == 0 {
			asks = slices.Contains(asking, Fold(w))
		}
		drops := mark == "" && article(w, at == 0) && beginsWord(next)
		if w == "a" && drops {
			drops = !functionWord(next) && (at < 2 || functionWord(fields[i-1]))
		}
		if drops {
			at++
			continue
		}
		out = append(out, w)
		switch {
		case strings.Contains(mark, "?") && !asks:
			out = append(out, "?")
		case mark != "" && next != "" && Denies(w):
			out = append(out, mark)
		}
		switch {
		case strings.ContainsAny(mark, ".!?…"):
			at = 0
		case at > 0 || Fold(w) != "please":
			at++
		}
	}
	if len(out) > 1 && Fold(out[0]) == "please" {
		out = out[1:]
	}
	if n := len(out) - 1; n > 0 && Fold(out[n]) == "please" {
		out = out[:n]
	}
	return out
}

// parting returns where a field first goes over to or from a script that is written without spaces, or 0.
func parting(f string) int {
	was := false
	for i, r := range f {
		is := unspaced(r) || r > unicode.MaxLatin1 && strings.ContainsRune(wide, r)
		if i > 0 && is != was {
			return i
		}
		was = is
	}
	return 0
}

// cutMarks parts the sentence punctuation from the end of a word: of one that
// ends in a letter, a digit or a closing bracket, so that "." and "a/." stay.
func cutMarks(f string) (w, mark string) {
	w = strings.TrimRight(f, marks)
	last, _ := utf8.DecodeLastRuneInString(w)
	if unicode.IsDigit(last) && strings.HasPrefix(f[len(w):], "!") {
		return f, ""
	}
	if w == "" || !unicode.In(last, unicode.Letter, unicode.Number, unicode.Mark) && !strings.ContainsRune(`)]}"'»”’%+#°_`, last) {
		return f, ""
	}
	return w, f[len(w):]
}

// Parted reports whether a word is, or ends in, the punctuation of sentences.
func Parted(word string) bool { return strings.TrimRight(word, marks) != word }

// article reports whether a word is one. A capital says that it is something
// else, such as the A of "A records", unless a sentence begins with it.
func article(w string, begins bool) bool {
	return w == "a" || w == "an" || w == "the" || begins && (w == "An" || w == "The")
}

func beginsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// Fold returns a word in lower case if it is a plain one that begins with a
// capital. Abbreviations and identifiers stay as they are.
func Fold(w string) string {
	first, n := utf8.DecodeRuneInString(w)
	if n == len(w) || !unicode.IsUpper(first) {
		return w
	}
	for _, r := range w[n:] {
		if unicode.IsUpper(r) || !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune("'’-", r) {
			return w
		}
	}
	return strings.ToLower(w)
}

// Folded returns the words of a text as they are compared.
func Folded(text string) []string {
	out := Words(text)
	for i, w := range out {
		out[i] = Fold(w)
	}
	return out
}
