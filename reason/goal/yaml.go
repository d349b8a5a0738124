package goal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/store"
)

// Limits of a file of goals.
const (
	MaxYAML  = 1 << 20 // bytes
	MaxGoals = 1 << 12

	maxReported = 100 // errors of one file
)

// ParseGoals reads goals from YAML, one document with the key "goals":
//
//	goals:
//	  - id: ci.green
//	    description: no test fails on main
//	    severity: high                       # low, medium (the default), high, critical
//	    selector: domains.ci.data.failing
//	    max: 0
//	    max_age: 10m
//	    cooldown: 90s
//	  - id: work.balanced
//	    type: distribution
//	    selector: domains.flow.data.work
//	    distribution: {feature: 0.6, defect: 0.4}
//	    tolerance: 0.2
//	    enabled: false
//	    act_on_unknown: true                 # also while it cannot be read
//	  - id: bot.connected
//	    selector: domains.bot.data.state
//	    operator: in
//	    expected: [up, starting]
//
// The type is threshold (min, max), invariant (operator, expected) or
// distribution (distribution, tolerance, pattern), and may be left out: the
// fields say it, and without any it is an invariant.
//
// Nothing is guessed: unknown and repeated fields, wrong types, what
// [Goal.Check] refuses, ids used twice, and aliases are errors. All of them are
// returned, joined, each a *[GoalError] with its line, and then there are no
// goals.
func ParseGoals(data []byte) ([]Goal, error) {
	if len(data) > MaxYAML {
		return nil, &store.LimitError{Field: "goals as YAML", Limit: MaxYAML, Got: len(data)}
	}
	root, err := document(data)
	if err != nil {
		return nil, err
	}
	r := &goalReader{seen: make(map[string]int)}
	goals := r.file(root)
	if len(r.errs) == 0 {
		return goals, nil
	}
	slices.SortStableFunc(r.errs, func(a, b *GoalError) int { return a.Line - b.Line })
	var errs []error
	for i, e := range r.errs {
		if i == maxReported {
			errs = append(errs, fmt.Errorf("and %d more", len(r.errs)-i))
			break
		}
		errs = append(errs, e)
	}
	return nil, errors.Join(errs...)
}

// document returns the root of the only document in data. The parser is
// foreign code and the goals may be written by a model: its panics are errors.
func document(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	var err, more error
	if p := guard.Call(func() {
		if err = dec.Decode(&doc); err == nil {
			more = dec.Decode(&next)
		}
	}); p != nil {
		err = p
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, &GoalError{Problem: "no goals: the document is empty"}
	case err != nil:
		return nil, syntax(err)
	case more == nil:
		return nil, &GoalError{Line: next.Line, Problem: "a second document"}
	case !errors.Is(more, io.EOF):
		return nil, syntax(more)
	case len(doc.Content) != 1:
		return nil, &GoalError{Problem: "no goals: the document is empty"}
	}
	return doc.Content[0], nil
}

// syntax moves the line of a parser's error to where ours stand.
func syntax(err error) error {
	e := &GoalError{Problem: strings.TrimPrefix(err.Error(), "yaml: ")}
	var line int
	if n, _ := fmt.Sscanf(e.Problem, "line %d:", &line); n == 1 {
		_, e.Problem, _ = strings.Cut(e.Problem, ": ")
		e.Line = line
	}
	return e
}

// goalReader reads the nodes of a file and collects what is wrong with them.
type goalReader struct {
	errs []*GoalError
	id   string         // of the goal that is being read
	seen map[string]int // the line of each id
}

func (r *goalReader) bad(n *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, &GoalError{Line: n.Line, ID: r.id, Problem: fmt.Sprintf(format, args...)})
}

