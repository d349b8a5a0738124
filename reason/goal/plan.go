package goal

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal/internal/plain"
	"github.com/arc-learn/arc/reason/goal/internal/search"
	"github.com/arc-learn/arc/reason/goal/internal/selector"
	"github.com/arc-learn/arc/store"
)

// Bounds of a plan. A course has at most reason.MaxTasks actions. A search makes at
// most maxStates · maxSteps changes of a state, so that a tick ends whatever the
// actions are. Its time grows with what the actions change, not with what is read.
const (
	maxName   = 256   // bytes of the name of an action
	maxSteps  = 64    // actions that bear on one goal
	maxStates = 2_000 // states of the world to look into
	maxWhys   = 3     // actions that a reason names
)

var (
	errNoPlan = errors.New("no plan")               // no course of the actions meets the goal
	errBound  = errors.New("no plan within bounds") // none was found; there may be one
)

// Action is something that can be done to the world.
type Action struct {
	// Name is unique among the actions of a [Controller], at most 256 bytes. Required.
	Name string
	// Skill is what a worker must be able to do. "": the first effect finds the worker.
	Skill string
	// Pre are conditions that must all be met before; unknown is not met.
	Pre []Condition
	// Effects are what changes, in this order, at most 1,024. An action without a Skill
	// needs one at least.
	Effects []Change
	// Cost is in a unit of the caller's, finite and not negative; 0: 1. Of the courses
	// that meet a goal the one with the smallest sum is taken.
	Cost float64
}

// step is an action that was compiled.
type step struct {
	Action
	pre     []criterion
	changes []overlay
	rest    time.Duration // once it came to nothing, by an Override
}

// compileActions checks actions. The error says all that is wrong with them.
func compileActions(actions []Action) ([]step, error) {
	steps := make([]step, len(actions))
	var errs []error
	names := make(map[string]bool)
	for i, a := range actions {
		st := &steps[i]
		a.Pre, a.Effects = slices.Clone(a.Pre), slices.Clone(a.Effects)
		st.Action = a
		when := func(wrong bool, format string, args ...any) {
			if wrong {
				errs = append(errs, fmt.Errorf("action %q: %w", plain.Short(a.Name), fmt.Errorf(format, args...)))
			}
		}
		when(a.Name == "", "it has no name")
		when(names[a.Name], "another action has this name")
		when(a.Skill == "" && len(a.Effects) == 0, "it has neither a skill nor an effect to find a worker by")
		when(!(a.Cost >= 0 && a.Cost <= math.MaxFloat64), "cost %v is negative or not a number", a.Cost)
		when(len(a.Name) > maxName, "%w", &store.LimitError{Field: "name", Limit: maxName, Got: len(a.Name)})
		when(len(a.Effects) > maxEffects, "%w", &store.LimitError{Field: "effects", Limit: maxEffects, Got: len(a.Effects)})
		names[a.Name] = true
		var wrong flaws
		for _, c := range a.Pre {
			st.pre = append(st.pre, c.compile(&wrong))
		}
		for _, f := range wrong {
			when(true, "precondition: %s", f.problem)
		}
		for _, change := range a.Effects {
			c, err := change.overlay()
			when(err != nil, "%w", err)
			st.changes = append(st.changes, c)
		}
	}
	return steps, errors.Join(errs...)
}

// bearsOn reports whether the step changes the value of a place, a part of it, or what
// it is a part of.
func (st *step) bearsOn(p selector.Place) bool {
	return slices.ContainsFunc(st.changes, func(c overlay) bool { return c.place.Overlaps(p) })
}

// guesses reports whether a step bears on a place by a change that does not say to
// what.
func (st *step) guesses(p selector.Place) bool {
	return slices.ContainsFunc(st.changes, func(c overlay) bool { return c.op == alters && c.place.Overlaps(p) })
}

// lacks returns the first precondition of a step that is not met; nil if all are.
func (st *step) lacks(s state) *criterion {
	for i := range st.pre {
		if !st.pre[i].met(s, 0) {
			return &st.pre[i]
		}
	}
	return nil
}

// met reports whether the criterion is met in a state, by a reading no older than
// maxAge. What is unknown is not met.
func (c *criterion) met(s state, maxAge time.Duration) bool {
	r, err := s.read(c.place, maxAge)
	if err != nil {
		return false
	}
	status, _ := c.judge(r.value)
	return status == Met
}

