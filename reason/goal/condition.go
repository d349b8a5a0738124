package goal

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Condition says what a value of the world should be.
type Condition struct {
	Selector string // such as "domains.ci.data.failing"
	Test     Test   // nil: Invariant{}, the value is truthy
}

// Test is a [Threshold], an [Invariant] or a [Distribution].
type Test interface {
	// check returns what is wrong with the test.
	check() []flaw
	// eval looks at a value that is there. What it returns as actual is what
	// the test was about, and want says in words what it wanted.
	eval(v any) (met Status, actual any)
	// String says in words what is wanted of a value.
	String() string
}

// Threshold wants a number within bounds, both included. A value that is no
// number violates it; null is no reading, so that it is unknown. Integers
// above 2^53 are rounded.
type Threshold struct {
	Min, Max *float64 // nil: no bound
}

// Operator is how an [Invariant] compares.
type Operator string

// The operators. Null, false, zero and the empty string are falsy, all else is
// truthy. In and NotIn expect a list; In of anything else is violated, and so is
// NotIn.
const (
	Truthy Operator = "truthy" // also if the operator is ""
	Falsy  Operator = "falsy"
	Eq     Operator = "eq"
	Neq    Operator = "neq"
	In     Operator = "in"
	NotIn  Operator = "not_in"
)

// Invariant wants a value that compares with what is expected. Values of
// different types are never equal; numbers are by value, lists and objects part
// by part.
type Invariant struct {
	Operator Operator
	Expected any // for Eq and Neq any value, for In and NotIn a list of them; must encode as JSON
}

// Distribution wants a list, or an object, whose values are spread in given
// shares, or all match a pattern. The share of a text is how often it is in the
// list, or the object's values, by their number; of an object whose values are
// all numbers, it is the number under that key by the sum of all.
//
// A share violates it that is further from the wanted one than the tolerance.
// Values without a wanted share do not matter. No values at all violate Shares,
// and so does what is neither list nor object. Null is unknown.
type Distribution struct {
	Shares    map[string]float64 // in [0,1]; nil: any
	Tolerance *float64           // in [0,1]; nil: 0.1
	Pattern   string             // an RE2 expression that each value as text must match; "": any
}

const (
	defaultTolerance = 0.1
	maxPattern       = 1 << 10 // bytes
	maxShares        = 1 << 8
	// rounding is how far a share may be off by the arithmetic alone.
	rounding = 1e-9
)

// String says the condition in words, such as "domains.ci.data.failing is at
// most 0".
func (c Condition) String() string { return c.Selector + " is " + c.test().String() }

// Effect returns the value that the condition is about, as that which an
// action has to change; the zero Effect if the selector cannot be read.
func (c Condition) Effect() reason.Effect {
	p, err := parseSelector(c.Selector)
	if err != nil {
		return reason.Effect{}
	}
	return p.effect()
}

func (c Condition) test() Test {
	if c.Test == nil {
		return Invariant{}
	}
	return c.Test
}

// Check returns an error that says all that is wrong with the condition, or
// nil.
func (c Condition) Check() error {
	var errs []error
	for _, f := range c.flaws() {
		errs = append(errs, errors.New(f.problem))
	}
	return errors.Join(errs...)
}

// flaw is what is wrong with a field, by its name in YAML.
type flaw struct{ field, problem string }

func limitFlaw(field, what string, limit, got int) flaw {
	return flaw{field, (&store.LimitError{Field: what, Limit: limit, Got: got}).Error()}
}

func (c Condition) flaws() []flaw {
	var out []flaw
	if _, err := parseSelector(c.Selector); err != nil {
		out = append(out, flaw{"selector", err.Error()})
	}
	return append(out, c.test().check()...)
}

func (t Threshold) check() []flaw {
	var out []flaw
	for _, b := range []struct {
		name  string
		bound *float64
	}{{"min", t.Min}, {"max", t.Max}} {
		if b.bound != nil && (math.IsNaN(*b.bound) || math.IsInf(*b.bound, 0)) {
			out = append(out, flaw{b.name, b.name + " is not a finite number"})
		}
	}
	if t.Min != nil && t.Max != nil && *t.Min > *t.Max {
		out = append(out, flaw{"min", fmt.Sprintf("min %v is above max %v", *t.Min, *t.Max)})
	}
	return out
}

func (t Threshold) eval(v any) (Status, any) {
	f, ok := float(v)
	switch {
	case v == nil:
		return Unknown, nil
	case !ok, t.Min != nil && f < *t.Min, t.Max != nil && f > *t.Max:
		return Violated, v
	default:
		return Met, v
	}
}

// String says the bounds in words.
func (t Threshold) String() string {
	num := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	switch {
	case t.Min != nil && t.Max != nil && *t.Min == *t.Max:
		return num(*t.Min)
	case t.Min != nil && t.Max != nil:
		return "from " + num(*t.Min) + " to " + num(*t.Max)
	case t.Min != nil:
		return "at least " + num(*t.Min)
	case t.Max != nil:
		return "at most " + num(*t.Max)
	default:
		return "a number"
	}
}

func (i Invariant) check() []flaw {
	switch i.Operator {
	case "", Truthy, Falsy:
		return nil
	case Eq, Neq, In, NotIn:
	default:
		return []flaw{{"operator", fmt.Sprintf("unknown operator %q", i.Operator)}}
	}
	v, err := plain("expected value", i.Expected)
	if err != nil {
		return []flaw{{"expected", err.Error()}}
	}
	if _, list := v.([]any); !list && (i.Operator == In || i.Operator == NotIn) {
		return []flaw{{"expected", fmt.Sprintf("operator %s needs a list of expected values", i.Operator)}}
	}
	return nil
}

