package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/postgres/pgtest"
)

// The test binary is a replica where it is started as one.
func TestMain(m *testing.M) {
	if name := os.Getenv(nameVariable); name != "" {
		if err := replica(context.Background(), os.Getenv(urlVariable), name, os.Stdout); err != nil {
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func TestWhatIsKilledIsTakenOver(t *testing.T) {
	var out strings.Builder
	err := cluster(t.Context(), 10, &out)
	if errors.Is(err, pgtest.ErrMissing) {
		t.Skip("SKIPPED: ", err)
	}
	require.NoError(t, err, out.String())
	require.Contains(t, out.String(), "10 of 10 parcels sent")
	require.Contains(t, out.String(), "is killed while it sends")
	require.Contains(t, out.String(), ", which ", "another takes over")
	require.Contains(t, out.String(), "eve knows-at-home ", "all agree on who keeps what is learned warm")
}
