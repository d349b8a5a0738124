package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/store"
)

// BenchmarkBeside is the median of what a commit of one writer takes, and what part it is of a plain INSERT
// with its commit, in turn on one server: with prepared statements, and as behind a pooler.
func BenchmarkBeside(b *testing.B) {
	for _, mode := range []string{"cache_statement", "cache_describe"} {
		b.Run(mode, func(b *testing.B) {
			name, ctx, at := schema(b), context.WithoutCancel(b.Context()), dsn+" default_query_exec_mode="+mode
			st := open(b, at, postgres.Options{Schema: name})
			execute(b, dsn, "CREATE TABLE "+name+".plain (key bytea PRIMARY KEY, value bytea)")
			plain, err := pgx.Connect(ctx, at)
			require.NoError(b, err)
			defer plain.Close(ctx)
			value := make([]byte, 1000)
			var own, others []time.Duration
			for n := 0; b.Loop(); n++ {
				key := fmt.Sprintf("s/acme//memory/%08d", n)
				began := time.Now()
				_, err := plain.Exec(ctx, "INSERT INTO "+name+".plain VALUES ($1, $2)", []byte(key), value)
				require.NoError(b, err)
				others = append(others, time.Since(began))
				began = time.Now()
				_, err = st.Commit(ctx, store.Op{Key: key, Value: value, If: store.Absent})
				require.NoError(b, err)
				own = append(own, time.Since(began))
			}
			besideInsert(b, own, others)
		})
	}
}

// BenchmarkDispatch is the jobs a second that workers do, with a handler that does nothing: of one process,
// or shared out among three stores as three processes have.
func BenchmarkDispatch(b *testing.B) {
	for _, stores := range []int{1, 3} {
		b.Run(fmt.Sprint("processes=", stores), func(b *testing.B) {
			const n = 3000
			var total time.Duration
			for b.Loop() {
				b.StopTimer()
				name := schema(b)
				ctx, stop := context.WithCancel(b.Context())
				defer stop()
				var queues []*queue.Queue
				for range stores {
					st := open(b, dsn, postgres.Options{Schema: name})
					q, err := queue.Open(ctx, store.NewGroup(store.Sub(st, "t/acme/")), nil)
					require.NoError(b, err)
					queues = append(queues, q)
				}
				drafts := slices.Repeat([]queue.Draft{{Subject: "job"}}, 60)
				for range n / len(drafts) {
					_, _, err := queues[0].Add(ctx, queue.Draft{Subject: "first", Priority: 1})
					require.NoError(b, err)
					j, err := queues[0].Claim(ctx)
					require.NoError(b, err)
					require.NoError(b, queues[0].End(ctx, j, nil, drafts...))
				}
				b.StartTimer()
				var done atomic.Int64
				ended := make(chan error, stores)
				began := time.Now()
				for _, q := range queues {
					go func() {
						ended <- q.Dispatch(ctx, 64/stores, func(context.Context, *queue.Job) ([]queue.Draft, error) {
							if done.Add(1) >= n {
								stop()
							}
							return nil, nil
						})
					}()
				}
				for range queues {
					require.NoError(b, <-ended)
				}
				total += time.Since(began)
			}
			b.ReportMetric(float64(n*b.N)/total.Seconds(), "jobs/s")
		})
	}
}

// BenchmarkWide is the median of what a commit of so many puts takes, and what part it is of a plain INSERT
// of as many rows with its commit, in turn on one server.
func BenchmarkWide(b *testing.B) {
	for _, wide := range []int{2, 8, 64, 4096} {
		b.Run(fmt.Sprint("ops=", wide), func(b *testing.B) {
			name, ctx := schema(b), context.WithoutCancel(b.Context())
			st := open(b, dsn, postgres.Options{Schema: name})
			execute(b, dsn, "CREATE TABLE "+name+".plain (key bytea PRIMARY KEY, value bytea)")
			plain, err := pgx.Connect(ctx, dsn)
			require.NoError(b, err)
			defer plain.Close(ctx)
			var own, others []time.Duration
			for n := 0; b.Loop(); n++ {
				var ops []store.Op
				var keys, values [][]byte
				for i := range wide {
					op := store.Op{Key: fmt.Sprintf("s/acme//memory/%08d", n*wide+i), Value: make([]byte, 200),
						If: store.Absent}
					ops, keys, values = append(ops, op), append(keys, []byte(op.Key)), append(values, op.Value)
				}
				began := time.Now()
				_, err = plain.Exec(ctx, "INSERT INTO "+name+".plain SELECT * FROM unnest($1::bytea[], $2::bytea[])",
					keys, values)
				require.NoError(b, err)
				others = append(others, time.Since(began))
				began = time.Now()
				_, err = st.Commit(ctx, ops...)
				require.NoError(b, err)
				own = append(own, time.Since(began))
			}
			besideInsert(b, own, others)
		})
	}
}

// besideInsert reports how long commits took, and INSERTs of as much.
func besideInsert(b *testing.B, own, others []time.Duration) {
	slices.Sort(own)
	slices.Sort(others)
	for name, at := range map[string]int{"median": len(own) / 2, "tenth": len(own) / 10} {
		b.ReportMetric(float64(own[at].Microseconds()), "µs/"+name)
		b.ReportMetric(float64(own[at])/float64(others[at]), "×INSERT/"+name)
	}
}
