package goal

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal/internal/plain"
	"github.com/arc-learn/arc/reason/goal/internal/selector"
)

// What the tests of the package see of its inside.
type State = state

type Reading struct {
	Value any
	At    time.Time
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
)

const (
	MaxName     = maxName
	MaxDomains  = maxDomains
	MaxSnapshot = 1 << 20 // bytes
	MaxDepth    = 64
	MaxGoals    = maxGoals
	MaxYAML     = maxYAML
	MaxSteps    = maxSteps
	MaxActions  = reason.MaxTasks
)

func ParseGoals(data []byte) ([]Goal, error) {
	targets, err := parse(data)
	if err != nil {
		return nil, err
	}
	var gs Goals
	gs.set.Store(&goalSet{targets: targets})
	return gs.All(), nil
}

func (w *World) State(at time.Time) State { return w.state(at) }

func (w *World) Apply(deltas []reason.Delta, at time.Time) error { return w.apply(deltas, at) }

// After returns the state once the changes are made to it, as a plan has it.
func (s state) After(changes []Change) (state, error) {
	var cs []overlay
	for _, c := range changes {
		o, err := c.overlay()
		if err != nil {
			return s, err
		}
		cs = append(cs, o)
	}
	return s.after(cs), nil
}

func (s state) Read(place string) (Reading, error) {
	p, err := selector.Parse(place)
	if err != nil {
		return Reading{}, err
	}
	r, err := s.read(p, 0)
	if err != nil {
		return Reading{}, err
	}
	v, err := plain.Of("value", r.value)
	return Reading{v, r.at}, err
}

func (g Goal) In(s State) Verdict {
	t, _ := g.compile()
	return t.evaluate(s)
}

func (g Goal) Check() error {
	var errs []error
	_, flaws := g.compile()
	for _, f := range flaws {
		errs = append(errs, errors.New(f.problem))
	}
	return errors.Join(errs...)
}

func (c Condition) Check() error { return Goal{ID: "g", Condition: c}.Check() }

func (c Condition) Effect() reason.Effect {
	p, err := selector.Parse(c.Selector)
	if err != nil {
		return reason.Effect{}
	}
	return p.Effect()
}

func (a Action) Check() error {
	_, err := compileActions([]Action{a})
	return err
}

func Selector(domain string, keys ...string) string {
	var out strings.Builder
	out.WriteString("domains[" + plain.JSON(domain) + "].data")
	for _, k := range keys {
		out.WriteString("[" + plain.JSON(k) + "]")
	}
	p, err := selector.Parse(out.String())
	if err != nil {
		panic(err)
	}
	return p.String()
}

func Overlaps(a, b reason.Effect) bool {
	p, err := selector.OfEffect(a)
	q, bad := selector.OfEffect(b)
	return err == nil && bad == nil && p.Overlaps(q)
}

func Plan(s State, g Goal, actions []Action) (Course, error) {
	steps, err := compileActions(actions)
	if err := errors.Join(err, g.Condition.Check()); err != nil {
		return Course{}, err
	}
	t, _ := g.compile()
	c, err := cheapestCourse(s, &t, steps)
	var out Course
	for _, st := range c {
		out.Actions, out.Cost = append(out.Actions, st.Action), out.Cost+cmp.Or(st.Cost, 1)
		s = s.after(st.changes)
		out.Guess = !t.is.met(s, t.MaxAge)
	}
	return out, err
}

// Open returns how many dispatches the store holds that have no outcome.
func (c *Controller) Open(ctx context.Context) int {
	l, err := c.ledger.read(ctx)
	if err != nil {
		panic(err)
	}
	return len(l.open) + len(l.damaged)
}

// Past returns the goals whose last dispatch is known, in order.
func (c *Controller) Past() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.mu.past))
}
