package learn

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/next/reason"
)

// This file has the rule by which a plan runs again. Two deliveries of one plan are compared with the case at hand:
// what was equal in both is a constant, what differed is a parameter, and all that the two have in common must hold
// again. Nothing is decided by what words mean.

// match is the comparison of two deliveries with the case at hand.
type match struct {
	values []*value
	rest   strings.Builder // the plan without its parameters
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
	m := &match{}
	for i, l := range a.in {
		v := &value{path: l.path, a: l.v, b: b.in[i].v, now: now.in[i].v}
		if v.constant() && v.now != v.a {
			return nil, fmt.Sprintf("%s is %s, and was another in both deliveries", v.path, show(v.now))
		}
		m.values = append(m.values, v)
	}
	for i, call := range a.Calls {
		other := b.Calls[i]
		bound := reason.PlanCall{Name: call.Name, Text: call.Text}
		m.rest.WriteString(call.Name + " ")
		if bound.Inputs, why = m.inputs(call.Name, &a.made[i], &b.made[i]); why != "" {
			return nil, why
		}
		if call.ResultDigest == other.ResultDigest {
			bound.ResultDigest = call.ResultDigest
		}
		calls = append(calls, bound)
	}
	if why = m.wrong(among); why == "" {
		m.prose(calls, b.Calls)
	}
	return calls, why
}

// inputs binds the inputs of a call to the values at hand.
func (m *match) inputs(name string, a, b *made) (json.RawMessage, string) {
	if !slices.EqualFunc(a.in, b.in, func(l, o leaf) bool { return l.path == o.path }) {
		return nil, "the two plans have other inputs for " + name
	}
	bound := make(map[string]any, len(a.in))
	for i, l := range a.in {
		m.rest.WriteString(l.path + " ")
		out, why := m.bind(l.v, b.in[i].v)
		if why != "" {
			return nil, fmt.Sprintf("%s of %s %s", l.path, name, why)
		}
		bound[l.path] = out
	}
	return encode(rewrite("", a.tree, func(path string, _ any) any { return bound[path] })), ""
}

// bind returns what stands in a call for the case at hand, where it was a and b.
func (m *match) bind(a, b any) (out any, why string) {
	for _, v := range m.values {
		if !v.constant() && v.a == a && v.b == b {
			m.say(v)
			return v.now, ""
		}
	}
	x, isText := a.(string)
	y, isText2 := b.(string)
	switch {
	case a == b:
		m.rest.WriteString(word(a) + " ")
		return a, ""
	case isText && isText2:
		return m.text(x, y)
	}
	return nil, "differed, and no input says it"
}

// say marks a parameter, and those that differed in the same way, as said by a call.
func (m *match) say(of *value) {
	for _, v := range m.values {
		v.said = v.said || v.a == of.a && v.b == of.b
	}
}

// text binds the parameters in a string: they stand there as whole tokens, in one reading, and bring no new sign.
func (m *match) text(a, b string) (out, why string) {
	var made, rest strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		var fits []*value
		for _, v := range m.values {
			if !v.constant() && stands(a, i, word(v.a)) && stands(b, j, word(v.b)) {
				fits = append(fits, v)
			}
		}
		fits = slices.CompactFunc(fits, func(v, w *value) bool { return v.a == w.a && v.b == w.b && v.now == w.now })
		switch {
		case len(fits) > 1:
			return "", fmt.Sprintf("has two readings: %s and %s", fits[0].path, fits[1].path)
		case len(fits) == 1:
			v := fits[0]
			if s := v.strange(); s != "" {
				return "", fmt.Sprintf("would say %s, whose %q is new there", v.path, s)
			}
			m.say(v)
			made.WriteString(word(v.now))
			rest.WriteByte(' ')
			i, j = i+len(word(v.a)), j+len(word(v.b))
		case i == len(a) || j == len(b) || a[i] != b[j]:
			return "", "differed, and no input says it"
		default:
			made.WriteByte(a[i])
			rest.WriteByte(a[i])
			i, j = i+1, j+1
		}
	}
	m.rest.WriteString(rest.String() + " ")
	return made.String(), ""
}

// prose binds the words of the tasks, after all else. Words that are not the same but for parameters, or that would
// keep something of a former case, are dropped; and so are all others then.
func (m *match) prose(calls, others []reason.PlanCall) {
	why := ""
	for i := range calls {
		if out, no := m.bind(calls[i].Text, others[i].Text); no == "" {
			calls[i].Text, _ = out.(string)
		} else {
			why = no
		}
	}
	if why == "" {
		why = m.left()
	}
	for i := range calls {
		if why != "" {
			calls[i].Text = ""
		}
	}
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
			return fmt.Sprintf("%s is %s, %s", v.path, show(v.now), why)
		}
	}
	return m.left()
}

