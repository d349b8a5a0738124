package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
	"github.com/arc-learn/arc/store/storetest"
)

// kinds are the stores that are measured beside one another.
func kinds(b *testing.B) map[string]func(b *testing.B) store.Store {
	database(b)
	return map[string]func(b *testing.B) store.Store{
		"postgres": func(b *testing.B) store.Store { return open(b, schema(b)) },
		"badger": func(b *testing.B) store.Store {
			st, err := badger.Open(b.TempDir(), nil)
			require.NoError(b, err)
			return st
		},
	}
}

func BenchmarkStore(b *testing.B) {
	for name, kind := range kinds(b) {
		b.Run(name, func(b *testing.B) { storetest.Benchmark(b, kind) })
	}
}

// Durable memories of 64 writers.
func BenchmarkRemember(b *testing.B) {
	for name, kind := range kinds(b) {
		b.Run(name+"/writers=64", func(b *testing.B) {
			st := kind(b)
			bank, err := memory.Open(b.Context(), st, nil)
			require.NoError(b, err)
			var n atomic.Int64
			var took timings
			b.SetParallelism(32) // of 2 processors
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := n.Add(1)
					begin := time.Now()
					_, err := bank.In(memory.Scope(fmt.Sprintf("acme/user-%d", i%16))).Remember(b.Context(), memory.Draft{
						Kind: memory.Episode, Content: fmt.Sprintf("visit %d of the depot at dock %d, %s", i, i*7919%1000, strings.Repeat("all quiet ", 8)),
					})
					if err != nil {
						b.Error(err)
						return
					}
					took.add(time.Since(begin))
				}
			})
			b.StopTimer()
			took.report(b)
			require.NoError(b, bank.Close())
			require.NoError(b, st.Close())
		})
	}
}

// A commit, from its acknowledgement to the moment in which a follower that opened the
// store elsewhere has it, at some 1,000 commits a second of eight writers.
func BenchmarkFeed(b *testing.B) {
	name := schema(b)
	writer, reader := open(b, name), open(b, name)
	const writers = 8
	ctx, cancel := context.WithTimeout(b.Context(), 90*time.Second)
	defer cancel()
	acked, seen := make([]time.Time, b.N), make([]time.Time, b.N)
	started, done := make(chan struct{}), make(chan error, 1)
	_, err := writer.Commit(ctx, store.Op{Key: "first"})
	require.NoError(b, err)
	go func() {
		n := 0
		for e, err := range reader.Watch(ctx, "", 0) {
			if err != nil {
				done <- err
				return
			}
			var i int
			if e.Key == "first" {
				close(started)
			} else if _, err := fmt.Sscanf(e.Key, "k/%d", &i); err == nil {
				seen[i] = time.Now()
				n++
			}
			if n == b.N {
				break
			}
		}
		done <- nil
	}()
	<-started
	b.ResetTimer()
	begin := time.Now()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
				<-time.After(time.Until(begin.Add(time.Duration(i) * time.Millisecond)))
				if _, err := writer.Commit(ctx, store.Op{Key: fmt.Sprintf("k/%d", i), Value: make([]byte, 200)}); err != nil {
					b.Error(err)
					return
				}
				acked[i] = time.Now()
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "commits/s")
	require.NoError(b, <-done)
	var took timings
	for i := range acked {
		took.add(max(0, seen[i].Sub(acked[i])))
	}
	took.report(b)
}

type timings struct {
	mu  sync.Mutex
	all []time.Duration
}

func (t *timings) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, d)
}

func (t *timings) report(b *testing.B) {
	slices.Sort(t.all)
	for name, share := range map[string]float64{"p50-ms": .5, "p99-ms": .99} {
		b.ReportMetric(float64(t.all[int(float64(len(t.all)-1)*share)].Microseconds())/1000, name)
	}
}
