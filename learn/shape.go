package learn

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/reason"
)

// maxValues is how many inputs a case with a plan has at most, since each value is compared with each.
const maxValues = 128

// shape is a case made ready to be compared.
type shape struct {
	in       []leaf // the values of the inputs, by path
	template string // the text with {path} for each of them
	folded   string // the template without what makes no difference
	key      string // equal for cases that a plan may serve alike
	exact    string // equal for cases of a key with equal inputs
}

// leaf is a value with its path, which is dotted: "customer.email", "lines.0.sku".
type leaf struct {
	path string
	v    any // nil, bool, json.Number, string, empty
}

// empty is an "object" or a "list" without values.
type empty string

// shapeOf reads a case. Its key is that of conditions, goals, situation, template, and the inputs' paths and
// types. Of a case that cannot be read the shape is empty.
func shapeOf(c *Case) (*shape, error) {
	v, err := schema.Read(c.Inputs)
	if err != nil {
		return &shape{}, fmt.Errorf("inputs: %w", err)
	}
	if _, ok := v.(map[string]any); !ok && v != nil {
		return &shape{}, errors.New("inputs: no JSON object")
	}
	raw := encode(v)
	if v != nil && tokens(c.Inputs) != tokens(raw) {
		return &shape{}, errors.New("inputs: a name is given twice") // nobody can say which of the two counts
	}
	s := &shape{in: leaves(v)}
	if len(s.in) > maxValues {
		return &shape{}, fmt.Errorf("inputs: %d values, over the limit of %d", len(s.in), maxValues)
	}
	if slices.ContainsFunc(s.in, func(l leaf) bool { return strings.ContainsAny(l.path, "{}") }) {
		return &shape{}, errors.New("inputs: a name has braces, which are those of parameters")
	}
	s.template = join(split(c.Text, s.in), brace)
	s.folded = fold(s.template)
	s.key = digest(string(encode([][]string{c.Conditions, c.Goals, {c.Situation, s.folded}, s.paths()})))
	s.exact = digest(s.key + string(raw))
	return s, nil
}

// paths are those of the values of the inputs, with their types; an empty list where there are none.
func (s *shape) paths() []string {
	return each(s.in, func(l leaf) string { return l.path + ":" + typeOf(l.v) })
}

// worded returns the inputs of a case with the words of its text, as if the host had put these there, too,
// and what else cases must have in common. Words are what is between spaces, without the signs at the ends.
func worded(s string, in []leaf) (all []leaf, rest string) {
	all = slices.Clip(in)
	gap := func(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, text.Spaceless...) }
	for _, p := range split(fold(s), in) {
		s = p.text
		for _, w := range strings.FieldsFunc(s, gap) {
			w = strings.TrimFunc(w, func(r rune) bool { return class(r) == sign })
			if before, after, _ := strings.Cut(s, w); w != "" && len(all) < maxValues {
				v := any(w)
				if number.MatchString(w) { // not "20.000", which may be many
					v = json.Number(w)
				}
				all = append(all, leaf{fmt.Sprintf("word {%d}", len(all)-len(in)+1), v})
				rest, s = rest+before+"\x00"+typeOf(v), after
			}
		}
		rest += s + "{" + p.of + "}"
	}
	return all, rest
}

// digest is the short form of a text in keys and comparisons.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return string(hex.AppendEncode(make([]byte, 0, 24), sum[:12]))
}

// fold returns a text without what makes no difference: runs of spaces, one final full stop, and the capital
// of a plain first word.
func fold(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	stop := last(s)
	if t := strings.TrimSuffix(s, string(stop)); strings.ContainsRune(".。।", stop) && (class(last(t)) != sign || last(t) == '}') {
		s = t
	}
	head, _, _ := strings.Cut(s, " ")
	if r, n := utf8.DecodeRuneInString(head); unicode.IsUpper(r) && len(head) > n && strings.TrimLeftFunc(head[n:], unicode.IsLower) == "" {
		s = strings.ToLower(head) + s[len(head):]
	}
	return s
}

// stands reports whether w stands in s at byte i as a whole token: not inside of a word or a number.
func stands(s string, i int, w string) bool {
	return w != "" && strings.HasPrefix(s[i:], w) && !joined(last(s[:i]), first(w)) && !joined(last(w), first(s[i+len(w):]))
}

// holds reports whether w stands somewhere in s as a whole token.
func holds(s, w string) bool {
	for i := 0; w != "" && i < len(s); i++ {
		k := strings.Index(s[i:], w)
		if k < 0 {
			return false
		}
		if i += k; stands(s, i, w) {
			return true
		}
	}
	return false
}

// joined reports whether two runes side by side are of one word or number. Scripts without spaces have no
// ends of words to see.
func joined(r, s rune) bool {
	return class(r) != sign && class(s) != sign && !unicode.In(r, text.Spaceless...) && !unicode.In(s, text.Spaceless...)
}

// The classes of runes.
const (
	sign = iota
	letter
	digit
)

func class(r rune) int {
	switch {
	case unicode.IsNumber(r):
		return digit
	case unicode.IsLetter(r), unicode.IsMark(r):
		return letter
	}
	return sign
}

// runs are the runs of letters, of digits and of signs of a text. Its ends are signs, so that a sign at an
// end is another than one inside.
func runs(s string) (out []string) {
	s = "\x02" + s + "\x03"
	at, was := 0, sign
	for i, r := range s {
		if k := class(r); k != was {
			out = append(out, s[at:i])
			at, was = i, k
		}
	}
	return append(out, s[at:])
}

// leaves are the values of a JSON document in the order of their paths.
func leaves(v any) (out []leaf) {
	schema.Rewrite("", v, func(path string, v any) any {
		switch v.(type) {
		case map[string]any:
			v = empty("object")
		case []any:
			v = empty("list")
		}
		if path != "" || v != nil && v != empty("object") {
			out = append(out, leaf{path, v})
		}
		return nil
	})
	return out
}

// tokens counts the names, values and delimiters of JSON.
func tokens(raw []byte) (n int) {
	for d := json.NewDecoder(bytes.NewReader(raw)); ; n++ {
		if _, err := d.Token(); err != nil {
			return n
		}
	}
}

// encode writes what schema.Read has read, without escapes of HTML.
func encode(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	raw, _ := schema.Marshal(v) // nil at an error
	return raw
}

// typeOf names the type of a value.
func typeOf(v any) string {
	if e, ok := v.(empty); ok {
		return string(e)
	}
	return cmp.Or(reason.TypeOf(v), "null")
}

// word is a string or number as it stands in a text, or "".
func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// said are the words of values.
func said(in []leaf) []string { return each(in, func(l leaf) string { return word(l.v) }) }

// show is a value in a sentence: quoted, and cut.
func show(v any) string { return head(cmp.Or(string(encode(v)), "null"), 80) }

// head is a text cut to a number of bytes, with a sign that it was.
func head(s string, most int) string {
	return fence.Clip(strings.ToValidUTF8(s, "\uFFFD"), most-len("…"))
}

func first(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func last(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}
