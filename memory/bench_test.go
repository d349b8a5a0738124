package memory_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var memories = flag.Int("memories", 10_000, "the size of the Bank that BenchmarkLarge measures")

// corpus makes texts of 20 to 40 words, of 30,000 that are as frequent as by Zipf's law.
type corpus struct{ rng *rand.Rand }

func newCorpus(seed uint64) *corpus { return &corpus{rand.New(rand.NewPCG(seed, 1))} }

// rank draws from 1/x, which is close to 1/rank.
func (c *corpus) rank() int {
	const n = 30_000
	u := c.rng.Float64()
	x := 1.0
	for range 15 { // n = 2^14.87
		x *= 1 + u*0.9887
	}
	return min(int(x)-1, n-1)
}

func (c *corpus) ranks() []int {
	out := make([]int, 20+c.rng.IntN(21))
	for i := range out {
		out[i] = c.rank()
	}
	return out
}

// text spells ranks as words, without those up to common, and at most n.
func text(ranks []int, common, n int) string {
	var words []string
	for _, r := range ranks {
		w := ""
		for x := int(uint32(r)*2654435761%(1<<30)) + 40; x > 0; x /= 20 {
			w += "bdfgklmnprstvzaeioux"[x%20 : x%20+1]
		}
		if r >= common && len(words) < n {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// BenchmarkSmall measures a recall from 100 memories.
func BenchmarkSmall(b *testing.B) {
	bank, err := memory.Open(b.Context(), store.NewGroup(store.NewMem()), nil)
	require.NoError(b, err)
	s := bank.In("acme")
	for n := range 100 {
		_, err := s.Remember(b.Context(), memory.Draft{Kind: memory.Fact, Content: fmt.Sprintf("letter %d goes to street %d", n, n*7)})
		require.NoError(b, err)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		if _, err := s.Recall(b.Context(), memory.Query{Text: fmt.Sprint("write letter ", n)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLarge measures a large Bank on Badger: opening it, its heap, and recalls alone and beside four writers.
func BenchmarkLarge(b *testing.B) {
	ctx, dir := context.Background(), b.TempDir()
	st, err := badger.Open(ctx, dir, nil)
	require.NoError(b, err)
	bank, err := memory.Open(ctx, store.NewGroup(st), nil)
	require.NoError(b, err)
	c, size := newCorpus(1), 0
	queries := map[string][]string{}
	for left := *memories; left > 0; left -= 5000 {
		ds := make([]memory.Draft, min(left, 5000))
		for i := range ds {
			ranks := c.ranks()
			ds[i] = memory.Draft{Kind: memory.Episode, Content: text(ranks, 0, 40), At: day0.Add(time.Duration(left-i) * time.Minute)}
			size += len(ds[i].Content)
			if c.rng.IntN(*memories) < 200 {
				queries["content"] = append(queries["content"], text(ranks, 100, 8))
				queries["all"] = append(queries["all"], text(ranks, 0, 8))
			}
		}
		_, err := bank.In("acme").RememberAll(ctx, ds)
		require.NoError(b, err)
	}
	require.NoError(b, st.Close())
	st, err = badger.Open(ctx, dir, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, st.Close()) }()
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	b.Run("open", func(b *testing.B) {
		var opens []time.Duration
		var before float64
		for range 3 {
			bank = nil
			before = heap()
			start := time.Now()
			bank, err = memory.Open(ctx, store.NewGroup(st), nil)
			require.NoError(b, err)
			opens = append(opens, time.Since(start))
		}
		b.ReportMetric(slices.Min(opens).Seconds(), "s")
		b.ReportMetric((heap()-before-float64(size))/float64(*memories), "B/memory")
	})
	s := bank.In("acme")
	for _, ask := range []string{"content", "all"} {
		b.Run(ask, func(b *testing.B) { recalls(b, s, queries[ask]) })
	}
	b.Run("content+writers", func(b *testing.B) {
		var wg sync.WaitGroup
		done := make(chan struct{})
		for w := range 4 {
			wg.Go(func() {
				for c := newCorpus(uint64(w) + 10); ; {
					select {
					case <-done:
						return
					default:
					}
					if _, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: text(c.ranks(), 0, 40)}); err != nil {
						b.Error(err)
					}
				}
			})
		}
		recalls(b, s, queries["content"])
		close(done)
		wg.Wait()
	})
}

// recalls reports the median and the 99th percentile.
func recalls(b *testing.B, s memory.Space, queries []string) {
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		if _, err := s.Recall(context.Background(), memory.Query{Text: queries[i%len(queries)]}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}

// BenchmarkWriters has 64 writers remember, one draft a call and 100.
func BenchmarkWriters(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			st, err := badger.Open(b.Context(), b.TempDir(), nil)
			require.NoError(b, err)
			defer func() { require.NoError(b, st.Close()) }()
			bank, err := memory.Open(b.Context(), store.NewGroup(st), nil)
			require.NoError(b, err)
			c := newCorpus(1)
			texts := make([]string, 10_000)
			for i := range texts {
				texts[i] = text(c.ranks(), 0, 40)
			}
			next := make(chan int, 64)
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					for i := range next {
						ds := make([]memory.Draft, n)
						for j := range ds {
							k := i*n + j
							ds[j] = memory.Draft{Kind: memory.Fact, Content: fmt.Sprint(texts[k%len(texts)], " ", k)}
						}
						if _, err := bank.In("acme").RememberAll(b.Context(), ds); err != nil {
							b.Error(err)
						}
					}
				})
			}
			start, i := time.Now(), 0
			for b.Loop() {
				next <- i
				i++
			}
			close(next)
			wg.Wait()
			b.ReportMetric(float64(i*n)/time.Since(start).Seconds(), "memories/s")
		})
	}
}
