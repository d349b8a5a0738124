package queue_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// fill adds n jobs, in few commits: as follow-ups of others.
func fill(b *testing.B, q *queue.Queue, n int) {
	drafts := make([]queue.Draft, 64)
	for i := range drafts {
		drafts[i] = queue.Draft{Subject: fmt.Sprint("job ", i), Priority: 1 + i%10}
	}
	for n > 0 {
		part := min(n, len(drafts))
		_, _, err := q.Add(b.Context(), queue.Draft{Subject: "first", Priority: 1})
		require.NoError(b, err)
		j, err := q.Claim(b.Context())
		require.NoError(b, err)
		require.NoError(b, q.End(b.Context(), j, nil, drafts[:part]...))
		n -= part
	}
}

// BenchmarkDispatch is the jobs a second that 64 workers do on Badger, with a handler that does nothing.
func BenchmarkDispatch(b *testing.B) {
	st, err := badger.Open(b.Context(), b.TempDir(), nil)
	require.NoError(b, err)
	defer st.Close()
	q, err := queue.Open(b.Context(), store.NewGroup(store.Sub(st, "t/acme/")), nil)
	require.NoError(b, err)
	const n = 20_000
	var total time.Duration
	for b.Loop() {
		b.StopTimer()
		fill(b, q, n)
		b.StartTimer()
		ctx, stop := context.WithCancel(b.Context())
		var done atomic.Int64
		began := time.Now()
		require.NoError(b, q.Dispatch(ctx, 64, func(context.Context, *queue.Job) ([]queue.Draft, error) {
			if done.Add(1) >= n {
				stop()
			}
			return nil, nil
		}))
		total += time.Since(began)
	}
	b.ReportMetric(float64(n*b.N)/total.Seconds(), "jobs/s")
}

// BenchmarkOpen opens a Queue of 100,000 pending jobs on Badger.
func BenchmarkOpen(b *testing.B) {
	st, err := badger.Open(b.Context(), b.TempDir(), nil)
	require.NoError(b, err)
	defer st.Close()
	q, err := queue.Open(b.Context(), store.NewGroup(store.Sub(st, "t/acme/")), nil)
	require.NoError(b, err)
	fill(b, q, 100_000)
	b.ResetTimer()
	for b.Loop() {
		_, err := queue.Open(b.Context(), store.NewGroup(store.Sub(st, "t/acme/")), nil)
		require.NoError(b, err)
	}
}
