package learn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/reason"
)

// What follows is the rule by which a plan runs again, and is shown: what was equal in its deliveries is a
// constant, which has to hold again; what differed is a parameter, which stands in the calls wherever it
// stood in both. Nothing is decided by what words mean. Each check asks one thing: may the deliveries look so
// by chance, while this case means something else? Then it does not fire, and is shown with what differs.

// match is what deliveries of one plan have in common. They have one key, and so the same paths of inputs;
// and one plan, and so the same paths in its calls.
type match struct {
	of     []*delivery
	values []*value        // those of the inputs
	names  strings.Builder // of the calls, and of the paths in them
	rest   strings.Builder // the calls without these, and without what inputs say
	shows  bool            // {path} stands for each value; else parameters take the value at hand
}

// value is a value of the inputs: in each delivery, and what stands for it now.
type value struct {
	path string
	was  []any
	now  any
	said bool // a call says it
}

func (v *value) constant() bool { return len(v.was) > 1 && v.was[0] == v.was[len(v.was)-1] }

// column is what each of some deliveries has as an input.
func column(of []*delivery, i int) []any { return each(of, func(d *delivery) any { return d.in[i].v }) }

// newMatch compares deliveries to carry their plan out for the case at hand, or to show it where that is nil.
func newMatch(of []*delivery, now *shape) *match {
	m := &match{of: of, shows: now == nil, values: make([]*value, 0, len(of[0].in))}
	for i, l := range of[0].in {
		v := &value{path: l.path, now: brace(l.path), was: column(of, i)}
		if now != nil {
			v.now = now.in[i].v
		}
		m.values = append(m.values, v)
	}
	return m
}

// agree returns the plan of two deliveries for the case at hand, or why it must not run. All are those of the
// plan: a value may be, or lie between, any of theirs. Known are calls that two others mean: it asks no more.
func agree(a, b *delivery, now *shape, all []*delivery, known []reason.PlanCall) ([]reason.PlanCall, string) {
	m := newMatch([]*delivery{a, b}, now)
	for _, v := range m.values {
		if v.constant() && v.now != v.was[0] {
			return nil, fmt.Sprintf("%s is %s, and was another in both deliveries", v.path, show(v.now))
		}
	}
	calls, why := m.calls(nil)
	if why != "" || reason.SameCalls(calls, known) { // the rest was asked of the two that mean them
		return known, why
	}
	if why = m.wrong(all); why != "" {
		return nil, why
	}
	own := a.Text + string(a.Inputs)
	amount := func(w string) bool { return amounts.MatchString(w) && !strings.Contains(own, w) }
	if first := a.Calls[0]; len(calls) > 1 && len(all) == 2 && first.ResultDigest+first.Text == "" &&
		slices.ContainsFunc(strings.Fields(m.rest.String()), amount) {
		return nil, "a number may be what an earlier call had returned, as a price that was the same by chance"
	}
	for i := range calls {
		if a.Calls[i].ResultDigest == b.Calls[i].ResultDigest {
			calls[i].ResultDigest = a.Calls[i].ResultDigest
		}
		text := func(d *delivery) slot { return slot{leaf{v: d.Calls[i].Text}, split(d.Calls[i].Text, d.in)} }
		out, no := m.bind("", []slot{text(a), text(b)})
		if text, _ := out.(string); no == "" && m.leftover() == "" { // all that it says is bound
			calls[i].Text = text
		}
	}
	return calls, ""
}

// bound is a value of a call of the last delivery, as the deliveries bind it.
type bound struct {
	path string
	was  any    // in that delivery
	now  any    // what stands for it; nil where why says that nothing does
	rest string // the words around that
	why  string // it cannot be bound
}

// calls binds the calls of the deliveries, and says why one of them cannot be bound. In each stands what show
// makes of a value, or, where that is nil, what it is bound to.
func (m *match) calls(show func(bound) any) (calls []reason.PlanCall, why string) {
	last := m.of[len(m.of)-1]
	for i, call := range last.Calls {
		n := 0
		m.names.WriteString(call.Name + gap)
		inputs := schema.Rewrite("", last.trees[i], func(path string, v any) any {
			if n == len(last.slots[i]) {
				return v // nothing, or an empty object
			}
			was := each(m.of, func(d *delivery) slot { return d.slots[i][n] })
			n++
			m.names.WriteString(path + gap)
			before, b := m.rest.Len(), bound{path: path, was: v}
			b.now, b.why = m.bind(path, was)
			if _, is := b.now.(empty); is {
				b.now = v
			}
			other := func(name string) bool { return !strings.Contains(word(was[0].v), name) }
			if slices.ContainsFunc(fence.Secrets(word(b.now)), other) { // of two inputs, half of each
				b.why = "names a secret that the deliveries did not"
			}
			if b.why != "" {
				why = cmp.Or(why, fmt.Sprintf("%s of %s %s", path, call.Name, b.why))
			}
			if show == nil {
				return b.now
			}
			b.rest = m.rest.String()[before:]
			return show(b)
		})
		calls = append(calls, reason.PlanCall{Name: call.Name, Inputs: encode(inputs)})
	}
	return calls, why
}

