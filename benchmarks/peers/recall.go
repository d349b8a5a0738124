package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/benchmarks/peers/report"
)

var errNoText = errors.New("an engine returned nothing, or no text")

// bench holds what the parts of the comparison share.
type bench struct {
	z    *zipf
	dir  string // of the indexes
	runs int
	rep  *report.Report
	file string
}

// save prints a figure and keeps it in the file at once: a run that is stopped
// has lost nothing.
func (b *bench) save(format string, args ...any) error {
	fmt.Printf(format+"\n", args...)
	return b.rep.Save(b.file)
}

// set is a named list of queries; exact are the memories nearest to each, if
// they have vectors alone.
type set struct {
	name    string
	queries []query
	exact   [][]int
}

func texts(qs []string) []query {
	out := make([]query, len(qs))
	for i, q := range qs {
		out[i] = query{text: q, k: 10}
	}
	return out
}

// words compares the engines on queries of words over n memories.
func (b *bench) words(ctx context.Context, n int, peers bool) error {
	engines := []engine{&arcEngine{}}
	if peers {
		engines = append(engines, &bleveEngine{label: "bleve"}, &blugeEngine{})
		if e := newSQLite(); e != nil {
			engines = append(engines, e)
		}
	}
	if err := b.compare(ctx, "words", engines, corpus(b.z, n, 1, false), "content", "all"); err != nil {
		return err
	}
	// arc alone, where memories belong to threads of 20 and have actors.
	return b.compare(ctx, "threads", []engine{&arcEngine{}}, corpus(b.z, n, 1, true), "threads", "threads, all")
}

// compare builds the engines, and asks them by turns for words of content and for
// words of all kinds: two sets of these names.
func (b *bench) compare(
	ctx context.Context, kind string, engines []engine, docs []doc, content, all string,
) (err error) {
	for _, e := range engines {
		if err := b.index(ctx, kind, e, docs); err != nil {
			return fmt.Errorf("%s: %w", e.name(), err)
		}
		defer func() { err = errors.Join(err, e.close()) }()
	}
	searchers := make([]searcher, len(engines))
	for i, e := range engines {
		searchers[i] = e
	}
	sets := []set{
		{name: content, queries: texts(questions(b.z, docs, true))},
		{name: all, queries: texts(questions(b.z, docs, false))},
	}
	for _, s := range sets {
		if err := b.measure(ctx, searchers, len(docs), s); err != nil {
			return err
		}
	}
	if a, ok := engines[0].(*arcEngine); ok && kind == "words" {
		return b.underWriters(ctx, a, docs, sets[0])
	}
	return nil
}

// measure runs a set on the engines by turns, once to warm up.
func (b *bench) measure(ctx context.Context, engines []searcher, n int, s set) error {
	type figures struct{ p50, p99, allocs []float64 }
	got := make([]figures, len(engines))
	for run := range b.runs + 1 {
		for i, e := range engines {
			times, allocs, err := pass(ctx, e, s.queries)
			if err != nil {
				return fmt.Errorf("%s: %w", e.name(), err)
			}
			if run == 0 {
				continue
			}
			f := &got[i]
			f.p50 = append(f.p50, quantile(times, 0.5))
			f.p99 = append(f.p99, quantile(times, 0.99))
			f.allocs = append(f.allocs, allocs)
		}
	}
	for i, e := range engines {
		l := report.Latency{Engine: e.name(), Set: s.name, N: n,
			P50: median(got[i].p50), P99: median(got[i].p99), Allocs: median(got[i].allocs)}
		if s.exact != nil {
			var err error
			if l.Recall, err = s.overlap(ctx, e); err != nil {
				return err
			}
		}
		b.rep.AddLatency(l)
		if err := b.save("%-12s %-22s n=%-8d p50 %9.1f us  p99 %9.1f us  %8.1f allocs%s", l.Set, l.Engine, l.N, l.P50, l.P99, l.Allocs, exact(l.Recall)); err != nil {
			return err
		}
	}
	return nil
}

func exact(recall float64) string {
	if recall == 0 {
		return ""
	}
	return fmt.Sprintf("  recall %.3f of the exact 10", recall)
}

// index builds one engine and measures what that takes.
func (b *bench) index(ctx context.Context, kind string, e engine, docs []doc) error {
	dir, err := os.MkdirTemp(b.dir, "index")
	if err != nil {
		return err
	}
	before := heap()
	start := time.Now()
	if err := e.build(ctx, dir, docs); err != nil {
		return err
	}
	f := report.Build{Engine: e.name(), Set: kind, N: len(docs), Build: time.Since(start).Seconds()}
	n := float64(len(docs))
	f.Heap = max(0, heap()-before) / n
	if a, ok := e.(*arcEngine); ok {
		if err := a.reopen(ctx); err != nil {
			return err
		}
		f.Open, f.Heap, f.Store = a.opened, a.bankHeap/n, a.storeHeap/n
	}
	for i := range docs {
		f.Text += float64(len(docs[i].text)+len(docs[i].thread)+len(docs[i].actor)) / n
	}
	f.Disk = usage(dir) / n
	b.rep.AddBuild(f)
	return b.save("build        %-22s n=%-8d %.2f s, open %.3f s, heap %.0f B a memory of %.0f B text, store %.0f B, disk %.0f B",
		f.Engine+" "+kind, f.N, f.Build, f.Open, f.Heap, f.Text, f.Store, f.Disk)
}

// underWriters measures queries while four goroutines write, each a memory
// after the other, durably.
func (b *bench) underWriters(ctx context.Context, a *arcEngine, docs []doc, s set) error {
	fresh := corpus(b.z, min(len(docs), 50_000), 2, false)
	var next atomic.Int64
	stop := make(chan struct{})
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				i := next.Add(1)
				d := draft(int(i), &fresh[int(i)%len(fresh)])
				d.Key = ""
				if _, err := a.space.Remember(ctx, d); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	var p50, p99 []float64
	start := time.Now()
	var err error
	for range b.runs {
		var times []float64
		if times, _, err = pass(ctx, a, append(s.queries, s.queries...)); err != nil {
			break
		}
		p50, p99 = append(p50, quantile(times, 0.5)), append(p99, quantile(times, 0.99))
	}
	rate := float64(next.Load()) / time.Since(start).Seconds()
	close(stop)
	group.Wait()
	if e := failed.Load(); e != nil {
		err = errors.Join(err, *e)
	}
	if err != nil {
		return err
	}
	l := report.Latency{Engine: a.name(), Set: "4 writers", N: len(docs), P50: median(p50), P99: median(p99)}
	b.rep.AddLatency(l)
	return b.save("%-12s %-22s n=%-8d p50 %9.1f us  p99 %9.1f us  (%.0f written/s)", l.Set, l.Engine, l.N, l.P50, l.P99, rate)
}

// clear removes the indexes that are not needed any more.
func (b *bench) clear() error {
	if err := os.RemoveAll(b.dir); err != nil {
		return err
	}
	return os.MkdirAll(b.dir, 0o755)
}
