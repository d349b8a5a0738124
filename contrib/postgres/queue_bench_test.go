package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Jobs that do nothing, which are there when the workers begin: all workers of one queue, or each with a
// queue and a store of its own, as processes would have.
func BenchmarkQueue(b *testing.B) {
	for _, workers := range []int{8, 20} {
		for name, kind := range kinds(b) {
			b.Run(fmt.Sprintf("%s/one queue/workers=%d", name, workers), func(b *testing.B) {
				st := kind(b)
				drain(b, workers, st)
				require.NoError(b, st.Close())
			})
		}
		b.Run(fmt.Sprintf("postgres/a queue each/workers=%d", workers), func(b *testing.B) {
			name := schema(b)
			var all []store.Store
			for range workers {
				st, err := postgres.Open(b.Context(), pooled(3), &postgres.Options{Schema: name})
				require.NoError(b, err)
				defer st.Close()
				all = append(all, st)
			}
			drain(b, workers, all...)
		})
	}
}

// drain measures how long workers take for b.N jobs, shared out among queues over the stores.
func drain(b *testing.B, workers int, over ...store.Store) {
	first, err := queue.Open(b.Context(), over[0], nil)
	require.NoError(b, err)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if _, _, err := first.Enqueue(b.Context(), queue.Draft{Subject: fmt.Sprint("job ", i), Priority: 1 + int(i%10)}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	done, left := make(chan struct{}), atomic.Int64{}
	left.Store(int64(b.N))
	b.ResetTimer()
	var all []*queue.Dispatcher
	for _, st := range over {
		q, err := queue.Open(b.Context(), st, nil)
		require.NoError(b, err)
		d, err := q.Dispatch(func(context.Context, queue.Job) (queue.Result, error) {
			if left.Add(-1) == 0 {
				close(done)
			}
			return queue.Result{}, nil
		}, &queue.DispatchOptions{Workers: workers / len(over)})
		require.NoError(b, err)
		all = append(all, d)
	}
	<-done
	for _, d := range all {
		require.NoError(b, d.Close(b.Context()))
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	for j, err := range first.Jobs(b.Context()) {
		require.NoError(b, err)
		require.True(b, j.State == queue.Completed && j.Token == 1, "%+v", j)
	}
}

// A turn of an agent that stores each step, and a recall, which reads memory: over either store.
func BenchmarkAgent(b *testing.B) {
	for name, kind := range kinds(b) {
		st := kind(b)
		work := func(context.Context, act.Work) (act.Result, error) {
			return act.Result{Output: []byte(`"done"`), Reflection: iar.Reflection{Status: iar.Success, Confidence: .9, Summary: "done"}}, nil
		}
		agent, err := arc.New(b.Context(), st, shippers(work), &arc.Options{Maintain: -1})
		require.NoError(b, err)
		space := agent.In("local").Memory()
		for i := range 2000 {
			_, err := space.Remember(b.Context(), memory.Draft{
				Kind: memory.Fact, Content: fmt.Sprintf("crate %d stands at dock %d beside crane %d of the depot", i, i%37, i%11),
			})
			require.NoError(b, err)
		}
		b.Run("turn/"+name, func(b *testing.B) {
			for i := range b.N {
				r, err := agent.Run(b.Context(), arc.Objective{Text: fmt.Sprint("ship parcel ", i)})
				require.NoError(b, err)
				require.Equal(b, arc.Delivered, r.Status)
			}
		})
		b.Run("recall/"+name, func(b *testing.B) {
			for i := range b.N {
				hits, err := space.Recall(b.Context(), memory.Query{Text: fmt.Sprintf("where is crate %d of dock %d", i%2000, i%37)})
				require.NoError(b, err)
				require.NotEmpty(b, hits)
			}
		})
		require.NoError(b, agent.Close())
		require.NoError(b, st.Close())
	}
}
