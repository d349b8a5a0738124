package identity

import (
	"cmp"
	"slices"
	"sort"
)

// maxCells is the largest table of the exact choice.
const maxCells = 4 << 20

// pick chooses at most k of the facts, of at most room tokens together, for
// the largest sum of values. It returns which, and what no choice exceeds.
func pick(facts []Projected, room, k int) (in []bool, bound float64) {
	in = make([]bool, len(facts))
	items := undominated(facts, room, k)
	k = min(k, len(items))
	if k == 0 {
		return in, 0
	}
	chosen, bound := choose(facts, items, min(room, costliest(facts, items, k)), k)
	for _, i := range chosen {
		in[i] = true
	}
	return in, bound
}

// undominated returns the facts that can be part of a best choice, the most
// valuable first: not those for which there are k others that are worth as
// much and cost no more.
func undominated(facts []Projected, room, k int) []int {
	var order []int
	for i := range facts {
		if facts[i].Tokens <= room {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		f, g := &facts[a], &facts[b]
		return cmp.Or(cmp.Compare(g.Value, f.Value), cmp.Compare(f.Tokens, g.Tokens), byValue(*f, *g))
	})
	var out, cheapest []int // cheapest: the k lowest costs so far, ascending
	for _, i := range order {
		cost := facts[i].Tokens
		at := sort.Search(len(cheapest), func(n int) bool { return cheapest[n] > cost })
		if at >= k {
			continue
		}
		out = append(out, i)
		cheapest = slices.Insert(cheapest, at, cost)
		cheapest = cheapest[:min(len(cheapest), k)]
	}
	return out
}

// costliest is what the k facts of the highest cost come to.
func costliest(facts []Projected, items []int, k int) int {
	var costs []int
	for _, i := range items {
		costs = append(costs, facts[i].Tokens)
	}
	slices.Sort(costs)
	sum := 0
	for _, c := range costs[len(costs)-k:] {
		sum += c
	}
	return sum
}

// choose solves the choice: by value alone if all that fit the number fit the
// room, else exactly if the table is small enough, else greedily.
func choose(facts []Projected, items []int, room, k int) ([]int, float64) {
	if most := items[:k]; cost(facts, most) <= room {
		return most, worth(facts, most)
	}
	if len(items)*k <= maxCells/(room+1) {
		best := exact(facts, items, room, k)
		return best, worth(facts, best)
	}
	dense := slices.Clone(items)
	slices.SortStableFunc(dense, func(a, b int) int {
		f, g := &facts[a], &facts[b] // f.Value/f.Tokens, without dividing by zero
		return cmp.Compare(g.Value*float64(f.Tokens), f.Value*float64(g.Tokens))
	})
	best := greedy(facts, items, room, k)
	if other := greedy(facts, dense, room, k); worth(facts, other) > worth(facts, best) {
		best = other
	}
	return best, min(worth(facts, items[:k]), fractional(facts, dense, room))
}

func cost(facts []Projected, items []int) (sum int) {
	for _, i := range items {
		sum += facts[i].Tokens
	}
	return sum
}

func worth(facts []Projected, items []int) (sum float64) {
	for _, i := range items {
		sum += facts[i].Value
	}
	return sum
}

// exact is the table of the 0/1 knapsack with a limit on the number of things:
// best[n][r] is the largest value of at most n of the items so far in r
// tokens (Kellerer, Pferschy and Pisinger, Knapsack Problems, 2004, 9.7).
func exact(facts []Projected, items []int, room, k int) []int {
	width := room + 1
	best := make([]float64, (k+1)*width)
	take := make([]bool, len(items)*k*width)
	for at, i := range items {
		c, v := facts[i].Tokens, facts[i].Value
		for n := k; n >= 1; n-- {
			row, less := best[n*width:(n+1)*width], best[(n-1)*width:n*width]
			took := take[(at*k+n-1)*width:]
			for r := room; r >= c; r-- {
				if with := less[r-c] + v; with > row[r] {
					row[r], took[r] = with, true
				}
			}
		}
	}
	var out []int
	n, r := k, room
	for at := len(items) - 1; at >= 0 && n > 0; at-- {
		if take[(at*k+n-1)*width+r] {
			out = append(out, items[at])
			n, r = n-1, r-facts[items[at]].Tokens
		}
	}
	return out
}

// greedy takes what fits, in order.
func greedy(facts []Projected, items []int, room, k int) (out []int) {
	for _, i := range items {
		if len(out) < k && facts[i].Tokens <= room {
			out = append(out, i)
			room -= facts[i].Tokens
		}
	}
	return out
}

// fractional is the value of the items, the densest first, where the last one
// may be cut: what no choice of whole ones exceeds (Dantzig 1957).
func fractional(facts []Projected, dense []int, room int) (sum float64) {
	for _, i := range dense {
		f := &facts[i]
		if f.Tokens > room {
			return sum + f.Value*float64(room)/float64(f.Tokens)
		}
		sum += f.Value
		room -= f.Tokens
	}
	return sum
}
