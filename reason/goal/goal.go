package goal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Goal is a condition that should always hold.
type Goal struct {
	// ID is unique in a set, at most 256 bytes without control characters. Required.
	ID string `yaml:"id"`
	// Description is for people, and for the worker that is to mend it, at most 8 KiB.
	Description string `yaml:"description"`
	Severity    string `yaml:"severity"` // low, medium, high or critical; "": medium
	// Disabled: the goal is neither met nor violated, whatever the world is like.
	Disabled bool `yaml:"-"`
	// ActOnUnknown lets a [Controller] act on the goal also while it is unknown,
	// once a reading of its domain was tried. It is for goals whose reading is
	// itself to be restored. The cooldown then follows every dispatch, since
	// nothing can be read anew.
	ActOnUnknown bool `yaml:"act_on_unknown"`
	Condition    `yaml:",inline"`
	// MaxAge is how old the reading may be. 0: as old as the world allows. A
	// reading that is too old for the world is unknown whatever MaxAge says.
	MaxAge time.Duration `yaml:"max_age"`
	// Cooldown is how long the goal is left alone after it was acted on with
	// success. 0: Options.Cooldown.
	Cooldown time.Duration `yaml:"cooldown"`
}

// Verdict is how a goal stands.
type Verdict struct {
	Goal     string // its ID
	Status   Status
	Severity string // of the goal, medium if it has none
	// Actual is the value that was looked at as JSON (nil, bool, float64, string,
	// []any, map[string]any; json.Number for integers from 2^53), or the shares in
	// it if those are what counts. Nil: there is none. It is the caller's.
	Actual any
	At     time.Time // when the value was read or reported; zero: there is none
	// Expected says that the value, or a part of it, is not read but assumed: it is
	// the effect of a dispatch that is under way, or has just succeeded.
	Expected bool
	Reason   string // why, in words
}

const (
	maxDescription = 8 << 10 // bytes
	maxGoals       = 1 << 12 // of a set
)

// severities are in the order of their rank.
var severities = []string{"low", "medium", "high", "critical"}

func (g *Goal) severity() string { return cmp.Or(g.Severity, "medium") }

// place returns the value that the goal is about. A goal whose selector cannot be
// read is about nothing.
func (g *Goal) place() place {
	p, _ := parseSelector(g.Selector)
	return p
}

func (g *Goal) check() flaws {
	var f flaws
	f.when(g.ID == "", "id", "a goal has no id")
	if err := key.CheckID("id", g.ID); err != nil {
		f.when(true, "id", "%v", err)
	}
	n := len(g.Description)
	f.when(n > maxDescription, "description", "description: %d is over the limit of %d", n, maxDescription)
	f.when(!slices.Contains(severities, g.severity()), "severity", "unknown severity %q", short(g.Severity))
	f.when(g.MaxAge < 0, "max_age", "max_age is negative")
	f.when(g.Cooldown < 0, "cooldown", "cooldown is negative")
	g.Condition.check(&f)
	return f
}

// Evaluate says whether the goal is met by what is known of a world at a time,
// which should not be before what was last done to the world. What cannot be known
// is unknown, never violated. A goal that is disabled, or whose selector cannot be
// read, is unknown too.
func (g Goal) Evaluate(w *World, at time.Time) Verdict { return g.evaluate(w.state(at)) }

func (g *Goal) evaluate(s state) Verdict {
	v := Verdict{Goal: g.ID, Status: Unknown, Severity: g.severity()}
	if g.Disabled {
		v.Reason = "the goal is disabled"
		return v
	}
	p, err := parseSelector(g.Selector)
	if err != nil {
		v.Reason = "unknown: " + err.Error()
		return v
	}
	r, err := s.read(p, g.MaxAge)
	if err != nil {
		v.Reason = err.Error()
		return v
	}
	v.At, v.Expected = r.at, r.expected
	v.Status, v.Actual = g.judge(r.value)
	v.Actual = clone(v.Actual)
	switch shown := short(encoded(v.Actual)); v.Status {
	case Met:
		v.Reason = fmt.Sprintf("%s is %s: %s", g.Selector, g.words(), shown)
	case Violated:
		v.Reason = fmt.Sprintf("%s is %s, not %s", g.Selector, shown, g.words())
	default:
		v.Reason = g.Selector + " is null, which is no reading"
	}
	if v.Expected {
		v.Reason += " (expected, not read)"
	}
	return v
}

// clone returns a goal that shares nothing with g.
func (g Goal) clone() Goal {
	for _, f := range []**float64{&g.Min, &g.Max, &g.Tolerance} {
		if *f != nil {
			*f = new(**f)
		}
	}
	if v, err := plain("expected value", g.Expected); err == nil {
		g.Expected = v
	}
	g.Distribution = maps.Clone(g.Distribution)
	return g
}

