package goal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/reason/goal/internal/plain"
	"github.com/arc-learn/arc/reason/goal/internal/selector"
	"github.com/arc-learn/arc/reason/goal/internal/spread"
	"github.com/arc-learn/arc/store"
)

// Goal is a condition that should always hold.
type Goal struct {
	// ID is unique in a set, at most 256 bytes without control characters. Required.
	ID string `yaml:"id"`
	// Description is for people, and for the worker that is to mend it, at most 8 KiB.
	Description string `yaml:"description"`
	// Severity is low, medium, high or critical; "": medium. The most severe goals are
	// acted on first.
	Severity string `yaml:"severity"`
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
	// Goal is the ID of the goal.
	Goal   string
	Status Status
	// Severity is that of the goal, medium if it has none.
	Severity string
	// Actual is the value that was looked at as JSON (nil, bool, float64, string,
	// []any, map[string]any), or the shares in it if those are what counts. Nil:
	// there is none. It is a copy.
	Actual any
	// At is when the value was read, or reported of a domain that was never read. Zero:
	// it is unknown.
	At time.Time
	// Reason says why in words, with at most 200 bytes of the value.
	Reason string
}

const (
	maxDescription = 8 << 10 // bytes
	maxGoals       = 1 << 12 // of a set
)

// severities are in the order of their rank.
var severities = []string{"low", "medium", "high", "critical"}

func (g *Goal) severity() string { return cmp.Or(g.Severity, "medium") }

// target is a Goal that was compiled: its selector, expected value and pattern are
// read once for a set, and once for each call of Evaluate. A target with flaws can be
// evaluated too, and is never met by what could not be compiled.
type target struct {
	Goal
	is criterion
}

// compile checks the goal, and returns all that is wrong with it.
func (g Goal) compile() (target, flaws) {
	var f flaws
	if g.ID == "" {
		f.when(true, "id", "a goal has no id")
	} else if err := key.CheckID("id", g.ID); err != nil {
		f.when(true, "id", "%v", err)
	}
	n := len(g.Description)
	f.when(n > maxDescription, "description", "description: %d is over the limit of %d", n, maxDescription)
	f.when(!slices.Contains(severities, g.severity()), "severity", "unknown severity %q", plain.Short(g.Severity))
	f.when(g.MaxAge < 0, "max_age", "max_age is negative")
	f.when(g.Cooldown < 0, "cooldown", "cooldown is negative")
	is := g.Condition.compile(&f)
	g.Condition = is.Condition // with copies of its bounds and shares
	return target{g, is}, f
}

// Evaluate says whether the goal is met by what is known of a world at a time,
// which should not be before what was last done to the world. What cannot be known
// is unknown, never violated. A goal that is disabled, or whose selector cannot be
// read, is unknown too.
func (g Goal) Evaluate(w *World, at time.Time) Verdict {
	t, _ := g.compile()
	return t.evaluate(w.state(at))
}

func (t *target) evaluate(s state) Verdict {
	v := Verdict{Goal: t.ID, Status: Unknown, Severity: t.severity()}
	if t.Disabled {
		v.Reason = "the goal is disabled"
		return v
	}
	if t.is.bad != nil {
		v.Reason = "unknown: " + t.is.bad.Error()
		return v
	}
	r, err := s.read(t.is.place, t.MaxAge)
	if err != nil {
		v.Reason = err.Error()
		return v
	}
	v.At = r.at
	v.Status, v.Actual = t.is.judge(r.value)
	v.Actual, _ = plain.Of("actual", v.Actual) // a copy of what is plain already
	switch shown := plain.Short(plain.JSON(v.Actual)); v.Status {
	case Met:
		v.Reason = fmt.Sprintf("%s is %s: %s", t.Selector, t.words(), shown)
	case Violated:
		v.Reason = fmt.Sprintf("%s is %s, not %s", t.Selector, shown, t.words())
	default:
		v.Reason = t.Selector + " is null, which is no reading"
	}
	return v
}

// Goals is a set of at most 4,096 goals, which can be replaced while it is in use:
// readers see the old set or the new one, and never wait. What cannot be used
// replaces nothing. The zero Goals is an empty set.
type Goals struct {
	mu  sync.Mutex // held by Load and Override
	set atomic.Pointer[goalSet]
}

// goalSet never changes.
type goalSet struct {
	targets, loaded []target // with and without overrides
	overrides       []Override
	sum             [32]byte // of the content that the goals came from
}

