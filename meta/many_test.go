package meta_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

// TestWhatOutgrowsACommitIsReleasedAndForgotten removes more than one commit holds, at the only opener and where
// several share a journal.
func TestWhatOutgrowsACommitIsReleasedAndForgotten(t *testing.T) {
	const many = store.MaxCommitOps + 1
	var keys []string
	for i := range many {
		keys = append(keys, fmt.Sprint(i))
	}
	mem := store.NewMem()
	m, err := meta.Open(t.Context(), mem, nil)
	require.NoError(t, err)
	fill := func() {
		at := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
		for _, k := range keys {
			require.NoError(t, m.Record(t.Context(), meta.Outcome{Key: k, Session: "s", Success: true, At: at}))
		}
		for i := 0; i < many; i += 64 {
			e := meta.Episode{Key: keys[i], Treated: true, Chance: 0.5}
			for j := range 64 {
				e.Treatments = append(e.Treatments, fmt.Sprint("memory acme ", i+j))
			}
			require.NoError(t, m.RecordEpisode(t.Context(), e))
		}
	}
	left := func(family string) (n int) {
		require.NoError(t, m.Flush(t.Context()))
		for _, err := range mem.Scan(t.Context(), store.Range{Prefix: "meta\x00" + family + "\x00"}) {
			require.NoError(t, err)
			n++
		}
		return n
	}
	for _, shared := range []bool{false, true} {
		fill()
		require.Equal(t, many, left("seen"))
		require.Greater(t, left("uplift"), store.MaxCommitOps)
		require.NoError(t, m.Close())
		m, err = meta.Open(t.Context(), mem, &meta.Options{Shared: shared})
		require.NoError(t, err)

		require.NoError(t, m.Release(t.Context(), "s", keys, keys))
		require.Zero(t, left("seen")+left("episode"))
		require.NoError(t, m.ForgetBelow(t.Context(), "acme", "memory acme "))
		require.Zero(t, left("uplift"))

		require.NoError(t, m.Close())
		m, err = meta.Open(t.Context(), mem, nil)
		require.NoError(t, err)
		require.NoError(t, m.Forget(t.Context(), "s"))
		fill()
		require.NoError(t, m.Close())
		m, err = meta.Open(t.Context(), mem, &meta.Options{Shared: shared})
		require.NoError(t, err)
		require.NoError(t, m.Forget(t.Context(), "s"))
		require.Zero(t, left("seen")+left("slot")+left("totals"))
		require.NoError(t, m.ForgetBelow(t.Context(), "acme", "memory acme "))
		require.NoError(t, m.Release(t.Context(), "s", nil, keys))

		require.NoError(t, m.Close())
		m, err = meta.Open(t.Context(), mem, nil)
		require.NoError(t, err)
	}
	require.NoError(t, m.Close())
}