// Goals is a set of at most 4,096 goals, which can be replaced while it is in use:
// readers see the old set or the new one, and never wait. What cannot be used
// replaces nothing. The zero Goals is an empty set.
type Goals struct {
	mu  sync.Mutex // held by Load
	set atomic.Pointer[goalSet]
}

// goalSet never changes.
type goalSet struct {
	goals []Goal
	sum   [32]byte // of the content that the goals came from
}

// NewGoals returns a set of goals, or an error that says all that is wrong with
// them, ids used twice included.
func NewGoals(goals ...Goal) (*Goals, error) {
	if len(goals) > maxGoals {
		return nil, &store.LimitError{Field: "goals", Limit: maxGoals, Got: len(goals)}
	}
	var errs []error
	seen := make(map[string]bool)
	for i := range goals {
		f := goals[i].check()
		f.when(seen[goals[i].ID], "id", "the id is that of another goal")
		for _, x := range f {
			errs = append(errs, fmt.Errorf("goal %q: %s", short(goals[i].ID), x.problem))
		}
		seen[goals[i].ID] = true
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	gs := new(Goals)
	gs.set.Store(&goalSet{goals: clones(goals)})
	return gs, nil
}

// All returns the goals in their order. The slice is the caller's.
func (g *Goals) All() []Goal { return clones(g.current().goals) }

func (g *Goals) current() *goalSet {
	if s := g.set.Load(); s != nil {
		return s
	}
	return &goalSet{}
}

func clones(goals []Goal) []Goal {
	out := make([]Goal, len(goals))
	for i := range goals {
		out[i] = goals[i].clone()
	}
	return out
}

// Condition says what a value of the world should be, in one of three ways.
//
// A threshold wants a number within bounds, both included. A value that is no
// number violates it. Integers above 2^53 are rounded.
//
// An invariant wants a value that compares with what is expected. Values of
// different types are never equal; numbers are equal by value, lists and objects
// part by part.
//
// A distribution wants a list, or an object, whose values are spread in given
// shares, or all match a pattern. The share of a text is how often it is in the
// list, or among the object's values, by their number. In an object of numbers it
// is the number under that key by the sum of all. A share that is further from the
// wanted one than the tolerance violates the condition, and so do no values at all,
// and what is neither list nor object. Values without a wanted share do not matter.
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
	Expected     any                `yaml:"-"`
	Distribution map[string]float64 `yaml:"distribution"` // the wanted shares, in [0,1]; nil: any
	Tolerance    *float64           `yaml:"tolerance"`    // in [0,1]; nil: 0.1
	Pattern      string             `yaml:"pattern"`      // an RE2 expression that each value as text must match
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

// operators are the words for each operator, before the value that it expects.
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

func (c *Condition) check(f *flaws) {
	if _, err := parseSelector(c.Selector); err != nil {
		f.when(true, "selector", "%v", err)
	}
	kind := c.kind()
	alien := func(used bool, field, of string) {
		f.when(used && kind != of, field, "%s does not belong to a %s", field, short(kind))
	}
	f.when(kind != "threshold" && kind != "distribution" && kind != "invariant", "type", "unknown type %q", short(c.Type))
	alien(c.Min != nil, "min", "threshold")
	alien(c.Max != nil, "max", "threshold")
	alien(c.Operator != "", "operator", "invariant")
	alien(c.Expected != nil, "expected", "invariant")
	alien(c.Distribution != nil, "distribution", "distribution")
	alien(c.Tolerance != nil, "tolerance", "distribution")
	alien(c.Pattern != "", "pattern", "distribution")
	for i, b := range []*float64{c.Min, c.Max} {
		name := []string{"min", "max"}[i]
		f.when(b != nil && (math.IsNaN(*b) || math.IsInf(*b, 0)), name, "%s is not a finite number", name)
	}
	if c.Min != nil && c.Max != nil {
		f.when(*c.Min > *c.Max, "min", "min %v is above max %v", *c.Min, *c.Max)
	}
	f.when(operators[c.Operator] == "", "operator", "unknown operator %q", c.Operator)
	f.when(c.Expected != nil && !c.compares(), "expected", "expected needs an operator that compares, such as eq")
	if c.compares() {
		v, err := plain("expected value", c.Expected)
		_, list := v.([]any)
		f.when(err != nil, "expected", "%v", err)
		f.when(err == nil && !list && c.Operator != "eq" && c.Operator != "neq", "expected",
			"operator %s needs a list of expected values", c.Operator)
	}
	n := len(c.Distribution)
	f.when(n > maxShares, "distribution", "%d shares are over the limit of %d", n, maxShares)
	for _, k := range slices.Sorted(maps.Keys(c.Distribution)) {
		s := c.Distribution[k]
		f.when(!(s >= 0 && s <= 1), "distribution", "the share of %q is %v, not from 0 to 1", short(k), s)
	}
	f.when(!(c.tolerance() >= 0 && c.tolerance() <= 1), "tolerance", "tolerance is %v, not from 0 to 1", c.tolerance())
	f.when(len(c.Pattern) > maxPattern, "pattern", "pattern: %d is over the limit of %d", len(c.Pattern), maxPattern)
	if _, err := regexp.Compile(c.Pattern); err != nil {
		f.when(len(c.Pattern) <= maxPattern, "pattern", "bad pattern: %v", err)
	}
}

// judge looks at a value that is there. It returns what the condition was about as
// actual.
func (c *Condition) judge(v any) (s Status, actual any) {
	met, actual := false, v
	switch kind := c.kind(); {
	case v == nil && kind != "invariant":
		return Unknown, nil
	case kind == "threshold":
		f, ok := float(v)
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
func (c *Condition) comparesWith(v any) bool {
	want, err := plain("expected value", c.Expected)
	list, isList := want.([]any)
	equal := func(e any) bool { return reflect.DeepEqual(v, e) }
	switch c.Operator {
	case "", "truthy":
		return truthy(v)
	case "falsy":
		return !truthy(v)
	case "eq":
		return err == nil && equal(want)
	case "neq":
		return err == nil && !equal(want)
	case "in":
		return slices.ContainsFunc(list, equal)
	case "not_in":
		return isList && !slices.ContainsFunc(list, equal)
	}
	return false
}

// spread reports whether a value is spread as a distribution wants it, and the
// shares in it if those count.
func (c *Condition) spread(v any) (met bool, actual any) {
	var values []any
	m, isMap := v.(map[string]any)
	list, isList := v.([]any)
	if values = list; isMap {
		values = slices.Collect(maps.Values(m))
	}
	texts := make([]string, len(values))
	for i, e := range values {
		switch e := e.(type) {
		case string:
			texts[i] = e
		case json.Number:
			texts[i] = e.String()
		default:
			texts[i] = encoded(e)
		}
	}
	re, err := regexp.Compile(c.Pattern)
	match := err == nil && !slices.ContainsFunc(texts, func(s string) bool { return !re.MatchString(s) })
	if c.Distribution == nil {
		return match && (isMap || isList || c.Pattern == ""), v
	}
	shares := sharesOf(m, texts)
	if shares == nil || !match {
		return false, v
	}
	out := make(map[string]any, len(shares))
	for k, s := range shares {
		out[k] = s
	}
	for k, want := range c.Distribution {
		match = match && math.Abs(shares[k]-want) <= c.tolerance()+rounding
	}
	return match, out
}

// sharesOf returns the shares of an object's numbers, or else of the texts; nil if
// there are none.
func sharesOf(m map[string]any, texts []string) map[string]float64 {
	weights, sum := make(map[string]float64), 0.0
	for _, k := range slices.Sorted(maps.Keys(m)) { // in order: sums of floats depend on it
		if f, ok := float(m[k]); ok && f >= 0 {
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
	for k := range weights {
		weights[k] /= sum
	}
	if len(weights) == 0 {
		return nil
	}
	return weights
}

// String says the condition in words, such as "domains.ci.data.failing is at most
// 0".
func (c Condition) String() string { return c.Selector + " is " + c.words() }

// words says what is wanted of the value.
func (c *Condition) words() string {
	num := func(f *float64) string { return strconv.FormatFloat(*f, 'g', -1, 64) }
	kind := c.kind()
	switch {
	case kind == "distribution":
		return c.spreadWords()
	case kind != "threshold" && c.compares():
		return operators[c.Operator] + short(encoded(c.Expected))
	case kind != "threshold":
		return operators[c.Operator]
	case c.Min == nil && c.Max == nil:
		return "a number"
	case c.Min == nil:
		return "at most " + num(c.Max)
	case c.Max == nil:
		return "at least " + num(c.Min)
	case *c.Min == *c.Max:
		return num(c.Min)
	}
	return "from " + num(c.Min) + " to " + num(c.Max)
}

func (c *Condition) spreadWords() string {
	var shares, out []string
	for _, k := range slices.Sorted(maps.Keys(c.Distribution)) {
		shares = append(shares, fmt.Sprintf("%s %.4g %%", k, 100*c.Distribution[k]))
	}
	if c.Distribution != nil {
		out = append(out, fmt.Sprintf("spread as %s (± %.4g)", strings.Join(shares, ", "), 100*c.tolerance()))
	}
	if c.Pattern != "" {
		out = append(out, "all like "+strconv.Quote(c.Pattern))
	}
	if out == nil {
		return "anything"
	}
	return short(strings.Join(out, " and "))
}
