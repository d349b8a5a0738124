package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// callers is what a store is asked for at a time in TestOverload: its writers share
// groups, so that more of them only wait longer.
const callers = 1024

// P26: a store that is asked for more than it can do within the deadline of its
// callers turns some away, and nothing of theirs is written; those that it serves
// wait no longer than the deadline and a group, and it is as fast as before once the
// load is over.
func TestOverload(t *testing.T) {
	st, err := badger.Open(t.TempDir(), nil)
	require.NoError(t, err)
	commit := func(ctx context.Context, key string) (time.Duration, error) {
		begin := time.Now()
		_, err := st.Commit(ctx, store.Op{Key: key, Value: valueOf(key, 64<<10)})
		return time.Since(begin), err
	}
	alone := func(name string) time.Duration {
		var took []time.Duration
		for n := range 50 {
			d, err := commit(t.Context(), fmt.Sprint(name, n))
			require.NoError(t, err)
			took = append(took, d)
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	before := alone("before/")
	const deadline = 250 * time.Millisecond
	var mu sync.Mutex
	shed := map[string]bool{}
	// ask has callers commit without a pause, and returns how long each took that was served.
	ask := func(name string, callers int, limit, span time.Duration) (served []time.Duration) {
		var all sync.WaitGroup
		end := time.Now().Add(span)
		for w := range callers {
			all.Go(func() {
				for n := 0; time.Now().Before(end); n++ {
					key := fmt.Sprintf("%s/%d/%d", name, w, n)
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					took, err := commit(ctx, key)
					cancel()
					mu.Lock()
					if errors.Is(err, context.DeadlineExceeded) {
						shed[key] = true
					} else if err == nil {
						served = append(served, took)
					} else {
						t.Errorf("untyped: %v", err)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		slices.Sort(served)
		return served
	}
	span := time.Duration(*rounds) * 5 * time.Second
	able := ask("able", 64, time.Minute, span)
	require.Empty(t, shed)
	served := ask("over", callers, deadline, span)
	ended := time.Now()
	_, err = commit(t.Context(), "after")
	require.NoError(t, err)
	recovered := time.Since(ended)
	after := alone("after/")
	require.NotEmpty(t, served)
	p99 := served[len(served)*99/100]
	written := 0
	for e, err := range st.Scan(t.Context(), store.Range{Prefix: "over/"}) {
		require.NoError(t, err)
		if written++; shed[e.Key] {
			t.Errorf("%s was turned away, and is there", e.Key)
		}
	}
	require.NoError(t, st.Close())
	t.Logf("figures: %s | %d served, p99 %v, where 64 callers had %d | %d turned away | then one in %v | alone %v before, %v after",
		t.Name(), len(served), p99, len(able), len(shed), recovered, before, after)
	require.Len(t, served, written)
	require.NotEmpty(t, shed, "this was no overload")
	require.Less(t, recovered, 5*time.Second)
}