func (i Invariant) eval(v any) (Status, any) {
	met := false
	switch i.Operator {
	case "", Truthy:
		met = truthy(v)
	case Falsy:
		met = !truthy(v)
	default:
		met = i.compare(v)
	}
	if met {
		return Met, v
	}
	return Violated, v
}

func (i Invariant) compare(v any) bool {
	want, err := simple(i.Expected)
	if err != nil {
		return false
	}
	list, isList := want.([]any)
	has := func(e any) bool { return equal(v, e) }
	switch i.Operator {
	case Eq:
		return equal(v, want)
	case Neq:
		return !equal(v, want)
	case In:
		return isList && slices.ContainsFunc(list, has)
	case NotIn:
		return isList && !slices.ContainsFunc(list, has)
	default:
		return false
	}
}

// simple is plain without the detour for what is plain already.
func simple(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string:
		return v, nil
	case float64:
		return v + 0, nil
	default:
		return plain("expected value", v)
	}
}

// String says the comparison in words.
func (i Invariant) String() string {
	switch i.Operator {
	case "", Truthy:
		return "truthy"
	case Falsy:
		return "falsy"
	case Eq:
		return "equal to " + show(i.Expected)
	case Neq:
		return "other than " + show(i.Expected)
	case In:
		return "one of " + show(i.Expected)
	case NotIn:
		return "none of " + show(i.Expected)
	default:
		return string(i.Operator)
	}
}

func (d Distribution) check() []flaw {
	var out []flaw
	if n := len(d.Shares); n > maxShares {
		out = append(out, limitFlaw("distribution", "shares", maxShares, n))
	}
	for _, k := range slices.Sorted(maps.Keys(d.Shares)) {
		if s := d.Shares[k]; !(s >= 0 && s <= 1) {
			out = append(out, flaw{"distribution", fmt.Sprintf("the share of %q is %v, not from 0 to 1", short(k), s)})
		}
	}
	if t := d.Tolerance; t != nil && !(*t >= 0 && *t <= 1) {
		out = append(out, flaw{"tolerance", fmt.Sprintf("tolerance is %v, not from 0 to 1", *t)})
	}
	if n := len(d.Pattern); n > maxPattern {
		return append(out, limitFlaw("pattern", "pattern", maxPattern, n))
	}
	if _, err := regexp.Compile(d.Pattern); err != nil {
		out = append(out, flaw{"pattern", "bad pattern: " + err.Error()})
	}
	return out
}

func (d Distribution) tolerance() float64 {
	if d.Tolerance == nil {
		return defaultTolerance
	}
	return *d.Tolerance
}

func (d Distribution) eval(v any) (Status, any) {
	if v == nil {
		return Unknown, nil
	}
	if d.Pattern != "" && !d.matches(v) {
		return Violated, v
	}
	if d.Shares == nil {
		return Met, v
	}
	shares := sharesOf(v)
	if shares == nil {
		return Violated, v
	}
	actual := make(map[string]any, len(shares))
	for k, s := range shares {
		actual[k] = s
	}
	for k, want := range d.Shares {
		if math.Abs(shares[k]-want) > d.tolerance()+rounding {
			return Violated, actual
		}
	}
	return Met, actual
}

func (d Distribution) matches(v any) bool {
	re, err := regexp.Compile(d.Pattern)
	texts, ok := textsOf(v)
	return err == nil && ok && !slices.ContainsFunc(texts, func(s string) bool { return !re.MatchString(s) })
}

// textsOf returns the values of a list or an object as texts.
func textsOf(v any) ([]string, bool) {
	var out []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, text(e))
		}
	case map[string]any:
		for _, e := range v {
			out = append(out, text(e))
		}
	default:
		return nil, false
	}
	return out, true
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	raw, err := json.Marshal(v)
	if err != nil { // a plain value always encodes
		panic(err)
	}
	return string(raw)
}

// sharesOf returns the shares of a list or an object; nil if there are none.
func sharesOf(v any) map[string]float64 {
	if m, ok := v.(map[string]any); ok {
		if weighed := weights(m); weighed != nil {
			return weighed
		}
	}
	texts, _ := textsOf(v) // none of what has no values
	if len(texts) == 0 {
		return nil
	}
	counts := make(map[string]float64)
	for _, s := range texts {
		counts[s]++
	}
	for k := range counts {
		counts[k] /= float64(len(texts))
	}
	return counts
}

// weights returns the shares in an object whose values are all numbers, or
// nil.
func weights(m map[string]any) map[string]float64 {
	out := make(map[string]float64, len(m))
	sum := 0.0
	for _, k := range slices.Sorted(maps.Keys(m)) { // in order: sums of floats depend on it
		f, ok := float(m[k])
		if !ok || f < 0 {
			return nil
		}
		out[k] = f
		sum += f
	}
	if !(sum > 0 && sum <= math.MaxFloat64) {
		return nil
	}
	for k := range out {
		out[k] /= sum
	}
	return out
}

// String says the spread in words.
func (d Distribution) String() string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(d.Shares)) {
		parts = append(parts, fmt.Sprintf("%s %.4g %%", k, 100*d.Shares[k]))
	}
	var out []string
	if d.Shares != nil {
		out = append(out, fmt.Sprintf("spread as %s (± %.4g)", strings.Join(parts, ", "), 100*d.tolerance()))
	}
	if d.Pattern != "" {
		out = append(out, "all like "+strconv.Quote(d.Pattern))
	}
	if out == nil {
		return "anything"
	}
	return short(strings.Join(out, " and "))
}
