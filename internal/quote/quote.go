// Package quote tells whether a text repeats another word by word.
package quote

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
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

// word is a word as it is compared: by a hash that holds within one Plan, so that
// no text has to be kept.
type word struct {
	hash   uint64
	weight int
}

// Plan is a text whose words may be somebody's. The zero Plan quotes nothing.
type Plan struct {
	seed  uint64 // drawn, so that no two texts can be made to have one hash
	words []word
	// seeds are the Run words in a row that are not the caller's own, by hash.
	seeds []seed
	// few has a bit for each of the hashes, by its last six: most texts have none.
	few uint64
	// text is memory for the words of the other text.
	text []word
}

// seed is where Run words in a row stand.
type seed struct {
	hash uint64
	at   int
}

// plans are those that are not asked any more, for the memory that they have.
var plans = sync.Pool{New: func() any { return new(Plan) }}

// New returns the texts as one Plan: what is repeated across their borders
// counts too.
func New(texts ...string) *Plan {
	p := plans.Get().(*Plan)
	*p = Plan{seed: rand.Uint64(), words: p.words[:0], seeds: p.seeds[:0], text: p.text[:0]}
	for _, s := range texts {
		p.words = p.appendWords(p.words, s)
	}
	for at, hash := range runs(p.words) {
		p.seeds, p.few = append(p.seeds, seed{hash, at}), p.few|1<<(hash&63)
	}
	slices.SortFunc(p.seeds, func(a, b seed) int { return cmp.Compare(a.hash, b.hash) })
	return p
}

// Done says that p is not asked any more.
func (p *Plan) Done() { plans.Put(p) }

// seedsOf returns the seeds of a hash: those from i to before j.
func (p *Plan) seedsOf(hash uint64) (i, j int) {
	if p.few&(1<<(hash&63)) == 0 {
		return 0, 0
	}
	by := func(s seed, h uint64) int { return cmp.Compare(s.hash, h) }
	i, _ = slices.BinarySearchFunc(p.seeds, hash, by) // without one, j is i
	for j = i; j < len(p.seeds) && p.seeds[j].hash == hash; j++ {
	}
	return i, j
}

// Own takes what texts say, which stand one after another, out of what p may
// quote: those words are the caller's own.
func (p *Plan) Own(texts ...string) {
	for _, hash := range runs(p.splitAll(texts)) {
		i, j := p.seedsOf(hash)
		p.seeds = slices.Delete(p.seeds, i, j)
	}
}

// splitAll returns the words of texts, none where there is nothing to look for.
func (p *Plan) splitAll(texts []string) []word {
	p.text = p.text[:0]
	for _, s := range texts {
		if len(p.seeds) > 0 {
			p.text = p.appendWords(p.text, s)
		}
	}
	return p.text
}

// Quotes reports whether p repeats Run words in a row of texts, which stand one
// after another. Case, white space, punctuation and characters that are not seen
// do not count.
func (p *Plan) Quotes(texts ...string) bool {
	for at, hash := range runs(p.splitAll(texts)) {
		i, j := p.seedsOf(hash)
		for _, s := range p.seeds[i:j] {
			if weigh(p.words[s.at:], p.text[at:]) >= Run*whole {
				return true
			}
		}
	}
	return false
}

// weigh returns the weight of the words that a and b begin with.
func weigh(a, b []word) (n int) {
	for i := range min(len(a), len(b)) {
		if n >= Run*whole || a[i].hash != b[i].hash {
			break
		}
		n += max(a[i].weight, b[i].weight)
	}
	return n
}

// runs yields where each Run words in a row begin, and their hash.
func runs(words []word) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		for i := range len(words) - Run + 1 {
			hash := uint64(0)
			for _, w := range words[i : i+Run] {
				hash = hash*prime + w.hash
			}
			if !yield(i, hash) {
				return
			}
		}
	}
}

// prime is that of FNV-1a.
const prime = 1099511628211

// appendWords appends the words of a text, in lower case.
func (p *Plan) appendWords(out []word, s string) []word {
	hash, said, weight := p.seed, false, whole // of the word at hand
	put := func(r rune) {
		hash, said = (hash^uint64(r))*prime, true
		hash ^= hash >> 32
	}
	end := func() {
		if said {
			out = append(out, word{hash, weight})
			hash, said, weight = p.seed, false, half
		}
	}
	escaped := false // as JSON within JSON has its line ends
	for i := 0; i < len(s); {
		if c := letters[s[i]]; c != 0 && !escaped {
			put(rune(c))
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if i += n; escaped && (r == 'n' || r == 'r' || r == 't') {
			r = ' '
		}
		escaped = r == '\\'
		r = narrow(r)
		switch {
		case r == ' ': // most often
			end()
			weight = whole
		case unseen(r):
		case unspaced(r):
			end()
			weight = half
			put(r)
			end()
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.Is(unicode.Mc, r):
			put(unicode.ToLower(r))
		case unicode.IsSpace(r):
			end()
			weight = whole
		default:
			end()
		}
	}
	end()
	return out
}

// letters are the letters and digits that most texts consist of, in lower case.
var letters = func() (all [256]byte) {
	for _, c := range []byte("0123456789abcdefghijklmnopqrstuvwxyz") {
		all[c] = c
		if c >= 'a' {
			all[c-'a'+'A'] = c
		}
	}
	return all
}()

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
	if len(raw) == 0 {
		return ""
	}
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
