// Command queue measures how many jobs a second a process works off a queue in PostgreSQL: arc's beside
// river's, with 64 workers and a handler that does nothing, each system as its documentation sets it up.
//
//	GOWORK=off go run . [-rounds 3] [-jobs 3000] CONNINFO
//
// All jobs are there before the clock starts; it stops when the last handler was called. It prints the median
// of the rounds, the systems in turn. Both may keep the end of the last jobs a little later. CONNINFO is a
// connection string, such as postgres://user@localhost/db; what was made there is dropped.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/store"
)

const (
	schema  = "arc_benchmark"
	workers = 64
)

// prepare adds n jobs, and returns what works them off and calls done for each.
type prepare func(
	ctx context.Context, conninfo string, n int, done func(),
) (work func(context.Context) error, err error)

var systems = []struct {
	name string
	prepare
}{{"arc", arc}, {"river", riverQueue}}

func main() {
	log.SetFlags(0)
	rounds, n := flag.Int("rounds", 3, "of all systems"), flag.Int("jobs", 3000, "a round")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("no CONNINFO: see go doc")
	}
	took := make([][]float64, len(systems))
	for range *rounds {
		for i, s := range systems {
			rate, err := measure(context.Background(), s.prepare, flag.Arg(0), *n)
			if err != nil {
				log.Fatal(s.name, ": ", err)
			}
			took[i] = append(took[i], rate)
		}
	}
	fmt.Println("| system | jobs a second | range |\n|---|--:|--:|")
	for i, s := range systems {
		slices.Sort(took[i])
		fmt.Printf("| %s | %.0f | %.0f to %.0f |\n", s.name, took[i][*rounds/2], took[i][0], took[i][*rounds-1])
	}
}

func measure(ctx context.Context, prepare prepare, conninfo string, n int) (float64, error) {
	conn, err := pgx.Connect(ctx, conninfo)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE; CREATE SCHEMA "+schema); err != nil {
		return 0, err
	}
	defer conn.Exec(ctx, "DROP SCHEMA "+schema+" CASCADE")
	working, stop := context.WithCancel(ctx)
	defer stop()
	var calls atomic.Int64
	var end time.Time
	work, err := prepare(ctx, conninfo, n, func() {
		if calls.Add(1) == int64(n) {
			end = time.Now()
			stop()
		}
	})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := work(working); err != nil {
		return 0, err
	}
	return float64(n) / end.Sub(began).Seconds(), nil
}

func arc(ctx context.Context, conninfo string, n int, done func()) (func(context.Context) error, error) {
	st, err := postgres.Open(ctx, conninfo, &postgres.Options{Schema: schema})
	if err != nil {
		return nil, err
	}
	q, err := queue.Open(ctx, store.NewGroup(store.Sub(st, "t/acme/")), nil)
	if err != nil {
		return nil, err
	}
	for range n {
		if _, _, err := q.Add(ctx, queue.Draft{Subject: "job"}); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		defer st.Close()
		return q.Dispatch(ctx, workers, func(context.Context, *queue.Job) ([]queue.Draft, error) {
			done()
			return nil, nil
		})
	}, nil
}

type job struct{}

func (job) Kind() string { return "job" }

func riverQueue(
	ctx context.Context, conninfo string, n int, done func(),
) (func(context.Context) error, error) {
	pool, err := pgxpool.New(ctx, conninfo)
	if err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Schema: schema})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	handlers := river.NewWorkers()
	river.AddWorker(handlers, river.WorkFunc(func(context.Context, *river.Job[job]) error {
		done()
		return nil
	}))
	client, err := river.NewClient(driver, &river.Config{
		Schema: schema, Workers: handlers,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
	})
	if err != nil {
		return nil, err
	}
	if _, err := client.InsertMany(ctx, slices.Repeat([]river.InsertManyParams{{Args: job{}}}, n)); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		defer pool.Close()
		if err := client.Start(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		<-ctx.Done()
		return client.Stop(context.WithoutCancel(ctx))
	}, nil
}
