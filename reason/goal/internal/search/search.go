// Package search finds the cheapest course of steps that leads to what is wanted.
package search

import (
	"cmp"
	"errors"
	"slices"
)

// The errors of [Cheapest].
var (
	// ErrNone: no course leads to what is wanted.
	ErrNone = errors.New("no course")
	// ErrDepth: no course of so many steps does, and a longer one may.
	ErrDepth = errors.New("no course within the depth")
	// ErrStates: so many states were looked into, and others are left.
	ErrStates = errors.New("too many states")
)

// Space is what there is to search: states, and steps that lead from one to another.
// Steps are numbered from 0.
type Space[S any] interface {
	// Take returns the state that a step leads to, and false if the step cannot be taken.
	// A guess ends the course as if it had led to what is wanted.
	Take(from S, step int) (to S, guess, ok bool)
	// Cost is that of a step, positive.
	Cost(step int) float64
	// Wanted reports whether a state is what is wanted.
	Wanted(s S) bool
	// Key tells states apart: those with equal keys are one.
	Key(s S) [32]byte
}

// Bounds are those of a search.
type Bounds struct {
	Steps  int // of the space
	Depth  int // steps of a course
	States int // that are looked into
}

// node is a state, and the course that leads to it.
type node[S any] struct {
	state  S
	parent *node[S] // nil: the start
	step   int      // that leads here from it
	depth  int      // steps so far
	cost   float64
	guess  int // 1: the last step is a guess
}

// compare orders nodes by what is to be looked into first.
func (n *node[S]) compare(m *node[S]) int {
	return cmp.Or(cmp.Compare(n.cost, m.cost), cmp.Compare(n.depth, m.depth), cmp.Compare(n.guess, m.guess))
}

// Cheapest returns the course of least cost, empty if the start is what is wanted. Of
// courses of equal cost it returns the shorter one, then the one that is no guess, and
// then always the same one.
//
// Nodes are taken from open in the order of compare. A node that is taken has the least
// cost of all ways to its state that are no longer: costs are positive, and any other
// such way leads through a node that is still open and costs as much at least. So the
// first node taken that is wanted is the answer. A way to a state counts if no other
// that was found is as cheap and as short: a dearer one that is shorter may go on where
// the cheaper has no steps left. A guess is not among the seen states, for what it
// leads to is not known.
func Cheapest[S any](space Space[S], start S, b Bounds) (course []int, err error) {
	open := []*node[S]{{state: start}} // the most promising is the last
	push := func(n *node[S]) {
		i, _ := slices.BinarySearchFunc(open, n, func(a, b *node[S]) int { return b.compare(a) })
		open = slices.Insert(open, i, n)
	}
	seen, states := map[[32]byte][]*node[S]{space.Key(start): {open[0]}}, 1
	err = ErrNone
	for len(open) > 0 {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if n.guess > 0 || space.Wanted(n.state) {
			for ; n.parent != nil; n = n.parent {
				course = append(course, n.step)
			}
			slices.Reverse(course)
			return course, nil
		}
		if n.depth == b.Depth {
			err = ErrDepth
			continue
		}
		for step := range b.Steps {
			state, guess, ok := space.Take(n.state, step)
			if !ok {
				continue
			}
			to := &node[S]{state: state, parent: n, step: step, depth: n.depth + 1, cost: n.cost + space.Cost(step)}
			if guess {
				to.guess = 1
				push(to)
				continue
			}
			key := space.Key(state)
			if slices.ContainsFunc(seen[key], func(m *node[S]) bool { return m.cost <= to.cost && m.depth <= to.depth }) {
				continue
			}
			seen[key] = append(seen[key], to)
			push(to)
			if states++; states > b.States {
				return nil, ErrStates
			}
		}
	}
	return nil, err
}
