package goal

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Condition says what a value of the world should be, in one of three ways.
//
// A threshold wants a number within bounds, both included. A value that is no
// number violates it.
//
// An invariant wants a value that compares with what is expected. Values of
// different types are never equal; numbers are equal by value, lists and objects
// part by part.
//
// A distribution wants a list, or an object, whose values are spread in given
// shares, or all match a pattern. The share of a text is how often it is in the
// list, or among the object's values, by their number. In an object of numbers it
// is the number under that key by the sum of all. A share that is further from the
// wanted one than the tolerance violates the condition. So do no values at all, and
// a value that is neither list nor object. Values without a wanted share do not
// matter.
//
// Null is unknown to a threshold and a distribution.
type Condition struct {
	Selector string `yaml:"selector"` // names the value, such as "domains.ci.data.failing"
	// Type is threshold, invariant or distribution. "": the fields say it, and
	// without any it is an invariant.
	Type string   `yaml:"type"`
	Min  *float64 `yaml:"min"` // of a threshold; nil: no bound
	Max  *float64 `yaml:"max"`
	// Operator of an invariant is truthy, falsy, eq, neq, in or not_in. "": truthy.
	// Null, false, zero and "" are falsy, all else is truthy.
	Operator string `yaml:"operator"`
	// Expected is any value that encodes as JSON for eq and neq, and a list of such
	// values for in and not_in.
	Expected any `yaml:"-"`
	// Distribution are the wanted shares, in [0,1], at most 256. Nil: any.
	Distribution map[string]float64 `yaml:"distribution"`
	Tolerance    *float64           `yaml:"tolerance"` // in [0,1]; nil: 0.1
	// Pattern is an RE2 expression that each value as text must match, at most 1 KiB.
	Pattern string `yaml:"pattern"`
}

// Status is what is known about a condition.
type Status string

// The statuses of a condition.
const (
	Met      Status = "met"
	Violated Status = "violated"
	Unknown  Status = "unknown" // there is no reading to go by, or the goal is disabled
)

// Limits of a distribution.
const (
	maxPattern = 1 << 10 // bytes
	maxShares  = 1 << 8
	rounding   = 1e-9 // how far a share may be off by the arithmetic alone
)

// operators are the words for each operator. A space at the end is for the value that
// it compares with.
var operators = map[string]string{
	"": "truthy", "truthy": "truthy", "falsy": "falsy",
	"eq": "equal to ", "neq": "other than ", "in": "one of ", "not_in": "none of ",
}

// flaws are what is wrong with the fields of a goal, by their names in YAML.
type flaws []struct{ field, problem string }

func (f *flaws) when(wrong bool, field, format string, args ...any) {
	if wrong {
		*f = append(*f, struct{ field, problem string }{field, fmt.Sprintf(format, args...)})
	}
}

// kind returns Type, or what the fields say in its place.
func (c *Condition) kind() string {
	switch {
	case c.Type != "":
		return strings.ToLower(c.Type)
	case c.Min != nil || c.Max != nil:
		return "threshold"
	case c.Distribution != nil || c.Tolerance != nil || c.Pattern != "":
		return "distribution"
	}
	return "invariant"
}

// compares reports whether the operator needs an expected value.
func (c *Condition) compares() bool { return strings.HasSuffix(operators[c.Operator], " ") }

func (c *Condition) tolerance() float64 {
	if c.Tolerance == nil {
		return 0.1
	}
	return *c.Tolerance
}

// criterion is a Condition that was compiled: of a goal, or a precondition of an
// action. One with flaws judges by what could be used of it.
type criterion struct {
	Condition
	place   place
	bad     error          // of Selector; nil: place is valid
	want    any            // Expected, plain
	usable  bool           // want can be compared with
	pattern *regexp.Regexp // nil: it cannot be compiled
}

// compile checks the condition, and adds to f all that is wrong with it.
func (c Condition) compile(f *flaws) criterion {
	out, kind := criterion{Condition: c}, c.kind()
	out.place, out.bad = parseSelector(c.Selector)
	f.when(out.bad != nil, "selector", "%v", out.bad)
	f.when(kind != "threshold" && kind != "distribution" && kind != "invariant", "type", "unknown type %q", short(c.Type))
	for _, x := range []struct {
		field, of string
		used      bool
	}{
		{"min", "threshold", c.Min != nil},
		{"max", "threshold", c.Max != nil},
		{"operator", "invariant", c.Operator != ""},
		{"expected", "invariant", c.Expected != nil},
		{"distribution", "distribution", c.Distribution != nil},
		{"tolerance", "distribution", c.Tolerance != nil},
		{"pattern", "distribution", c.Pattern != ""},
	} {
		f.when(x.used && kind != x.of, x.field, "%s does not belong to a %s", x.field, short(kind))
	}
	notFinite := func(b *float64) bool { return b != nil && (math.IsNaN(*b) || math.IsInf(*b, 0)) }
	f.when(notFinite(c.Min), "min", "min is not a finite number")
	f.when(notFinite(c.Max), "max", "max is not a finite number")
	if c.Min != nil && c.Max != nil {
		f.when(*c.Min > *c.Max, "min", "min %v is above max %v", *c.Min, *c.Max)
	}
	out.compileExpected(f)
	n := len(c.Distribution)
	f.when(n > maxShares, "distribution", "%d shares are over the limit of %d", n, maxShares)
	for _, k := range slices.Sorted(maps.Keys(c.Distribution)) {
		s := c.Distribution[k]
		f.when(!(s >= 0 && s <= 1), "distribution", "the share of %q is %v, not from 0 to 1", short(k), s)
	}
	f.when(!(c.tolerance() >= 0 && c.tolerance() <= 1), "tolerance", "tolerance is %v, not from 0 to 1", c.tolerance())
	if n := len(c.Pattern); n > maxPattern {
		f.when(true, "pattern", "pattern: %d is over the limit of %d", n, maxPattern)
	} else {
		re, err := regexp.Compile(c.Pattern)
		f.when(err != nil, "pattern", "bad pattern: %v", err)
		out.pattern = re
	}
	return out
}

