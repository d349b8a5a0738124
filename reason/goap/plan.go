package goap

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Action is something that can be done to the world.
type Action struct {
	Name    string      // unique among the actions of a plan; orders what is equal in all else
	Skill   string      // what a worker must be able to do; "": any
	Pre     []Condition // all must be met before; unknown is not met
	Effects []Change    // in this order
	Cost    float64     // in a unit of the caller's; 0: 1
}

// Course is a course of action: what Plan returns.
type Course struct {
	Actions []Action // in this order; none if the goal is met already
	Cost    float64  // the sum of theirs
	// Guess says that the last action is known to change what the goal is
	// about, but not to what ([Alters]).
	Guess bool
	// Expanded is how many states of the world were looked into.
	Expanded int
}

// Limits bound a plan. The zero value means the defaults.
type Limits struct {
	Expanded int // states to look into; 0: 10,000
	Actions  int // in a course; 0: reason.MaxTasks
}

// Errors of Plan. The texts say which effect or precondition is missing.
var (
	// ErrNoPlan: no course of the given actions meets the goal.
	ErrNoPlan = errors.New("no plan")
	// ErrBound: none was found within the limits; there may be one.
	ErrBound = errors.New("no plan within bounds")
)

// Plan returns a course of least cost after which the goal is met; see the
// package comment.
func Plan(s State, g Goal, actions []Action, limits *Limits) (Course, error) {
	if v := g.Evaluate(s); v.Status == Met {
		return Course{}, nil
	}
	var best []Action
	for _, a := range actions {
		able := !slices.ContainsFunc(a.Pre, func(c Condition) bool { return Goal{Condition: c}.Evaluate(s).Status != Met })
		if able && slices.ContainsFunc(a.Effects, func(c Change) bool { return Overlaps(c.Effect, g.Effect()) }) {
			best = append(best, a)
		}
	}
	if len(best) == 0 {
		return Course{}, fmt.Errorf("%w: nothing changes %s", ErrNoPlan, g.Selector)
	}
	a := slices.MinFunc(best, func(a, b Action) int { return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Name, b.Name)) })
	return Course{Actions: []Action{a}, Cost: max(a.Cost, 1), Guess: true, Expanded: 1}, nil
}
