package benchmarks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
	arcbadger "github.com/arc-learn/arc/store/badger"
)

// queueWorkers is how many jobs are worked on at a time.
const queueWorkers = 8

// jobQueue is what the queues compared have in common: each call returns once it is
// on disk. Take returns what ends the job, or nil if there is none.
type jobQueue interface {
	add(ctx context.Context, n int) error
	take(ctx context.Context) (end func() error, err error)
}

// arcQueue is act/queue.
type arcQueue struct{ q *queue.Queue }

func (a arcQueue) add(ctx context.Context, n int) error {
	_, _, err := a.q.Enqueue(ctx, queue.Draft{Subject: fmt.Sprint("job ", n), Priority: 1 + n%10})
	return err
}

func (a arcQueue) take(ctx context.Context) (func() error, error) {
	l, err := a.q.Claim(ctx, 0)
	if errors.Is(err, queue.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return func() error { _, err := l.End(ctx, queue.Result{Summary: "done"}, nil); return err }, nil
}

func openQueue(b *testing.B, alone bool) arcQueue {
	st, err := arcbadger.Open(b.TempDir(), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, st.Close()) })
	q, err := queue.Open(b.Context(), st, &queue.Options{Alone: alone})
	require.NoError(b, err)
	return arcQueue{q}
}

// side runs fn on as many goroutines as there are workers.
func side(fn func()) {
	var group sync.WaitGroup
	for range queueWorkers {
		group.Go(fn)
	}
	group.Wait()
}

// BenchmarkQueue has as many producers as workers, and jobs that do nothing: an
// operation is a job, from before it is enqueued until it has ended, all of it on disk.
// Claim is how long workers wait for one. Of pending jobs, so many lie in the queue
// throughout.
func BenchmarkQueue(b *testing.B) {
	for _, of := range queues {
		for _, pending := range []int{0, 1000, 100_000} {
			b.Run(fmt.Sprintf("%s/pending=%d", of.name, pending), func(b *testing.B) {
				q := of.open(b)
				var n atomic.Int64
				side(func() {
					for i := n.Add(1); i <= int64(pending); i = n.Add(1) {
						require.NoError(b, q.add(b.Context(), int(i)))
					}
				})
				var added, ended atomic.Int64
				var mu sync.Mutex
				var waits []time.Duration
				b.ResetTimer()
				var all sync.WaitGroup
				all.Go(func() {
					side(func() {
						for i := added.Add(1); i <= int64(b.N); i = added.Add(1) {
							if err := q.add(b.Context(), int(i)); err != nil {
								b.Error(err)
								return
							}
						}
					})
				})
				all.Go(func() {
					side(func() {
						for ended.Load() < int64(b.N) {
							begin := time.Now()
							end, err := q.take(b.Context())
							if err == nil && end == nil {
								<-time.After(time.Millisecond)
								continue
							}
							wait := time.Since(begin)
							if err == nil {
								err = end()
							}
							if err != nil {
								b.Error(err)
								return
							}
							ended.Add(1)
							mu.Lock()
							waits = append(waits, wait)
							mu.Unlock()
						}
					})
				})
				all.Wait()
				b.StopTimer()
				slices.Sort(waits)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
				b.ReportMetric(float64(waits[len(waits)/2])/1e6, "claim-p50-ms")
				b.ReportMetric(float64(waits[len(waits)*99/100])/1e6, "claim-p99-ms")
			})
		}
	}
}

// queueOf opens one that is compared.
type queueOf struct {
	name string
	open func(b *testing.B) jobQueue
}

// queues are those compared: arc's, alone in its store, and as one of several.
var queues = []queueOf{
	{"arc", func(b *testing.B) jobQueue { return openQueue(b, true) }},
	{"arc-shared", func(b *testing.B) jobQueue { return openQueue(b, false) }},
}
