package storetest

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/arc-learn/arc/store"
)

// Benchmark measures the store that open returns: an empty one for each
// sub-benchmark, which Benchmark closes. Values have 200 bytes.
func Benchmark(b *testing.B, open func(b *testing.B) store.Store) {
	for _, bm := range []struct {
		name string
		run  func(b *testing.B, st store.Store)
	}{
		{"commit/writers=1", func(b *testing.B, st store.Store) { benchmarkCommit(b, st, 1) }},
		{"commit/writers=64", func(b *testing.B, st store.Store) { benchmarkCommit(b, st, 64) }},
		{"get/keys=10000", benchmarkGet},
		{"scan/keys=10000/limit=10", func(b *testing.B, st store.Store) { benchmarkScan(b, st, 10) }},
		{"scan/keys=10000/limit=1000", func(b *testing.B, st store.Store) { benchmarkScan(b, st, 1000) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			st := open(b)
			b.ReportAllocs()
			bm.run(b, st)
			b.StopTimer()
			if err := st.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func benchKey(i int64) string { return fmt.Sprintf("bench/%08d", i%10_000) }

func benchmarkCommit(b *testing.B, st store.Store, writers int) {
	value := make([]byte, 200)
	var next atomic.Int64
	b.SetParallelism(max(1, writers/runtime.GOMAXPROCS(0)))
	write := func() error {
		_, err := st.Commit(b.Context(), store.Op{Key: benchKey(next.Add(1)), Value: value})
		return err
	}
	if writers == 1 {
		for b.Loop() {
			if err := write(); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := write(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func benchmarkFill(b *testing.B, st store.Store) {
	for i := range int64(100) {
		var ops []store.Op
		for j := range int64(100) {
			ops = append(ops, store.Op{Key: benchKey(i*100 + j), Value: make([]byte, 200)})
		}
		if _, err := st.Commit(b.Context(), ops...); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkGet(b *testing.B, st store.Store) {
	benchmarkFill(b, st)
	i := int64(0)
	for b.Loop() {
		i += 7919
		if _, err := st.Get(b.Context(), benchKey(i)); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkScan(b *testing.B, st store.Store, limit int) {
	benchmarkFill(b, st)
	i := int64(0)
	for b.Loop() {
		i += 7919
		for _, err := range st.Scan(b.Context(), store.Range{Prefix: "bench/", After: benchKey(i % 9000), Limit: limit}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
