package guard_test

import (
	"context"
	"testing"
	"time"

	"github.com/arc-learn/arc/internal/guard"
)

func BenchmarkDo(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := guard.Do(b.Context(), time.Minute, func(context.Context) (int, error) { return 1, nil }); err != nil {
			b.Fatal(err)
		}
	}
}
