package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

func ExampleNewMem() {
	ctx := context.Background()
	st := store.NewMem()
	defer st.Close()

	rev, err := st.Commit(ctx, store.Op{Key: "greeting/en", Value: []byte("hello"), If: store.Absent})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = st.Commit(ctx,
		store.Op{Key: "greeting/en", Value: []byte("good morning"), If: store.At(rev)},
		store.Op{Key: "greeting/de", Value: []byte("guten Morgen")})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = st.Commit(ctx, store.Op{Key: "greeting/en", Delete: true, If: store.At(rev)})
	fmt.Println("stale delete:", errors.Is(err, store.ErrConflict))
	for e, err := range st.Scan(ctx, store.Range{Prefix: "greeting/"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s = %s\n", e.Key, e.Value)
	}
	// Output:
	// stale delete: true
	// greeting/de = guten Morgen
	// greeting/en = good morning
}

// The loop writes several commits in a turn, so the reference store must not
// be what the turn spends its time on.
func TestMemCommitAllocs(t *testing.T) {
	st := store.NewMem()
	value := make([]byte, 200)
	ops := []store.Op{{Key: "a/b/c", Value: value}}
	got := testing.AllocsPerRun(1000, func() {
		if _, err := st.Commit(t.Context(), ops...); err != nil {
			t.Fatal(err)
		}
	})
	require.LessOrEqual(t, got, 3.0)
}

func BenchmarkMem(b *testing.B) {
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("memory/acme/user-42/%06d", i)
	}
	fill := func(b *testing.B) *store.Mem {
		st := store.NewMem()
		for _, k := range keys {
			if _, err := st.Commit(b.Context(), store.Op{Key: k, Value: make([]byte, 200)}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportAllocs()
		return st
	}
	value := make([]byte, 200)
	b.Run("commit", func(b *testing.B) {
		st, i := fill(b), 0
		for b.Loop() {
			i++
			if _, err := st.Commit(b.Context(), store.Op{Key: keys[i*7%len(keys)], Value: value}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("get", func(b *testing.B) {
		st, i := fill(b), 0
		for b.Loop() {
			i++
			if _, err := st.Get(b.Context(), keys[i*7%len(keys)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scan 10 then commit", func(b *testing.B) {
		st, i := fill(b), 0
		for b.Loop() {
			i++
			k := keys[i*7%len(keys)]
			for _, err := range st.Scan(b.Context(), store.Range{After: k, Limit: 10}) {
				if err != nil {
					b.Fatal(err)
				}
			}
			if _, err := st.Commit(b.Context(), store.Op{Key: k, Value: value}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestMem(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return store.NewMem() })
}

func BenchmarkMemSuite(b *testing.B) {
	storetest.Benchmark(b, func(*testing.B) store.Store { return store.NewMem() })
}
