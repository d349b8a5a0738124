package rank_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// TestMoreKeysThanACommitHoldsAreReleased releases them, alone and where several openers share a journal.
func TestMoreKeysThanACommitHoldsAreReleased(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			mem := store.NewMem()
			at := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
			alone, err := rank.Open(t.Context(), mem, nil)
			require.NoError(t, err)
			keys := make([]string, store.MaxCommitOps+1)
			for i := range keys {
				keys[i] = fmt.Sprint(i)
				require.NoError(t, alone.Observe(t.Context(), rank.Sample{
					Key: keys[i], Candidate: "a", Situation: rank.Situation{Skill: "work"}, Success: true, At: at,
				}))
			}
			require.NoError(t, alone.Close())
			b, err := rank.Open(t.Context(), mem, &rank.Options{Shared: shared})
			require.NoError(t, err)
			require.NoError(t, b.Release(t.Context(), keys...))
			require.NoError(t, b.Close())
			for e, err := range mem.Scan(t.Context(), store.Range{Prefix: "rank\x00seen"}) {
				require.NoError(t, err)
				require.Fail(t, "left", "%q", e.Key)
			}
		})
	}
}
