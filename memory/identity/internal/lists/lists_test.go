package lists_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/identity/internal/lists"
)

func TestUnion(t *testing.T) {
	a, b := []int{3, 1, 1, 2}, []int{2, 1, 4, 2}
	want := []int{1, 1, 2, 2, 3, 4}
	require.Equal(t, want, lists.Union(a, b, cmp.Compare[int]))
	require.Equal(t, want, lists.Union(b, a, cmp.Compare[int]), "whichever comes first")
	require.Equal(t, want, lists.Union(want, b, cmp.Compare[int]), "again")
	require.Equal(t, []int{3, 1, 1, 2}, a, "what is merged stays as it is")
	require.Empty(t, lists.Union[int](nil, nil, cmp.Compare[int]))
}

func TestOnce(t *testing.T) {
	require.Equal(t, []int{1, 2, 3}, lists.Once([]int{3, 1, 2, 1, 3}, cmp.Compare[int]))
}

func TestLatest(t *testing.T) {
	list := []string{"a", "b", "c"}
	require.Equal(t, []string{"b", "c"}, lists.Latest(list, 2))
	require.Equal(t, list, lists.Latest(list, 5))
	long := strings.Repeat("x", 128<<10-len(`"c"""`))
	require.Equal(t, []string{long, "c"}, lists.Latest([]string{"b", long, "c"}, 5))
	quoted := strings.Replace(long, "x", `"`, 1)
	require.Equal(t, []string{"c"}, lists.Latest([]string{"b", quoted, "c"}, 5), "as JSON has it")
	require.Equal(t, []string{long + long}, lists.Latest([]string{"b", long + long}, 5), "the last in any case")
	got := lists.Latest(list, 3)
	got[0] = "z"
	require.Equal(t, "a", list[0], "it is a copy")
}

func TestLeading(t *testing.T) {
	list := []string{"abc", "d", "e"}
	for _, c := range []struct{ n, size, want int }{{9, 99, 3}, {2, 99, 2}, {9, 8, 2}, {9, 7, 1}, {9, 0, 1}, {0, 9, 0}} {
		require.Equal(t, c.want, lists.Leading(list, c.n, c.size), c)
	}
	require.Zero(t, lists.Leading([]string(nil), 9, 9))
}

func TestNumber(t *testing.T) {
	require.Equal(t, []int{0, 1}, []int{lists.Number(false), lists.Number(true)})
}
