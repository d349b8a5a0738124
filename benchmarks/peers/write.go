package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/benchmarks/peers/report"
	"github.com/arc-learn/arc/memory"
)

// writer makes one memory durable per call.
type writer struct {
	name  string
	write func(i int, d *doc) error
	close func() error
}

// writes compares 1 and 64 durable writers, by turns.
func (b *bench) writes(ctx context.Context) error {
	docs := corpus(b.z, 20_000, 3, false)
	for _, w := range []struct{ writers, ops int }{{1, 1000}, {64, 12_800}} {
		rates, p50, p99 := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
		for range b.runs {
			ws, err := b.writers(ctx)
			if err != nil {
				return err
			}
			for _, x := range ws {
				times, seconds, err := share(w.writers, w.ops, func(i int) error { return x.write(i, &docs[i]) })
				if err = errors.Join(err, x.close()); err != nil {
					return fmt.Errorf("%s: %w", x.name, err)
				}
				rates[x.name] = append(rates[x.name], float64(w.ops)/seconds)
				p50[x.name] = append(p50[x.name], quantile(times, 0.5))
				p99[x.name] = append(p99[x.name], quantile(times, 0.99))
			}
		}
		for _, name := range []string{"arc", "badger", "append and sync"} {
			f := report.Write{Engine: name, Writers: w.writers, PerSec: median(rates[name]), P50: median(p50[name]), P99: median(p99[name])}
			b.rep.AddWrite(f)
			if err := b.save("write        %-22s %2d writers %9.0f/s  p50 %9.1f us  p99 %9.1f us", f.Engine, f.Writers, f.PerSec, f.P50, f.P99); err != nil {
				return err
			}
		}
	}
	return b.feedback(ctx, docs)
}

// share runs ops operations in so many goroutines and returns the time of
// each in microseconds, sorted, and of all in seconds.
func share(writers, ops int, op func(i int) error) (times []float64, seconds float64, err error) {
	times = make([]float64, ops)
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, writers)
	start := time.Now()
	for w := range writers {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= ops {
					return
				}
				begin := time.Now()
				if errs[w] = op(i); errs[w] != nil {
					return
				}
				times[i] = float64(time.Since(begin).Nanoseconds()) / 1000
			}
		})
	}
	group.Wait()
	seconds = time.Since(start).Seconds()
	slices.Sort(times)
	return times, seconds, errors.Join(errs...)
}

// writers opens arc, plain Badger with synced writes, and a bare file.
func (b *bench) writers(ctx context.Context) ([]writer, error) {
	dir, err := os.MkdirTemp(b.dir, "write")
	if err != nil {
		return nil, err
	}
	a := &arcEngine{dir: filepath.Join(dir, "arc")}
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	db, err := badger.Open(badger.DefaultOptions(filepath.Join(dir, "badger")).WithSyncWrites(true).WithLogger(nil))
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		return nil, errors.Join(err, a.close(), db.Close())
	}
	var mu sync.Mutex
	return []writer{
		{"arc", func(i int, d *doc) error {
			_, err := a.space.Remember(ctx, draft(i, d))
			return err
		}, a.close},
		{"badger", func(i int, d *doc) error {
			return db.Update(func(tx *badger.Txn) error { return tx.Set(fmt.Appendf(nil, "%016d", i), []byte(d.text)) })
		}, db.Close},
		{"append and sync", func(_ int, d *doc) error {
			mu.Lock()
			defer mu.Unlock()
			if _, err := f.WriteString(d.text); err != nil {
				return err
			}
			return sync1(f)
		}, f.Close},
	}, nil
}

// feedback measures Feedback on 8 memories, not synced.
func (b *bench) feedback(ctx context.Context, docs []doc) (err error) {
	dir, err := os.MkdirTemp(b.dir, "feedback")
	if err != nil {
		return err
	}
	a := &arcEngine{}
	if err := a.build(ctx, dir, docs[:10_000]); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	hits, err := a.space.Recall(ctx, memory.Query{Text: docs[0].text, K: 800})
	if err != nil {
		return err
	}
	var p50, p99 []float64
	for run := range b.runs {
		times, _, err := share(1, 2000, func(i int) error {
			f := memory.Feedback{Key: fmt.Sprint(run, "/", i), Delivered: true}
			for j := range 8 {
				f.Injected = append(f.Injected, hits[(i*8+j)%len(hits)].Record.ID)
			}
			f.Utilized = f.Injected[:1]
			return a.space.Feedback(ctx, f)
		})
		if err != nil {
			return err
		}
		p50, p99 = append(p50, quantile(times, 0.5)), append(p99, quantile(times, 0.99))
	}
	f := report.Write{Engine: "arc: feedback on 8", Writers: 1, P50: median(p50), P99: median(p99)}
	b.rep.AddWrite(f)
	return b.save("write        %-22s  1 writer  p50 %9.1f us  p99 %9.1f us", f.Engine, f.P50, f.P99)
}
