package goal

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Action is something that can be done to the world.
type Action struct {
	Name    string      // unique among those of a plan; breaks what ties there are
	Skill   string      // what a worker must be able to do; "": any. Plan ignores it
	Pre     []Condition // all must be met before; unknown is not met
	Effects []Change    // in this order
	Cost    float64     // in a unit of the caller's, finite and not negative; 0: 1
}

// Course is a course of action: what [Plan] returns.
type Course struct {
	Actions []Action // in this order; none if the goal is met already
	Cost    float64  // the sum of theirs
	// Guess says that the last action is known to change what the goal is
	// about, but not to what ([Alters]).
	Guess    bool
	Expanded int // how many states of the world were looked into
}

// Limits bound a plan. The zero value means the defaults.
type Limits struct {
	Expanded int // states to look into, each may lead to twenty more on average; 0: 10,000
	Actions  int // in a course; 0: reason.MaxTasks
}

const (
	defaultExpanded = 10_000
	branching       = 20
)

// MaxActions is how many actions a plan may choose from.
const MaxActions = 1 << 14

// Errors of [Plan]. Their texts say which effect or precondition is missing.
var (
	// ErrNoPlan: no course of the given actions meets the goal.
	ErrNoPlan = errors.New("no plan")
	// ErrBound: none was found within the limits; there may be one.
	ErrBound = errors.New("no plan within bounds")
)

// Plan returns the course of action of least cost after which the condition of
// the goal is met, as far as the actions say what they change. Whether the goal
// is disabled, or unknown, does not matter to it.
//
// An action can be taken where its preconditions are met; what is unknown is
// not. An action whose effect has no known size ([Alters]) can end a course:
// it is taken to meet the goal if it changes the value that the goal is about, a
// part of it, or what it is a part of. What it has changed is unknown after it,
// so that it cannot serve another action's precondition. Additions to what is no
// number, or not known, change nothing.
//
// Of courses of equal cost, the shorter is returned, then the one that is no
// guess, and then always the same, in whatever order the actions come.
//
// The search is A* over the values that matter to the goal. Its estimate of
// what is left never exceeds the true cost: it is the dearest condition on the
// cheapest way to each, as if actions undid nothing (h-max, Bonet & Geffner
// 2001), and for thresholds the distance at the cheapest price per unit. So the
// cost is the least there is, unless all courses of that cost have more than
// Limits.Actions actions.
//
// Beside ErrNoPlan and ErrBound, the error says what is wrong with a condition
// or an action ([Action.Check]).
func Plan(s State, g Goal, actions []Action, limits *Limits) (Course, error) {
	l := Limits{}
	if limits != nil {
		l = *limits
	}
	l.Expanded, l.Actions = cmp.Or(l.Expanded, defaultExpanded), cmp.Or(l.Actions, reason.MaxTasks)
	if l.Expanded < 0 || l.Actions < 0 {
		return Course{}, errors.New("goal: plan: a limit is negative")
	}
	if len(actions) > MaxActions {
		return Course{}, fmt.Errorf("goal: plan: %w", &store.LimitError{Field: "actions", Limit: MaxActions, Got: len(actions)})
	}
	p, err := newProblem(s, &g, actions)
	if err != nil {
		return Course{}, fmt.Errorf("goal: plan: %w", err)
	}
	c, err := p.search(l)
	if err != nil {
		return c, fmt.Errorf("goal: goal %q: %w", g.ID, err)
	}
	return c, nil
}

// Check returns an error that says all that is wrong with the action, or nil.
func (a Action) Check() error {
	_, err := compile(&a)
	return err
}

// step is an action as the search uses it.
type step struct {
	*Action
	cost    float64
	pre     []condition
	effects []effect
	hopes   bool // it changes what the goal is about, nobody knows to what
}

// condition is a Condition with its place.
type condition struct {
	Condition
	at   place
	root int // in problem.roots
	id   int // in problem.conds
}

// effect is a Change as a planner sees it.
type effect struct {
	overlay
	alters bool
	root   int // of what it changes, in problem.roots
	id     int // unique among the effects of a problem
}

