package union_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory/identity/internal/union"
)

func TestSets(t *testing.T) {
	t.Parallel()
	var s union.Sets
	require.Equal(t, "a", s.Find("a"))
	s.Join("a", "b")
	s.Join("c", "d")
	s.Join("a", "a")
	require.NotEqual(t, s.Find("a"), s.Find("c"))
	s.Join("d", "a")
	for _, id := range []string{"a", "b", "c", "d"} {
		require.Equal(t, "b", s.Find(id))
	}
	require.Equal(t, "e", s.Find("e"))
}

// As many pairs as there are, in any order, the sets are those that a walk over them finds.
func TestSetsAreThoseOfAWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s union.Sets
		near := map[string][]string{}
		for range rapid.IntRange(0, 30).Draw(t, "pairs") {
			a, b := fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "a")), fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "b"))
			s.Join(a, b)
			near[a], near[b] = append(near[a], b), append(near[b], a)
		}
		for a := range near {
			seen := map[string]bool{a: true}
			for todo := []string{a}; len(todo) > 0; todo = todo[1:] {
				for _, b := range near[todo[0]] {
					if !seen[b] {
						seen[b] = true
						todo = append(todo, b)
					}
				}
			}
			for b := range near {
				require.Equal(t, seen[b], s.Find(a) == s.Find(b), "%s %s", a, b)
			}
		}
	})
}