// compileExpected fills in what an invariant compares with.
func (c *criterion) compileExpected(f *flaws) {
	f.when(operators[c.Operator] == "", "operator", "unknown operator %q", c.Operator)
	if !c.compares() {
		f.when(c.Expected != nil, "expected", "expected needs an operator that compares, such as eq")
		return
	}
	var err error
	if c.want, err = plain("expected value", c.Expected); err != nil {
		f.when(true, "expected", "%v", err)
		return
	}
	_, isList := c.want.([]any)
	c.usable = isList || c.Operator == "eq" || c.Operator == "neq"
	f.when(!c.usable, "expected", "operator %s needs a list of expected values", c.Operator)
}

// judge looks at a plain value that is there. It returns what the condition was
// about as actual: the value, or the shares in it.
func (c *criterion) judge(v any) (s Status, actual any) {
	met, actual := false, v
	switch kind := c.kind(); {
	case v == nil && kind != "invariant":
		return Unknown, nil
	case kind == "threshold":
		f, ok := v.(float64)
		met = ok && (c.Min == nil || f >= *c.Min) && (c.Max == nil || f <= *c.Max)
	case kind == "distribution":
		met, actual = c.spread(v)
	default:
		met = c.comparesWith(v)
	}
	if met {
		return Met, actual
	}
	return Violated, actual
}

// comparesWith reports whether a value compares with what is expected.
func (c *criterion) comparesWith(v any) bool {
	truthy := v != nil && v != false && v != "" && v != 0.0
	equal := func(e any) bool { return reflect.DeepEqual(v, e) }
	list, _ := c.want.([]any)
	switch c.Operator {
	case "", "truthy":
		return truthy
	case "falsy":
		return !truthy
	case "eq":
		return c.usable && equal(c.want)
	case "neq":
		return c.usable && !equal(c.want)
	case "in":
		return slices.ContainsFunc(list, equal)
	case "not_in":
		return c.usable && !slices.ContainsFunc(list, equal)
	}
	return false
}

// spread reports whether a value is spread as a distribution wants it, and the
// shares in it if those count.
func (c *criterion) spread(v any) (met bool, actual any) {
	values, isList := v.([]any)
	m, isMap := v.(map[string]any)
	if isMap {
		values = slices.Collect(maps.Values(m))
	}
	texts := make([]string, len(values))
	match := c.pattern != nil
	for i, e := range values {
		text, isText := e.(string)
		if !isText {
			text = encoded(e)
		}
		texts[i], match = text, match && c.pattern.MatchString(text)
	}
	if c.Distribution == nil {
		return match && (isMap || isList || c.Pattern == ""), v
	}
	shares := sharesOf(m, texts)
	if len(shares) == 0 || !match {
		return false, v
	}
	for k, want := range c.Distribution {
		share, _ := shares[k].(float64)
		match = match && math.Abs(share-want) <= c.tolerance()+rounding
	}
	return match, shares
}

// sharesOf returns the share of each number in an object of numbers, or else of each
// text: by key i, x_i / Σ x.
func sharesOf(m map[string]any, texts []string) map[string]any {
	weights, sum := make(map[string]float64), 0.0
	for _, k := range slices.Sorted(maps.Keys(m)) { // in order: sums of floats depend on it
		if f, ok := m[k].(float64); ok && f >= 0 {
			weights[k] = f
			sum += f
		}
	}
	if len(weights) < len(m) || !(sum > 0 && sum <= math.MaxFloat64) {
		weights, sum = make(map[string]float64), float64(len(texts))
		for _, s := range texts {
			weights[s]++
		}
	}
	shares := make(map[string]any, len(weights))
	for k, w := range weights {
		shares[k] = w / sum
	}
	return shares
}

// String says the condition in words, such as "domains.ci.data.failing is at most
// 0".
func (c Condition) String() string { return c.Selector + " is " + c.words() }

// words says what is wanted of the value.
func (c *Condition) words() string {
	var out []string
	switch c.kind() {
	case "threshold":
		if c.Min != nil {
			out = append(out, fmt.Sprintf("at least %v", *c.Min))
		}
		if c.Max != nil {
			out = append(out, fmt.Sprintf("at most %v", *c.Max))
		}
		if out == nil {
			return "a number"
		}
	case "distribution":
		if c.Distribution != nil {
			out = append(out, fmt.Sprintf("spread as %s (± %v)", encoded(c.Distribution), c.tolerance()))
		}
		if c.Pattern != "" {
			out = append(out, fmt.Sprintf("all like %q", c.Pattern))
		}
		if out == nil {
			return "anything"
		}
	default:
		out = append(out, operators[c.Operator])
		if c.compares() {
			out[0] += encoded(c.Expected)
		}
	}
	return short(strings.Join(out, " and "))
}
