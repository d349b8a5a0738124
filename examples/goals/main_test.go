package main

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func Example() {
	main()
	// Output:
	// Four goals about a service, looked at every 30 seconds for six hours.
	// Two executors can mend it: boaster says it is 95% sure of itself and mends
	// three of ten, modest says 60% and mends nine of ten. A gate looks whether it
	// is mended; the ranking learns from that, and from the next reading.
	//
	// The first dispatches:
	// time      goal            executor  what came of it
	// 00:00:00  latency.low     boaster   mended
	// 00:03:00  disk.free       boaster   diskUsed is still 0.97
	// 00:03:30  disk.free       boaster   diskUsed is still 0.97
	// 00:04:00  disk.free       modest    diskUsed is still 0.97
	// 00:07:00  latency.low     boaster   mended
	// 00:14:00  disk.free       modest    mended
	// 00:15:00  replicas.ready  boaster   replicas is still 1
	// 00:15:30  replicas.ready  boaster   mended
	// 00:16:30  disk.free       modest    mended
	// 00:19:00  latency.low     boaster   p95 is still 900
	// 00:19:30  latency.low     boaster   mended
	// 00:22:00  replicas.ready  modest    mended
	// 00:29:30  errors.low      modest    mended
	// 00:42:00  latency.low     boaster   p95 is still 900
	// 00:42:30  latency.low     modest    mended
	// 00:46:00  errors.low      boaster   errorRate is still 0.12
	// …
	//
	// Both halves of the six hours:
	//                             first     second
	// given to boaster              21%         0%
	// given to modest               79%       100%
	// dispatches that helped        81%        91%
	// all four goals met            82%        91%
}

// It is no matter of luck: with any seed the ranking finds out.
func TestAnySeed(t *testing.T) {
	t.Parallel()
	var healthy [2]float64
	for seed := range uint64(10) {
		tally, err := run(t.Context(), io.Discard, seed+1, 6*time.Hour)
		require.NoError(t, err)
		late := tally.halves[1]
		require.Greater(t, late.sent["modest"], 9*late.sent["boaster"])
		for i, h := range tally.halves {
			healthy[i] += float64(h.healthy) / float64(h.rounds)
		}
	}
	require.Greater(t, healthy[1], healthy[0])
}