// left returns which part of a former value stands in the plan: the whole of one, also inside a word if it has three
// letters, or a word or number that both had. What only one of them had is not there because of it, since the other delivery has it too.
func (m *match) left() string {
	rest := m.rest.String()
	words := pieces(rest)
	for _, v := range m.values {
		if v.constant() {
			continue
		}
		x, y, now := pieces(word(v.a)), pieces(word(v.b)), pieces(word(v.now))
		for p := range x {
			if words[p] && y[p] && !now[p] {
				return "the plan keeps a part of the former values of " + v.path
			}
		}
		for _, was := range []string{word(v.a), word(v.b)} {
			inside := utf8.RuneCountInString(was) >= 3 && strings.Contains(strings.ToLower(rest), strings.ToLower(was))
			if was != word(v.now) && (inside || holds(rest, was)) {
				return "the plan keeps a former value of " + v.path
			}
		}
	}
	return ""
}

// formed returns why the value at hand is not of the form that both former ones have, or "".
func (v *value) formed(former []any) string {
	if slices.Contains(former, v.now) {
		return ""
	}
	if !v.said {
		return "which is new, and no call says it"
	}
	switch now := v.now.(type) {
	case json.Number:
		if !near(now, former) {
			return "far from what was delivered"
		}
	case string:
		longest := 0
		for _, f := range former {
			longest = max(longest, utf8.RuneCountInString(word(f)))
		}
		if 5*utf8.RuneCountInString(now) > 6*longest { // a list, a target of another kind, an injection
			return "longer than any before"
		}
		if strings.TrimSpace(now) == "" || !v.runsFit() {
			return "which has another form than before"
		}
	}
	return ""
}

// near accepts a number that lies between the former ones; or that has as many digits as one of them and their sign,
// and is at most twice the largest and at least half the smallest.
func near(now json.Number, former []any) bool {
	f, ok := float(now)
	low, high, digits := math.Inf(1), math.Inf(-1), false
	for _, was := range former {
		g, ok2 := float(was)
		low, high, ok = min(low, g), max(high, g), ok && ok2
		digits = digits || whole(was) == whole(now)
	}
	if low < 0 && high < 0 {
		f, low, high = -f, -high, -low
	}
	between := low <= f && f <= high
	return ok && (between || digits && low >= 0 && f > 0 && f <= 2*high && 2*f >= low)
}

// runsFit reports whether a string begins and ends with what both former ones began and ended with, is built like
// them where they are built alike, and then has as many digits in each place.
func (v *value) runsFit() bool {
	x, y, now := runs(word(v.a)), runs(word(v.b)), runs(word(v.now))
	if len(x) == len(y) && common(x, y) == len(x) && common(x, now) < max(len(x), len(now)) {
		return false
	}
	for i := range now {
		if n := len(now[i]); class(first(now[i])) == digit && kinds(x) == kinds(now) && kinds(y) == kinds(now) &&
			(n < min(len(x[i]), len(y[i])) || n > max(len(x[i]), len(y[i]))) {
			return false
		}
	}
	for range 2 {
		if common(x, now) < common(x, y) {
			return false
		}
		slices.Reverse(x)
		slices.Reverse(y)
		slices.Reverse(now)
	}
	return true
}

// strange returns a sign that the value at hand has more often than each of the former ones, or at another end. A
// single sign between two letters or digits that names are made of ("d.oneil", "lena-k", "a_b") is none.
func (v *value) strange() string {
	count := func(v any, r string) int {
		return len(slices.DeleteFunc(runs(word(v)), func(s string) bool { return s != r }))
	}
	for _, r := range runs(word(v.now)) {
		if class(first(r)) == sign && r != "." && r != "-" && r != "_" && count(v.now, r) > max(count(v.a, r), count(v.b, r)) {
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
	case len(x) == len(y) && strings.ContainsFunc(x, unicode.IsNumber) && kinds(runs(x)) == kinds(runs(y)):
		return fmt.Sprint(x < y)
	}
	return "other"
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

// float is a number's value. One with an exponent has none: its digits do not say how large it is.
func float(v any) (float64, bool) {
	n, _ := v.(json.Number)
	f, err := n.Float64()
	return f, err == nil && !strings.ContainsAny(n.String(), "eE")
}

// whole counts the digits before a number's point.
func whole(v any) int {
	s, _, _ := strings.Cut(strings.TrimPrefix(word(v), "-"), ".")
	return len(s)
}
