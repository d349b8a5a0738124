package goal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/yaml"
	"github.com/arc-learn/arc/store"
)

const (
	maxGoalID = 128              // bytes: it is part of the IDs of runs
	rounding  = 1e-9             // how far a share may be off by the arithmetic alone
	cooldown  = 90 * time.Second // of a goal that names none
)

// severities in the order in which goals are acted on.
var severities = []string{"critical", "high", "medium", "low"}

// operators of an invariant in words. A space at the end is for what the value is compared with.
var operators = map[string]string{
	"truthy": "truthy", "falsy": "falsy", "eq": "equal to ", "neq": "other than ", "in": "one of ",
	"not_in": "none of ",
}

// goal is a condition that should always hold, as it is written.
type goal struct {
	ID          string         `yaml:"id"`
	Description string         `yaml:"description"`
	Severity    string         `yaml:"severity"`
	Enabled     *bool          `yaml:"enabled"`
	Selector    string         `yaml:"selector"`
	Type        string         `yaml:"type"`
	Cooldown    *time.Duration `yaml:"cooldown"`

	Min *float64 `yaml:"min"` // of a threshold
	Max *float64 `yaml:"max"`

	Operator string `yaml:"operator"` // of an invariant
	Expected any    `yaml:"expected"`

	Distribution map[string]float64 `yaml:"distribution"`
	Tolerance    *float64           `yaml:"tolerance"`

	place  place
	status Status    // by the last reading that says how it stands
	since  time.Time // the first of the readings in a row that say so
}

// Status says how a goal stands.
type Status string

const (
	Met      Status = "met"
	Violated Status = "violated"
	Unknown  Status = "unknown" // there is no reading to go by, or the goal is not enabled
)

// Standing says how a goal stands, and what is done about it.
type Standing struct {
	Goal   string
	Status Status
	Reason string // why it stands so, and why nothing is done about a goal that is violated
	Run    string // that is under way for it, or whose end holds it; "": none
}

// verdict is a Standing with what it rests on.
type verdict struct {
	Standing
	actual any
	at     time.Time // when it was read; zero: it is unknown
}

// Goals is a set of goals, which may be replaced while it is in use. The zero Goals is empty.
type Goals struct{ set atomic.Pointer[[]goal] }

// Load replaces the goals by those of a YAML document, a list "goals" of what its Example shows: id,
// description, severity, enabled, cooldown, selector, and those of a threshold, invariant or distribution.
//
// A distribution is of the values of a list or an object; in an object of numbers it is the share of each in
// their sum. Values of different types are never equal, nor texts of other bytes, as the two forms of é. What
// is no number is unknown to a threshold, and null to all but an invariant. Unknown and repeated fields, and
// all that is wrong with a goal, are errors with their lines; then the goals stay as they were.
func (g *Goals) Load(document []byte) error {
	goals, err := parse(document)
	if err != nil {
		return fmt.Errorf("goal: the goals stay as they were: %w", err)
	}
	g.set.Store(&goals)
	return nil
}

func (g *Goals) all() []goal { return *cmp.Or(g.set.Load(), new([]goal)) }

// list is a document. Its Version is not read.
type list[T any] struct {
	Version string
	Goals   []T
}

// parse returns the goals of a document, or all that is wrong with them.
func parse(document []byte) ([]goal, error) {
	var doc list[goal]
	var lines list[yaml.Node]
	err := yaml.Decode(document, &doc)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the document is empty")
	}
	if err = cmp.Or(err, yaml.Decode(document, &lines)); err != nil {
		return nil, err
	}
	var errs []error
	seen := map[string]bool{}
	for i := range doc.Goals {
		g := &doc.Goals[i]
		wrong := g.compile()
		if seen[g.ID] {
			wrong = append(wrong, "the id is that of another goal")
		}
		seen[g.ID] = true
		for _, w := range wrong {
			errs = append(errs, fmt.Errorf("line %d: goal %.128q: %s", lines.Goals[i].Line, g.ID, w))
		}
	}
	return doc.Goals, errors.Join(errs...)
}

