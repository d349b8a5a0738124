package template

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/arc-learn/arc/internal/text"
)

// Residue is what stands in a plan besides its references.
type Residue struct {
	whole   map[string]bool // tokens, in lower case
	pieces  map[string]bool // what tokens are made of
	numbers map[string]bool
	skills  []string
}

// NewResidue returns an empty residue of a plan that asks for skills.
func NewResidue(skills []string) *Residue {
	r := &Residue{whole: make(map[string]bool), pieces: make(map[string]bool), numbers: make(map[string]bool), skills: skills}
	r.Whole(skills...)
	return r
}

// Whole adds names.
func (r *Residue) Whole(names ...string) {
	for _, n := range names {
		r.whole[strings.ToLower(n)] = true
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
		r.Whole(leaves[i].last())
	}
	for i := range n.List {
		r.Node(&n.List[i])
	}
	for i := range n.Map {
		r.Whole(n.Map[i].Name)
		r.Node(&n.Map[i].Value)
	}
}

var digits = regexp.MustCompile(`\d+(?:[.,]\d+)*`)

func (r *Residue) split(s string) {
	for _, n := range digits.FindAllString(s, -1) {
		r.numbers[n] = true
	}
	breaks := func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(around, c) }
	for token := range strings.FieldsFuncSeq(s, breaks) {
		token = strings.TrimLeft(strings.TrimRight(token, marks), "#")
		r.Whole(token)
		if slices.Contains(r.skills, token) {
			continue // "call create_issue" says nothing about issues
		}
		for _, p := range pieces(token) {
			r.pieces[p] = true
		}
	}
}

// pieces are the runs of letters and digits of a token, in lower case.
func pieces(token string) []string {
	return strings.FieldsFunc(strings.ToLower(token), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c)
	})
}

// lettered reports whether a text has a letter or a digit.
func lettered(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// functionWord reports whether a text is a word that any text may have.
func functionWord(s string) bool {
	terms := text.Append(nil, s)
	return len(terms) == 1 && terms[0].Stop
}

// Keeps reports whether a value of the inputs, or a piece of it that tells, stands
// in the plan. A piece that the texts of the case have too does not count: the plan
// may have it from there.
func (r *Residue) Keeps(v Value, texts ...Phrase) bool {
	low := strings.ToLower(v.Text)
	switch {
	case v.Kind == List || v.Kind == Object:
		return slices.ContainsFunc(Flatten(json.RawMessage(v.Text), nil), func(l Leaf) bool {
			return !l.Open && l.Value != v.Text && r.Keeps(Value{l.Kind, l.Value}, texts...)
		})
	case v.Text == "" || v.Kind == Null:
		return false
	case r.whole[low] || Numeric(v.Text) && hasPiece(r.numbers, strings.TrimPrefix(v.Text, "-")):
		return true
	case v.Kind != String:
		return false
	}
	prose := strings.ContainsFunc(v.Text, unicode.IsSpace)
	for token := range strings.FieldsSeq(v.Text) {
		for _, p := range pieces(token) {
			if functionWord(p) || !hasPiece(r.pieces, p) {
				continue
			}
			number := strings.ContainsFunc(p, unicode.IsDigit) && len(p) > 1
			if (number || len(p) > 2 && (!prose || strings.ToLower(token) != token)) && !(r.pieces[p] && explains(texts, p)) {
				return true
			}
		}
	}
	return false
}

// hasPiece reports whether one of a set is a piece or, of a long piece, has it inside.
func hasPiece(set map[string]bool, piece string) bool {
	if set[piece] || len(piece) < 4 {
		return set[piece]
	}
	for s := range set {
		if strings.Contains(s, piece) {
			return true
		}
	}
	return false
}

// explains reports whether a word of the texts has a piece.
func explains(texts []Phrase, piece string) bool {
	return slices.ContainsFunc(texts, func(t Phrase) bool {
		return slices.ContainsFunc(t, func(p Part) bool { return slices.Contains(pieces(p.Text), piece) })
	})
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
	terms := text.Append(nil, word)
	if len(terms) == 1 && terms[0].Stop && !terms[0].Mark {
		return false
	}
	if r.whole[strings.ToLower(word)] && !slices.Contains(r.skills, word) {
		return true
	}
	return slices.ContainsFunc(pieces(word), func(p string) bool { return r.pieces[p] || r.numbers[p] })
}
