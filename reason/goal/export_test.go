package goal

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/arc-learn/arc/reason"
)

// What the tests of the package see of its inside.
type State = state

type Reading struct {
	Value    any
	At       time.Time
	Expected bool
}

type Course struct {
	Actions []Action
	Cost    float64
	Guess   bool
}

var (
	ErrUnknown = errUnknown
	ErrNoPlan  = errNoPlan
	ErrBound   = errBound
	ParseGoals = parse
)

const (
	MaxName     = maxName
	MaxDomains  = maxDomains
	MaxSnapshot = maxValue
	MaxDepth    = maxDepth
	MaxDeltas   = maxDeltas
	MaxGoals    = maxGoals
	MaxYAML     = maxYAML
	MaxSteps    = maxSteps
	MaxActions  = reason.MaxTasks
)

func (w *World) State(at time.Time) State { return w.state(at) }

func (w *World) Apply(deltas []reason.Delta, at time.Time) error { return w.apply(deltas, at) }

func (w *World) Expect(key string, changes []Change, at, until time.Time) error {
	var cs []overlay
	var errs []error
	for _, c := range changes {
		o, err := c.overlay()
		cs, errs = append(cs, o), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	w.expect(key, cs, at, until)
	return nil
}

func (w *World) expected(key string) (cs []overlay) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.changes), func(c overlay) bool { return c.dispatch != key })
}

// Settle is what a Controller does after a success.
func (w *World) Settle(key string, at, until time.Time) bool {
	cs := w.expected(key)
	w.expect(key, cs, at, until)
	return len(cs) > 0
}

// Rollback is what a Controller does after a failure.
func (w *World) Rollback(key string) bool {
	cs := w.expected(key)
	w.expect(key, nil, time.Time{}, time.Time{})
	return len(cs) > 0
}

func (s state) Read(selector string) (Reading, error) {
	p, err := parseSelector(selector)
	if err != nil {
		return Reading{}, err
	}
	r, err := s.read(p, 0)
	if err != nil {
		return Reading{}, err
	}
	return Reading{clone(r.value), r.at, r.expected}, nil
}

func (g Goal) In(s State) Verdict { return g.evaluate(s) }

func (g Goal) Check() error {
	var errs []error
	for _, f := range g.check() {
		errs = append(errs, errors.New(f.problem))
	}
	return errors.Join(errs...)
}

func (c Condition) Check() error { return Goal{ID: "g", Condition: c}.Check() }

func (c Condition) Effect() reason.Effect {
	p, err := parseSelector(c.Selector)
	if err != nil {
		return reason.Effect{}
	}
	return p.effect()
}

func (a Action) Check() error {
	_, err := compile([]Action{a})
	return err
}

func Selector(domain string, keys ...string) string {
	return place{domain, append([]string{"data"}, keys...)}.String()
}

func Overlaps(a, b reason.Effect) bool {
	p, err := parseEffect(a)
	q, bad := parseEffect(b)
	return err == nil && bad == nil && p.overlaps(q)
}

func Plan(s State, g Goal, actions []Action) (Course, error) {
	steps, err := compile(actions)
	if err := errors.Join(err, g.Condition.Check()); err != nil {
		return Course{}, err
	}
	c, err := cheapestCourse(s, &g, steps)
	out := Course{Cost: c.cost, Guess: c.guess}
	for _, st := range c.steps {
		out.Actions = append(out.Actions, st.Action)
	}
	return out, err
}

// Open returns how many dispatches the store holds that have no outcome.
func (c *Controller) Open(ctx context.Context) int {
	l, err := c.read(ctx)
	if err != nil {
		panic(err)
	}
	return len(l.open) + len(l.damaged)
}
