// Package choice chooses what is worth the most within a budget of tokens.
package choice

import (
	"cmp"
	"slices"
)

// Item may be chosen.
type Item struct {
	Value  float64
	Tokens int // that it costs
}

// Best returns the indexes of at most k items, of at most room tokens together: the better
// of two greedy choices, by value and by value for the tokens. Of equal items it takes the
// first. With ten items of a line each, the best of all choices is rarely better.
func Best(items []Item, room, k int) (best []int) {
	most := -1.0
	for _, cost := range []func(Item) float64{
		func(Item) float64 { return 1 },
		func(i Item) float64 { return float64(i.Tokens) },
	} {
		order := make([]int, len(items))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			a, b := items[i], items[j]
			return cmp.Or(cmp.Compare(b.Value*cost(a), a.Value*cost(b)), a.Tokens-b.Tokens)
		})
		var in []int
		left, sum := room, 0.0
		for _, i := range order {
			if len(in) < k && items[i].Tokens <= left {
				in, left, sum = append(in, i), left-items[i].Tokens, sum+items[i].Value
			}
		}
		if sum > most {
			best, most = in, sum
		}
	}
	return best
}