// cheapestCourse returns the steps of least cost after which the goal is met, by what
// the steps say that they change; none if it is met already. It does not matter whether
// the goal is disabled or unknown.
//
// A step can be taken if its preconditions are met. One that alters the value of
// the goal, a part of it, or what it is a part of, can end a course: that is a
// guess. What it has altered is unknown after it, so that it serves no
// precondition.
func cheapestCourse(s state, t *target, steps []step) (course []*step, err error) {
	p := planner{target: t}
	if err := p.choose(steps); err != nil {
		return nil, fmt.Errorf("goal %q: %w", t.ID, err)
	}
	bounds := search.Bounds{Steps: len(p.steps), Depth: reason.MaxTasks, States: maxStates}
	found, err := search.Cheapest(&p, p.essentials(s), bounds)
	switch {
	case errors.Is(err, search.ErrNone):
		return nil, fmt.Errorf("goal %q: %w: %s", t.ID, errNoPlan, p.why(s))
	case errors.Is(err, search.ErrDepth):
		return nil, fmt.Errorf("goal %q: %w: no course of %d actions or fewer meets it", t.ID, errBound, reason.MaxTasks)
	case errors.Is(err, search.ErrStates):
		return nil, fmt.Errorf("goal %q: %w: %d states were looked into", t.ID, errBound, maxStates)
	}
	for _, i := range found {
		course = append(course, p.steps[i])
	}
	return course, nil
}

// planner is the space of the states that the steps which bear on a goal lead to.
type planner struct {
	*target
	steps  []*step          // by name
	wanted []selector.Place // of the goal and of preconditions
	places []selector.Place // that steps set, or add to
}

// choose takes the steps that change what the goal is about, or what the preconditions
// of steps chosen before are about.
func (p *planner) choose(steps []step) error {
	p.wanted = []selector.Place{p.is.place}
	chosen := make([]bool, len(steps))
	for i := 0; i < len(p.wanted); i++ {
		for j := range steps {
			st := &steps[j]
			if chosen[j] || !st.bearsOn(p.wanted[i]) {
				continue
			}
			if chosen[j] = true; len(p.steps) == maxSteps {
				return fmt.Errorf("%w: %w", errBound,
					&store.LimitError{Field: "actions that bear on it", Limit: maxSteps, Got: maxSteps + 1})
			}
			p.steps = append(p.steps, st)
			for _, c := range st.pre {
				p.wanted = append(p.wanted, c.place)
			}
			for _, c := range st.changes {
				if c.op != alters {
					p.places = append(p.places, c.place)
				}
			}
		}
	}
	slices.SortFunc(p.steps, func(a, b *step) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// essentials returns a state that has only what the steps read and change: a step copies what
// lies beside a value that it changes.
func (p *planner) essentials(s state) state {
	places := make(map[string][]selector.Place)
	for _, at := range slices.Concat(p.wanted, p.places) {
		places[at.Domain] = append(places[at.Domain], at)
	}
	s.domains = maps.Clone(s.domains)
	for name, v := range s.domains {
		v.data = selector.Only(v.data, places[name])
		s.domains[name] = v
	}
	return s
}

var _ search.Space[state] = (*planner)(nil)

// Take implements search.Space.
func (p *planner) Take(from state, i int) (to state, guess, ok bool) {
	st := p.steps[i]
	if st.lacks(from) != nil {
		return state{}, false, false
	}
	to = from.after(st.changes)
	return to, st.guesses(p.is.place) && !p.Wanted(to), true
}

// Cost implements search.Space.
func (p *planner) Cost(i int) float64 { return cmp.Or(p.steps[i].Cost, 1) }

// Wanted implements search.Space.
func (p *planner) Wanted(s state) bool { return p.is.met(s, p.MaxAge) }

// Key implements search.Space: two states are one that agree in the values of what steps
// change, in what is known of what is wanted, and in whether the goal's value is fresh
// enough. All else is as it was at the start, however large it is.
func (p *planner) Key(s state) [32]byte {
	h := sha256.New()
	_, err := s.read(p.is.place, p.MaxAge)
	fmt.Fprintln(h, err == nil)
	for _, at := range p.wanted {
		_, err := s.read(at, 0)
		fmt.Fprintln(h, err == nil)
	}
	for _, at := range p.places {
		if v, found := at.In(s.domains[at.Domain].data); found {
			_, _ = io.WriteString(h, plain.JSON(v)) // a hash takes it all
		}
		_, err := s.read(at, 0)
		fmt.Fprintln(h, err == nil)
	}
	return [32]byte(h.Sum(nil))
}

// why says what is missing where no course meets the goal: the actions that bear on
// it, and the first precondition of each that is not met now.
func (p *planner) why(s state) string {
	if len(p.steps) == 0 {
		return "no action changes " + p.Selector
	}
	whys := []string{fmt.Sprintf("no course of the %d actions that bear on it makes %s", len(p.steps), p.Condition)}
	for _, st := range p.steps {
		if c := st.lacks(s); c != nil {
			v := (&target{is: *c, Goal: Goal{Condition: c.Condition}}).evaluate(s)
			whys = append(whys, fmt.Sprintf("%q needs that %s, but %s", plain.Short(st.Name), c.Condition, v.Reason))
		}
	}
	if n := len(whys) - 1 - maxWhys; n > 0 {
		whys = append(whys[:1+maxWhys], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(whys, "; ")
}
