package template

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Source is a value of a case that a plan may quote.
type Source struct {
	Value
	From Ref
}

// Quoter finds the values of a case in a plan, and puts references in their places.
type Quoter struct {
	byText map[string][]Source
	sizes  []int           // of the texts, longest first
	times  map[string]int  // that small numbers stand in the plan
	heads  map[string]bool // of the sources: their paths, and those above
}

// NewQuoter returns the quoter of sources.
func NewQuoter(sources []Source) *Quoter {
	q := &Quoter{byText: make(map[string][]Source), times: make(map[string]int), heads: make(map[string]bool)}
	for _, s := range sources {
		if s.Kind != String && s.Kind != Number && s.Kind != Bool || s.Text == "" {
			continue
		}
		q.byText[s.Text] = append(q.byText[s.Text], s)
		for _, path := range s.From {
			for at := len(path); at > 0 && !q.heads[path[:at]]; at = strings.LastIndexByte(path[:at], '/') {
				q.heads[path[:at]] = true
			}
		}
		n := len(s.Text)
		if s.Kind != Bool && lettered(s.Text) && !functionWord(s.Text) && !slices.Contains(q.sizes, n) {
			q.sizes = append(q.sizes, n)
		}
	}
	slices.SortFunc(q.sizes, func(a, b int) int { return b - a })
	return q
}

// refer returns a reference to sources.
func refer(sources []Source) (r Ref) {
	for _, s := range sources {
		r = append(r, s.From...)
	}
	return r
}

// spot is a value in a text.
type spot struct {
	start, end int
	from       Ref
}

// Count takes in texts and inputs of a plan before it is quoted, for the small
// numbers in them: one that stands in it twice may mean two things.
func (q *Quoter) Count(n *Node, texts ...Phrase) {
	count := func(text string) {
		for _, s := range q.found(text) {
			if v := text[s.start:s.end]; small(v) {
				q.times[v]++
			}
		}
	}
	for _, p := range texts {
		for _, part := range p {
			count(part.Text)
		}
	}
	if n == nil {
		return
	}
	for _, l := range Flatten(n.Raw, nil) {
		count(l.Value)
	}
	q.Count(nil, n.Text)
	for i := range n.List {
		q.Count(&n.List[i])
	}
	for i := range n.Map {
		q.Count(&n.Map[i].Value)
	}
}

// spots returns the values that stand in a text. A small number that stands there
// twice is left out, and so is one that stands elsewhere in the plan, if it is not
// beside the name of its input.
func (q *Quoter) spots(text string) []spot {
	out, times := q.found(text), make(map[string]int)
	for _, s := range out {
		times[text[s.start:s.end]]++
	}
	return slices.DeleteFunc(out, func(s spot) bool {
		v := text[s.start:s.end]
		return small(v) && (times[v] > 1 || q.times[v] > 1 && !s.named(text))
	})
}

// named reports whether a word beside the spot is the name of its input, or begins
// with it: 3 replicas. A variable needs none: it is drawn from plans that all have it there.
func (s *spot) named(text string) bool {
	if s.from.Variable() {
		return true
	}
	before, after := pieces(text[:s.start]), pieces(text[s.end:])
	beside := slices.Concat(before[max(0, len(before)-1):], after[:min(1, len(after))])
	return slices.ContainsFunc(s.from, func(path string) bool {
		steps := pieces(path)
		return len(steps) > 0 && slices.ContainsFunc(beside, func(w string) bool {
			name := steps[len(steps)-1]
			return strings.HasPrefix(w, name) || strings.HasPrefix(name, w)
		})
	})
}

