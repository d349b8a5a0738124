package text

import "strings"

// stem returns the stem of an English word of lower-case letters and
// apostrophes, by Porter2, the English stemmer of the Snowball project
// (M. F. Porter, snowballstem.org/algorithms/english). Its steps and tables are
// those of Snowball 2.0; words of one or two letters are their own stems.
func stem(word string) string {
	if len(word) <= 2 {
		return word
	}
	if s, ok := irregular[word]; ok {
		return s
	}
	w := newStemmer(strings.TrimLeft(word, "'"))
	w.apostrophe()
	w.plural()
	if invariant[string(w.b)] {
		return string(w.b)
	}
	w.past()
	w.finalY()
	w.suffix(step2)
	w.suffix(step3)
	w.residue()
	w.final()
	return strings.ToLower(string(w.b))
}

// irregular are the words that the rules would spoil.
var irregular = map[string]string{
	"skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie",
	"idly": "idl", "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl",
	"sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}

// invariant are the words that stay as they are once their plural is gone.
var invariant = map[string]bool{
	"inning": true, "outing": true, "canning": true, "herring": true, "earring": true,
	"proceed": true, "exceed": true, "succeed": true,
}

// stemmer is a word being stemmed. A y that is a consonant is written Y. The
// regions R1 and R2 begin at r1 and r2; end is where the suffix begins that is
// being looked at.
type stemmer struct {
	b      []byte
	r1, r2 int
	end    int
}

func newStemmer(word string) *stemmer {
	w := &stemmer{b: []byte(word)}
	for i, c := range w.b {
		if c == 'y' && (i == 0 || w.vowel(i-1)) {
			w.b[i] = 'Y'
		}
	}
	w.r1 = w.region(0)
	for _, prefix := range []string{"gener", "commun", "arsen"} {
		if strings.HasPrefix(word, prefix) {
			w.r1 = len(prefix)
		}
	}
	w.r2 = w.region(w.r1)
	return w
}

// region returns the place after the first consonant that follows a vowel, at
// or after from; the end of the word if there is none.
func (w *stemmer) region(from int) int {
	for i := from + 1; i < len(w.b); i++ {
		if !w.vowel(i) && w.vowel(i-1) {
			return i + 1
		}
	}
	return len(w.b)
}

func (w *stemmer) vowel(i int) bool { return strings.IndexByte("aeiouy", w.b[i]) >= 0 }

// ends reports whether the word has the suffix, and notes where it begins.
func (w *stemmer) ends(suffix string) bool {
	w.end = len(w.b) - len(suffix)
	return w.end >= 0 && string(w.b[w.end:]) == suffix
}

func (w *stemmer) inR1() bool { return w.end >= w.r1 }
func (w *stemmer) inR2() bool { return w.end >= w.r2 }

func (w *stemmer) replace(s string) { w.b = append(w.b[:w.end], s...) }

func (w *stemmer) vowelBefore(end int) bool {
	for i := range end {
		if w.vowel(i) {
			return true
		}
	}
	return false
}

// shortSyllable reports whether the word up to end closes with a vowel between
// consonants (the last neither w, x nor Y), or is a vowel and a consonant.
func (w *stemmer) shortSyllable(end int) bool {
	if end == 2 {
		return w.vowel(0) && !w.vowel(1)
	}
	return end > 2 && !w.vowel(end-3) && w.vowel(end-2) && !w.vowel(end-1) &&
		strings.IndexByte("wxY", w.b[end-1]) < 0
}

// short reports whether the word is short: no R1, and a short syllable at the
// end.
func (w *stemmer) short() bool { return w.r1 >= len(w.b) && w.shortSyllable(len(w.b)) }

// apostrophe is step 0.
func (w *stemmer) apostrophe() {
	for _, s := range []string{"'s'", "'s", "'"} {
		if w.ends(s) {
			w.replace("")
			return
		}
	}
}

// plural is step 1a.
func (w *stemmer) plural() {
	switch {
	case w.ends("sses"):
		w.replace("ss")
	case w.ends("ied"), w.ends("ies"):
		if w.end > 1 {
			w.replace("i")
		} else {
			w.replace("ie")
		}
	case w.ends("us"), w.ends("ss"):
	case w.ends("s"):
		if w.end > 0 && w.vowelBefore(w.end-1) {
			w.replace("")
		}
	}
}

// past is step 1b.
func (w *stemmer) past() {
	switch {
	case w.ends("eedly"), w.ends("eed"):
		if w.inR1() {
			w.replace("ee")
		}
		return
	case w.ends("ingly"), w.ends("edly"), w.ends("ing"), w.ends("ed"):
		if !w.vowelBefore(w.end) {
			return
		}
		w.replace("")
	default:
		return
	}
	n := len(w.b)
	switch {
	case w.ends("at"), w.ends("bl"), w.ends("iz"):
		w.b = append(w.b, 'e')
	case n > 1 && w.b[n-1] == w.b[n-2] && strings.IndexByte("bdfgmnprt", w.b[n-1]) >= 0:
		w.b = w.b[:n-1]
	case w.short():
		w.b = append(w.b, 'e')
	}
}

// finalY is step 1c.
func (w *stemmer) finalY() {
	n := len(w.b)
	if n > 2 && (w.b[n-1] == 'y' || w.b[n-1] == 'Y') && !w.vowel(n-2) {
		w.b[n-1] = 'i'
	}
}

// rule replaces a suffix; after, if any, is what must stand before it, and
// inR2 asks for R2 rather than R1.
type rule struct {
	suffix, with, after string
	inR2                bool
}

// step2 and step3 list longer suffixes before those that they end in.
var step2 = []rule{
	{suffix: "ization", with: "ize"}, {suffix: "ational", with: "ate"}, {suffix: "fulness", with: "ful"},
	{suffix: "ousness", with: "ous"}, {suffix: "iveness", with: "ive"}, {suffix: "tional", with: "tion"},
	{suffix: "biliti", with: "ble"}, {suffix: "lessli", with: "less"}, {suffix: "entli", with: "ent"},
	{suffix: "ation", with: "ate"}, {suffix: "alism", with: "al"}, {suffix: "aliti", with: "al"},
	{suffix: "ousli", with: "ous"}, {suffix: "iviti", with: "ive"}, {suffix: "fulli", with: "ful"},
	{suffix: "enci", with: "ence"}, {suffix: "anci", with: "ance"}, {suffix: "abli", with: "able"},
	{suffix: "izer", with: "ize"}, {suffix: "ator", with: "ate"}, {suffix: "alli", with: "al"},
	{suffix: "bli", with: "ble"}, {suffix: "ogi", with: "og", after: "l"}, {suffix: "li", after: "cdeghkmnrt"},
}

var step3 = []rule{
	{suffix: "ational", with: "ate"}, {suffix: "tional", with: "tion"}, {suffix: "alize", with: "al"},
	{suffix: "icate", with: "ic"}, {suffix: "iciti", with: "ic"}, {suffix: "ative", inR2: true},
	{suffix: "ical", with: "ic"}, {suffix: "ness"}, {suffix: "ful"},
}

// suffix applies the first rule whose suffix the word has.
func (w *stemmer) suffix(rules []rule) {
	for _, r := range rules {
		if !w.ends(r.suffix) {
			continue
		}
		after := r.after == "" || w.end > 0 && strings.IndexByte(r.after, w.b[w.end-1]) >= 0
		if w.inR1() && after && (!r.inR2 || w.inR2()) {
			w.replace(r.with)
		}
		return
	}
}

// residues are the suffixes that step 4 removes, longer ones first.
var residues = []string{
	"ement", "ance", "ence", "able", "ible", "ment",
	"ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion", "al", "er", "ic",
}

// residue is step 4.
func (w *stemmer) residue() {
	for _, s := range residues {
		if !w.ends(s) {
			continue
		}
		if w.inR2() && (s != "ion" || w.end > 0 && strings.IndexByte("st", w.b[w.end-1]) >= 0) {
			w.replace("")
		}
		return
	}
}

// final is step 5.
func (w *stemmer) final() {
	switch {
	case w.ends("e"):
		if w.inR2() || w.inR1() && !w.shortSyllable(w.end) {
			w.replace("")
		}
	case w.ends("ll"):
		if w.end+1 >= w.r2 {
			w.b = w.b[:len(w.b)-1]
		}
	}
}
