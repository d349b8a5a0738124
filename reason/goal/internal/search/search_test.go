package search_test

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason/goal/internal/search"
)

// graph is a space of numbered states. An edge leads nowhere where to is below 0.
type graph struct {
	cost   []float64 // by step
	to     [][]int   // by state and step
	guess  [][]bool
	wanted map[int]bool
}

func (g *graph) Take(from, step int) (to int, guess, ok bool) {
	to = g.to[from][step]
	return to, to >= 0 && g.guess[from][step], to >= 0
}
func (g *graph) Cost(step int) float64 { return g.cost[step] }
func (g *graph) Wanted(s int) bool     { return g.wanted[s] }
func (g *graph) Key(s int) (key [32]byte) {
	binary.BigEndian.PutUint64(key[:], uint64(s))
	return key
}

// brute returns the least cost of all courses within a depth, and the least number of
// steps at that cost.
func (g *graph) brute(state, depth int) (cost float64, steps int) {
	if g.wanted[state] {
		return 0, 0
	}
	cost = math.Inf(1)
	for step, to := range g.to[state] {
		if to < 0 || depth == 0 {
			continue
		}
		c, n := 0.0, 0
		if !g.guess[state][step] {
			c, n = g.brute(to, depth-1)
		}
		if c += g.cost[step]; c < cost || c == cost && n+1 < steps {
			cost, steps = c, n+1
		}
	}
	return cost, steps
}

// The course that is found costs what the cheapest of all courses costs, and is as
// short as any of that cost. There is none only where no course of so many steps is.
func TestCheapestAgainstBruteForce(t *testing.T) {
	t.Parallel()
	found, none, deep := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		states, steps := rapid.IntRange(1, 7).Draw(t, "states"), rapid.IntRange(0, 4).Draw(t, "steps")
		depth := rapid.IntRange(0, 5).Draw(t, "depth")
		g := &graph{wanted: map[int]bool{}}
		for range steps {
			g.cost = append(g.cost, rapid.SampledFrom([]float64{0.25, 0.5, 1, 2, 8}).Draw(t, "cost"))
		}
		for s := range states {
			to, guess := make([]int, steps), make([]bool, steps)
			for i := range to {
				to[i] = rapid.IntRange(-1, states-1).Draw(t, "to")
				guess[i] = rapid.IntRange(0, 9).Draw(t, "guess") == 0
			}
			g.to, g.guess = append(g.to, to), append(g.guess, guess)
			g.wanted[s] = s > 0 && rapid.IntRange(0, 5).Draw(t, "wanted") == 0
		}
		course, err := search.Cheapest(g, 0, search.Bounds{Steps: steps, Depth: depth, States: 1000})
		least, length := g.brute(0, depth)
		if err != nil {
			require.True(t, math.IsInf(least, 1), "%v, and a course costs %v", err, least)
			if errors.Is(err, search.ErrNone) {
				none++
				far, _ := g.brute(0, states) // no state is farther than that
				require.True(t, math.IsInf(far, 1))
			} else {
				deep++
				require.ErrorIs(t, err, search.ErrDepth)
			}
			return
		}
		found++
		require.LessOrEqual(t, len(course), depth)
		at, sum := 0, 0.0
		for i, step := range course {
			require.False(t, g.wanted[at], "it goes on")
			to, guess, ok := g.Take(at, step)
			require.True(t, ok)
			sum += g.cost[step]
			if at = to; guess {
				require.Equal(t, len(course)-1, i, "a guess comes last")
				at = -1
			}
		}
		require.True(t, at == -1 || g.wanted[at])
		require.Equal(t, least, sum)
		require.Len(t, course, length)
	})
	t.Log(found, "found,", none, "none,", deep, "beyond the depth")
}

// counter is an endless space.
type counter struct{}

func (counter) Take(from, step int) (int, bool, bool) { return from*2 + step, false, true }
func (counter) Cost(int) float64                      { return 1e-300 }
func (counter) Wanted(int) bool                       { return false }
func (counter) Key(s int) (key [32]byte) {
	binary.BigEndian.PutUint64(key[:], uint64(s))
	return key
}

// A search ends whatever the space is.
func TestCheapestEnds(t *testing.T) {
	t.Parallel()
	_, err := search.Cheapest(counter{}, 1, search.Bounds{Steps: 2, Depth: 60, States: 1000})
	require.ErrorIs(t, err, search.ErrStates)
	_, err = search.Cheapest(counter{}, 1, search.Bounds{Steps: 2, Depth: 5, States: 1000})
	require.ErrorIs(t, err, search.ErrDepth)
	_, err = search.Cheapest(counter{}, 1, search.Bounds{Depth: 5, States: 1000})
	require.ErrorIs(t, err, search.ErrNone)
}