// bind returns what stands in a call now, where it was these in the deliveries: the value of an input, or a
// text in which all have the same inputs in the same places.
func (m *match) bind(path string, was []slot) (out any, why string) {
	same, alike, text := true, true, word(was[0].v) != ""
	for _, w := range was {
		same, alike = same && w.v == was[0].v, alike && slices.Equal(w.cut, was[0].cut)
	}
	for _, v := range m.values {
		// True, false and null are of many inputs: of one with the same name only. A constant stays what it was.
		says := text || v.path[strings.LastIndex(v.path, ".")+1:] == path[strings.LastIndex(path, ".")+1:]
		says = says && (m.shows || !v.constant())
		if says && slices.EqualFunc(v.was, was, func(v any, w slot) bool { return v == w.v }) {
			return m.use(v.path), ""
		}
	}
	switch {
	case same && (!m.shows || !alike || typeOf(was[0].v) != "string"):
		m.rest.WriteString(word(was[0].v) + gap)
		return was[0].v, ""
	case !alike || typeOf(was[0].v) != "string": // the same inputs do not stand in the same places
		return nil, "differed, and no input says it"
	}
	m.rest.WriteString(join(was[0].cut, func(string) string { return " " }) + gap)
	return join(was[0].cut, func(path string) string { return word(m.use(path)) }), ""
}

// use marks a value, and those that differed like it, as said by a call, and returns what stands for it.
func (m *match) use(path string) any {
	of := m.values[slices.IndexFunc(m.values, func(v *value) bool { return v.path == path })]
	for _, v := range m.values {
		v.said = v.said || slices.Equal(v.was, of.was)
	}
	return of.now
}

// wrong returns why the deliveries do not speak for the values at hand, or what the plan keeps of others.
func (m *match) wrong(all []*delivery) string {
	for i, v := range m.values {
		if why := v.formed(column(all, i)); why != "" {
			return fmt.Sprintf("%s is %s, %s", v.path, show(v.now), why)
		}
		apart := func(d *delivery) bool { return typeOf(v.now) != "string" || d.in[i].v != v.now }
		with := slices.DeleteFunc(slices.Clone(all), apart) // 400 mg is near 500 mg, and 400 g is not
		for j, n := range m.values {
			if len(with) > 0 && counts(n.path, n.now) && !near(n.now, column(with, j), 1.5) {
				return n.path + " is " + show(n.now) + ", not near what was delivered with " + show(v.now)
			}
		}
	}
	for i, v := range m.values {
		for _, w := range m.values[:i] {
			if v.constant() && w.constant() {
				continue // they are what they were
			}
			r := relation(v.was[0], w.was[0])
			if r == relation(v.was[1], w.was[1]) && r != relation(v.now, w.now) {
				return fmt.Sprintf("%s and %s were otherwise related", w.path, v.path)
			}
		}
	}
	return cmp.Or(m.leftover(), m.refuted(all))
}

