package heard_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/heard"
	"github.com/arc-learn/arc/store"
)

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := heard.New()
		commits := 0
		commit := func(context.Context) (store.Revision, error) { commits++; return 8, nil }
		waits := func(rev store.Revision) chan error {
			done := make(chan error, 1)
			go func() { done <- h.Await(t.Context(), rev, commit) }()
			synctest.Wait()
			return done
		}
		early := waits(5)
		h.Note(5)
		synctest.Wait()
		require.Empty(t, early, "5 may have more than one entry")
		h.Note(6)
		require.NoError(t, <-early)

		all := waits(1 << 40)
		h.Note(7)
		synctest.Wait()
		require.Empty(t, all, "its own commit of 8 is unheard of")
		h.Note(8)
		require.NoError(t, <-all, "what follows its own commit is not waited for")
		require.Equal(t, 2, commits)

		require.NoError(t, h.Await(t.Context(), 7, commit))
		require.Equal(t, 2, commits, "8 was heard of")

		last := waits(9)
		h.Close()
		h.Close()
		require.ErrorIs(t, <-last, store.ErrClosed)
	})
}

// What is committed to be heard of is under one of a few keys.
func TestCommit(t *testing.T) {
	h, st := heard.New(), store.NewMem()
	seen := map[string]bool{}
	for range 100 {
		rev, err := h.Commit(t.Context(), st, time.Unix(7, 0))
		require.NoError(t, err)
		require.NotZero(t, rev)
	}
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		seen[e.Key] = true
	}
	require.Len(t, seen, 64)
}

func TestAwaitEnds(t *testing.T) {
	h := heard.New()
	ctx, cancel := context.WithCancel(t.Context())
	err := h.Await(ctx, 3, func(context.Context) (store.Revision, error) { cancel(); return 9, nil })
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "heard of revision 0, and not of all up to 3")

	full := errors.New("full")
	require.ErrorIs(t, h.Await(t.Context(), 3, func(context.Context) (store.Revision, error) { return 0, full }), full)
}
