package topk_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/topk"
)

func order(a, b *int) int { return cmp.Compare(*b, *a) }

func TestOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "all")
		k := rapid.IntRange(0, 30).Draw(t, "k")
		want := slices.Clone(all)
		slices.SortFunc(want, func(a, b int) int { return b - a })
		got := topk.Of(all, k, order)
		require.Equal(t, want[:min(k, len(want))], got)
		slices.Sort(all)
		slices.Sort(want)
		require.Equal(t, want, all, "none is lost")
	})
}

func TestHeap(t *testing.T) {
	t.Parallel()
	heap := []int{3, 9, 1, 7, 5}
	topk.Heap(heap, order)
	require.Equal(t, 1, heap[0], "the worst is first")
	heap[0] = 8
	topk.Sink(heap, 0, order)
	require.Equal(t, 3, heap[0])
}
