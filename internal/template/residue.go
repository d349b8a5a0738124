package template

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/arc-learn/arc/internal/text"
)

// Residue is what stands in a plan besides its references.
type Residue struct {
	whole   map[string]bool // tokens, in lower case
	pieces  map[string]bool // what tokens are made of
	names   map[string]bool // and what names are
	numbers map[string]bool // by value
	origins map[string]bool // values of the case from which numbers may be computed
	skills  []string
	texts   []Phrase        // of the case
	said    map[string]bool // what they are made of
}

// NewResidue returns an empty residue of a plan that asks for skills. What the texts of its case
// have, the plan may have from there.
func NewResidue(skills []string, texts ...Phrase) *Residue {
	set := func() map[string]bool { return make(map[string]bool) }
	r := &Residue{
		whole: set(), pieces: set(), names: set(), numbers: set(), origins: set(), skills: skills, texts: texts, said: set(),
	}
	r.Names(skills...)
	for _, t := range texts {
		for _, part := range t {
			for _, p := range pieces(part.Text) {
				r.said[p] = true
			}
		}
	}
	return r
}

// Names adds names.
func (r *Residue) Names(names ...string) {
	for _, n := range names {
		r.whole[lower(n)] = true
		for _, p := range pieces(n) {
			r.names[p] = true
		}
	}
}

// Phrase adds the literal parts of a phrase.
func (r *Residue) Phrase(p Phrase) {
	for _, part := range p {
		r.split(part.Text)
	}
}

// Node adds the literal parts of a node.
func (r *Residue) Node(n *Node) {
	r.Phrase(n.Text)
	leaves := Flatten(n.Raw, nil)
	for i := range leaves {
		r.split(leaves[i].Value)
		r.Names(leaves[i].last())
	}
	for i := range n.List {
		r.Node(&n.List[i])
	}
	for i := range n.Map {
		r.Names(n.Map[i].Name)
		r.Node(&n.Map[i].Value)
	}
}

func (r *Residue) split(s string) {
	for _, n := range digits.FindAllString(s, -1) {
		for _, f := range amounts(n) {
			r.numbers[f] = true
		}
	}
	breaks := func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(around, c) }
	for token := range strings.FieldsFuncSeq(s, breaks) {
		token = strings.TrimLeft(strings.TrimRight(token, marks), "#")
		r.whole[lower(token)] = true
		if slices.Contains(r.skills, token) {
			continue // "call create_issue" says nothing about issues
		}
		for _, p := range pieces(token) {
			if p != lower(token) || !functionWord(p) {
				r.pieces[p] = true
			}
			if slices.Contains(numerals, p) {
				r.numbers[amounts(p)[0]] = true
			}
		}
	}
}

// lower returns a text in lower case, each letter and its mark as one.
func lower(s string) string { return norm.NFC.String(strings.ToLower(s)) }

// pieces are the runs of letters and digits of a token, in lower case. Of Latin letters with accents they are
// also those without.
func pieces(token string) []string {
	low := lower(token)
	if strings.ContainsFunc(low, func(r rune) bool { return r > unicode.MaxASCII && unicode.Is(unicode.Latin, r) }) {
		low += " " + bare(low) + " " + bare(ligatures.Replace(low))
	}
	return strings.FieldsFunc(low, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c)
	})
}

// ligatures are letters that are also written as two.
var ligatures = strings.NewReplacer(strings.Fields("ä ae ö oe ü ue ß ss æ ae ø oe å aa œ oe")...)

