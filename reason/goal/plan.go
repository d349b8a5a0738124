package goal

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Bounds of a plan. A course has at most reason.MaxTasks actions.
const (
	maxSteps  = 64       // actions that bear on one goal
	maxStates = 2_000    // states of the world to look into
	maxKeys   = 64 << 20 // bytes of what tells these apart
	maxWhys   = 3        // actions that a reason names
)

var (
	errNoPlan = errors.New("no plan")               // no course of the actions meets the goal
	errBound  = errors.New("no plan within bounds") // none was found; there may be one
)

// course is a course of action.
type course struct {
	steps []*step // in this order; none if the goal is met already
	cost  float64 // the sum of theirs
	// guess: the last action changes what the goal is about, and does not say to what.
	guess bool
}

// want is a condition that a plan may have to meet: that of the goal, or a
// precondition.
type want struct {
	Condition
	place  place
	maxAge time.Duration
}

// planner looks for a course of steps. Only those steps count that change what the
// goal is about, or what their preconditions are about, and so on.
type planner struct {
	goal  want
	steps []*step // by name
	pre   map[*step][]want
	// places tell two states of the world apart. What lies in a place follows it.
	places []place
}

// node is a state of the world, and the course that leads to it.
type node struct {
	state
	parent *node // nil: the world as it is
	step   *step // that leads here from it
	depth  int   // steps so far
	cost   float64
	guess  bool
}

// cheapestCourse returns the course of least cost after which the goal is met, as the steps
// say what they change. Whether the goal is disabled, or unknown, does not matter.
//
// A step can be taken if its preconditions are met. One that alters the value of
// the goal, a part of it, or what it is a part of, can end a course: that is a
// guess. What it has altered is unknown after it, so that it serves no
// precondition. Of courses of equal cost the shorter one is returned, then the one
// that is no guess, and then always the same one. The search is by uniform cost
// over states of the world, so the cost is the least there is.
func cheapestCourse(s state, g *Goal, steps []step) (course, error) {
	p := &planner{goal: want{g.Condition, g.place(), g.MaxAge}, pre: make(map[*step][]want)}
	if err := p.choose(s, steps); err != nil {
		return course{}, fmt.Errorf("goal %q: %w", g.ID, err)
	}
	n, err := p.search(s)
	if err != nil {
		return course{}, fmt.Errorf("goal %q: %w", g.ID, err)
	}
	c := course{cost: n.cost, guess: n.guess}
	for ; n.parent != nil; n = n.parent {
		c.steps = append(c.steps, n.step)
	}
	slices.Reverse(c.steps)
	return c, nil
}

// choose fills in the steps that bear on the goal, and dates their changes.
func (p *planner) choose(s state, steps []step) error {
	wants := []want{p.goal}
	chosen := make([]bool, len(steps))
	for i := 0; i < len(wants); i++ {
		p.places = append(p.places, wants[i].place)
		for j, st := range steps {
			if chosen[j] || !changesPlace(st.changes, wants[i].place) {
				continue
			}
			if chosen[j] = true; len(p.steps) == maxSteps {
				return fmt.Errorf("%w: %w", errBound,
					&store.LimitError{Field: "actions that bear on it", Limit: maxSteps, Got: maxSteps + 1})
			}
			st.changes = slices.Clone(st.changes)
			for k := range st.changes {
				st.changes[k].at, st.changes[k].dispatch = s.at, "planned"
				if st.changes[k].op != alters {
					p.places = append(p.places, st.changes[k].place)
				}
			}
			for _, c := range st.Pre {
				at, _ := parseSelector(c.Selector) // compile has checked it
				p.pre[&st] = append(p.pre[&st], want{Condition: c, place: at})
			}
			wants = append(wants, p.pre[&st]...)
			p.steps = append(p.steps, &st)
		}
	}
	slices.SortFunc(p.steps, func(a, b *step) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(p.places, place.compare)
	return nil
}

func (w *want) met(s state) bool {
	r, err := s.read(w.place, w.maxAge)
	if err != nil {
		return false
	}
	status, _ := w.judge(r.value)
	return status == Met
}

// lacks returns the first precondition of a step that is not met; nil if all are.
func (p *planner) lacks(st *step, s state) *want {
	pre := p.pre[st]
	if i := slices.IndexFunc(pre, func(w want) bool { return !w.met(s) }); i >= 0 {
		return &pre[i]
	}
	return nil
}

// search returns the cheapest node at which the goal is met.
func (p *planner) search(s state) (*node, error) {
	open := []*node{{state: s}} // the most promising is the last
	seen := map[string]*node{p.fingerprint(s): open[0]}
	var hope *node // the cheapest guess so far
	size, cut := 0, false
	push := func(n *node) {
		i, _ := slices.BinarySearchFunc(open, n, func(a, b *node) int { return b.compare(a) })
		open = slices.Insert(open, i, n)
	}
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if n.guess || p.goal.met(n.state) {
			return n, nil
		}
		if n.depth == reason.MaxTasks {
			cut = true
			continue
		}
		for _, st := range p.steps {
			if p.lacks(st, n.state) != nil {
				continue
			}
			to := &node{state: n.after(st.changes), parent: n, step: st, depth: n.depth + 1, cost: n.cost + cmp.Or(st.Cost, 1)}
			if st.alters(p.goal.place) && !p.goal.met(to.state) && (hope == nil || to.compare(hope) < 0) {
				hope = &node{parent: n, step: st, depth: to.depth, cost: to.cost, guess: true}
				push(hope)
			}
			key := p.fingerprint(to.state)
			if old := seen[key]; old != nil && old.compare(to) <= 0 {
				continue
			}
			seen[key] = to
			push(to)
			if size += len(key); len(seen) > maxStates || size > maxKeys {
				return nil, fmt.Errorf("%w: %d states were looked into", errBound, len(seen))
			}
		}
	}
	if cut {
		return nil, fmt.Errorf("%w: no course of %d actions or fewer meets it", errBound, reason.MaxTasks)
	}
	return nil, fmt.Errorf("%w: %s", errNoPlan, p.why(s))
}

