// Package queues_test measures queues of jobs on one PostgreSQL, side by side.
package queues_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/contrib/postgres/pgtest"
)

const workers = 8

// peer is a queue whose jobs do nothing. Add returns once a job is on disk; work has the
// workers begin, calls done for each job, and returns what ends them once all that they
// did is on disk too.
type peer struct {
	add  func(ctx context.Context, n int) error
	work func(ctx context.Context, done func()) (stop func(context.Context) error, err error)
}

// BenchmarkQueue has eight workers. Waiting: the jobs are there when they begin, and an operation
// is to take one and to end it. Beside producers: eight add the jobs one at a time
// meanwhile, and an operation is all of it.
func BenchmarkQueue(b *testing.B) {
	at := os.Getenv("ARC_POSTGRES_URL")
	if at == "" {
		server, err := pgtest.Start(b.Context())
		if err != nil {
			b.Skip("SKIPPED: ", err)
		}
		defer func() { require.NoError(b, server.Stop()) }()
		at = server.Conninfo()
	}
	for _, of := range []struct {
		name string
		open func(b *testing.B, at string) peer
	}{
		{"arc", openArc},
		{"river", func(b *testing.B, at string) peer { return openRiver(b, at, 0) }},
		{"river-1ms", func(b *testing.B, at string) peer { return openRiver(b, at, time.Millisecond) }},
	} {
		for _, how := range []string{"waiting", "beside producers"} {
			b.Run(of.name+"/"+how, func(b *testing.B) {
				p := of.open(b, at)
				produce := func() {
					var next atomic.Int64
					var all sync.WaitGroup
					for range workers {
						all.Go(func() {
							for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
								if err := p.add(b.Context(), int(i)); err != nil {
									b.Error(err)
								}
							}
						})
					}
					all.Wait()
				}
				var left atomic.Int64
				left.Store(int64(b.N))
				over := make(chan struct{})
				if how == "waiting" {
					produce()
				}
				b.ResetTimer()
				stop, err := p.work(b.Context(), func() {
					if left.Add(-1) == 0 {
						close(over)
					}
				})
				require.NoError(b, err)
				if how != "waiting" {
					produce()
				}
				<-over
				require.NoError(b, stop(b.Context()))
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
			})
		}
	}
}

var schemas atomic.Int64

// fresh returns a pool whose search path is a schema of its own.
func fresh(b *testing.B, at string) (pool *pgxpool.Pool, schema string) {
	config, err := pgxpool.ParseConfig(at)
	require.NoError(b, err)
	config.MaxConns = 16
	schema = fmt.Sprintf("q%d_%d", os.Getpid(), schemas.Add(1))
	config.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err = pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	_, err = pool.Exec(b.Context(), "CREATE SCHEMA "+schema)
	require.NoError(b, err)
	return pool, schema
}

func openArc(b *testing.B, at string) peer {
	pool, schema := fresh(b, at)
	st, err := postgres.New(b.Context(), pool, &postgres.Options{Schema: schema})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, st.Close()) })
	q, err := queue.Open(b.Context(), st, nil)
	require.NoError(b, err)
	return peer{
		add: func(ctx context.Context, n int) error {
			_, _, err := q.Enqueue(ctx, queue.Draft{Subject: fmt.Sprint("job ", n), Priority: 1 + n%4})
			return err
		},
		work: func(_ context.Context, done func()) (func(context.Context) error, error) {
			d, err := q.Dispatch(func(context.Context, queue.Job) (queue.Result, error) {
				done()
				return queue.Result{}, nil
			}, &queue.DispatchOptions{Workers: workers})
			if err != nil {
				return nil, err
			}
			return d.Close, nil
		},
	}
}

// riverJob is a job of river's.
type riverJob struct {
	N int `json:"n"`
}

// Kind implements river.JobArgs.
func (riverJob) Kind() string { return "job" }

// openRiver opens river, whose defaults fetch ten times a second, or as often as cooldown says.
func openRiver(b *testing.B, at string, cooldown time.Duration) peer {
	pool, _ := fresh(b, at)
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	require.NoError(b, err)
	_, err = migrator.Migrate(b.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(b, err)
	done := func() {}
	kinds := river.NewWorkers()
	river.AddWorker(kinds, river.WorkFunc(func(context.Context, *river.Job[riverJob]) error {
		done()
		return nil
	}))
	client, err := river.NewClient(driver, &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {
			MaxWorkers: workers, FetchCooldown: cooldown, FetchPollInterval: cooldown,
		}},
		Workers: kinds,
		Logger:  slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	return peer{
		add: func(ctx context.Context, n int) error {
			_, err := client.Insert(ctx, riverJob{N: n}, &river.InsertOpts{Priority: 1 + n%4})
			return err
		},
		work: func(ctx context.Context, each func()) (func(context.Context) error, error) {
			done = each
			return client.Stop, client.Start(ctx)
		},
	}
}