func (r *goalReader) file(root *yaml.Node) []Goal {
	list := (*yaml.Node)(nil)
	r.fields(root, "the document", map[string]func(*yaml.Node){"goals": func(n *yaml.Node) { list = n }})
	switch {
	case list == nil:
		if len(r.errs) == 0 {
			r.bad(root, "no goals: the key goals is missing")
		}
		return nil
	case list.Kind != yaml.SequenceNode:
		r.bad(list, "goals must be a list, not %s", kind(list))
		return nil
	case len(list.Content) > MaxGoals:
		r.bad(list, "%v", &store.LimitError{Field: "goals", Limit: MaxGoals, Got: len(list.Content)})
		return nil
	}
	goals := make([]Goal, 0, len(list.Content))
	for _, n := range list.Content {
		goals = append(goals, r.goal(n))
	}
	return goals
}

// fields calls the function of each field of a mapping, and reports what is no
// mapping, has unknown fields, or one twice. It returns the values of those that
// are there, and which of them were bad.
func (r *goalReader) fields(n *yaml.Node, what string, known map[string]func(*yaml.Node)) (given map[string]*yaml.Node, bad map[string]bool) {
	given, bad = make(map[string]*yaml.Node), make(map[string]bool)
	if n.Kind != yaml.MappingNode {
		r.bad(n, "%s must be a mapping, not %s", what, kind(n))
		return given, bad
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := known[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			r.bad(key, "a field's name must be text, not %s", kind(key))
		case read == nil:
			r.bad(key, "unknown field %q", short(key.Value))
		case given[key.Value] != nil:
			r.bad(key, "field %q is given twice", key.Value)
		default:
			before := len(r.errs)
			given[key.Value] = value
			read(value)
			bad[key.Value] = len(r.errs) > before
		}
	}
	return given, bad
}

// rawTest is what a goal says about its test.
type rawTest struct {
	kind      string
	given     map[string]*yaml.Node // the fields of the goal that are there
	threshold Threshold
	invariant Invariant
	spread    Distribution
}

// kindOf says to which type of test a field belongs.
var kindOf = map[string]string{
	"min": "threshold", "max": "threshold",
	"operator": "invariant", "expected": "invariant",
	"distribution": "distribution", "tolerance": "distribution", "pattern": "distribution",
}

func (r *goalReader) goal(n *yaml.Node) Goal {
	var g Goal
	var t rawTest
	enabled := true
	var operator, severity string
	r.id = idOf(n)
	defer func() { r.id = "" }()
	given, bad := r.fields(n, "a goal", map[string]func(*yaml.Node){
		"id":             r.text("id", &g.ID),
		"description":    r.text("description", &g.Description),
		"severity":       r.text("severity", &severity),
		"enabled":        r.scalar("enabled", "true or false", &enabled, "!!bool"),
		"act_on_unknown": r.scalar("act_on_unknown", "true or false", &g.ActOnUnknown, "!!bool"),
		"selector":       r.text("selector", &g.Selector),
		"max_age":        r.duration("max_age", &g.MaxAge),
		"cooldown":       r.duration("cooldown", &g.Cooldown),
		"type":           r.text("type", &t.kind),
		"min":            r.number("min", &t.threshold.Min),
		"max":            r.number("max", &t.threshold.Max),
		"operator":       r.text("operator", &operator),
		"expected":       func(n *yaml.Node) { t.invariant.Expected = r.value(n) },
		"distribution":   func(n *yaml.Node) { t.spread.Shares = r.shares(n) },
		"tolerance":      r.number("tolerance", &t.spread.Tolerance),
		"pattern":        r.text("pattern", &t.spread.Pattern),
	})
	g.Disabled, g.Severity, t.invariant.Operator = !enabled, Severity(severity), Operator(operator)
	if n.Kind != yaml.MappingNode {
		return g
	}
	t.given = given
	g.Test = r.test(&t)
	for _, f := range g.flaws() {
		if !bad[f.field] { // else it is told already
			r.bad(cmp.Or(given[f.field], n), "%s", f.problem)
		}
	}
	if line, dup := r.seen[g.ID]; dup && g.ID != "" {
		r.bad(given["id"], "the id is that of the goal of line %d", line)
	} else {
		r.seen[g.ID] = n.Line
	}
	return g
}

// idOf returns the id of a goal for what is reported about it.
func idOf(n *yaml.Node) string {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == "id" && n.Content[i+1].Kind == yaml.ScalarNode {
			return short(n.Content[i+1].Value)
		}
	}
	return ""
}

