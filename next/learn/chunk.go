package learn

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/arc-learn/arc/next/reason"
)

// This file has the rule by which a plan runs again. Two deliveries of one plan are compared with the case at hand:
// what was equal in both is a constant, what differed is a parameter, and all that the two have in common must hold
// again. Nothing is decided by what words mean.

// maxValues is the bound of a case's inputs, since each value is compared with each. A case beyond it has no plan.
const maxValues = 128

// leaf is a value with its path. A path is dotted: "customer.email", "lines.0.sku".
type leaf struct {
	path string
	v    any // nil, bool, json.Number, string; an empty object or list is a string that begins with a NUL
}

// shape is a case made ready to be compared.
type shape struct {
	in       []leaf // by path
	template string // the text with {path} for each value of the inputs
	key      string // equal for cases that a plan may serve alike
}

// shapeOf reads a case. Its key is that of scope (by where it is kept), conditions, goals, situation, template, and
// the inputs' paths and types.
func shapeOf(c *Case) (*shape, error) {
	v, err := decode(c.Inputs)
	if err != nil {
		return nil, fmt.Errorf("inputs: %w", err)
	}
	if _, ok := v.(map[string]any); !ok && v != nil {
		return nil, fmt.Errorf("inputs: no JSON object")
	}
	s := &shape{in: leaves(nil, "", v)}
	if len(s.in) > maxValues {
		return nil, fmt.Errorf("inputs: %d values, over the limit of %d", len(s.in), maxValues)
	}
	s.template = template(c.Text, s.in)
	types := make([]string, len(s.in))
	for i, l := range s.in {
		types[i] = l.path + ":" + typeOf(l.v)
	}
	conditions := slices.Sorted(slices.Values(c.Conditions))
	raw, err := json.Marshal([]any{conditions, c.Goals, c.Situation, fold(s.template), types})
	if err != nil {
		return nil, err
	}
	s.key = digest(string(raw))
	return s, nil
}

// digest is the short form of a text in keys and comparisons.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}

// match is the comparison of two deliveries with the case at hand.
type match struct {
	values []*value
	rest   strings.Builder // the constant strings of the plan, and what stands in others beside parameters
	names  strings.Builder // the names of its calls and of their inputs
	now    bool            // false: only whether the two deliveries agree
}

// value is a value of the inputs: in both deliveries, and at hand.
type value struct {
	path      string
	a, b, now any
	said      bool // it stands in a call
}

func (v *value) constant() bool { return v.a == v.b }

// fire returns the plan of two deliveries for the case at hand, or why it must not run. The three have one key.
// Among are all deliveries of the plan: a number may lie between any of them, and a value may be any of theirs.
func fire(a, b *compared, now *shape, among []*compared) (calls []reason.PlanCall, why string) {
	m := &match{now: true}
	if why = m.inputs(a.shape, b.shape, now); why != "" {
		return nil, why
	}
	if calls, why = m.calls(a, b); why != "" {
		return nil, why
	}
	return calls, m.wrong(among)
}

// inputs takes in the values of the inputs.
func (m *match) inputs(a, b, now *shape) (why string) {
	if len(a.in) != len(b.in) || len(a.in) != len(now.in) {
		return "other inputs are given"
	}
	for i, l := range a.in {
		v := &value{path: l.path, a: l.v, b: b.in[i].v, now: now.in[i].v}
		if b.in[i].path != l.path || now.in[i].path != l.path {
			return "other inputs are given"
		}
		if v.constant() && v.now != v.a {
			return fmt.Sprintf("%s is %s, and was another in both deliveries", v.path, show(v.now))
		}
		m.values = append(m.values, v)
	}
	return ""
}

// parameter returns the parameter whose values a and b were.
func (m *match) parameter(a, b any) *value {
	for _, v := range m.values {
		if !v.constant() && v.a == a && v.b == b {
			return v
		}
	}
	return nil
}

// say marks a parameter, and those that differed in the same way, as said by a call.
func (m *match) say(of *value) {
	for _, v := range m.values {
		v.said = v.said || v.a == of.a && v.b == of.b
	}
}