// NewGoals returns a set of goals, or an error that says all that is wrong with
// them, ids used twice included. The caller must not change expected values that it
// refers to afterwards.
func NewGoals(goals ...Goal) (*Goals, error) {
	var errs []error
	targets, err := compileGoals(goals, func(i int, _, problem string) {
		errs = append(errs, fmt.Errorf("goal %q: %s", plain.Short(goals[i].ID), problem))
	})
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, veil.Error(nil, err)
	}
	gs := new(Goals)
	gs.set.Store(&goalSet{targets: targets, loaded: targets})
	return gs, nil
}

// compileGoals calls wrong with each thing that is wrong with a field of the i-th
// goal. The error is that there are too many.
func compileGoals(goals []Goal, wrong func(i int, field, problem string)) ([]target, error) {
	if n := len(goals); n > maxGoals {
		return nil, &store.LimitError{Field: "goals", Limit: maxGoals, Got: n}
	}
	targets, seen := make([]target, len(goals)), make(map[string]bool)
	for i, g := range goals {
		t, f := g.compile()
		f.when(g.ID != "" && seen[g.ID], "id", "the id is that of another goal")
		for _, x := range f {
			wrong(i, x.field, x.problem)
		}
		targets[i], seen[g.ID] = t, true
	}
	return targets, nil
}

// All returns the goals in their order, with what overrides them in place. The slice is
// the caller's. What the goals refer to is the set's, and must not be changed.
func (g *Goals) All() []Goal {
	var out []Goal
	for _, t := range g.current().targets {
		out = append(out, t.Goal)
	}
	return out
}

func (g *Goals) current() *goalSet { return cmp.Or(g.set.Load(), new(goalSet)) }

// maxRest bounds Override.RestMinutes: a year.
const maxRest = 365 * 24 * 60

