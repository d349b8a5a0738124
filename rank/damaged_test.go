package rank_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// TestADamagedEntryOfTheJournalCostsItself damages one entry of the journal that Books share: the others count,
// and what cannot be read stays in the store.
func TestADamagedEntryOfTheJournalCostsItself(t *testing.T) {
	mem := store.NewMem()
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	open := func(shared bool) *rank.Book {
		b, err := rank.Open(t.Context(), mem, &rank.Options{Now: func() time.Time { return now }, Shared: shared})
		require.NoError(t, err)
		return b
	}
	writer := open(true)
	observe := func(key string) {
		require.NoError(t, writer.Observe(t.Context(), rank.Sample{
			Key: key, Candidate: "a", Situation: rank.Situation{Skill: "work"}, Success: true, At: now,
		}))
		require.NoError(t, writer.Flush(t.Context()))
	}
	requireSamples := func(b *rank.Book, n int) {
		t.Helper()
		got, err := b.Stats(t.Context(), "a", "work")
		require.NoError(t, err)
		require.Equal(t, n, got.Samples)
	}
	observe("first")
	observe("second")
	damaged := ""
	for e, err := range mem.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		if strings.HasSuffix(e.Key, "first") {
			damaged = e.Key
		}
	}
	_, err := mem.Commit(t.Context(), store.Op{Key: damaged, Value: []byte("no sample")})
	require.NoError(t, err)
	require.NoError(t, writer.Close())

	reader := open(true)
	require.NoError(t, reader.Refresh(t.Context()))
	requireSamples(reader, 1)
	require.NoError(t, reader.Release(t.Context(), "second")) // folds
	requireSamples(reader, 1)
	require.NoError(t, reader.Close())

	alone := open(false) // folds what others have left
	requireSamples(alone, 1)
	require.NoError(t, alone.Close())
	_, err = mem.Get(t.Context(), damaged)
	require.NoError(t, err)
}