// found returns the values that stand in a text, from left to right, each as long
// as can be.
func (q *Quoter) found(text string) (out []spot) {
	for at := 0; at < len(text); {
		s, ok := q.spotAt(text, at)
		if ok {
			out, at = append(out, s), s.end
			continue
		}
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
	return out
}

func (q *Quoter) spotAt(text string, at int) (s spot, ok bool) {
	if len(q.sizes) == 0 || !opens(text, at) {
		return s, false
	}
	for _, size := range q.sizes {
		end := at + size
		if end > len(text) || !closes(text, at, end) {
			continue
		}
		found := slices.DeleteFunc(slices.Clone(q.byText[text[at:end]]), func(s Source) bool { return s.Kind == Bool })
		if len(found) > 0 {
			return spot{at, end, refer(found)}, true
		}
	}
	return s, false
}

// Phrase returns the phrase with references in the places of values.
func (q *Quoter) Phrase(p Phrase) (out Phrase) {
	for _, piece := range p {
		if piece.From != nil {
			out = append(out, piece)
			continue
		}
		at := 0
		for _, s := range q.spots(piece.Text) {
			out = append(out, Literal(piece.Text[at:s.start])...)
			out = append(out, Part{From: s.from})
			at = s.end
		}
		out = append(out, Literal(piece.Text[at:])...)
	}
	return out
}

// Node returns the node with references in the places of values. A small number or
// a boolean is taken for a value only under the name of its input, or a number
// where it stands alone: elsewhere it is the plan's own. Of equal values the one at the
// path of the node is meant, where the plan has the lists above it as a whole.
func (q *Quoter) Node(n *Node) *Node {
	if n == nil {
		return nil
	}
	out := q.node(*n, "", "", q.alone(n.Raw), 0)
	return &out
}

func (q *Quoter) node(n Node, name, at string, alone map[string]bool, depth int) Node {
	switch {
	case n.Text != nil:
		n.Text = q.Phrase(n.Text)
	case n.List != nil:
		n.List = slices.Clone(n.List)
		for i := range n.List {
			n.List[i] = q.node(n.List[i], name, at+"/"+strconv.Itoa(i), alone, depth+1)
		}
	case n.Map != nil:
		n.Map = slices.Clone(n.Map)
		for i, m := range n.Map {
			n.Map[i].Value = q.node(m.Value, m.Name, at+"/"+escape(m.Name), alone, depth+1)
		}
	case n.Raw != nil && depth < maxNesting:
		if kind := kindOf(n.Raw); kind == List || kind == Object {
			return q.opened(n, name, at, alone, depth)
		}
		return q.literal(n, name, at, alone, depth)
	}
	return n
}

// opened quotes values in a literal list or object. One without any stays as it is.
func (q *Quoter) opened(n Node, name, at string, alone map[string]bool, depth int) Node {
	var out Node
	quotes := false
	names, values := elements(n.Raw)
	if kindOf(n.Raw) == List && q.heads[at+"/"+strconv.Itoa(len(values))] {
		at = "elsewhere" // it is a choice of what the inputs list
	}
	for i, raw := range values {
		if kindOf(n.Raw) == Object {
			name = names[i]
		}
		v := q.node(Node{Raw: raw}, name, at+"/"+escape(names[i]), alone, depth+1)
		quotes = quotes || v.Raw == nil
		if kindOf(n.Raw) == Object {
			out.Map = append(out.Map, Member{name, v})
		} else {
			out.List = append(out.List, v)
		}
	}
	if !quotes {
		return n
	}
	return out
}

// literal quotes values in a literal scalar.
func (q *Quoter) literal(n Node, name, at string, alone map[string]bool, depth int) Node {
	v := scalar(n.Raw)
	if r := q.placed(v, at); r != nil {
		return Node{From: r}
	}
	found := slices.DeleteFunc(slices.Clone(q.byText[v.Text]), func(s Source) bool {
		return s.Kind != v.Kind && !s.standsFor(v.Kind)
	})
	if under := slices.DeleteFunc(slices.Clone(found), func(s Source) bool { return !s.under(name) }); len(under) > 0 {
		found = under
	} else if depth > 0 && (v.Kind == Bool || v.Kind == Number && small(v.Text) && !alone[v.Text]) {
		return n
	}
	if len(found) > 0 {
		return Node{From: refer(found), Number: found[0].standsFor(v.Kind)}
	}
	if v.Kind == String {
		if p := q.Phrase(Literal(v.Text)); len(p) > 1 || len(p) == 1 && p[0].From != nil {
			return Node{Text: p}
		}
	}
	return n
}

// placed returns the path of a node if an equal value stands there in the inputs.
func (q *Quoter) placed(v Value, at string) Ref {
	for _, s := range q.byText[v.Text] {
		if s.Kind == v.Kind && slices.Contains(s.From, at) {
			return Ref{at}
		}
	}
	return nil
}

// standsFor reports whether the source is a variable, which is a word of a text, and
// that word a number.
func (s *Source) standsFor(k Kind) bool { return k == Number && s.Kind == String && s.From.Variable() }

// under reports whether a value of the plan has the name of the input.
func (s *Source) under(name string) bool {
	return name != "" && slices.ContainsFunc(s.From, func(path string) bool {
		return strings.HasSuffix(path, "/"+escape(name))
	})
}

// alone returns the numbers that stand in JSON once, and not under the name of
// their input.
func (q *Quoter) alone(raw []byte) map[string]bool {
	times, out := make(map[string]int), make(map[string]bool)
	leaves := Flatten(raw, nil)
	for i := range leaves {
		l := &leaves[i]
		if l.Kind != Number {
			continue
		}
		times[l.Value]++
		named := slices.ContainsFunc(q.byText[l.Value], func(s Source) bool { return s.under(l.last()) })
		out[l.Value] = times[l.Value] == 1 && !named
	}
	return out
}

// small reports whether a text is a number of one or two digits.
func small(text string) bool {
	return len(text) <= 2 && strings.Trim(text, "0123456789") == ""
}

// Words returns words with references in the places of values, the longest first.
func (q *Quoter) Words(ws []string) (out Phrase) {
	byWords := make(map[string]Ref)
	longest := 0
	for text, sources := range q.byText {
		f := Folded(text)
		if sources[0].Kind == Bool || len(f) == 0 || !lettered(text) {
			continue
		}
		k := strings.Join(f, " ")
		byWords[k], longest = append(byWords[k], refer(sources)...), max(longest, len(f))
	}
	low := make([]string, len(ws))
	for i, w := range ws {
		low[i] = Fold(w)
	}
next:
	for at := 0; at < len(ws); at++ {
		for n := min(longest, len(ws)-at); n > 0; n-- {
			if r := byWords[strings.Join(low[at:at+n], " ")]; len(r) > 0 {
				slices.Sort(r)
				out = append(out, Part{From: r})
				at += n - 1
				continue next
			}
		}
		out = append(out, Part{Text: ws[at]})
	}
	return out
}

// Values stand in a text as whole tokens: next to white space, quotes, brackets and
// punctuation, or as a step of a path, but not inside of an identifier or a number. A value that
// begins or ends with another script may also stand next to a sign of one that is written without
// spaces, or with particles behind a word: 订单A-17退款, A-17를.

const (
	around = "\"'`“”‘’«»()[]{}<>,;=|!?*&" + wide
	wide   = "、。，：；！？（）「」『』【】《》〈〉・" // marks of scripts without spaces
)

// unspaced reports whether r is a letter of a script that writes words without spaces around them.
func unspaced(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// opens reports whether a token may begin at i.
func opens(s string, i int) bool {
	r, n := utf8.DecodeLastRuneInString(s[:i])
	if i == 0 || unicode.IsSpace(r) {
		return true
	}
	far, _ := utf8.DecodeLastRuneInString(s[:i-n])
	if first, _ := utf8.DecodeRuneInString(s[i:]); unspaced(r) {
		return !unspaced(first)
	}
	switch r {
	case ',', ':':
		return !unicode.IsDigit(far)
	case '/':
		return i < len(s) && !unicode.IsDigit(rune(s[i]))
	case '#':
		return i == n || unicode.IsSpace(far) || strings.ContainsRune(around, far)
	}
	return strings.ContainsRune(around, r)
}

// closes reports whether the token that begins at start may end at i.
func closes(s string, start, i int) bool {
	r, n := utf8.DecodeRuneInString(s[i:])
	if i == len(s) || unicode.IsSpace(r) {
		return true
	}
	far, _ := utf8.DecodeRuneInString(s[i+n:])
	if end, _ := utf8.DecodeLastRuneInString(s[:i]); unspaced(r) {
		return !unspaced(end)
	}
	last := i+n == len(s)
	switch r {
	case ',':
		return !unicode.IsDigit(far)
	case '/':
		return !Numeric(s[start:i])
	case ':':
		return !unicode.IsDigit(far) && (last || unicode.IsSpace(far) || !Numeric(s[start:i]))
	case '.', '。', '…':
		return last || unicode.IsSpace(far) || strings.ContainsRune(around, far)
	}
	return strings.ContainsRune(around, r)
}
