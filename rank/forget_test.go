package rank_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

func TestForget(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 200, 250, 430} {
		st, ctx := store.NewMem(), t.Context()
		b, err := rank.Open(ctx, st, &rank.Options{Tenant: "acme"})
		require.NoError(t, err)
		begin := time.Unix(1e9, 0).UTC()
		for i := range n {
			require.NoError(t, b.Observe(ctx, rank.Sample{
				Key: fmt.Sprint("k", i), Candidate: "one", Situation: rank.Situation{Skill: "work", Key: "secret"},
				Success: i%3 > 0, At: begin.Add(time.Duration(i) * time.Hour),
			}))
		}
		var want []string
		for _, s := range samplesOf(t, b, "one") {
			if s.At.Unix()/3600%2 == 0 {
				want = append(want, s.Key)
			}
		}
		require.NoError(t, b.Forget(ctx, func(s rank.Sample) bool { return s.At.Unix()/3600%2 == 1 }))
		check := func(b *rank.Book) {
			var got []string
			for _, s := range samplesOf(t, b, "one") {
				got = append(got, s.Key)
			}
			require.Equal(t, want, got)
			s, err := b.Stats(ctx, "one", "work")
			require.NoError(t, err)
			require.Equal(t, len(want), s.Samples)
		}
		check(b)
		// A sample that was forgotten counts again, one that was not does not.
		kept := want[0]
		last := fmt.Sprint("k", n-1)
		if want[len(want)-1] == last {
			last = fmt.Sprint("k", n-2)
		}
		for _, k := range []string{kept, last} {
			require.NoError(t, b.Observe(ctx, rank.Sample{Key: k, Candidate: "one", Situation: rank.Situation{Skill: "work"}}))
		}
		want = append(want, last)
		check(b)
		require.NoError(t, b.Close())
		b, err = rank.Open(ctx, st, &rank.Options{Tenant: "acme"})
		require.NoError(t, err)
		check(b)
		require.NoError(t, b.Release(ctx, want...))
		check(b)
		require.NoError(t, b.Close())
		other, err := rank.Open(ctx, st, nil)
		require.NoError(t, err)
		for range other.Samples(ctx, time.Time{}) {
			require.Fail(t, "samples of a tenant in the Book of none")
		}
		require.NoError(t, other.Close())
	}
}

// Of two samples with one key, which Release allows, Forget takes the one that is meant,
// and the other is still known.
func TestForgetOneOfTwoWithAKey(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		book := open(t, store.NewMem(), &rank.Options{Now: clock(noon), Shared: shared})
		s := rank.Sample{Key: "k", Candidate: "c", At: noon.Add(-time.Hour)}
		require.NoError(t, book.Observe(t.Context(), s))
		require.NoError(t, book.Release(t.Context(), "k"))
		s.At, s.Success = noon, true
		require.NoError(t, book.Observe(t.Context(), s))
		require.NoError(t, book.Forget(t.Context(), func(s rank.Sample) bool { return s.At.Before(noon) }))
		require.Len(t, samplesOf(t, book, "c"), 1)
		require.NoError(t, book.Observe(t.Context(), s))
		left := samplesOf(t, book, "c")
		require.Len(t, left, 1, "it is known")
		require.True(t, left[0].Success)
		require.NoError(t, book.Close())
	}
}

// A window of more than a commit has room for forgets, also beside other Books: what stays is in order, keys that are
// gone can be observed again, and new samples fill the window.
func TestForgetALargeWindow(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		st := store.NewMem()
		opts := &rank.Options{Now: clock(noon), Shared: shared}
		book := open(t, st, opts)
		sample := func(i int) rank.Sample {
			return rank.Sample{
				Key: fmt.Sprint("k", i), Candidate: "c", At: noon.Add(time.Duration(i) * time.Second),
				Situation: rank.Situation{Features: slices.Repeat([]float64{1 / 3.0}, rank.MaxFeatures)},
			}
		}
		for i := range 200 {
			require.NoError(t, book.Observe(t.Context(), sample(i)))
		}
		gone := func(i int) bool { return i%10 == 1 || i > 190 }
		require.NoError(t, book.Forget(t.Context(), func(s rank.Sample) bool {
			return gone(int(s.At.Sub(noon) / time.Second))
		}))
		check := func(want int) {
			left := samplesOf(t, book, "c")
			require.Equal(t, want, len(left))
			seen := make(map[string]bool)
			for _, s := range left {
				seen[s.Key] = true
			}
			require.Equal(t, want, len(seen))
			stats, err := book.Stats(t.Context(), "c", "")
			require.NoError(t, err)
			require.Equal(t, want, stats.Samples)
		}
		check(172)
		require.NoError(t, book.Close())
		book = open(t, st, opts)
		check(172)
		for i := range 200 {
			require.NoError(t, book.Observe(t.Context(), sample(i)))
		}
		require.NoError(t, book.Close())
		book = open(t, st, opts)
		require.NoError(t, book.Refresh(t.Context()))
		if !shared { // one commit does not close all gaps
			check(200)
		}
		for i := range 200 {
			require.NoError(t, book.Observe(t.Context(), sample(200+i)))
		}
		check(200)
		require.NoError(t, book.Close())
	}
}
