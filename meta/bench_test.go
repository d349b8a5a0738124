package meta_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

func BenchmarkAssess(b *testing.B) {
	for _, healthy := range []bool{true, false} {
		b.Run(fmt.Sprintf("healthy=%v", healthy), func(b *testing.B) {
			m := open(b, store.NewMem())
			for i := range 1000 {
				record(b, m, "s", meta.Outcome{Key: fmt.Sprint(i), Goal: "goal", Approach: "approach", Success: healthy})
			}
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Assess(ctx, "s"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecord(b *testing.B) {
	m := open(b, store.NewMem())
	ctx := context.Background()
	keys, k := 0, []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		keys++
		k = strconv.AppendInt(append(k[:0], "run/"...), int64(keys), 10)
		err := m.Record(ctx, meta.Outcome{
			Key: string(k), Session: "s", Goal: "make the tests pass", Approach: "edit", Success: keys%2 == 0,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