// Override stands in place of what a goal says, or has an action rest.
type Override struct {
	// Goal is the ID of the goal; "": Action is the name of the action.
	Goal   string `json:"goal,omitempty"`
	Action string `json:"action,omitempty"`
	// Disabled, Severity, Min and Max are the goal's from now on. False, "" and nil
	// leave it what it says; a goal becomes no threshold by a bound.
	Disabled bool     `json:"disabled,omitempty"`
	Severity string   `json:"severity,omitempty"`
	Min      *float64 `json:"min,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	// RestMinutes is how long the action is left alone once it came to nothing,
	// whatever the goal that it was for.
	RestMinutes int `json:"rest_minutes,omitempty"`
}

// Override puts overrides in place of what goals and actions say, until the next call.
// Load leaves them in place. Readers see all of them or none. An override whose goal is
// not in the set waits for that goal. One that does not fit is left out, and the error
// says which. One that ceases to fit by what Load brings is left out too. Those of one
// goal stand together, and the later one counts for what both name.
func (g *Goals) Override(all ...Override) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	set, err := g.current().overridden(slices.Clone(all))
	g.set.Store(set)
	return err
}

// overridden returns the set with overrides in place of those that it has.
func (s *goalSet) overridden(by []Override) (*goalSet, error) {
	out := &goalSet{targets: slices.Clone(s.loaded), loaded: s.loaded, sum: s.sum, overrides: by}
	var errs []error
	for i := range by {
		if by[i].Goal == "" {
			if m := by[i].RestMinutes; m < 0 || m > maxRest {
				name := plain.Short(by[i].Action)
				errs = append(errs, fmt.Errorf("action %q: rest_minutes is %d, not from 0 to %d", name, m, maxRest))
			}
			continue
		}
		at := slices.IndexFunc(s.loaded, func(t target) bool { return t.ID == by[i].Goal })
		if at < 0 {
			continue
		}
		t, err := by[i].over(out.targets[at].Goal)
		if err != nil {
			errs = append(errs, fmt.Errorf("goal %q: %w", plain.Short(by[i].Goal), err))
			continue
		}
		out.targets[at] = t
	}
	return out, errors.Join(errs...)
}

// over is the goal with the override in place of what it says.
func (o *Override) over(g Goal) (target, error) {
	kind := g.kind()
	g.Disabled = g.Disabled || o.Disabled
	if o.Severity != "" {
		g.Severity = o.Severity
	}
	if o.Min != nil {
		g.Min = o.Min
	}
	if o.Max != nil {
		g.Max = o.Max
	}
	t, flaws := g.compile()
	flaws.when(t.kind() != kind, "type", "a bound does not belong to a %s", plain.Short(kind))
	var errs []error
	for _, f := range flaws {
		errs = append(errs, errors.New(f.problem))
	}
	return t, errors.Join(errs...)
}

// rest is how long an action is to be left alone once it came to nothing.
func (s *goalSet) rest(action string) (d time.Duration) {
	for _, o := range s.overrides {
		if o.Goal == "" && o.Action == action && o.RestMinutes <= maxRest {
			d = time.Duration(o.RestMinutes) * time.Minute
		}
	}
	return d
}

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
	// Selector names the value, such as "domains.ci.data.failing", in at most 1 KiB and
	// 64 keys. Required.
	Selector string `yaml:"selector"`
	// Type is threshold, invariant or distribution. "": the fields say it, and
	// without any it is an invariant.
	Type string `yaml:"type"`
	// Min and Max are the bounds of a threshold, finite and included; nil: no bound.
	Min *float64 `yaml:"min"`
	Max *float64 `yaml:"max"`
	// Operator of an invariant is truthy, falsy, eq, neq, in or not_in. "": truthy.
	// Null, false, zero and "" are falsy, all else is truthy.
	Operator string `yaml:"operator"`
	// Expected is any value that encodes as JSON for eq and neq, and a list of such
	// values for in and not_in.
	Expected any `yaml:"-"`
	// Distribution are the wanted shares, in [0,1], at most 256. Nil: any.
	Distribution map[string]float64 `yaml:"distribution"`
	// Tolerance is how far a share may be off, in [0,1]; nil: 0.1.
	Tolerance *float64 `yaml:"tolerance"`
	// Pattern is an RE2 expression that each value as text must match, at most 1 KiB.
	Pattern string `yaml:"pattern"`
}

// Status is what is known about a condition.
type Status string

// The statuses of a condition.
const (
	// Met: a reading that is fresh enough shows what is wanted.
	Met Status = "met"
	// Violated: a reading that is fresh enough shows something else.
	Violated Status = "violated"
	// Unknown: there is no reading to go by, or the goal is disabled. A source that is
	// down never makes a goal violated.
	Unknown Status = "unknown"
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

// uses reports which kinds the condition has fields of.
func (c *Condition) uses() map[string]bool {
	return map[string]bool{
		"threshold":    c.Min != nil || c.Max != nil,
		"distribution": c.Distribution != nil || c.Tolerance != nil || c.Pattern != "",
		"invariant":    c.Operator != "" || c.Expected != nil,
	}
}

// kind returns Type, or what the fields say in its place.
func (c *Condition) kind() string {
	uses := c.uses()
	switch {
	case c.Type != "":
		return strings.ToLower(c.Type)
	case uses["threshold"]:
		return "threshold"
	case uses["distribution"]:
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
	place   selector.Place
	bad     error          // of Selector; nil: place is valid
	want    any            // Expected, plain
	usable  bool           // want can be compared with
	pattern *regexp.Regexp // nil: it cannot be compiled
}

// compile checks the condition, and adds to f all that is wrong with it.
func (c Condition) compile(f *flaws) criterion {
	c.Min, c.Max, c.Tolerance = copied(c.Min), copied(c.Max), copied(c.Tolerance)
	c.Distribution = maps.Clone(c.Distribution)
	out, kind := criterion{Condition: c}, c.kind()
	out.place, out.bad = selector.Parse(c.Selector)
	f.when(out.bad != nil, "selector", "%v", out.bad)
	uses := c.uses()
	if _, known := uses[kind]; !known {
		f.when(true, "type", "unknown type %q", plain.Short(c.Type))
	}
	for _, other := range slices.Sorted(maps.Keys(uses)) {
		f.when(uses[other] && other != kind, "type", "a field of kind %s does not belong to a %s", other, plain.Short(kind))
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
		f.when(!(s >= 0 && s <= 1), "distribution", "the share of %q is %v, not from 0 to 1", plain.Short(k), s)
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

func copied(n *float64) *float64 {
	if n == nil {
		return nil
	}
	return new(*n)
}

// compileExpected fills in what an invariant compares with.
func (c *criterion) compileExpected(f *flaws) {
	f.when(operators[c.Operator] == "", "operator", "unknown operator %q", plain.Short(c.Operator))
	if !c.compares() {
		f.when(c.Expected != nil, "expected", "expected needs an operator that compares, such as eq")
		return
	}
	var err error
	if c.want, err = plain.Of("expected value", c.Expected); err != nil {
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
	texts, shares, some := spread.Of(v)
	match := c.pattern != nil && (some || c.Pattern == "")
	for _, text := range texts {
		match = match && c.pattern.MatchString(text)
	}
	if c.Distribution == nil || len(shares) == 0 {
		return match && c.Distribution == nil, v
	}
	for k, want := range c.Distribution {
		match = match && math.Abs(shares[k]-want) <= c.tolerance()+rounding
	}
	return match, shares
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
			out = append(out, fmt.Sprintf("spread as %s (± %v)", plain.JSON(c.Distribution), c.tolerance()))
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
			out[0] += plain.JSON(c.Expected)
		}
	}
	return plain.Short(strings.Join(out, " and "))
}
