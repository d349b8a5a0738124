package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

var closeRules = []rule{
	{"close is idempotent", func(t tb, st store.Store) {
		commit(t, st, put("a", "1"))
		require.NoError(t, st.Close())
		require.NoError(t, st.Close())
		require.NoError(t, inParallel(4, func(int) error { return st.Close() }))
	}},
	{"after close every method is ErrClosed", afterClose},
	{"close waits for the commits under way", closeWaits},
	{"close ends an open scan without cutting it short", closeDuringScan},
}

func afterClose(t tb, st store.Store) {
	commit(t, st, put("a", "1"))
	before := st.Scan(t.Context(), store.Range{})
	require.NoError(t, st.Close())
	for range 2 {
		_, err := st.Get(t.Context(), "a")
		require.ErrorIs(t, err, store.ErrClosed, "get")
		_, err = st.Get(t.Context(), "absent")
		require.ErrorIs(t, err, store.ErrClosed, "get")
		rev, err := st.Commit(t.Context(), put("a", "2"))
		require.ErrorIs(t, err, store.ErrClosed, "commit")
		require.Zero(t, rev)
		_, err = st.Commit(t.Context())
		require.ErrorIs(t, err, store.ErrClosed, "commit of nothing")
		require.ErrorIs(t, scanError(t.Context(), st), store.ErrClosed, "scan")
		for e, err := range before {
			require.ErrorIs(t, err, store.ErrClosed, "scan")
			require.Empty(t, e)
		}
		require.NoError(t, st.Close())
	}
}

func closeWaits(t tb, st store.Store) {
	const workers = 6
	var closed atomic.Bool
	started := make(chan struct{}, workers)
	stopped := make(chan error, 1)
	go func() {
		stopped <- inParallel(workers, func(w int) error {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d/%d", w, i)
				over := closed.Load()
				_, err := st.Commit(t.Context(), put(key, "1"))
				if err == nil {
					_, err = st.Get(t.Context(), key)
				}
				if err == nil {
					err = scanError(t.Context(), st)
				}
				if i == 0 {
					started <- struct{}{}
				}
				if errors.Is(err, store.ErrClosed) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("while the store closes: %w", err)
				}
				if over {
					return errors.New("a commit after close succeeded")
				}
			}
		})
	}()
	for range workers {
		<-started
	}
	require.NoError(t, st.Close())
	closed.Store(true)
	require.NoError(t, <-stopped)
}

func closeDuringScan(t tb, st store.Store) {
	want := fill(t, st, many)
	got := map[string]string{}
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		if err != nil {
			require.ErrorIs(t, err, store.ErrClosed)
			return
		}
		if len(got) == 0 {
			require.NoError(t, st.Close())
		}
		got[e.Key] = string(e.Value)
	}
	require.Equal(t, want, got, "a scan that ends without an error is complete")
}