func compile(a *Action) (step, error) {
	st := step{Action: a, cost: cmp.Or(a.Cost, 1)}
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("action %q: "+format, append([]any{short(a.Name)}, args...)...))
	}
	switch {
	case a.Name == "":
		bad("it has no name")
	case len(a.Name) > MaxName:
		bad("%w", &store.LimitError{Field: "name", Limit: MaxName, Got: len(a.Name)})
	}
	if !(a.Cost >= 0 && a.Cost <= math.MaxFloat64) {
		bad("cost %v is negative or not a number", a.Cost)
	}
	for _, c := range a.Pre {
		if err := c.Check(); err != nil {
			bad("precondition: %w", err)
			continue
		}
		at, err := parseSelector(c.Selector)
		if err != nil {
			bad("precondition: %w", err)
		}
		st.pre = append(st.pre, condition{Condition: c, at: at})
	}
	for _, change := range a.Effects {
		c, sized, err := change.overlay()
		if err != nil {
			bad("%w", err)
			continue
		}
		st.effects = append(st.effects, effect{overlay: c, alters: !sized})
	}
	return st, errors.Join(errs...)
}

// after returns a value after an effect on the part of it under keys, and
// whether there is such a part.
func (e *effect) after(v any, keys []string) (any, bool) {
	value := e.value
	if e.add {
		old, _ := lookup(v, keys) // nothing is no number
		sum, ok := add(old, value)
		if !ok {
			return v, false
		}
		value = sum
	}
	return own(nil).put(v, keys, value)
}

// touch is how a step bears on a condition.
type touch struct {
	last       *effect // on the value of the condition, a part of it, or what it is a part of; nil: none
	alters     bool    // one of them has no known size
	onlyAlters bool
	onlyAdds   bool    // all add to the value itself
	sum        float64 // what they add
}

func (st *step) touches(c *condition) touch {
	t := touch{onlyAlters: true, onlyAdds: true}
	for i := range st.effects {
		e := &st.effects[i]
		if !e.place.overlaps(c.at) {
			continue
		}
		t.last = e
		t.alters = t.alters || e.alters
		t.onlyAlters = t.onlyAlters && e.alters
		t.onlyAdds = t.onlyAdds && e.add && len(e.place.keys) == len(c.at.keys)
		if t.onlyAdds {
			by, _ := float(e.value) // checked by compile
			t.sum += by
		}
	}
	return t
}

// leads reports whether a step that bears on a condition like that may let it
// become met. It is right wherever it says no.
func (t touch) leads(c *condition, goal bool) bool {
	switch {
	case t.last == nil:
		return false
	case t.alters && goal:
		return true
	case t.onlyAlters:
		return false
	case !t.last.alters && !t.last.add && t.last.place.within(c.at):
		v, found := lookup(t.last.value, c.at.keys[len(t.last.place.keys):])
		return found && met(c, v)
	case t.onlyAdds:
		return c.nearer(t.sum)
	default:
		return true
	}
}

// met reports whether a value meets a condition.
func met(c *condition, v any) bool {
	status, _ := c.test().eval(v)
	return status == Met
}

// nearer reports whether adding to a number may bring it within the bounds of
// the condition.
func (c *condition) nearer(by float64) bool {
	t, ok := c.test().(Threshold)
	switch {
	case !ok:
		return by != 0
	case by > 0:
		return t.Min != nil
	default:
		return by < 0 && t.Max != nil
	}
}

func sortedSteps(actions []Action) ([]step, error) {
	steps := make([]step, 0, len(actions))
	var errs []error
	for i := range actions {
		st, err := compile(&actions[i])
		if err != nil {
			errs = append(errs, err)
		}
		steps = append(steps, st)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(steps); i++ {
		if steps[i].Name == steps[i-1].Name {
			errs = append(errs, fmt.Errorf("two actions have the name %q", short(steps[i].Name)))
		}
	}
	return steps, errors.Join(errs...)
}
