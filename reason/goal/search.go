package goal

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// node is a state of the world that a course of steps leads to.
type node struct {
	vec    []int32
	key    string // of vec
	parent *node  // nil: the world as it is
	step   int    // that leads here from it
	depth  int    // steps so far
	guess  bool   // the last step is hoped to meet the goal
	cost   float64
	total  float64 // cost, and what is left by the estimate
	sure   bool    // total is the estimate's for this node, not for its parent
	seq    int     // in which it was found
}

// frontier holds the nodes that are left to look into, the most promising
// first.
type frontier []*node

func (f frontier) Len() int      { return len(f) }
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(x any)   { *f = append(*f, x.(*node)) }

func (f frontier) Less(i, j int) bool {
	a, b := f[i], f[j]
	guess := func(n *node) int {
		if n.guess {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.total, b.total), cmp.Compare(a.depth, b.depth),
		cmp.Compare(guess(a), guess(b)), cmp.Compare(a.seq, b.seq)) < 0
}

func (f *frontier) Pop() any {
	last := len(*f) - 1
	n := (*f)[last]
	(*f)[last] = nil
	*f = (*f)[:last]
	return n
}

// best is the cheapest way found to a state of the world.
type best struct {
	cost  float64
	depth int
}

func (b best) beats(cost float64, depth int) bool {
	return cmp.Or(cmp.Compare(b.cost, cost), cmp.Compare(b.depth, depth)) <= 0
}

// search is an A* search under way.
type search struct {
	*problem
	limits   Limits
	open     frontier
	seen     map[string]best
	hope     best // the cheapest guess
	found    int  // nodes
	expanded int  // nodes looked into
	cut      bool // a course was as long as is allowed, and no goal
}

// search returns the cheapest course from the world as it is.
func (p *problem) search(l Limits) (Course, error) {
	s := &search{problem: p, limits: l, seen: make(map[string]best), hope: best{cost: math.Inf(1)}}
	left := p.estimate(p.begin)
	if math.IsInf(left, 1) {
		return Course{}, fmt.Errorf("%w: %s", ErrNoPlan, p.why())
	}
	p.live = slices.DeleteFunc(p.live, func(i int) bool { return math.IsInf(p.reach(i), 1) })
	s.push(&node{vec: p.begin, key: string(appendKey(nil, p.begin)), total: left, sure: true})
	for len(s.open) > 0 {
		n := heap.Pop(&s.open).(*node)
		switch {
		case n.guess || p.met(p.conds[0], n.vec):
			return s.course(n), nil
		case s.seen[n.key] != best{n.cost, n.depth}: // there is a better way to it
			continue
		case !n.sure:
			n.sure = true
			left := p.estimate(n.vec)
			if total := n.cost + left; total > n.total {
				if n.total = total; !math.IsInf(total, 1) {
					heap.Push(&s.open, n)
				}
				continue
			}
		}
		if n.depth == l.Actions {
			s.cut = true
			continue
		}
		if s.expanded == l.Expanded || s.found > branching*l.Expanded || p.size > maxValues {
			return Course{Expanded: s.expanded}, fmt.Errorf("%w: %d states were looked into", ErrBound, s.expanded)
		}
		s.expanded++
		s.expand(n)
	}
	c := Course{Expanded: s.expanded}
	if s.cut {
		return c, fmt.Errorf("%w: no course of %d actions or fewer meets the goal", ErrBound, l.Actions)
	}
	return c, fmt.Errorf("%w: %s", ErrNoPlan, p.why())
}

// push adds a node unless a way as good leads to its state.
func (s *search) push(n *node) {
	if b, has := s.seen[n.key]; has && !n.guess && b.beats(n.cost, n.depth) {
		return
	}
	if !n.guess {
		s.seen[n.key] = best{n.cost, n.depth}
	}
	n.seq = s.found
	s.found++
	heap.Push(&s.open, n)
}

// expand adds where each step leads that can be taken.
func (s *search) expand(n *node) {
	left := n.total - n.cost
	vec := make([]int32, len(n.vec))
	var buf []byte
	for _, i := range s.live {
		st := &s.steps[i]
		if slices.ContainsFunc(st.pre, func(c condition) bool { return !s.met(s.conds[c.id], n.vec) }) {
			continue
		}
		copy(vec, n.vec)
		s.apply(st, vec)
		to := node{parent: n, step: i, depth: n.depth + 1, cost: n.cost + st.cost}
		if st.hopes && !s.met(s.conds[0], vec) && !s.hope.beats(to.cost, to.depth) {
			s.hope = best{to.cost, to.depth}
			hope := to
			hope.guess, hope.total = true, to.cost
			s.push(&hope)
		}
		if slices.Equal(vec, n.vec) {
			continue
		}
		buf = appendKey(buf[:0], vec)
		if b, has := s.seen[string(buf)]; has && b.beats(to.cost, to.depth) {
			continue
		}
		to.vec, to.key = slices.Clone(vec), string(buf)
		to.total = to.cost + max(0, left-st.cost)
		s.push(&to)
	}
}

func appendKey(buf []byte, vec []int32) []byte {
	for _, n := range vec {
		buf = binary.AppendUvarint(buf, uint64(n))
	}
	return buf
}

// course returns how a node was come to.
func (s *search) course(n *node) Course {
	c := Course{Cost: n.cost, Guess: n.guess, Expanded: s.expanded}
	for ; n.parent != nil; n = n.parent {
		c.Actions = append(c.Actions, *s.steps[n.step].Action)
	}
	slices.Reverse(c.Actions)
	return c
}
