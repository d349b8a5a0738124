package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/act/queue/queuetest"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/store"
)

func TestQueueModel(t *testing.T) {
	database(t)
	queuetest.Run(t, func(t *testing.T) store.Store { return open(t, schema(t)) })
}

// counted counts the calls of CommitFirst.
type counted struct {
	*postgres.Store
	n int
}

func (c *counted) CommitFirst(
	ctx context.Context, marks, keys []string, fn func(n int, e store.Entry) ([]store.Op, error),
) (store.Revision, error) {
	c.n++
	return c.Store.CommitFirst(ctx, marks, keys, fn)
}

// A queue that finds another process faster has the store say which job is free.
func TestQueuesOfSeveralProcesses(t *testing.T) {
	name := schema(t)
	stores := [2]*counted{{Store: open(t, name)}, {Store: open(t, name)}}
	now := time.Now()
	var queues [2]*queue.Queue
	for i, st := range stores {
		var err error
		queues[i], err = queue.Open(t.Context(), st, &queue.Options{Now: func() time.Time { return now }})
		require.NoError(t, err)
	}
	for range 6 {
		_, _, err := queues[0].Enqueue(t.Context(), queue.Draft{Subject: "job"})
		require.NoError(t, err)
	}
	claimed := map[string]bool{}
	for i := range 6 {
		l, err := queues[i%2].Claim(t.Context(), 0)
		require.NoError(t, err)
		claimed[l.Job.ID] = true
	}
	require.Len(t, claimed, 6)
	require.Positive(t, stores[0].n, "it had all jobs in memory, and the second is gone")
	_, err := queues[0].Claim(t.Context(), 0)
	require.ErrorIs(t, err, queue.ErrEmpty)
}

// A process that falls silent while it has a job taken holds up no other, and loses what
// it has taken.
func TestSilentTaker(t *testing.T) {
	name := schema(t)
	a, b := open(t, name), open(t, name)
	for _, key := range []string{"mark", "key"} {
		put(t, a, key)
	}
	_, err := a.CommitFirst(t.Context(), []string{"mark"}, []string{"key"}, func(_ int, e store.Entry) ([]store.Op, error) {
		put(t, b, "other")
		_, err := b.CommitFirst(t.Context(), []string{"mark"}, []string{"key"}, nil)
		require.ErrorIs(t, err, store.ErrConflict)
		run(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND query LIKE '%arc_take%'")
		within(t, "it is free again", func() bool {
			_, err := b.CommitFirst(t.Context(), []string{"mark"}, []string{"key"}, func(_ int, e store.Entry) ([]store.Op, error) {
				return []store.Op{{Key: e.Key, Value: []byte("b"), If: store.At(e.Rev)}}, nil
			})
			return err == nil
		})
		return []store.Op{{Key: e.Key, Value: []byte("a"), If: store.At(e.Rev)}}, nil
	})
	require.Error(t, err)
	e, err := a.Get(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, "b", string(e.Value))
}

// The function that makes a commit may call the Store, also while that is closed, which
// does not wait for it.
func TestCloseWhileACommitIsMade(t *testing.T) {
	st := open(t, schema(t))
	for _, key := range []string{"mark", "key"} {
		put(t, st, key)
	}
	closed := make(chan error, 1)
	_, err := st.CommitFirst(t.Context(), []string{"mark"}, []string{"key"}, func(_ int, e store.Entry) ([]store.Op, error) {
		put(t, st, "other")
		go func() { closed <- st.Close() }()
		within(t, "it is closed to calls", func() bool {
			_, err := st.Get(t.Context(), "mark")
			return errors.Is(err, store.ErrClosed)
		})
		require.NoError(t, <-closed)
		return []store.Op{{Key: e.Key, Value: []byte("a"), If: store.At(e.Rev)}}, nil
	})
	require.ErrorIs(t, err, store.ErrClosed)
}
