package rank_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// Attempts that have left the window count all the same, over restarts: those of the day
// in Health and Weighted, all of them by day.
func TestNoAttemptIsLeftOut(t *testing.T) {
	t.Parallel()
	st, ctx := store.NewMem(), t.Context()
	opts := &rank.Options{Now: clock(noon), Tenant: "acme"}
	book := open(t, st, opts)
	for i := range 1000 {
		require.NoError(t, book.Observe(ctx, rank.Sample{
			Key: fmt.Sprint(i), Candidate: "one", Situation: rank.Situation{Skill: "work"},
			Success: i < 800, CostUSD: 0.2, TokensIn: 2, At: noon.Add(time.Duration(i-1000) * time.Minute),
		}))
	}
	check := func(book *rank.Book) {
		h, err := book.Health(ctx, "one")
		require.NoError(t, err)
		require.Equal(t, []int{1000, 800}, []int{h.Known, h.Successes})
		require.InDelta(t, 200, h.CostUSD, 1e-9)
		days, err := book.Daily(ctx, noon.Add(-rank.Day))
		require.NoError(t, err)
		require.Len(t, days, 2)
		require.Equal(t, []int{280, 720}, []int{days[0].Samples, days[1].Samples}, "midnight was 720 minutes ago")
		require.Equal(t, []int{280, 520}, []int{days[0].Successes, days[1].Successes})
		require.InDelta(t, 144, days[1].CostUSD, 1e-9)
		require.Equal(t, 1440, days[1].TokensIn)
		require.InDelta(t, 144./520, days[1].PerSuccess().USD, 1e-9)
		ss, err := book.Weighted().Score(ctx, rank.Situation{Skill: "work"}, []rank.Candidate{{Name: "one"}})
		require.NoError(t, err)
		require.InDelta(t, 0.8/(1+0.25), ss[0].Score, 1e-12)
	}
	check(book)
	require.NoError(t, book.Close())
	book = open(t, st, opts)
	check(book)
	require.NoError(t, book.Forget(ctx, func(s rank.Sample) bool { return s.At.Before(noon.Add(-12 * time.Hour)) }))
	days, err := book.Daily(ctx, time.Time{})
	require.NoError(t, err)
	require.Len(t, days, 1, "hours are forgotten as samples are")
}

// An hour that was forgotten is gone from memory too: it counts in no Health, and does not
// come back with the next attempt of that hour that leaves the window.
func TestAnHourIsForgotten(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	book := open(t, st, nil)
	n := 0
	observe := func(times int, at time.Time) {
		for range times {
			n++
			require.NoError(t, book.Observe(ctx(t), rank.Sample{Key: fmt.Sprint(n), Candidate: "one", At: at, CostUSD: 1}))
		}
	}
	early := noon.Add(-3 * time.Hour)
	observe(rank.Window, early)
	observe(rank.Window, noon)
	require.NoError(t, book.Forget(ctx(t), func(s rank.Sample) bool { return s.At.Before(noon) }))
	h, err := book.Health(ctx(t), "one")
	require.NoError(t, err)
	require.Equal(t, rank.Window, h.Known)
	observe(1, early)
	observe(rank.Window, noon)
	left := 0
	for tally, err := range book.Left(ctx(t), time.Time{}) {
		require.NoError(t, err)
		if tally.From.Before(noon.Truncate(time.Hour)) {
			left += tally.Samples
		}
	}
	require.Equal(t, 1, left)
}

// TestDaily compares with adding up all samples ever, whatever their order in time.
func TestDaily(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		st := store.NewMem()
		book := open(t, st, nil)
		type day struct {
			of string
			at int64
		}
		want := make(map[day][3]int)
		for i := range rapid.IntRange(1, 900).Draw(rt, "n") {
			s := rank.Sample{
				Key: fmt.Sprint(i), Candidate: fmt.Sprint("c", i%7%2), Success: i%3 == 0, Unknown: i%5 == 0,
				APICostUSD: 2, At: noon.Add(-time.Duration(i*7919%(5*24*60)) * time.Minute),
			}
			if i%2 == 0 {
				s.CostUSD = 1
			}
			require.NoError(rt, book.Observe(t.Context(), s))
			k := day{s.Candidate, s.At.Truncate(rank.Day).Unix()}
			sum := want[k]
			sum[0]++
			if sum[1] += 1; i%2 != 0 {
				sum[1]++ // estimated
			}
			if s.Success && !s.Unknown {
				sum[2]++
			}
			want[k] = sum
		}
		if rapid.Bool().Draw(rt, "restarts") {
			require.NoError(rt, book.Close())
			book = open(t, st, nil)
		}
		days, err := book.Daily(t.Context(), time.Time{})
		require.NoError(rt, err)
		got := make(map[day][3]int)
		for _, d := range days {
			got[day{d.Candidate, d.From.Unix()}] = [3]int{d.Samples, int(d.USD), d.Successes}
		}
		require.Equal(rt, want, got)
	})
}