// test returns the test of the given type, or of that to which the fields
// belong.
func (r *goalReader) test(t *rawTest) Test {
	want := strings.ToLower(t.kind)
	for _, field := range []string{"min", "max", "operator", "expected", "distribution", "tolerance", "pattern"} {
		switch at := t.given[field]; {
		case at == nil:
		case want == "":
			want = kindOf[field]
		case want != kindOf[field] && t.given["type"] != nil:
			r.bad(at, "%s does not belong to the type %s", field, short(t.kind))
		case want != kindOf[field]:
			r.bad(at, "%s does not go with the fields of a %s", field, want)
		}
	}
	switch want {
	case "threshold":
		return t.threshold
	case "distribution":
		return t.spread
	case "invariant", "":
		switch t.invariant.Operator {
		case Eq, Neq:
			if t.given["expected"] == nil {
				r.bad(t.given["operator"], "operator %s needs an expected value", t.invariant.Operator)
			}
		case "", Truthy, Falsy:
			if t.given["expected"] != nil {
				r.bad(t.given["expected"], "expected needs an operator that compares, such as eq")
			}
		}
		return t.invariant
	default:
		r.bad(t.given["type"], "unknown type %q", short(t.kind))
		return nil
	}
}

// scalar reads a scalar that has one of the tags into out.
func (r *goalReader) scalar(field, want string, out any, tags ...string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || !slices.Contains(tags, n.ShortTag()) {
			r.bad(n, "%s must be %s, not %s", field, want, kind(n))
		} else if err := n.Decode(out); err != nil {
			r.bad(n, "%s must be %s: %v", field, want, err)
		}
	}
}

func (r *goalReader) text(field string, out *string) func(*yaml.Node) {
	return r.scalar(field, "text", out, "!!str")
}

func (r *goalReader) number(field string, out **float64) func(*yaml.Node) {
	return r.scalar(field, "a number", out, "!!int", "!!float")
}

func (r *goalReader) duration(field string, out *time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		var s string
		r.scalar(field, "a duration such as 90s or 10m", &s, "!!str")(n)
		if s == "" {
			return
		}
		d, err := time.ParseDuration(s)
		if err != nil {
			r.bad(n, "%s must be a duration such as 90s or 10m, not %q", field, short(s))
		}
		*out = d
	}
}

func (r *goalReader) shares(n *yaml.Node) map[string]float64 {
	if n.Kind != yaml.MappingNode {
		r.bad(n, "distribution must be a mapping of values to shares, not %s", kind(n))
		return nil
	}
	out := make(map[string]float64, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			r.bad(key, "a value with a share must be a scalar, not %s", kind(key))
			continue
		}
		if _, dup := out[key.Value]; dup {
			r.bad(key, "the share of %q is given twice", short(key.Value))
		}
		var share *float64
		r.number("a share", &share)(n.Content[i+1])
		if share != nil {
			out[key.Value] = *share
		}
	}
	return out
}

// value returns any node as what encodes as JSON. A scalar that is no number,
// no truth value and not null is text as it is written, dates included.
func (r *goalReader) value(n *yaml.Node) any {
	switch n.Kind {
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, c := range n.Content {
			out[i] = r.value(c)
		}
		return out
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if _, dup := out[key.Value]; dup || key.Kind != yaml.ScalarNode {
				r.bad(key, "an expected value has a key twice, or one that is no scalar")
			}
			out[key.Value] = r.value(n.Content[i+1])
		}
		return out
	case yaml.ScalarNode:
		var v any = n.Value
		switch n.ShortTag() {
		case "!!int", "!!float", "!!bool", "!!null":
			if err := n.Decode(&v); err != nil {
				r.bad(n, "expected: %v", err)
			}
		}
		return v
	default:
		r.bad(n, "expected must be a value, not %s", kind(n))
		return nil
	}
}

// kind says in words what a node is.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which is not supported"
	}
	switch n.ShortTag() {
	case "!!str":
		return "text"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "nothing"
	default:
		return short(n.Tag)
	}
}
