package rank_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// rest gives a Book so many other pairs that what was used before is no
// longer in memory.
func rest(t *testing.T, book *rank.Book) {
	t.Helper()
	for i := range 4200 {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{
			Key: fmt.Sprint("other", i), Candidate: fmt.Sprint("other", i),
		}))
	}
}

// TestPairsAtRest: figures, health, draws and history are the same whether or
// not the samples are in memory, and whether or not they are written.
func TestPairsAtRest(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	idle := open(t, st, nil)
	busy := open(t, store.NewMem(), nil)
	var all []rank.Sample
	next := func(n int) {
		for range n {
			i := len(all)
			all = append(all, rank.Sample{
				Key: fmt.Sprint(i), Candidate: "a", Situation: rank.Situation{Skill: "s"}, Success: i%3 > 0,
				Confidence: p(float64(i%7) / 7), CostUSD: float64(i) / 3, At: noon.Add(-time.Duration(500-i) * time.Hour / 10),
			})
			for _, book := range []*rank.Book{idle, busy} {
				require.NoError(t, book.Observe(t.Context(), all[i]))
			}
		}
	}
	check := func() {
		t.Helper()
		want, err := busy.Health(t.Context(), "a")
		require.NoError(t, err)
		got, err := idle.Health(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, want, got)
		stats, err := idle.Stats(t.Context(), "a", "s")
		require.NoError(t, err)
		requireClose(t, recompute(all), stats)
		cs := []rank.Candidate{{Name: "a"}, {Name: "b"}}
		for name, policy := range policies(idle) {
			want, err := policies(busy)[name].Score(t.Context(), rank.Situation{Skill: "s"}, cs)
			require.NoError(t, err)
			got, err := policy.Score(t.Context(), rank.Situation{Skill: "s"}, cs)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	next(150)
	rest(t, idle)
	check()
	rest(t, idle)
	next(20) // at rest, before the window is full
	check()
	next(100)
	rest(t, idle)
	next(30) // at rest, each pushing one out
	check()
	rest(t, idle)
	require.Equal(t, all[len(all)-rank.Window:], samplesOf(t, idle, "a"))
	require.NoError(t, idle.Close())
}

// TestDamageAtRest: a sample that is damaged while its pair is at rest is
// reported, not left out.
func TestDamageAtRest(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	book := open(t, st, nil)
	for i := range 3 {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(i), Candidate: "a"}))
	}
	rest(t, book)
	require.NoError(t, book.Flush(t.Context()))
	_, err := st.Commit(t.Context(), store.Op{Key: "rank\x00slot\x00a\x00\x001", Value: []byte("\x01damaged")})
	require.NoError(t, err)
	_, err = book.Health(t.Context(), "a")
	require.ErrorIs(t, err, store.ErrDamaged)
	_, err = book.Weighted().Score(t.Context(), rank.Situation{}, []rank.Candidate{{Name: "a"}})
	require.ErrorIs(t, err, store.ErrDamaged)
	var last error
	for _, last = range book.Samples(t.Context(), time.Time{}) {
	}
	require.ErrorIs(t, last, store.ErrDamaged)
}
