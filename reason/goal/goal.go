package goal

import (
	"errors"
	"fmt"
	"time"

	"github.com/arc-learn/arc/internal/key"
)

// Goal is a condition that should always hold.
type Goal struct {
	ID          string // unique in a set of goals; "" is refused
	Description string // for people, and for whoever is asked to mend it
	Severity    Severity
	Disabled    bool // neither met nor violated, whatever the world is like
	// ActOnUnknown lets a [Controller] act on the goal also where it is
	// unknown although somebody has tried to read it: for goals whose reading
	// is itself to be restored. The cooldown then follows every dispatch,
	// since nothing can be read anew.
	ActOnUnknown bool
	Condition
	// MaxAge is how old the reading may be. 0: as old as the world allows; a
	// reading that is too old for the world is unknown whatever MaxAge says.
	MaxAge time.Duration
	// Cooldown is how long the goal is left alone after it was acted on with
	// success. 0: Options.Cooldown.
	Cooldown time.Duration
}

// Severity is how bad it is that a goal is violated.
type Severity string

// The severities. A goal without one is of Medium.
const (
	Low      Severity = "low"
	Medium   Severity = "medium"
	High     Severity = "high"
	Critical Severity = "critical"
)

// Rank orders severities: 0 for Low to 3 for Critical, 1 for "" and -1 for
// anything else.
func (s Severity) Rank() int {
	switch s {
	case Low:
		return 0
	case Medium, "":
		return 1
	case High:
		return 2
	case Critical:
		return 3
	default:
		return -1
	}
}

// Status is what is known about a condition.
type Status string

// The statuses.
const (
	Met      Status = "met"
	Violated Status = "violated"
	Unknown  Status = "unknown" // there is no reading to go by, or the goal is disabled
)

// Verdict is how a goal stands.
type Verdict struct {
	Goal     string // its ID
	Status   Status
	Severity Severity // of the goal, Medium if it has none
	// Actual is the value that was looked at as JSON (nil, bool, float64,
	// string, []any, map[string]any; json.Number for integers from 2^53), or
	// the shares in it where those are what counts. Nil if there is none. It
	// is the caller's.
	Actual any
	At     time.Time // when the value was read or reported; zero if there is none
	// Expected says that the value is not read but assumed: an effect that
	// was expected has changed it, or a part of it.
	Expected bool
	Reason   string // why, in words
}

// MaxID is the largest ID of a goal, in bytes.
const MaxID = 256

const maxDescription = 8 << 10 // bytes

// Check returns an error that says all that is wrong with the goal, or nil.
func (g Goal) Check() error {
	var errs []error
	for _, f := range g.flaws() {
		errs = append(errs, &GoalError{ID: g.ID, Problem: f.problem})
	}
	return errors.Join(errs...)
}

func (g *Goal) flaws() []flaw {
	var out []flaw
	switch {
	case g.ID == "":
		out = append(out, flaw{"id", "a goal has no id"})
	case len(g.ID) > MaxID:
		out = append(out, limitFlaw("id", "id of a goal", MaxID, len(g.ID)))
	default:
		if err := key.CheckID("id", g.ID); err != nil {
			out = append(out, flaw{"id", err.Error()})
		}
	}
	if n := len(g.Description); n > maxDescription {
		out = append(out, limitFlaw("description", "description", maxDescription, n))
	}
	if g.Severity.Rank() < 0 {
		out = append(out, flaw{"severity", fmt.Sprintf("unknown severity %q", short(string(g.Severity)))})
	}
	if g.MaxAge < 0 {
		out = append(out, flaw{"max_age", "max_age is negative"})
	}
	if g.Cooldown < 0 {
		out = append(out, flaw{"cooldown", "cooldown is negative"})
	}
	return append(out, g.Condition.flaws()...)
}

// GoalError is something that is wrong with a goal.
type GoalError struct {
	Line    int    // in the YAML that it was read from, from 1; 0: it was not
	ID      string // of the goal, if it is known
	Problem string
}

// Error says what is wrong and where.
func (e *GoalError) Error() string {
	s := e.Problem
	if e.ID != "" {
		s = fmt.Sprintf("goal %q: %s", short(e.ID), s)
	}
	if e.Line > 0 {
		s = fmt.Sprintf("line %d: %s", e.Line, s)
	}
	return s
}

// Evaluate says whether the goal is met in a state. What cannot be known is
// unknown, never violated; so is a goal that is disabled or whose selector
// cannot be read.
func (g Goal) Evaluate(s State) Verdict {
	v := Verdict{Goal: g.ID, Status: Unknown, Severity: g.Severity}
	if v.Severity == "" {
		v.Severity = Medium
	}
	if g.Disabled {
		v.Reason = "the goal is disabled"
		return v
	}
	r, err := s.read(g.Selector, g.MaxAge)
	if err != nil {
		v.Reason = err.Error()
		return v
	}
	test := g.test()
	v.At, v.Expected = r.At, r.Expected
	v.Status, v.Actual = test.eval(r.Value)
	v.Actual = clone(v.Actual)
	switch v.Status {
	case Met:
		v.Reason = fmt.Sprintf("%s is %s: %s", g.Selector, test, show(v.Actual))
	case Violated:
		v.Reason = fmt.Sprintf("%s is %s, not %s", g.Selector, show(v.Actual), test)
	default:
		v.Reason = g.Selector + " is null, which is no reading"
	}
	if v.Expected {
		v.Reason += " (expected, not read)"
	}
	return v
}
