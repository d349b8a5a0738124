package postgres_test

import (
	"testing"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	database(b)
	storetest.Benchmark(b, func(b *testing.B) store.Store { return open(b, schema(b)) })
}
