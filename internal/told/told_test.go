package told_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/told"
	"github.com/arc-learn/arc/store"
)

// TestFirst tells of a kind of failure once a day, and again to a step that was cut off.
func TestFirst(t *testing.T) {
	t.Parallel()
	st, day := store.NewMem(), time.Date(2026, 7, 1, 23, 59, 0, 0, time.UTC)
	first := func(tenant string, at time.Time, kind, step uint64) bool {
		ok, err := told.First(t.Context(), st, tenant, at, kind, step)
		require.NoError(t, err)
		return ok
	}
	require.True(t, first("acme", day, 1, 7))
	require.True(t, first("acme", day, 1, 7), "its step was not committed")
	require.False(t, first("acme", day, 1, 8))
	require.True(t, first("acme", day, 2, 8))
	require.True(t, first("other", day, 1, 8))
	require.True(t, first("acme", day.Add(time.Minute), 1, 8), "by UTC it is the next day")
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.NoError(t, told.Check(e))
		e.Value = e.Value[:len(e.Value)-1]
		require.ErrorIs(t, told.Check(e), store.ErrDamaged)
	}
}

// What was told while the clock stood ahead is told again on the day it is.
func TestToldWhenTheClockWasPutBack(t *testing.T) {
	t.Parallel()
	st, now := store.NewMem(), time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	first := func(now time.Time, step uint64) bool {
		is, err := told.First(t.Context(), st, "acme", now, 1, step)
		require.NoError(t, err)
		return is
	}
	require.True(t, first(now.AddDate(1, 0, 0), 1))
	require.True(t, first(now, 2))
	require.False(t, first(now, 3))
	require.True(t, first(now.AddDate(0, 0, 1), 4))
	require.False(t, first(now, 5), "clocks differ a little")
}
