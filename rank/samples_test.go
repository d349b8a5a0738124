package rank_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

func TestSamplesOfAll(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	b, err := rank.Open(t.Context(), st, nil)
	require.NoError(t, err)
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	want := map[string]rank.Sample{}
	for i := range 60 {
		s := rank.Sample{
			Key: fmt.Sprint(i), Candidate: fmt.Sprint("c", i%3), Situation: rank.Situation{Skill: fmt.Sprint("s", i%2), Key: "k"},
			Success: i%4 == 0, Unknown: i%5 == 1, Wall: time.Second, CostUSD: 0.1, TokensIn: i, At: noon.Add(-time.Duration(i) * time.Minute),
		}
		require.NoError(t, b.Observe(t.Context(), s))
		want[s.Key] = s
	}
	n := 0
	for s, err := range b.Samples(t.Context(), time.Time{}) {
		require.NoError(t, err)
		w := want[s.Key]
		if w.Unknown {
			w.Success = false
		}
		require.Equal(t, w, s)
		n++
	}
	require.Equal(t, 60, n)
	n = 0
	for s, err := range b.Samples(t.Context(), noon.Add(-10*time.Minute)) {
		require.NoError(t, err)
		require.False(t, s.At.Before(noon.Add(-10*time.Minute)))
		n++
	}
	require.Equal(t, 11, n)
	require.NoError(t, b.Close())

	k := key.Join("rank", "slot", "c", "s", "0")
	v, err := codec.Encode(k, map[int]any{1: 0, 2: -5, 3: 9})
	require.NoError(t, err)
	_, err = st.Commit(t.Context(), store.Op{Key: k, Value: v})
	require.NoError(t, err)
	b, err = rank.Open(t.Context(), st, nil)
	require.NoError(t, err)
	defer b.Close()
	for _, err = range b.Samples(t.Context(), time.Time{}) {
		if err != nil {
			break
		}
	}
	require.ErrorIs(t, err, store.ErrDamaged)
}