// compile fills in the defaults, and returns all that is wrong with the goal: a person mends it in one go.
func (g *goal) compile() (wrong []string) {
	flaw := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	flaw(store.CheckID(g.ID) != nil || len(g.ID) > maxGoalID, "an id has at most %d bytes", maxGoalID)
	g.Severity = cmp.Or(strings.ToLower(g.Severity), "medium")
	flaw(!slices.Contains(severities, g.Severity), "severity is one of %s", strings.Join(severities, ", "))
	g.Cooldown = cmp.Or(g.Cooldown, new(cooldown))
	flaw(*g.Cooldown < 0, "cooldown is negative")
	var err error
	g.place, err = parsePlace(g.Selector)
	inData := strings.HasPrefix(g.Selector, "domains."+g.place.domain+".data")
	flaw(err != nil || !inData, "selector %.128q: %v", g.Selector, errPlace)

	uses := map[string]bool{
		"threshold":    g.Min != nil || g.Max != nil,
		"distribution": g.Distribution != nil || g.Tolerance != nil,
		"invariant":    g.Operator != "" || g.Expected != nil,
	}
	kinds := []string{"threshold", "distribution", "invariant"}
	written := func(kind string) bool { return uses[kind] }
	g.Type = strings.ToLower(g.Type)
	if first := slices.IndexFunc(kinds, written); g.Type == "" && first >= 0 {
		g.Type = kinds[first]
	}
	g.Type = cmp.Or(g.Type, "invariant")
	flaw(!slices.Contains(kinds, g.Type), "type is one of %s, not %.64q", strings.Join(kinds, ", "), g.Type)
	delete(uses, g.Type)
	flaw(slices.ContainsFunc(kinds, written), "it is a %s, and has fields of another type", g.Type)
	flaw(g.Type == "distribution" && len(g.Distribution) == 0, "a distribution without a share is always met")
	finite := func(f *float64) bool { return f == nil || !math.IsNaN(*f) && !math.IsInf(*f, 0) }
	flaw(!finite(g.Min) || !finite(g.Max), "a bound is no finite number")
	flaw(g.Min != nil && g.Max != nil && *g.Min > *g.Max, "min is above max")

	g.Operator = cmp.Or(g.Operator, "truthy")
	flaw(operators[g.Operator] == "", "there is no operator %.64q", g.Operator)
	g.Expected, err = plainly(g.Expected)
	flaw(err != nil, "expected: %v", err)
	flaw(!g.compares() && g.Expected != nil, "operator %s expects nothing", g.Operator)
	flaw(strings.HasSuffix(g.Operator, "in") && g.Expected == nil, "operator %s expects a list", g.Operator)

	for _, k := range slices.Sorted(maps.Keys(g.Distribution)) {
		share := g.Distribution[k]
		flaw(!(share >= 0 && share <= 1), "the share of %.64q is not from 0 to 1", k)
	}
	g.Tolerance = cmp.Or(g.Tolerance, new(.1))
	flaw(!(*g.Tolerance >= 0 && *g.Tolerance <= 1), "tolerance is not from 0 to 1")
	return wrong
}

// evaluate says how the goal stands. What is not known, or too old, is Unknown and not Violated: where a
// source is down, what it watches has not failed.
func (g *goal) evaluate(w *World) verdict {
	v := verdict{Standing: Standing{Goal: g.ID, Status: Unknown}}
	value, at, err := w.value(g.place)
	_, number := value.(float64)
	switch {
	case g.says() == "":
		v.Reason = "it is not enabled"
		return v
	case err != nil:
		v.Reason = "unknown: " + err.Error()
		return v
	case g.Type == "threshold" && !number, g.Type == "distribution" && value == nil:
		v.Reason = fmt.Sprintf("unknown: %s is %s", g.Selector, clip(text(value)))
		return v
	}
	v.at, v.Status = at, Violated
	met, actual := g.judge(value)
	v.actual, v.Reason = actual, fmt.Sprintf("%s is %s", g.Selector, clip(text(actual)))
	if met {
		v.Status = Met
	} else {
		v.Reason += ", not " + g.wanted()
	}
	return v
}

// judge reports whether a plain value is what is wanted, and what was looked at: it, or the shares in it.
func (g *goal) judge(v any) (met bool, actual any) {
	switch g.Type {
	case "threshold":
		f, ok := v.(float64)
		return ok && (g.Min == nil || f >= *g.Min) && (g.Max == nil || f <= *g.Max), v
	case "distribution":
		return g.spread(v)
	}
	truthy := v != nil && v != false && v != "" && v != 0.0
	choice, isList := g.Expected.([]any)
	if g.Operator == "eq" || g.Operator == "neq" {
		choice, isList = []any{g.Expected}, true
	}
	is := slices.ContainsFunc(choice, func(e any) bool { return reflect.DeepEqual(v, e) })
	switch g.Operator {
	case "truthy":
		return truthy, v
	case "falsy":
		return !truthy, v
	case "neq", "not_in":
		return isList && !is, v
	}
	return is, v
}

// spread reports whether the values of a list or an object are spread as is wanted.
func (g *goal) spread(v any) (met bool, actual any) {
	values, _ := v.([]any)
	object, _ := v.(map[string]any)
	shares, sum, numbers := map[string]float64{}, 0.0, true
	for _, k := range slices.Sorted(maps.Keys(object)) {
		values = append(values, object[k])
		f, number := object[k].(float64)
		shares[k], sum, numbers = f, sum+f, numbers && number && f >= 0
	}
	if len(values) == 0 {
		return false, v
	}
	if !numbers || !(sum > 0 && sum <= math.MaxFloat64) { // texts are counted
		clear(shares)
		for _, each := range values {
			shares[text(each)]++
		}
		sum = float64(len(values))
	}
	for k := range shares {
		shares[k] /= sum
	}
	met = true
	for k, want := range g.Distribution {
		met = met && math.Abs(shares[k]-want) <= *g.Tolerance+rounding
	}
	return met, shares
}

// says is what the goal wants of which value; "": it is not enabled.
func (g *goal) says() string {
	if g.Enabled != nil && !*g.Enabled {
		return ""
	}
	return g.Selector + " is " + g.wanted()
}

// wanted says in words what the value should be.
func (g *goal) wanted() string {
	var words []string
	if g.Min != nil {
		words = append(words, fmt.Sprintf("at least %v", *g.Min))
	}
	if g.Max != nil {
		words = append(words, fmt.Sprintf("at most %v", *g.Max))
	}
	if g.Distribution != nil {
		words = append(words, fmt.Sprintf("spread as %s ± %v", text(g.Distribution), *g.Tolerance))
	}
	if g.Type == "invariant" {
		words = append(words, operators[g.Operator])
		if g.compares() {
			words[0] += clip(text(g.Expected))
		}
	}
	return cmp.Or(strings.Join(words, " and "), "a "+g.Type)
}

// compares reports whether the operator compares with what is expected.
func (g *goal) compares() bool { return strings.HasSuffix(operators[g.Operator], " ") }
