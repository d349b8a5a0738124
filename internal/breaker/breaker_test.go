package breaker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/breaker"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

var start = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func ranking(names ...string) (out []rank.Scored) {
	for _, name := range names {
		out = append(out, rank.Scored{Candidate: rank.Candidate{Name: name}})
	}
	return out
}

func load(t *testing.T, st store.Store) *breaker.Set {
	t.Helper()
	s, err := breaker.Load(t.Context(), st, "acme")
	require.NoError(t, err)
	return s
}

// commit writes what a Set has to say, if anything.
func commit(t *testing.T, st store.Store, op store.Op) {
	t.Helper()
	require.NotEmpty(t, op.Key)
	_, err := st.Commit(t.Context(), op)
	require.NoError(t, err)
}

// TestRest has a worker break off again and again: it rests for a minute from the third time
// on, for twice as long after each further one, and for an hour at most.
func TestRest(t *testing.T) {
	t.Parallel()
	all, now := load(t, store.NewMem()), start
	both, other := ranking("one", "two"), ranking("two")
	for fault, rest := range []time.Duration{0, 0, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
		16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
		require.NotEmpty(t, all.Heard("one", true, false, now).Key)
		if rest > 0 {
			require.Equal(t, other, all.Closed(both, now), fault)
			require.Equal(t, other, all.Closed(both, now.Add(rest-1)), fault)
		}
		now = now.Add(rest)
		require.Equal(t, both, all.Closed(both, now), fault)
	}
	for range 100 {
		all.Heard("one", true, false, now)
	}
	require.Equal(t, other, all.Closed(both, now.Add(time.Hour-1)))
	require.Equal(t, both, all.Closed(both, now.Add(time.Hour)))
}

// TestTrial has one attempt try a worker again while others leave it alone.
func TestTrial(t *testing.T) {
	t.Parallel()
	all, both := load(t, store.NewMem()), ranking("one", "two")
	for range 3 {
		all.Heard("one", true, false, start)
	}
	now := start.Add(breaker.Rest)
	all.Try("two", now, time.Hour) // which is closed: it rests for none
	all.Try("one", now, time.Minute)
	require.Equal(t, ranking("two"), all.Closed(both, now))
	require.Equal(t, both, all.Closed(both, now.Add(time.Minute)), "an attempt that is not heard of is over some time")
	all.Try("one", now, time.Minute)
	require.Equal(t, both, all.Closed(both, now.Add(-365*rank.Day)), "the clock was put back")
	require.Empty(t, all.Heard("one", false, false, now).Key, "it was wrong, which says nothing new")
	require.Equal(t, both, all.Closed(both, now))
	op := all.Heard("one", false, true, now)
	require.True(t, op.Delete)
	require.Equal(t, both, all.Closed(both, now))
	require.Empty(t, all.Heard("one", false, true, now).Key)
}

// TestLast has workers that all rest be asked all the same.
func TestLast(t *testing.T) {
	t.Parallel()
	all := load(t, store.NewMem())
	for range 3 {
		all.Heard("one", true, false, start)
	}
	require.Equal(t, ranking("one"), all.Closed(ranking("one"), start))
}

// TestKept has breakers outlive their process, each in its own tenant. One that is damaged is
// closed.
func TestKept(t *testing.T) {
	t.Parallel()
	st, both := store.NewMem(), ranking("one", "two")
	all := load(t, st)
	var first, last store.Op
	for i := range 3 {
		if last = all.Heard("one", true, false, start); i == 0 {
			first = last
		}
	}
	require.Equal(t, last, all.Newer(first), "what is heard of last counts")
	require.Empty(t, all.Newer(last).Key)
	commit(t, st, last)
	commit(t, st, store.Op{Key: key.Under("acme", breaker.Keys, "two"), Value: []byte("damaged")})
	require.Equal(t, ranking("two"), load(t, st).Closed(both, start))
	for e, err := range st.Scan(t.Context(), store.Range{Prefix: key.Under("acme", breaker.Keys, "")}) {
		require.NoError(t, err)
		if e.Key == last.Key {
			require.NoError(t, breaker.Check(e))
		} else {
			require.Error(t, breaker.Check(e))
		}
	}
	foreign, err := breaker.Load(t.Context(), st, "other")
	require.NoError(t, err)
	require.Equal(t, both, foreign.Closed(both, start))

	again := load(t, st)
	gone := again.Heard("one", false, true, start)
	require.Equal(t, gone, again.Newer(last))
	commit(t, st, gone)
	require.Equal(t, both, load(t, st).Closed(both, start))
}

// A worker whose attempts broke off while the clock stood ahead rests no longer than others,
// once that is set right.
func TestRestWhenTheClockWasPutBack(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	all := load(t, st)
	for range 5 {
		commit(t, st, all.Heard("one", true, false, start.Add(365*rank.Day)))
	}
	for _, all := range []*breaker.Set{all, load(t, st)} {
		require.Equal(t, ranking("two"), all.Closed(ranking("one", "two"), start.Add(365*rank.Day-time.Second)), "clocks differ a little")
		require.Equal(t, ranking("one", "two"), all.Closed(ranking("one", "two"), start))
		require.Equal(t, ranking("one", "two"), all.Closed(ranking("one", "two"), start.Add(365*rank.Day-time.Hour)))
	}
}
