package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

// filled returns a store of n keys with long common prefixes.
func filled(b *testing.B, n int) (*store.Mem, []string) {
	st := store.NewMem()
	b.Cleanup(func() { require.NoError(b, st.Close()) })
	prefixes := []string{"memory/s\x00local\x00", "memory/r\x00local\x00", "memory/f\x00local\x00", "arc/run\x00"}
	keys := make([]string, n)
	for i := range keys {
		// The factor is prime: the keys are spread over their order.
		keys[i] = fmt.Sprintf("%sk%016x", prefixes[i%len(prefixes)], uint64(i)*2654435761%(1<<40))
		_, err := st.Commit(context.Background(), store.Op{Key: keys[i], Value: make([]byte, 64)})
		require.NoError(b, err)
	}
	return st, keys
}

func BenchmarkMemCommit(b *testing.B) {
	for _, c := range []struct{ ops, size int }{{1, 1024}, {15, 40}} {
		for _, fresh := range []bool{false, true} {
			b.Run(fmt.Sprintf("ops=%d/fresh=%t", c.ops, fresh), func(b *testing.B) {
				st, keys := filled(b, 100_000)
				ops := make([]store.Op, c.ops)
				value := make([]byte, c.size)
				i := 0
				b.ReportAllocs()
				for b.Loop() {
					for j := range ops {
						ops[j] = store.Op{Key: keys[(i*7919+j*13)%len(keys)], Value: value}
					}
					if fresh {
						ops[0].Key = fmt.Sprintf("arc/run\x00r%016x", i)
					}
					i++
					if _, err := st.Commit(context.Background(), ops...); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkMemGet(b *testing.B) {
	st, keys := filled(b, 100_000)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if _, err := st.Get(context.Background(), keys[i*7919%len(keys)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkCheckOps(b *testing.B) {
	for _, n := range []int{1, 8, 15, 30} {
		b.Run(fmt.Sprintf("ops=%d", n), func(b *testing.B) {
			ops := make([]store.Op, n)
			for i := range ops {
				ops[i] = store.Op{Key: fmt.Sprintf("memory/s\x00local\x00k%025d", i)}
			}
			for b.Loop() {
				if err := store.CheckOps(ops); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