// compare orders nodes by what is to be looked into first.
func (n *node) compare(m *node) int {
	guess := map[bool]int{true: 1}
	return cmp.Or(cmp.Compare(n.cost, m.cost), cmp.Compare(n.depth, m.depth), cmp.Compare(guess[n.guess], guess[m.guess]))
}

// fingerprint tells states apart by the values that matter, and by whether that of the goal
// is as it was read.
func (p *planner) fingerprint(s state) string {
	var b strings.Builder
	r, err := s.read(p.goal.place, p.goal.maxAge)
	fmt.Fprint(&b, err == nil, r.at.Equal(s.at))
	var known place // its parts need not be told again
	for _, at := range p.places {
		if known.within(at) && known.keys != nil {
			continue
		}
		if r, err := s.read(at, 0); err == nil {
			known = at
			b.WriteString(encoded(r.value))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// alters reports whether the step changes the value of a place, a part of it, or
// what it is a part of, and does not say to what.
func (st *step) alters(at place) bool {
	return slices.ContainsFunc(st.changes, func(c overlay) bool { return c.op == alters && c.place.overlaps(at) })
}

// why says what is missing where no course meets the goal: the actions that bear on
// it, and the first precondition of each that is not met now.
func (p *planner) why(s state) string {
	if len(p.steps) == 0 {
		return "no action changes " + p.goal.Selector
	}
	var lacking []string
	for _, st := range p.steps {
		if w := p.lacks(st, s); w != nil {
			v := (&Goal{Condition: w.Condition}).evaluate(s)
			lacking = append(lacking, fmt.Sprintf("%q needs that %s, but %s", short(st.Name), w.Condition, v.Reason))
		}
	}
	if n := len(lacking) - maxWhys; n > 0 {
		lacking = append(lacking[:maxWhys], fmt.Sprintf("and %d more", n))
	}
	none := fmt.Sprintf("no course of the %d actions that bear on it makes %s", len(p.steps), p.goal)
	return strings.Join(append([]string{none}, lacking...), "; ")
}

// Action is something that can be done to the world.
type Action struct {
	// Name is unique among the actions of a [Controller], at most 256 bytes.
	Name string
	// Skill is what a worker must be able to do. "": the first effect finds the worker.
	Skill   string
	Pre     []Condition // all must be met before; unknown is not met
	Effects []Change    // in this order
	Cost    float64     // in a unit of the caller's, finite and not negative; 0: 1
}

// step is an action that was checked.
type step struct {
	Action
	changes []overlay
}

// compile checks actions. The error says all that is wrong with them.
func compile(actions []Action) ([]step, error) {
	steps := make([]step, len(actions))
	var errs []error
	names := make(map[string]bool)
	for i, a := range actions {
		steps[i].Action = a
		when := func(wrong bool, format string, args ...any) {
			if wrong {
				errs = append(errs, fmt.Errorf("action %q: %w", short(a.Name), fmt.Errorf(format, args...)))
			}
		}
		when(a.Name == "", "it has no name")
		when(names[a.Name], "another action has this name")
		when(a.Skill == "" && len(a.Effects) == 0, "it has neither a skill nor an effect to find a worker by")
		when(!(a.Cost >= 0 && a.Cost <= math.MaxFloat64), "cost %v is negative or not a number", a.Cost)
		when(len(a.Name) > maxName, "%w", &store.LimitError{Field: "name", Limit: maxName, Got: len(a.Name)})
		when(len(a.Effects) > maxDeltas, "%w", &store.LimitError{Field: "effects", Limit: maxDeltas, Got: len(a.Effects)})
		names[a.Name] = true
		var wrong flaws
		for i := range a.Pre {
			a.Pre[i].check(&wrong)
		}
		for _, f := range wrong {
			when(true, "precondition: %s", f.problem)
		}
		for _, change := range a.Effects {
			c, err := change.overlay()
			when(err != nil, "%w", err)
			steps[i].changes = append(steps[i].changes, c)
		}
	}
	return steps, errors.Join(errs...)
}