// calls binds the calls of a to the values at hand.
func (m *match) calls(a, b *compared) (calls []reason.PlanCall, why string) {
	if len(a.Calls) != len(b.Calls) {
		return nil, "the two plans have other calls"
	}
	for i, call := range a.Calls {
		other := b.Calls[i]
		if call.Name != other.Name {
			return nil, "the two plans have other calls"
		}
		m.names.WriteString(call.Name + " ")
		x, err := decode(call.Inputs)
		y, err2 := decode(other.Inputs)
		if err != nil || err2 != nil {
			return nil, call.Name + " has inputs that are no JSON"
		}
		out, why := m.bind(call.Name, x, y)
		if why != "" {
			return nil, why
		}
		bound := reason.PlanCall{Name: call.Name, Inputs: encode(out)}
		if call.ResultDigest == other.ResultDigest {
			bound.ResultDigest = call.ResultDigest
		}
		bound.Text = m.prose(call.Text, other.Text)
		calls = append(calls, bound)
	}
	return calls, ""
}

// bind returns what stands in a call for the case at hand, where it was a and b.
func (m *match) bind(path string, a, b any) (out any, why string) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return nil, fmt.Sprintf("the two plans have other inputs at %s", path)
		}
		made := make(map[string]any, len(x))
		for _, k := range slices.Sorted(maps.Keys(x)) {
			w, ok := y[k]
			if !ok {
				return nil, fmt.Sprintf("the two plans have other inputs at %s", path)
			}
			m.names.WriteString(k + " ")
			if made[k], why = m.bind(path+" "+k, x[k], w); why != "" {
				return nil, why
			}
		}
		return made, ""
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return nil, fmt.Sprintf("the two plans have other inputs at %s", path)
		}
		made := make([]any, len(x))
		for i := range x {
			if made[i], why = m.bind(path, x[i], y[i]); why != "" {
				return nil, why
			}
		}
		return made, ""
	}
	if v := m.parameter(a, b); v != nil {
		m.say(v)
		return v.now, ""
	}
	x, isText := a.(string)
	y, isText2 := b.(string)
	switch {
	case a == b:
		fmt.Fprint(&m.rest, show(a), " ")
		return a, ""
	case isText && isText2:
		return m.text(path, x, y)
	}
	return nil, fmt.Sprintf("%s differed, and no input says it", path)
}

// text binds the parameters in a string: they stand there as whole tokens, in one reading.
func (m *match) text(path, a, b string) (out, why string) {
	var made, rest strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		var fits []*value
		for _, v := range m.values {
			x, y := word(v.a), word(v.b)
			if !v.constant() && x != "" && y != "" && stands(a, i, x) && stands(b, j, y) {
				fits = append(fits, v)
			}
		}
		fits = slices.CompactFunc(fits, func(v, w *value) bool { return v.a == w.a && v.b == w.b && v.now == w.now })
		switch {
		case len(fits) > 1:
			return "", fmt.Sprintf("%s has two readings: %s and %s", path, fits[0].path, fits[1].path)
		case len(fits) == 1:
			v := fits[0]
			if s := v.strange(); s != "" {
				return "", fmt.Sprintf("%s has %q, which is new in %s", v.path, s, path)
			}
			m.say(v)
			made.WriteString(word(v.now))
			rest.WriteByte(' ')
			i, j = i+len(word(v.a)), j+len(word(v.b))
		case i == len(a) || j == len(b) || a[i] != b[j]:
			return "", fmt.Sprintf("%s differed, and no input says it", path)
		default:
			made.WriteByte(a[i])
			rest.WriteByte(a[i])
			i, j = i+1, j+1
		}
	}
	m.rest.WriteString(rest.String() + " ")
	return made.String(), ""
}

// prose binds the words of a task. They are dropped where they are not the same but for parameters.
func (m *match) prose(a, b string) string {
	before := m.rest.String()
	said := make([]bool, len(m.values))
	for i, v := range m.values {
		said[i] = v.said
	}
	var out, why string
	if a == b {
		out = a
		m.rest.WriteString(a + " ")
	} else {
		out, why = m.text("", a, b)
	}
	for i, v := range m.values { // words do not carry a value to where it is acted on
		v.said = said[i]
	}
	if why == "" && m.left() == "" {
		return out
	}
	m.rest.Reset()
	m.rest.WriteString(before)
	return ""
}

