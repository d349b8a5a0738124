// Package quote tells whether a text repeats another word by word.
package quote

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Run is the number of words in a row that make a quotation.
const Run = 6

// A word weighs whole. One that follows another without white space, as in a
// path, weighs half, and so does a character of a script that writes no spaces:
// a name is no sentence, and six ideographs are hardly three words.
const (
	half  = 1
	whole = 2
)

// word is a word as it is compared.
type word struct {
	text   string
	weight int
}

// Plan is a text whose words may be somebody's. The zero Plan quotes nothing.
type Plan struct {
	words []word
	// seeds lead from Run words in a row to where they stand.
	seeds map[string][]int
}

// New returns the texts as one Plan: what is repeated across their borders
// counts too.
func New(texts ...string) *Plan {
	p := &Plan{seeds: make(map[string][]int)}
	for _, s := range texts {
		p.words = append(p.words, splitWords(s)...)
	}
	each(p.words, func(i int, key []byte) { p.seeds[string(key)] = append(p.seeds[string(key)], i) })
	return p
}

// Own takes what a text says out of what p may quote: those words are the
// caller's own.
func (p *Plan) Own(text string) {
	if len(p.seeds) > 0 {
		each(splitWords(text), func(_ int, key []byte) { delete(p.seeds, string(key)) })
	}
}

// Quotes reports whether p repeats Run words in a row of a text. Case, white
// space, punctuation and characters that are not seen do not count.
func (p *Plan) Quotes(text string) bool {
	if len(p.seeds) == 0 {
		return false
	}
	words, found := splitWords(text), false
	each(words, func(i int, key []byte) {
		for _, at := range p.seeds[string(key)] {
			found = found || weigh(p.words[at:], words[i:]) >= Run*whole
		}
	})
	return found
}

// weigh returns the weight of the words that a and b begin with.
func weigh(a, b []word) (n int) {
	for i := range min(len(a), len(b)) {
		if n >= Run*whole || a[i].text != b[i].text {
			break
		}
		n += max(a[i].weight, b[i].weight)
	}
	return n
}

// each calls f with each Run words in a row: where they begin, and a key that
// belongs to f for the length of the call.
func each(words []word, f func(i int, key []byte)) {
	var key []byte
	for i := 0; i+Run <= len(words); i++ {
		key = key[:0]
		for _, w := range words[i : i+Run] {
			key = append(append(key, w.text...), ' ')
		}
		f(i, key)
	}
}

// splitWords returns the words of a text, in lower case.
func splitWords(s string) []word {
	folded := make([]byte, 0, len(s)) // the words one after another
	ends := make([]int, 0, len(s)/4+1)
	out := make([]word, 0, len(s)/4+1)
	begin, weight := 0, whole // of the word at hand
	end := func() {
		if len(folded) > begin {
			out, ends = append(out, word{weight: weight}), append(ends, len(folded))
			begin, weight = len(folded), half
		}
	}
	escaped := false // as JSON within JSON has its line ends
	for _, r := range s {
		if escaped && (r == 'n' || r == 'r' || r == 't') {
			r = ' '
		}
		escaped = r == '\\'
		r = narrow(r)
		switch {
		case unseen(r):
		case unspaced(r):
			end()
			folded, weight = utf8.AppendRune(folded, r), half
			end()
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.Is(unicode.Mc, r):
			folded = utf8.AppendRune(folded, unicode.ToLower(r))
		case unicode.IsSpace(r):
			end()
			weight = whole
		default:
			end()
		}
	}
	end()
	text := string(folded)
	begin = 0
	for i, at := range ends {
		out[i].text, begin = text[begin:at], at
	}
	return out
}

// unseen reports whether r changes a word at most for the eye: marks, and
// characters that take no place.
func unseen(r rune) bool {
	return r > unicode.MaxASCII &&
		(unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point))
}

// unspaced reports whether r is of a script that writes no spaces.
func unspaced(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.IsLetter(r) &&
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// narrow returns the ASCII character of a full-width one.
func narrow(r rune) rune {
	if 0xff01 <= r && r <= 0xff5e {
		return r - 0xfee0
	}
	return r
}

// Strings returns the texts of a JSON value, keys and numbers included, in their
// order; raw itself if it is not JSON.
func Strings(raw []byte) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var b strings.Builder
	for {
		t, err := d.Token()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			return string(raw)
		}
		switch t := t.(type) {
		case string:
			b.WriteString(t)
		case json.Number:
			b.WriteString(t.String())
		}
		b.WriteByte(' ')
	}
}