// leftover returns what stands in the plan and is not of the case: a day, an address of two scopes, or a
// former value, also inside a word if it has three letters, or a word or number of it that both had.
func (m *match) leftover() string {
	a, rest := m.of[0], m.names.String()+m.rest.String()
	own := append(each(m.values, func(v *value) string { return v.path + " " + word(v.now) }), a.Text)
	then := append(each(m.values, func(v *value) string { return v.path + " " + word(v.was[0]) }), a.Text)
	unsaid := func(w string) bool { return !strings.Contains(strings.Join(then, gap), w) }
	if slices.ContainsFunc(days.FindAllString(rest, -1), unsaid) { // of «last month»
		return "a call has a day or a year that the case did not say, as if it had been worked out"
	}
	named := letters.ReplaceAllString(m.names.String(), "") // "line1" is of a program
	if a.scope != m.of[1].scope && iar.Unsaid(own, named+m.rest.String()) {
		return "a call has an address or a number that two scopes had, and no case said"
	}
	words, lower := iar.Words(rest), strings.ToLower(rest)
	for _, v := range m.values {
		if v.constant() {
			continue // it may stand where it stood
		}
		both, now := iar.Words(word(v.was[1])), iar.Words(word(v.now))
		for p := range iar.Words(word(v.was[0])) {
			if words[p] && both[p] && !now[p] {
				return "the plan keeps a part of the former values of " + v.path
			}
		}
		for _, w := range v.was {
			was := word(w)
			inside := utf8.RuneCountInString(was) >= 3 && strings.Contains(lower, strings.ToLower(was))
			if was != word(v.now) && (inside || holds(rest, was)) {
				return "the plan keeps a former value of " + v.path
			}
		}
	}
	return ""
}

// formed returns why the value at hand is none that the deliveries speak for, or "". One of them had it, or a
// call says it and it is like theirs: a number is near, a string is built as they were, and a word of a text,
// where letters may mean anything, has other digits alone.
func (v *value) formed(former []any) string {
	isWord, s := strings.Contains(v.path, "{"), word(v.now)
	short := func(f any) bool { return 5*utf8.RuneCountInString(s) <= 6*utf8.RuneCountInString(word(f)) }
	switch {
	case slices.Contains(former, v.now) && (!isWord || v.said || v.constant()):
	case !v.said:
		return "which no call says, and may be a condition"
	case (isWord || typeOf(v.now) == "number") && !near(v.now, former, 1.5):
		return "far from what was delivered, or new in more than its digits 0 to 9"
	case typeOf(v.now) == "string" &&
		!(iar.Alike(s, word(v.was[0]), word(v.was[1])) && slices.ContainsFunc(former, short)): // nor much longer
		return "which has another form than before"
	}
	return ""
}

var (
	letters       = regexp.MustCompile(`[\pL\pM\p{Nl}\p{No}]+`)
	digit, digits = regexp.MustCompile(`\d`), regexp.MustCompile(`\d+`)
	number        = regexp.MustCompile(`^(0|[1-9]\d*)(\.(\d?[1-9]|\d{3,}[1-9]))?$`)
	amounts       = regexp.MustCompile(`^\d+([.,]\d+)*$`)
	// Two or three numbers as of a day, or one as of a year: of 1300 to 1499, 1900 to 2099, 2500 to 2699.
	days = regexp.MustCompile(strings.ReplaceAll(`\p{Nd}{1,4}[-/年]\p{Nd}{1,2}[-/月]\p{Nd}{1,4}|`+
		`\b((M[-/月]|\d+年|\d+월 ?)M\b|M\. ?M\.(\d|\B)|(1[34]|19|20|2[56])\d\d(\d{4})?\b)`,
		"M", `(0?[1-9]|[12]\d|3[01])`))
)

// counts reports whether a value has to be near former ones: a number, and a word of a text that has digits.
func counts(path string, v any) bool {
	return typeOf(v) == "number" || strings.Contains(path, "{") && digits.MatchString(word(v))
}

// near accepts a number between the former ones, or up to so many times beyond the largest or the smallest. A
// string is near those that are the same but for digits, and as many: by its first number, which says most (a
// year, an amount), and by all its digits as one, since the first may be 0.
func near(now any, former []any, times float64) bool {
	if typeOf(now) == "string" {
		form := func(v any) string { return digit.ReplaceAllString(word(v), "0") }
		like := slices.DeleteFunc(slices.Clone(former), func(v any) bool { return form(v) != form(now) })
		first := func(v any) any { return json.Number(digits.FindString(word(v))) }
		all := func(v any) any { return json.Number(strings.Join(digits.FindAllString(word(v), -1), "")) }
		return near(first(now), each(like, first), times) && near(all(now), each(like, all), times)
	}
	f, ok := float(now)
	low, high := math.Inf(1), math.Inf(-1)
	for _, was := range former {
		g, ok2 := float(was)
		low, high, ok = min(low, g), max(high, g), ok && ok2
	}
	return ok && (low <= f && f <= high || f <= times*high && times*f >= low)
}

