package iar_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/iar"
)

// The exact test decides by the share of the n! orders with as few rising
// pairs: the share that counts as a decline is the largest under the level.
func TestDegradationIsExactForShortSeries(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{6: 1, 7: 1, 8: 8, 9: 44} {
		orders, declines, rising := 0, 0, map[int]int{}
		permutations(n, func(order []int) {
			orders++
			values := make([]float64, n)
			pairs := 0
			for i, v := range order {
				values[i] = 0.75 + 0.01*float64(v)
				for _, w := range order[:i] {
					if w < v {
						pairs++
					}
				}
			}
			rising[pairs]++
			if slices.ContainsFunc(iar.Findings(values), func(f iar.Finding) bool { return f.Kind == "resonance_degradation" }) {
				declines++
			}
		})
		require.Equal(t, want, declines, n)
		level, next := 0.0003, 0
		if n == 6 {
			level = 1.0/720 + 1e-12
		}
		for k, sum := 0, 0; sum <= declines; k++ {
			sum += rising[k]
			next = sum
		}
		require.LessOrEqual(t, float64(declines)/float64(orders), level, n)
		require.Greater(t, float64(next)/float64(orders), level, n)
	}
}

// permutations calls fn with each order of 0 to n-1.
func permutations(n int, fn func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var swap func(int)
	swap = func(k int) {
		if k == n {
			fn(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			swap(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	swap(0)
}

func TestFindingsOfValues(t *testing.T) {
	t.Parallel()
	require.Empty(t, iar.Findings(nil))
	require.Empty(t, iar.Findings([]float64{math.NaN(), -1, 7, math.Inf(-1), 0.9}), "values outside [0,1] are left out")
	fs := iar.Findings([]float64{0.1, 0.9, 0.9, 0.6, 0.5, 0.65, 0.9})
	require.Equal(t, []iar.Finding{{Kind: "low_resonance", Text: "3 of the last 5 below 0.70, the lowest 0.50", Count: 3}}, fs)
}
