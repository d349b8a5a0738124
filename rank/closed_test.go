package rank_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// TestAClosedBookYieldsNothing reads what a Book keeps after Close.
func TestAClosedBookYieldsNothing(t *testing.T) {
	for _, shared := range []bool{false, true} {
		b, err := rank.Open(t.Context(), store.NewMem(), &rank.Options{Shared: shared})
		require.NoError(t, err)
		require.NoError(t, b.Observe(t.Context(), rank.Sample{Key: "1", Candidate: "a", Success: true, At: time.Unix(1, 0)}))
		require.NoError(t, b.Close())
		yields := 0
		for _, err := range b.Samples(t.Context(), time.Time{}) {
			yields++
			require.ErrorIs(t, err, store.ErrClosed)
		}
		require.Equal(t, 1, yields)
		_, err = b.Daily(t.Context(), time.Time{})
		require.ErrorIs(t, err, store.ErrClosed)
		require.ErrorIs(t, b.Forget(t.Context(), func(rank.Sample) bool { return false }), store.ErrClosed)
		require.ErrorIs(t, b.Refresh(t.Context()), store.ErrClosed)
	}
}