// wrong returns why the values at hand are not such that both deliveries speak for them, or what the plan keeps of
// former ones.
func (m *match) wrong(among []*compared) string {
	for i, v := range m.values {
		for _, w := range m.values[:i] {
			if r := relation(v.a, w.a); r == relation(v.b, w.b) && r != relation(v.now, w.now) {
				return fmt.Sprintf("%s and %s were otherwise related", w.path, v.path)
			}
		}
		if v.constant() {
			continue
		}
		former := make([]any, len(among))
		for k, d := range among {
			former[k] = d.in[i].v
		}
		if why := v.formed(former); why != "" {
			return why
		}
	}
	return m.left()
}

// left returns which part of a former value stands in the plan: the whole of one, or a word or number that both
// had. What only one of them had is not there because of it, since the other delivery has it too.
func (m *match) left() string {
	rest := m.rest.String()
	words := pieces(rest)
	for _, v := range m.values {
		if v.constant() {
			continue
		}
		for _, was := range []string{word(v.a), word(v.b)} {
			if was != "" && was != word(v.now) && (holds(rest, was) || holds(m.names.String(), was)) {
				return fmt.Sprintf("the plan keeps a former value of %s", v.path)
			}
		}
		x, y, now := pieces(word(v.a)), pieces(word(v.b)), pieces(word(v.now))
		for _, p := range slices.Sorted(maps.Keys(words)) {
			if x[p] && y[p] && !now[p] {
				return fmt.Sprintf("the plan keeps a part of the former values of %s", v.path)
			}
		}
	}
	return ""
}

// formed returns why the value at hand is not of the form that both former ones have, or "".
func (v *value) formed(former []any) string {
	if slices.ContainsFunc(former, func(f any) bool { return f == v.now }) {
		return ""
	}
	if !v.said && !likeButDigits(v.a, v.b, v.now) {
		return fmt.Sprintf("%s is %s, which is new, and no call says it", v.path, show(v.now))
	}
	switch now := v.now.(type) {
	case json.Number:
		return v.number(now, former)
	case string:
		if !v.runsFit() {
			return fmt.Sprintf("%s is %s, which has another form than before", v.path, show(now))
		}
		longest := 0
		for _, f := range former {
			longest = max(longest, utf8.RuneCountInString(word(f)))
		}
		if 5*utf8.RuneCountInString(now) > 6*longest { // a list, a target of another kind, an injection
			return fmt.Sprintf("%s is %s, longer than any before", v.path, show(now))
		}
	}
	return ""
}

// number accepts what lies between the former values, or else has as many digits as one of them, the same sign, and
// is at most twice the largest and at least half the smallest.
func (v *value) number(now json.Number, former []any) string {
	f, ok := float(now)
	low, high, digits := 0.0, 0.0, false
	for i, was := range former {
		g, ok2 := float(was)
		ok = ok && ok2
		if i == 0 {
			low, high = g, g
		}
		low, high = min(low, g), max(high, g)
		digits = digits || whole(was) == whole(now)
	}
	between := low <= f && f <= high
	alike := digits && f != 0 && (f < 0) == (low < 0) && (low < 0) == (high < 0) &&
		abs(f) <= 2*max(abs(low), abs(high)) && 2*abs(f) >= min(abs(low), abs(high))
	if ok && (between || alike) {
		return ""
	}
	return fmt.Sprintf("%s is %s, far from what was delivered", v.path, show(now))
}

// runsFit reports whether a string begins and ends with what both former ones began and ended with, and has as many
// digits where the three are built alike.
func (v *value) runsFit() bool {
	x, y, now := runs(v.a), runs(v.b), runs(v.now)
	if strings.TrimSpace(word(v.now)) == "" || len(x) == len(y) && common(x, y) == len(x) && common(x, now) < max(len(x), len(now)) {
		return false
	}
	for range 2 {
		if common(x, now) < common(x, y) {
			return false
		}
		slices.Reverse(x)
		slices.Reverse(y)
		slices.Reverse(now)
	}
	if kinds(x) == kinds(now) && kinds(y) == kinds(now) {
		for i := range now {
			n, p, q := len(now[i]), len(x[i]), len(y[i])
			if unicode.IsNumber(first(now[i])) && (n < min(p, q) || n > max(p, q)) {
				return false
			}
		}
	}
	return true
}

