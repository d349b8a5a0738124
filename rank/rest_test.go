package rank_test

import (
	"context"
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
// told of, and left out from then on.
func TestDamageAtRest(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	var told []error
	book := open(t, st, &rank.Options{Now: clock(noon), Damaged: func(err error) { told = append(told, err) }})
	for i := range 3 {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(i), Candidate: "a"}))
	}
	rest(t, book)
	require.NoError(t, book.Flush(t.Context()))
	_, err := st.Commit(t.Context(), store.Op{Key: "rank\x00slot\x00a\x00\x001", Value: []byte("\x01damaged")})
	require.NoError(t, err)
	h, err := book.Health(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, 2, h.Known)
	require.Len(t, told, 1)
	require.ErrorIs(t, told[0], store.ErrDamaged)
	_, err = book.Weighted().Score(t.Context(), rank.Situation{}, []rank.Candidate{{Name: "a"}})
	require.NoError(t, err)
	require.Len(t, told, 1)
	read, lost := 0, 0
	for s, err := range book.Samples(t.Context(), time.Time{}) {
		if err != nil {
			require.ErrorIs(t, err, store.ErrDamaged)
			lost++
		} else if s.Candidate == "a" {
			read++
		}
	}
	require.Equal(t, [2]int{2, 1}, [2]int{read, lost})
}

// A clock that jumps ahead and comes back, or stands at the beginning of time, leaves no
// attempt out of Health.
func TestHealthAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	for _, start := range []time.Time{noon, time.Unix(0, 0).Add(5 * time.Hour)} {
		now, n := start, 0
		opts := &rank.Options{Now: func() time.Time { return now }}
		st := store.NewMem()
		book := open(t, st, opts)
		observe := func(times int) {
			for range times {
				n++
				require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(n), Candidate: "c", At: start.Add(-time.Duration(n%4) * time.Hour)}))
			}
		}
		known := func(b *rank.Book) int {
			h, err := b.Health(t.Context(), "c")
			require.NoError(t, err)
			return h.Known
		}
		observe(rank.Window + 50) // four hours are left
		now = start.Add(30 * rank.Day)
		observe(1)
		now = start
		require.Equal(t, n, known(book))
		observe(1)
		require.Equal(t, n, known(book))
		require.NoError(t, book.Close())
		now = start.Add(30 * rank.Day)
		book = open(t, st, opts)
		require.Zero(t, known(book))
		now = start
		require.Equal(t, n, known(book), "what was not read at first")
	}
}

// Health that has to read what is at rest reads what there is by then.
func TestHealthBesideForget(t *testing.T) {
	t.Parallel()
	var between func()
	book := open(t, store.NewMem(), &rank.Options{Now: func() time.Time {
		if f := between; f != nil {
			between = nil
			f()
		}
		return noon
	}})
	for i := range 10 {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(i), Candidate: "a", Success: i < 5}))
	}
	rest(t, book)
	_, err := book.Stats(t.Context(), "a", "")
	require.NoError(t, err)
	between = func() {
		require.NoError(t, book.Forget(context.Background(), func(s rank.Sample) bool { return s.Candidate == "a" && s.Success }))
	}
	h, err := book.Health(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, rank.Health{Known: 5}, h)
}
