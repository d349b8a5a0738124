package goal_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason/goal"
)

// status returns how the collector of domain stands.
func status(tb testing.TB, w *goal.World, domain string) goal.Domain {
	tb.Helper()
	for _, d := range w.Domains(noon) {
		if d.Name == domain {
			return d
		}
	}
	require.Fail(tb, "no domain", domain)
	return goal.Domain{}
}

func TestPollKeepsCadence(t *testing.T) {
	t.Parallel()
	w := new(goal.World)
	var mu sync.Mutex
	calls := map[string]int{}
	for name, every := range map[string]time.Duration{"m": 0, "slow": 3 * time.Minute} {
		require.NoError(t, w.Collect(goal.Collector{Domain: name, Every: every, Read: func(context.Context) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			calls[name]++
			return obj{"n": calls[name]}, nil
		}}))
	}
	for s := 0; s <= 360; s += 30 {
		require.NoError(t, w.Poll(t.Context(), after(s)))
	}
	require.Equal(t, map[string]int{"m": 7, "slow": 3}, calls)
	require.Equal(t, 7.0, value(t, w, "data.n", after(360+180)))
	require.Equal(t, "unknown", value(t, w, "data.n", after(360+181)), "three of its rounds have passed")
}

// TestBadCollectors: whatever one does, the other is read, and the bad one is
// left alone for longer and longer, up to an hour.
func TestBadCollectors(t *testing.T) {
	for name, read := range map[string]func(context.Context) (any, error){
		"error":      func(context.Context) (any, error) { return 1, errors.New("down") },
		"panic":      func(context.Context) (any, error) { panic("boom") },
		"exit":       func(context.Context) (any, error) { runtime.Goexit(); return nil, nil },
		"garbage":    func(context.Context) (any, error) { return math.NaN(), nil },
		"channel":    func(context.Context) (any, error) { return make(chan int), nil },
		"10 MB":      func(context.Context) (any, error) { return strings.Repeat("x", 10<<20), nil },
		"marshaller": func(context.Context) (any, error) { return bomb{}, nil },
		"obedient":   func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := new(goal.World)
				bad := false
				require.NoError(t, w.Collect(goal.Collector{Domain: "m", Read: func(ctx context.Context) (any, error) {
					if bad {
						return read(ctx)
					}
					return 1, nil
				}}))
				require.NoError(t, w.Collect(goal.Collector{Domain: "good", Read: func(context.Context) (any, error) { return 1, nil }}))
				require.NoError(t, w.Poll(t.Context(), noon))
				bad = true
				var tried []int
				for s := 60; s <= 6*3600; s += 60 {
					before := status(t, w, "m").Failures
					require.NoError(t, w.Poll(t.Context(), after(s)))
					synctest.Wait() // for one that has just been left behind
					if status(t, w, "m").Failures > before {
						tried = append(tried, s/60)
					}
					require.True(t, w.Domains(after(s))[0].Known, "the good one")
					require.Equal(t, s > 180, value(t, w, "data", after(s)) == "unknown", "the last reading holds for three rounds")
				}
				require.Equal(t, []int{1, 3, 7, 15, 31, 63, 123, 183, 243, 303}, tried)
				st := status(t, w, "m")
				require.False(t, st.Running)
				require.Error(t, st.Err)
				bad = false
				back := 363 * 60
				require.NoError(t, w.Poll(t.Context(), after(back)))
				require.Equal(t, 1.0, value(t, w, "data", after(back)))
				require.NoError(t, status(t, w, "m").Err)
			})
		})
	}
}

// TestHungCollector: one that ignores its deadline is not called again before
// it has come back, and what it returns then is dropped.
func TestHungCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := new(goal.World)
		release := make(chan struct{})
		calls := 0
		require.NoError(t, w.Collect(goal.Collector{Domain: "m", Timeout: time.Second, Read: func(context.Context) (any, error) {
			calls++
			<-release
			return calls, nil
		}}))
		begin := time.Now()
		require.NoError(t, w.Poll(t.Context(), noon))
		require.Equal(t, time.Second, time.Since(begin))
		require.True(t, status(t, w, "m").Running)
		require.NoError(t, w.Poll(t.Context(), after(7200)))
		require.Equal(t, time.Second, time.Since(begin), "nobody waits for it twice")
		close(release)
		synctest.Wait()
		require.False(t, status(t, w, "m").Running)
		require.Equal(t, "unknown", value(t, w, "data", after(7200)))
		require.NoError(t, w.Poll(t.Context(), after(7200)))
		require.Equal(t, 2.0, value(t, w, "data", after(7200)))
	})
}

// TestPollEnds: a context that ends is not held against a collector.
func TestPollEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := new(goal.World)
		require.NoError(t, w.Collect(goal.Collector{Domain: "m", Read: func(ctx context.Context) (any, error) { <-ctx.Done(); return 1, nil }}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for range 2 {
			require.ErrorIs(t, w.Poll(ctx, noon), context.DeadlineExceeded)
			synctest.Wait()
			require.Equal(t, goal.Domain{Name: "m"}, status(t, w, "m"))
		}
		//lint:ignore SA1012 that it is refused is the test
		require.Error(t, w.Poll(nil, noon), "a panic in a goroutine of its own would end the process")
	})
}

func TestCollectRefuses(t *testing.T) {
	t.Parallel()
	w := new(goal.World)
	read := func(context.Context) (any, error) { return nil, nil }
	require.NoError(t, w.Collect(goal.Collector{Domain: "m", Read: read}))
	for _, c := range []goal.Collector{
		{Domain: "m", Read: read}, {Read: read}, {Domain: "n"}, {Domain: "n", Read: read, Every: -1}, {Domain: "n", Read: read, Timeout: -1},
	} {
		require.Error(t, w.Collect(c))
	}
	require.Len(t, w.Domains(noon), 1)
}