// relation says how two values relate: equal or not, and the order of numbers and of strings built alike.
func relation(v, w any) string {
	x, y := word(v), word(w)
	switch {
	case x == y:
		return "equal"
	case typeOf(v) == "number" && typeOf(w) == "number":
		a, _ := float(v)
		b, _ := float(w)
		return fmt.Sprint(a < b)
	case holds(x, y) || holds(y, x):
		return "inside"
	case len(x) == len(y) && strings.ContainsFunc(x, unicode.IsDigit) && iar.Kinds(x) == iar.Kinds(y):
		return fmt.Sprint(x < y)
	}
	return "other"
}

func float(v any) (float64, bool) {
	n, _ := v.(json.Number)
	f, err := n.Float64()
	return f, err == nil
}

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
// types. Of a case that cannot be read the shape is empty, and why says so.
func shapeOf(c *Case) (_ *shape, why string) {
	v, err := schema.Read(c.Inputs)
	if err != nil {
		return &shape{}, "inputs: " + err.Error()
	}
	s, raw := &shape{in: leaves(v)}, encode(v)
	_, object := v.(map[string]any)
	switch {
	case !object && v != nil:
		return &shape{}, "inputs: no JSON object"
	case len(s.in) > maxValues:
		return &shape{}, fmt.Sprintf("inputs: %d values, over the limit of %d", len(s.in), maxValues)
	case slices.ContainsFunc(s.in, func(l leaf) bool { return strings.ContainsAny(l.path, "{}") }):
		return &shape{}, "inputs: a name has braces, which are those of parameters"
	case v != nil && tokens(string(c.Inputs)) != tokens(string(raw)):
		return &shape{}, "inputs: a name is given twice" // nobody can say which of the two counts
	}
	s.template = join(split(c.Text, s.in), brace)
	s.folded = iar.Fold(s.template)
	s.paths = each(s.in, leaf.typed)
	s.key = codec.Digest(encode([][]string{c.Conditions, c.Goals, {c.Situation, s.folded}, s.paths}))
	s.exact = codec.Digest(s.key + string(raw))
	return s, ""
}

// worded returns the inputs of a case with the words of its text, as if the host had put these there, too,
// and what else cases must have in common. Words are what is between spaces, without the signs at the ends.
func worded(s string, in []leaf) (all []leaf, rest string) {
	all = slices.Grow(slices.Clip(in), 8)
	beside := make([]byte, 0, 256)
	for _, p := range split(iar.Fold(s), in) {
		s = p.text
		for w := range strings.FieldsFuncSeq(s, isGap) {
			w = strings.TrimFunc(w, isSign)
			if before, after, _ := strings.Cut(s, w); w != "" && len(all) < maxValues {
				v := any(w)
				if number.MatchString(w) { // not "20.000" or "1.255", which may be many
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
func isGap(r rune) bool { return unicode.IsSpace(r) || r > 'ÿ' && unicode.In(r, text.Spaceless...) }

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

// stands reports whether w stands in s at byte i as a whole token: not inside of a word or a number.
func stands(s string, i int, w string) bool {
	return w != "" && strings.HasPrefix(s[i:], w) && !joined(s[:i], w) && !joined(w, s[i+len(w):])
}

// holds reports whether w stands somewhere in s as a whole token.
func holds(s, w string) bool {
	for i := 0; w != "" && strings.Contains(s[i:], w); i++ {
		if i += strings.Index(s[i:], w); stands(s, i, w) {
			return true
		}
	}
	return false
}

// joined reports whether two texts meet within a word, number or letter; some scripts show no ends of words.
func joined(before, after string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	s, _ := utf8.DecodeRuneInString(after)
	return unicode.IsMark(s) || !isSign(r) && !isSign(s) && !isGap(r) && !isGap(s)
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

// tokens counts the names, values and delimiters of JSON.
func tokens(raw string) (n int) {
	d := json.NewDecoder(strings.NewReader(raw))
	for _, err := d.Token(); err == nil; _, err = d.Token() {
		n++
	}
	return n
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

func (l leaf) typed() string             { return l.path + ":" + typeOf(l.v) }
func wordsOf(in []leaf) []string         { return each(in, func(l leaf) string { return word(l.v) }) }
func textsOf(c *Case, s *shape) []string { return append(append(wordsOf(s.in), c.Text), turnsOf(c)...) }

func show(v any) string { return head(cmp.Or(string(fence.Escaped(encode(v))), "null"), 80) }

func head(s string, most int) string {
	return fence.Clip(strings.ToValidUTF8(s, "\uFFFD"), most-len("…"))
}
