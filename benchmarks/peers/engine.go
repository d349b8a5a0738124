package main

import (
	"context"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// hit is a memory that an engine returned: where it is in the corpus, and its
// text, which the engine has to bring along.
type hit struct {
	doc  int
	text string
}

// query asks an engine for the best k memories, by text, vector, or both.
type query struct {
	text   string
	vector []float32
	k      int
}

// searcher is one of those that are compared.
type searcher interface {
	name() string
	search(ctx context.Context, q query) ([]hit, error)
}

// engine is a searcher with an index of its own. Build indexes all of docs
// below dir, in batches, and leaves the engine open.
type engine interface {
	searcher
	build(ctx context.Context, dir string, docs []doc) error
	close() error
}

// pass runs all queries once and returns the time of each in microseconds,
// sorted, and the allocations per query.
func pass(ctx context.Context, e searcher, qs []query) (times []float64, allocs float64, err error) {
	runtime.GC()
	times = make([]float64, len(qs))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, q := range qs {
		start := time.Now()
		hits, err := e.search(ctx, q)
		times[i] = float64(time.Since(start).Nanoseconds()) / 1000
		if err != nil {
			return nil, 0, err
		}
		if len(hits) == 0 || hits[0].text == "" {
			return nil, 0, errNoText
		}
	}
	runtime.ReadMemStats(&after)
	slices.Sort(times)
	return times, float64(after.Mallocs-before.Mallocs) / float64(len(qs)), nil
}

// quantile of sorted values, by the nearest rank.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func median(xs []float64) float64 {
	xs = slices.Sorted(slices.Values(xs))
	return quantile(xs, 0.5)
}

// heap returns the bytes of live Go heap.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// usage returns the bytes of disk that the files below dir take, holes left
// out where the system tells.
func usage(dir string) (sum float64) {
	// An engine may remove files meanwhile; what is gone takes nothing.
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += blocks(info)
		}
		return nil
	})
	return sum
}
