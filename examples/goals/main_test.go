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
	// Five goals about a service, looked at every 30 seconds for six hours.
	// Two executors can mend four of them: boaster says it is 95% sure of itself and
	// mends three of ten, modest says 60% and mends nine of ten. A gate looks whether
	// it is mended; the ranking learns from that, and from the next reading.
	//
	// The first dispatches:
	// time      goal            executor  what came of it
	// 00:00:00  latency.low     boaster   mended
	// 00:03:00  disk.free       boaster   diskUsed is still 0.97
	// 00:03:30  disk.free       modest    mended
	// 00:07:00  errors.low      modest    mended
	// 00:07:30  disk.free       modest    mended
	// 00:15:00  latency.low     modest    mended
	// 00:17:00  replicas.ready  modest    mended
	// 00:19:30  errors.low      modest    mended
	// 00:22:30  errors.low      modest    mended
	// 00:29:30  disk.free       modest    diskUsed is still 0.97
	// 00:30:00  disk.free       boaster   diskUsed is still 0.97
	// 00:30:30  disk.free       modest    diskUsed is still 0.97
	// 00:40:30  disk.free       modest    mended
	// 00:42:00  latency.low     modest    mended
	// 00:46:00  replicas.ready  modest    mended
	// 00:51:00  replicas.ready  modest    replicas is still 1
	// …
	//
	// Both halves of the six hours:
	//                             first     second
	// given to boaster              11%         0%
	// given to modest               89%       100%
	// dispatches that helped        81%        91%
	// those four goals met          77%        91%
	//
	// What is left is a job for others:
	// 00:00  certificate.valid: no action changes domains.service.data.certificateDays
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