// lettered reports whether a text has a letter or a digit.
func lettered(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// functionWord reports whether a text is a word that any text may have.
func functionWord(s string) bool {
	terms := text.Append(nil, s)
	return len(terms) == 1 && terms[0].Stop
}

// Keeps reports whether a value of the inputs, or a piece of it, stands in the plan,
// however it is inflected or glued to other things. A piece that the texts of the case
// have too does not count, and neither do the plain words of prose.
func (r *Residue) Keeps(v Value) bool {
	low := lower(v.Text)
	switch {
	case v.Kind == List || v.Kind == Object:
		return slices.ContainsFunc(Flatten(json.RawMessage(v.Text), nil), func(l Leaf) bool {
			return !l.Open && l.Value != v.Text && r.Keeps(Value{l.Kind, l.Value})
		})
	case v.Text == "" || v.Kind == Null:
		return false
	case r.whole[low] || r.origins[v.Text] || r.calls(v.Text):
		return true
	case Numeric(v.Text):
		return r.has(strings.TrimPrefix(v.Text, "-"))
	}
	prose := strings.ContainsFunc(v.Text, unicode.IsSpace)
	for token := range strings.FieldsSeq(v.Text) {
		plain, _ := cutMarks(token)
		word := prose && LookOf(plain) == aWord && strings.ToLower(plain) == plain
		for _, p := range pieces(token) {
			tells := !prose || !word && (len(p) > 2 || len(p) == 2 && strings.ContainsFunc(p, unicode.IsDigit))
			if tells && (p == low || !functionWord(p)) && r.has(p) {
				return true
			}
		}
	}
	return false
}

// Compute notes from which values of a case numbers of the plan may be computed that the case does not have: totals,
// differences, products, ratios, shares in per cent, other units, the next one. Other values would give other numbers.
func (r *Residue) Compute(inputs json.RawMessage, texts ...Phrase) {
	if len(r.numbers) == 0 {
		return
	}
	f := figures{said: make(map[string]bool), at: make(map[string]*term), joins: make(map[byte][]string)}
	for _, l := range Flatten(inputs, nil) {
		f.gather(position.ReplaceAllString(l.Path, "/"), l.Value)
	}
	for _, p := range texts {
		for _, part := range p {
			f.gather("word "+strconv.Itoa(len(f.terms)), part.Text)
		}
	}
	for _, text := range append(f.joining(r.whole), f.giving(f.lacking(r.numbers))...) {
		r.origins[text] = true
	}
}

// date matches a date, or a month.
var date = regexp.MustCompile(`\b(\d{4}-[01]\d)(-[0-3]\d)?`)

// calls reports whether the plan has the name of the month or the weekday of a date in a text.
func (r *Residue) calls(text string) bool {
	at := date.FindStringSubmatch(text)
	if at == nil {
		return false
	}
	var names []string
	if t, err := time.Parse("2006-01", at[1]); err == nil {
		names = append(names, t.Month().String())
	}
	if t, err := time.Parse(time.DateOnly, at[0]); err == nil {
		names = append(names, t.Weekday().String())
	}
	return slices.ContainsFunc(names, func(name string) bool {
		low := strings.ToLower(name)
		return r.whole[low] || r.whole[low[:3]]
	})
}

// Shares reports whether a word of a text, however inflected, or a number of it stands in
// the plan, and not in the texts of the case. Function words do not count.
func (r *Residue) Shares(text string) bool {
	return slices.ContainsFunc(pieces(text), func(p string) bool {
		tells := utf8.RuneCountInString(p) > 2 || strings.Trim(p, "0123456789") == ""
		return tells && !functionWord(p) && !r.said[p] && r.has(p) || r.pairs(p, r.texts)
	})
}

// has reports whether a piece of a value is a number of the plan, or whether a piece of
// the plan that the texts do not have begins or ends with it, or has a long one inside.
func (r *Residue) has(piece string) bool {
	if slices.ContainsFunc(amounts(piece), func(n string) bool { return r.numbers[n] }) {
		return true
	}
	long := len(piece) > 3
	if !long && strings.Trim(piece, "0123456789") == "" {
		return false // 10 is not made of 1
	}
	like := func(p string) bool {
		if len(piece) == 1 { // which begins or ends too many words
			return strings.Trim(p, "0123456789") == piece
		}
		return strings.HasPrefix(p, piece) || strings.HasSuffix(p, piece) || long && strings.Contains(p, piece)
	}
	for _, set := range []map[string]bool{r.pieces, r.names} {
		for p := range set {
			if !r.said[p] && like(p) {
				return true
			}
		}
	}
	return false
}

// Quotes returns the words of a text, folded and in order, that stand in the plan.
// Function words do not count, but negations do.
func (r *Residue) Quotes(words Phrase) (out []string) {
	for _, p := range words {
		if p.From == nil && r.quotes(p.Text) {
			out = append(out, Fold(p.Text))
		}
	}
	return out
}

func (r *Residue) quotes(word string) bool {
	low := lower(word)
	if r.origins[word] || r.calls(word) || slices.Contains(numerals, low) && r.numbers[amounts(low)[0]] {
		return true
	}
	terms := text.Append(nil, word)
	if len(terms) == 1 && terms[0].Stop && !terms[0].Mark {
		return false
	}
	if r.whole[low] && !slices.Contains(r.skills, word) {
		return true
	}
	first, _ := utf8.DecodeRuneInString(word)
	return slices.ContainsFunc(pieces(word), func(p string) bool {
		return r.pieces[p] || r.numbers[p] || r.pairs(p, nil) || unicode.IsUpper(first) && r.inflects(p)
	})
}

// inflects reports whether a piece of the plan begins with a name, or a name with it: Berlin, Berliner.
func (r *Residue) inflects(name string) bool {
	for p := range r.pieces {
		if min(len(p), len(name)) > 3 && (strings.HasPrefix(p, name) || strings.HasPrefix(name, p)) {
			return true
		}
	}
	return false
}

// pairs reports whether two signs that stand together in a piece do so in the plan, and not in the texts: where no
// spaces are written between words, these are not known.
func (r *Residue) pairs(piece string, texts []Phrase) bool {
	var last rune
	for _, c := range piece {
		if unspaced(last) && unspaced(c) {
			pair := string([]rune{last, c})
			in := func(text string) bool { return strings.Contains(text, pair) }
			says := func(t Phrase) bool { return slices.ContainsFunc(t, func(p Part) bool { return in(p.Text) }) }
			for p := range r.pieces {
				if in(p) && !slices.ContainsFunc(texts, says) {
					return true
				}
			}
		}
		last = c
	}
	return false
}