// strange returns a sign that the value at hand has more often than each of the former ones, or at another end. A
// single sign between two letters or digits that names are made of ("d.oneil", "lena-k", "a_b") is none.
func (v *value) strange() string {
	x, y, now := runs(v.a), runs(v.b), runs(v.now)
	count := func(in []string, r string) (n int) {
		for _, s := range in {
			if s == r {
				n++
			}
		}
		return n
	}
	for _, r := range now {
		if isSign(r) && r != "." && r != "-" && r != "_" && count(now, r) > max(count(x, r), count(y, r)) {
			return strings.Trim(r, ends)
		}
	}
	return ""
}

// relation says how two values relate: equal or not, and the order of numbers and of strings with digits that are
// built alike.
func relation(v, w any) string {
	x, y := word(v), word(w)
	f, number := float(v)
	g, number2 := float(w)
	switch {
	case x == "" || y == "" || typeOf(v) != typeOf(w):
		return ""
	case x == y:
		return "equal"
	case number && number2:
		return fmt.Sprint(f < g)
	case len(x) == len(y) && strings.ContainsFunc(x, unicode.IsNumber) && kinds(runs(v)) == kinds(runs(w)):
		return fmt.Sprint(x < y)
	}
	return "other"
}

// likeButDigits reports whether three strings are equal but for their digits, as times and numbers of tickets are.
func likeButDigits(a, b, now any) bool {
	zero := func(r rune) rune {
		if unicode.IsNumber(r) {
			return '0'
		}
		return r
	}
	x, ok := a.(string)
	y, ok2 := b.(string)
	z, ok3 := now.(string)
	z = strings.Map(zero, z)
	return ok && ok2 && ok3 && strings.Map(zero, x) == z && strings.Map(zero, y) == z
}

// ends mark where a string begins and ends, so that a sign at an end is another than one inside.
const ends = "\x02\x03"

// runs are the runs of letters, of digits and of signs of a value, with its ends.
func runs(v any) (out []string) {
	s := ends[:1] + word(v) + ends[1:]
	at, was := 0, -1
	for i, r := range s {
		if k := class(r); k != was {
			if i > at {
				out = append(out, s[at:i])
			}
			at, was = i, k
		}
	}
	return append(out, s[at:])
}

// class is 0 for signs, 1 for letters, 2 for digits.
func class(r rune) int {
	switch {
	case unicode.IsNumber(r):
		return 2
	case unicode.IsLetter(r), unicode.IsMark(r):
		return 1
	}
	return 0
}

func isSign(run string) bool { return class(first(run)) == 0 }

// kinds is how a string is built: its signs, and where it has letters and digits.
func kinds(runs []string) string {
	var b strings.Builder
	for _, r := range runs {
		b.WriteString([]string{r, "a", "9"}[class(first(r))] + "\x00")
	}
	return b.String()
}

// common counts the runs with which both begin. Digits are alike.
func common(a, b []string) (n int) {
	for n < min(len(a), len(b)) && (a[n] == b[n] || unicode.IsNumber(first(a[n])) && unicode.IsNumber(first(b[n]))) {
		n++
	}
	return n
}

// template returns a text with {path} for each value of the inputs that stands in it as a token, the longest first.
func template(text string, in []leaf) string {
	values := slices.DeleteFunc(slices.Clone(in), func(l leaf) bool { return word(l.v) == "" })
	slices.SortStableFunc(values, func(l, o leaf) int { return cmp.Compare(len(word(o.v)), len(word(l.v))) })
	text = norm.NFC.String(text)
	var b strings.Builder
next:
	for i := 0; i < len(text); {
		for _, l := range values {
			if w := word(l.v); stands(text, i, w) {
				b.WriteString("{" + l.path + "}")
				i += len(w)
				continue next
			}
		}
		_, n := utf8.DecodeRuneInString(text[i:])
		b.WriteString(text[i : i+n])
		i += n
	}
	return b.String()
}