// Why a sample failed is kept, sanitized and short.
func TestReason(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	book := open(t, store.NewMem(), nil)
	require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "1", Candidate: "a", Reason: "with " + secret + "\xff" + strings.Repeat("ü", 300)}))
	for s, err := range book.Samples(t.Context(), time.Time{}) {
		require.NoError(t, err)
		require.NotContains(t, s.Reason, "0123456789")
		require.True(t, strings.HasPrefix(s.Reason, "with "))
		require.LessOrEqual(t, len(s.Reason), rank.MaxReason)
		require.Greater(t, len(s.Reason), 200)
	}
}

// Claims are the Stats of each pair.
func TestClaims(t *testing.T) {
	t.Parallel()
	book := open(t, store.NewMem(), nil)
	for i := range 6 {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{
			Key: fmt.Sprint(i), Candidate: "a", Situation: rank.Situation{Skill: fmt.Sprint("s", i%2)}, Success: i < 4, Confidence: p(0.9),
		}))
	}
	all, err := book.Claims(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []any{"a", "s0", 3, 1}, []any{all[0].Candidate, all[0].Skill, all[0].Confident, all[0].HighConfidenceFailures})
}

// Sums of times that are out of all bounds stay at the largest.
func TestTimesDoNotOverflow(t *testing.T) {
	t.Parallel()
	book := open(t, store.NewMem(), nil)
	for i := range 700 {
		require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(i), Candidate: "c", Wall: math.MaxInt64}))
	}
	days, err := book.Daily(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, days, 1)
	require.Equal(t, 700, days[0].Samples)
	require.Equal(t, time.Duration(math.MaxInt64), days[0].Wall)
}

// Attempts that have left a window count in Health by the hour, whether or not the Book was
// opened since, also once Forget has left room in the window.
func TestHealthOfWhatHasLeft(t *testing.T) {
	t.Parallel()
	now, st := noon, store.NewMem()
	opts := &rank.Options{Now: func() time.Time { return now }}
	book, n := open(t, st, opts), 0
	observe := func(times int, at time.Time) {
		for range times {
			n++
			require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(n), Candidate: "c", At: at}))
		}
	}
	check := func(want int) {
		t.Helper()
		require.NoError(t, book.Flush(t.Context()))
		for _, b := range []*rank.Book{book, open(t, st, opts)} {
			h, err := b.Health(t.Context(), "c")
			require.NoError(t, err)
			require.Equal(t, want, h.Known)
		}
	}
	observe(rank.Window+50, noon)
	check(rank.Window + 50)
	now = noon.Add(rank.Day + time.Minute)
	check(50) // in an hour that ends in the last day
	now = noon
	require.NoError(t, book.Forget(t.Context(), func(s rank.Sample) bool { return s.Key == fmt.Sprint(n) }))
	check(rank.Window + 49)
	observe(1, noon.Add(-5*time.Hour))
	observe(1, noon)
	check(rank.Window + 51)
}

// Attempts that ended while the clock stood ahead are of a later day: they count in no Health
// once it was set back, neither in a window nor when they have left it.
func TestHealthOfWhatIsToCome(t *testing.T) {
	t.Parallel()
	now, st, n := noon.Add(365*rank.Day), store.NewMem(), 0
	opts := &rank.Options{Now: func() time.Time { return now }}
	book := open(t, st, opts)
	observe := func(times int, success bool) {
		for range times {
			n++
			require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(n), Candidate: "c", Success: success}))
		}
	}
	check := func(want int) {
		t.Helper()
		require.NoError(t, book.Flush(t.Context()))
		for _, b := range []*rank.Book{book, open(t, st, opts)} {
			h, err := b.Health(t.Context(), "c")
			require.NoError(t, err)
			require.Equal(t, []int{want, want}, []int{h.Known, h.Successes})
		}
	}
	observe(150, false)
	now = noon
	check(0)
	observe(10, true)
	check(10)
	observe(rank.Window, true)
	check(rank.Window + 10)
}

// Health of attempts that cannot be written is told all the same.
func TestHealthWhileTheStoreFails(t *testing.T) {
	t.Parallel()
	st := arctest.NewStore(store.NewMem())
	book, err := rank.Open(t.Context(), st, &rank.Options{Now: clock(noon)})
	require.NoError(t, err)
	st.FailNext(0, -1, false)
	require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: "1", Candidate: "c", Success: true}))
	h, err := book.Health(t.Context(), "c")
	require.NoError(t, err)
	require.Equal(t, 1, h.Known)
	require.ErrorIs(t, book.Close(), arctest.ErrStore)
}
