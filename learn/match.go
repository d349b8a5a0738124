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

	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/memory/extract"
	"github.com/arc-learn/arc/reason"
)

// This file has the rule by which a plan runs again, and by which it is shown. Deliveries of one plan are
// compared: what was equal in all is a constant, what differed is a parameter. A plan fires by two
// deliveries, where all that they have in common holds again. Nothing is decided by what words mean.

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

// join returns a text with what say says for each input.
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

// match is what deliveries of one plan have in common. They have one key, and so the same paths of inputs;
// and one plan, and so the same paths in its calls.
type match struct {
	of     []*delivery
	values []*value        // those of the inputs
	rest   strings.Builder // the calls without what inputs say
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

// newMatch compares deliveries to carry their plan out for the case at hand, or to show it where that is nil.
func newMatch(of []*delivery, now *shape) *match {
	m := &match{of: of, shows: now == nil, values: make([]*value, 0, len(of[0].in))}
	for i, l := range of[0].in {
		v := &value{path: l.path, now: brace(l.path), was: each(of, func(d *delivery) any { return d.in[i].v })}
		if now != nil {
			v.now = now.in[i].v
		}
		m.values = append(m.values, v)
	}
	return m
}

var days = regexp.MustCompile(`\d{4}[-/]\d\d[-/]\d\d`)

// fire returns the plan of two deliveries for the case at hand, or why it must not run. Among are all of the
// plan: a value may be, or lie between, any of theirs. Known are calls that two others mean: it asks no more.
func fire(a, b *delivery, now *shape, among []*delivery, known []reason.PlanCall) (calls []reason.PlanCall, why string) {
	m := newMatch([]*delivery{a, b}, now)
	for _, v := range m.values {
		if v.constant() && v.now != v.was[0] {
			return nil, fmt.Sprintf("%s is %s, and was another in both deliveries", v.path, show(v.now))
		}
	}
	calls, why = m.calls(func(_ string, _, out any, _, why string) (any, string) { return out, why })
	if why != "" || samePlan(calls, known) {
		return known, why
	}
	if why = m.wrong(among); why != "" {
		return nil, why
	}
	unsaid := func(day string) bool { return !strings.Contains(a.Text+string(a.Inputs), day) }
	if slices.ContainsFunc(days.FindAllString(m.rest.String(), -1), unsaid) { // of «tomorrow», twice in a day
		return nil, "a call has a day that the case did not say, as if it had been worked out"
	}
	for i := range calls { // the words of tasks go along only where all that they say is bound
		text := func(d *delivery) made { return made{leaf{v: d.Calls[i].Text}, split(d.Calls[i].Text, d.in)} }
		out, no := m.bind("", []made{text(a), text(b)})
		if text, _ := out.(string); no == "" && m.left() == "" {
			calls[i].Text = text
		}
	}
	return calls, ""
}

// calls binds the calls of the deliveries. What stands in one is what leaf makes of its value in the last
// delivery, of what it is bound to, of the words around that, and of why it cannot be bound.
func (m *match) calls(leaf func(path string, v, out any, rest, why string) (any, string)) (calls []reason.PlanCall, why string) {
	last := m.of[len(m.of)-1]
	for i, call := range last.Calls {
		bound, n := reason.PlanCall{Name: call.Name, ResultDigest: call.ResultDigest}, 0
		for _, d := range m.of {
			if d.Calls[i].ResultDigest != call.ResultDigest || m.shows {
				bound.ResultDigest = ""
			}
		}
		m.rest.WriteString(call.Name + " ")
		bound.Inputs = encode(schema.Rewrite("", last.trees[i], func(path string, v any) any {
			if n == len(last.made[i]) {
				return v // nothing, or an empty object
			}
			was := each(m.of, func(d *delivery) made { return d.made[i][n] })
			n++
			m.rest.WriteString(path + " ")
			before := m.rest.Len()
			out, no := m.bind(path, was)
			if _, is := out.(empty); is {
				out = v
			}
			if no != "" {
				no = fmt.Sprintf("%s of %s %s", path, call.Name, no)
			}
			out, no = leaf(path, v, out, m.rest.String()[before:], no)
			why = cmp.Or(why, no)
			return out
		}))
		calls = append(calls, bound)
	}
	return calls, why
}

// bind returns what stands in a call now, where it was these in the deliveries: the value of an input, or a
// text in which all have the same inputs in the same places.
func (m *match) bind(path string, was []made) (out any, why string) {
	same, alike, text := true, true, word(was[0].v) != ""
	for _, w := range was {
		same, alike = same && w.v == was[0].v, alike && slices.Equal(w.cut, was[0].cut)
	}
	for _, v := range m.values {
		// What is shown says true, false or null by an input of its name only.
		says := !v.constant() && !m.shows || m.shows && (text || lastName(v.path) == lastName(path))
		if says && slices.EqualFunc(v.was, was, func(v any, w made) bool { return v == w.v }) {
			return m.say(v.path), ""
		}
	}
	switch {
	case same && (!m.shows || !alike || typeOf(was[0].v) != "string"):
		m.rest.WriteString(word(was[0].v) + " ")
		return was[0].v, ""
	case !alike || !text:
		return nil, "differed, and no input says it"
	}
	m.rest.WriteString(join(was[0].cut, func(string) string { return " " }) + " ")
	return join(was[0].cut, func(path string) string { return word(m.say(path)) }), ""
}

// say marks a value, and those that differed like it, as said by a call, and returns what stands for it.
func (m *match) say(path string) any {
	of := m.values[slices.IndexFunc(m.values, func(v *value) bool { return v.path == path })]
	for _, v := range m.values {
		v.said = v.said || slices.Equal(v.was, of.was)
	}
	return of.now
}

// wrong returns why the deliveries do not speak for the values at hand, or what the plan keeps of former ones.
func (m *match) wrong(among []*delivery) string {
	for i, v := range m.values {
		if why := v.formed(each(among, func(d *delivery) any { return d.in[i].v })); why != "" {
			return fmt.Sprintf("%s is %s, %s", v.path, show(v.now), why)
		}
	}
	for i, v := range m.values { // last: of many values these are very many
		for _, w := range m.values[:i] {
			if v.constant() && w.constant() {
				continue // they are what they were
			}
			if r := relation(v.was[0], w.was[0]); r == relation(v.was[1], w.was[1]) && r != relation(v.now, w.now) {
				return fmt.Sprintf("%s and %s were otherwise related", w.path, v.path)
			}
		}
	}
	return m.left()
}

// left returns which part of a former value stands in the plan: the whole of one, also inside a word if it
// has three letters, or a word or number that both had. What only one of them had is not there because of it,
// since the other delivery has it too.
func (m *match) left() string {
	rest := m.rest.String()
	words, lower := extract.Words(rest), strings.ToLower(rest)
	for _, v := range m.values {
		if v.constant() {
			continue
		}
		both, now := extract.Words(word(v.was[1])), extract.Words(word(v.now))
		for p := range extract.Words(word(v.was[0])) {
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

// formed returns why the value at hand is not of the form that both former ones have, or "".
func (v *value) formed(former []any) string {
	plain := func(v any) string { return digits.ReplaceAllString(word(v), "0") }
	lead := func(v any) any { return json.Number(digits.FindString(word(v))) } // it says most: a year, an amount
	other := func(w any) bool { return plain(w) != plain(v.now) }
	isWord := strings.Contains(v.path, "{")
	if isWord { // what was said in a third delivery may mean what was done there
		former = v.was
	}
	switch {
	case slices.Contains(former, v.now) && (!isWord || v.said || v.constant()):
	case !v.said:
		return "which no call says, and may be a condition"
	case isWord && !near(lead(v.now), each(slices.DeleteFunc(slices.Clone(v.was), other), lead)):
		return "which is new in more than its digits, or far from what was delivered"
	case typeOf(v.now) == "number" && !near(v.now, former):
		return "far from what was delivered"
	case typeOf(v.now) == "string" && !v.built(word(v.now), former):
		return "which has another form than before"
	}
	return ""
}

var digits, number = regexp.MustCompile(`\pN+`), regexp.MustCompile(`^(0|[1-9]\d*)(\.\d*[1-9])?$`)

// near accepts a number from two thirds of the smallest of the former ones to one and a half of the largest.
func near(now any, former []any) bool {
	f, ok := float(now)
	low, high := math.Inf(1), math.Inf(-1)
	for _, was := range former {
		g, ok2 := float(was)
		low, high, ok = min(low, g), max(high, g), ok && ok2
	}
	return ok && (low <= f && f <= high || 2*f <= 3*high && 3*f >= 2*low)
}

// built reports whether a string is built as both deliveries were. It brings no sign of a shell, a query or a
// path that neither had as often, or had at that end; a single sign that names are made of ("d.oneil",
// "lena-k", "a_b") is none. It begins and ends with what both begin and end with, has as many digits in each
// place where all are built alike, and is hardly longer than any before: a list or another target would be.
func (v *value) built(s string, former []any) bool {
	x, y, now := runs(word(v.was[0])), runs(word(v.was[1])), runs(s)
	alike := kinds(x) == kinds(now) && kinds(y) == kinds(now)
	for i, r := range now {
		often := func(in []string) int {
			return len(slices.DeleteFunc(slices.Clone(in), func(o string) bool { return o != r }))
		}
		kind := class(first(r))
		strange := kind == sign && r != "." && r != "-" && r != "_" && often(now) > max(often(x), often(y))
		sized := kind != digit || !alike || len(r) >= min(len(x[i]), len(y[i])) && len(r) <= max(len(x[i]), len(y[i]))
		if strange || !sized {
			return false
		}
	}
	short := func(f any) bool { return 5*utf8.RuneCountInString(s) <= 6*utf8.RuneCountInString(word(f)) }
	begins := common(x, now) >= common(x, y)
	for _, r := range [][]string{x, y, now} {
		slices.Reverse(r)
	}
	return begins && common(x, now) >= common(x, y) && slices.ContainsFunc(former, short)
}

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
	for n < min(len(a), len(b)) && (a[n] == b[n] || class(first(a[n])) == digit && class(first(b[n])) == digit) {
		n++
	}
	return n
}

// relation says how two values relate: equal or not, and the order of numbers and of strings with digits that
// are built alike.
func relation(v, w any) string {
	x, y := word(v), word(w)
	f, number := float(v)
	g, number2 := float(w)
	switch {
	case x == y:
		return "equal"
	case number && number2:
		return fmt.Sprint(f < g)
	case holds(x, y) || holds(y, x):
		return "inside"
	case len(x) == len(y) && strings.ContainsFunc(x, unicode.IsNumber) && kinds(runs(x)) == kinds(runs(y)):
		return fmt.Sprint(x < y)
	}
	return "other"
}

func float(v any) (float64, bool) {
	n, _ := v.(json.Number)
	f, err := n.Float64()
	return f, err == nil
}