// fold returns a text without what makes no difference: runs of spaces, one final full stop, and the capital of a
// plain first word.
func fold(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for _, stop := range []string{".", "。", "।"} {
		if t, ok := strings.CutSuffix(s, stop); ok && t != "" {
			if r, _ := utf8.DecodeLastRuneInString(t); class(r) != 0 || r == '}' {
				s = t
			}
			break
		}
	}
	head, _, _ := strings.Cut(s, " ")
	plain := head != "" && unicode.IsUpper(first(head))
	for i, r := range head {
		plain = plain && (i == 0 || unicode.IsLower(r))
	}
	if plain && utf8.RuneCountInString(head) > 1 {
		s = strings.ToLower(head) + s[len(head):]
	}
	return s
}

// stands reports whether w stands in s at byte i as a whole token: not inside of a word or a number.
func stands(s string, i int, w string) bool {
	if w == "" || !strings.HasPrefix(s[i:], w) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	begin, end := first(w), lastRune(w)
	after := first(s[i+len(w):])
	return (i == 0 || !joined(before, begin)) && (i+len(w) == len(s) || !joined(end, after))
}

// holds reports whether w stands somewhere in s as a whole token.
func holds(s, w string) bool {
	for i := 0; ; {
		k := strings.Index(s[i:], w)
		if k < 0 || w == "" {
			return false
		}
		if stands(s, i+k, w) {
			return true
		}
		i += k + 1
	}
}

// joined reports whether two runes side by side are of one word or number. Scripts without spaces have no ends of
// words to see.
func joined(r, s rune) bool {
	return class(r) != 0 && class(s) != 0 && !unicode.In(r, unspaced...) && !unicode.In(s, unspaced...)
}

var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
	unicode.Myanmar}

// pieces are the words and numbers of a text, in lower case.
func pieces(s string) map[string]bool {
	out := make(map[string]bool)
	for _, r := range runs(strings.ToLower(s)) {
		if !isSign(r) {
			out[r] = true
		}
	}
	return out
}

// leaves returns the values of a JSON document in the order of their paths.
func leaves(out []leaf, path string, v any) []leaf {
	at := func(k string) string {
		if path == "" {
			return k
		}
		return path + "." + k
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 && path != "" {
			return append(out, leaf{path, "\x00{}"})
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = leaves(out, at(k), v[k])
		}
	case []any:
		if len(v) == 0 {
			return append(out, leaf{path, "\x00[]"})
		}
		for i, m := range v {
			out = leaves(out, at(fmt.Sprint(i)), m)
		}
	default:
		if path != "" {
			out = append(out, leaf{path, v})
		}
	}
	return out
}

// decode reads JSON with its numbers as they are written. A name that is given twice is an error: nobody can say
// which of the two counts.
func decode(raw json.RawMessage) (v any, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	if !json.Valid(raw) {
		return nil, fmt.Errorf("no valid JSON")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return decodeNext(d)
}

func decodeNext(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			list := []any{}
			for d.More() {
				v, err := decodeNext(d)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
			_, err = d.Token()
			return list, err
		}
		object := map[string]any{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ := k.(string)
			if _, ok := object[name]; ok {
				return nil, fmt.Errorf("%q is given twice", name)
			}
			if object[name], err = decodeNext(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return object, err
	case string:
		return norm.NFC.String(t), nil
	}
	return t, nil
}

// encode writes JSON without escapes of HTML.
func encode(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil // what was decoded can be encoded
	}
	return bytes.TrimSpace(b.Bytes())
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		if strings.HasPrefix(v, "\x00") {
			return v[1:]
		}
		return "string"
	}
	return "?"
}

// word is a string or number as it stands in a text, or "".
func word(v any) string {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "\x00") {
			return ""
		}
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// show is a value in a sentence: quoted, and cut.
func show(v any) string {
	s := string(encode(v))
	if v == nil {
		s = "null"
	}
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

func float(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok || strings.ContainsAny(n.String(), "eE") {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// whole counts the digits before a number's point.
func whole(v any) int {
	s, _, _ := strings.Cut(strings.TrimPrefix(word(v), "-"), ".")
	return len(s)
}

func abs(f float64) float64 { return max(f, -f) }

func first(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}
