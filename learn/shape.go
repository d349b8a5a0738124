package learn

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/internal/text"
)

// shape is a case made ready to be compared.
type shape struct {
	in       []leaf   // the values of the inputs, by path
	paths    []string // of these, with their types; an empty list where there are none
	template string   // the text with {path} for each of them
	folded   string   // the template without what makes no difference
	key      string   // equal for cases that a plan may serve alike
	exact    string   // equal for cases of a key with equal inputs
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
	s, raw := &shape{in: leaves(v)}, encode(v)
	_, object := v.(map[string]any)
	switch {
	case !object && v != nil:
		return &shape{}, errors.New("inputs: no JSON object")
	case len(s.in) > maxValues:
		return &shape{}, fmt.Errorf("inputs: %d values, over the limit of %d", len(s.in), maxValues)
	case slices.ContainsFunc(s.in, func(l leaf) bool { return strings.ContainsAny(l.path, "{}") }):
		return &shape{}, errors.New("inputs: a name has braces, which are those of parameters")
	case v != nil && schema.Tokens(c.Inputs) != schema.Tokens(raw):
		return &shape{}, errors.New("inputs: a name is given twice") // nobody can say which of the two counts
	}
	s.template = join(split(c.Text, s.in), brace)
	s.folded = fold(s.template)
	s.paths = each(s.in, func(l leaf) string { return l.path + ":" + typeOf(l.v) })
	s.key = digest(encode([][]string{c.Conditions, c.Goals, {c.Situation, s.folded}, s.paths}))
	s.exact = digest(s.key + string(raw))
	return s, nil
}

// worded returns the inputs of a case with the words of its text, as if the host had put these there, too,
// and what else cases must have in common. Words are what is between spaces, without the signs at the ends.
func worded(s string, in []leaf) (all []leaf, rest string) {
	all = slices.Grow(slices.Clip(in), 8)
	beside := make([]byte, 0, 256)
	for _, p := range split(fold(s), in) {
		s = p.text
		for _, w := range strings.FieldsFunc(s, isGap) {
			w = strings.TrimFunc(w, isSign)
			if before, after, _ := strings.Cut(s, w); w != "" && len(all) < maxValues {
				v := any(w)
				if number.MatchString(w) { // not "20.000", which may be many
					v = json.Number(w)
				}
				all = append(all, leaf{fmt.Sprintf("word {%d}", len(all)-len(in)+1), v})
				beside, s = append(append(append(beside, before...), 0), typeOf(v)...), after
			}
		}
		beside = append(append(beside, s...), brace(p.of)...)
	}
	return all, string(beside)
}

// isGap reports whether a rune is between words: a space, or a letter of a script without them.
func isGap(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, text.Spaceless...) }

// piece is a part of a text as it stands, and the path of the input that says what follows; at the end none.
type piece struct{ text, of string }

// split parts a text at the values of inputs that stand in it as whole tokens, the longest first.
func split(text string, in []leaf) (out []piece) {
	in = slices.Clone(in)
	slices.SortStableFunc(in, func(v, w leaf) int { return len(word(w.v)) - len(word(v.v)) })
	plain := 0
	for at := 0; at < len(text); at++ {
		if k := slices.IndexFunc(in, func(l leaf) bool { return stands(text, at, word(l.v)) }); k >= 0 {
			out = append(out, piece{text[plain:at], in[k].path})
			plain = at + len(word(in[k].v))
			at = plain - 1
		}
	}
	return append(out, piece{text: text[plain:]})
}

func join(pieces []piece, say func(path string) string) string {
	var b strings.Builder
	for _, p := range pieces {
		if b.WriteString(p.text); p.of != "" {
			b.WriteString(say(p.of))
		}
	}
	return b.String()
}

func brace(path string) string { return "{" + path + "}" }

// digest is the short form of a text in keys and comparisons.
func digest[T ~string | ~[]byte](s T) string {
	sum := sha256.Sum256([]byte(s))
	return string(hex.AppendEncode(make([]byte, 0, 24), sum[:12]))
}

// fold returns a text without runs of spaces, one final full stop, and the capital of a plain first word.
func fold(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for _, stop := range []string{".", "。", "।"} {
		t, ends := strings.CutSuffix(s, stop)
		if last, _ := utf8.DecodeLastRuneInString(t); ends && (!isSign(last) || last == '}') {
			s = t
		}
	}
	if head, _, _ := strings.Cut(s, " "); plainWord.MatchString(head) {
		s = strings.ToLower(head) + s[len(head):]
	}
	return s
}

var plainWord = regexp.MustCompile(`^\p{Lu}\p{Ll}+$`)

// stands reports whether w stands in s at byte i as a whole token: not inside of a word or a number.
func stands(s string, i int, w string) bool {
	return w != "" && strings.HasPrefix(s[i:], w) && !joined(s[:i], w) && !joined(w, s[i+len(w):])
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

// joined reports whether two texts meet within a word or number. Scripts without spaces show no ends of words.
func joined(before, after string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	s, _ := utf8.DecodeRuneInString(after)
	return !isSign(r) && !isSign(s) && !unicode.In(r, text.Spaceless...) && !unicode.In(s, text.Spaceless...)
}

func isSign(r rune) bool { return !unicode.IsNumber(r) && !unicode.IsLetter(r) && !unicode.IsMark(r) }

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

// encode writes what schema.Read has read, without escapes of HTML.
func encode(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	raw, _ := schema.Marshal(v) // nil at an error
	return raw
}

func typeOf(v any) string {
	e, _ := v.(empty)
	return cmp.Or(string(e), schema.TypeOf(v), "null")
}

// word is a string or number as it stands in a text, or "".
func word(v any) string {
	n, _ := v.(json.Number)
	s, _ := v.(string)
	return cmp.Or(s, n.String())
}

func said(in []leaf) []string { return each(in, func(l leaf) string { return word(l.v) }) }

func show(v any) string { return head(cmp.Or(string(encode(v)), "null"), 80) }

func head(s string, most int) string {
	return fence.Clip(strings.ToValidUTF8(s, "\uFFFD"), most-len("…"))
}
