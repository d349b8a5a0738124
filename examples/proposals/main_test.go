package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func Example() {
	main()
	// Output:
	// 1 July: 79 restarts, 21 scalings, the queue is short 90 % of the time
	//
	//   proposed for action "goals/restart":
	//   {"controller":"goals","action":"restart","rest_minutes":60},
	//   since 8 of 79 attempts at "restart" succeeded in the last 24h0m0s.
	//   Ada approves: it is applied.
	//
	// 2 July: 14 restarts, 38 scalings, the queue is short 97 % of the time
	//
	//   Ada takes it back: it is undone.
	//
	// 3 July: 82 restarts, 23 scalings, the queue is short 90 % of the time
}

// It is no matter of luck: with any seed the approved change helps, and its undo takes
// that back.
func TestChangeHelps(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		var out strings.Builder
		require.NoError(t, run(t.Context(), &out, seed+2))
		var restarts, short []int
		for _, m := range regexp.MustCompile(`(\d+) restarts.* (\d+) % of the time`).FindAllStringSubmatch(out.String(), -1) {
			n, _ := strconv.Atoi(m[1])
			of, _ := strconv.Atoi(m[2])
			restarts, short = append(restarts, n), append(short, of)
		}
		require.Len(t, short, 3)
		require.Less(t, 2*restarts[1], min(restarts[0], restarts[2]), out.String())
		require.Greater(t, short[1], max(short[0], short[2]), out.String())
	}
}
