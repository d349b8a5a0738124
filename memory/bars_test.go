package memory_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// memories is the size of the Bank that BenchmarkBars measures. It is skipped
// at 0. A million takes some minutes to write:
//
//	go test ./memory -run - -bench Bars -benchtime 2000x -memories 100000
var memories = flag.Int("memories", 0, "the number of memories for BenchmarkBars")

// zipf draws ranks of n words with the exponent 1.
type zipf struct {
	rng *rand.Rand
	sum []float64
}

func newZipf(n int, seed uint64) *zipf {
	z := &zipf{rng: rand.New(rand.NewPCG(seed, 2)), sum: make([]float64, n)}
	total := 0.0
	for i := range z.sum {
		total += 1 / float64(i+1)
		z.sum[i] = total
	}
	return z
}

func (z *zipf) rank() int { return sort.SearchFloat64s(z.sum, z.rng.Float64()*z.sum[len(z.sum)-1]) }

// bars is a corpus of 20 to 40 words a memory, and questions of 8 words of one.
type bars struct {
	drafts []memory.Draft
	texts  int // bytes of the texts
	ask    map[string][]string
}

func newBars(n int, threads bool) *bars {
	z := newZipf(30_000, 1)
	c := &bars{drafts: make([]memory.Draft, n), ask: make(map[string][]string)}
	actors := []string{"Ann", "Bob", "Cid", "Dora", "Eve"}
	for i := range c.drafts {
		ranks := make([]int, 20+z.rng.IntN(21))
		words := make([]string, len(ranks))
		for j := range ranks {
			ranks[j] = z.rank()
			words[j] = word(uint64(ranks[j]))
		}
		d := &c.drafts[i]
		*d = memory.Draft{Kind: memory.Episode, Content: strings.Join(words, " "), At: epoch.Add(time.Duration(i) * time.Minute)}
		if threads {
			d.Actor, d.Thread = actors[z.rng.IntN(len(actors))], fmt.Sprint("thread-", i/20)
		}
		c.texts += len(d.Content)
		if i%max(1, n/200) == 0 {
			c.ask["all"] = append(c.ask["all"], question(ranks, 0))
			c.ask["content"] = append(c.ask["content"], question(ranks, 100))
		}
	}
	return c
}

// question returns the first 8 distinct words, less the commonest.
func question(ranks []int, common int) string {
	var words []string
	for _, r := range ranks {
		if w := word(uint64(r)); r >= common && !slices.Contains(words, w) && len(words) < 8 {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// quantiles reports the median and the 99th percentile of durations.
func quantiles(b *testing.B, ds []time.Duration) {
	slices.Sort(ds)
	b.ReportMetric(float64(ds[len(ds)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(ds[len(ds)*99/100].Nanoseconds())/1e3, "p99-µs")
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkBars measures a large Bank over Badger through the public methods:
// opening it, its heap, and recalls alone and beside writers.
func BenchmarkBars(b *testing.B) {
	if *memories == 0 {
		b.Skip("needs -memories")
	}
	ctx := context.Background()
	for _, threads := range []bool{false, true} {
		name := "plain"
		if threads {
			name = "threads"
		}
		b.Run(name, func(b *testing.B) {
			c := newBars(*memories, threads)
			dir, err := os.MkdirTemp("", "bars")
			require.NoError(b, err)
			defer os.RemoveAll(dir)
			fill(b, dir, c.drafts)
			c.drafts = nil
			st, err := badger.Open(dir, nil)
			require.NoError(b, err)
			defer func() { require.NoError(b, st.Close()) }()
			var bank *memory.Bank
			var before uint64
			took := time.Hour // the shortest of some: what else the machine does is not measured
			for range 5 {
				bank = nil
				before = heap()
				start := time.Now()
				bank, err = memory.Open(ctx, st, nil)
				require.NoError(b, err)
				took = min(took, time.Since(start))
			}
			defer func() { require.NoError(b, bank.Close()) }()
			beyond := float64(heap()) - float64(before) - float64(c.texts)
			s := bank.In("acme")
			b.Run("open", func(b *testing.B) {
				b.ReportMetric(took.Seconds(), "s")
				b.ReportMetric(beyond/float64(*memories), "B/memory")
			})
			for _, ask := range []string{"content", "all"} {
				b.Run(ask, func(b *testing.B) { recalls(b, s, c.ask[ask]) })
			}
			b.Run("content+writers", func(b *testing.B) {
				stop := writers(b, s)
				recalls(b, s, c.ask["content"])
				stop()
			})
		})
	}
}

func fill(b *testing.B, dir string, ds []memory.Draft) {
	st, err := badger.Open(dir, nil)
	require.NoError(b, err)
	bank, err := memory.Open(context.Background(), st, nil)
	require.NoError(b, err)
	for some := range slices.Chunk(ds, 10_000) {
		_, err := bank.In("acme").RememberAll(context.Background(), some)
		require.NoError(b, err)
	}
	require.NoError(b, bank.Close())
	require.NoError(b, st.Close())
}

func recalls(b *testing.B, s memory.Space, texts []string) {
	var ds []time.Duration
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		if _, err := s.Recall(context.Background(), memory.Query{Text: texts[i%len(texts)]}); err != nil {
			b.Fatal(err)
		}
		ds = append(ds, time.Since(start))
		i++
	}
	quantiles(b, ds)
}

// writers remember until stop is called.
func writers(b *testing.B, s memory.Space) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			z := newZipf(30_000, uint64(w)+10)
			for {
				select {
				case <-done:
					return
				default:
				}
				words := make([]string, 30)
				for j := range words {
					words[j] = word(uint64(z.rank()))
				}
				d := memory.Draft{Kind: memory.Fact, Content: strings.Join(words, " ")}
				if _, err := s.Remember(context.Background(), d); err != nil {
					b.Error(err)
				}
			}
		})
	}
	return func() { close(done); wg.Wait() }
}

// BenchmarkDurable compares Remember with what it is made of: the store alone,
// under one and under 64 writers.
func BenchmarkDurable(b *testing.B) {
	for _, writers := range []int{1, 64} {
		run := func(name string, write func(s memory.Space, st store.Store, i int) error) {
			b.Run(fmt.Sprintf("%s/writers=%d", name, writers), func(b *testing.B) {
				st, err := badger.Open(b.TempDir(), nil)
				require.NoError(b, err)
				defer func() { require.NoError(b, st.Close()) }()
				bank, err := memory.Open(context.Background(), st, nil)
				require.NoError(b, err)
				defer func() { require.NoError(b, bank.Close()) }()
				s := bank.In("acme")
				next := make(chan int, writers)
				var wg sync.WaitGroup
				for range writers {
					wg.Go(func() {
						for i := range next {
							if err := write(s, st, i); err != nil {
								b.Error(err)
							}
						}
					})
				}
				i := 0
				for b.Loop() {
					next <- i
					i++
				}
				close(next)
				wg.Wait()
			})
		}
		z := newZipf(30_000, 1)
		var mu sync.Mutex
		text := func() string {
			mu.Lock()
			defer mu.Unlock()
			words := make([]string, 30)
			for j := range words {
				words[j] = word(uint64(z.rank()))
			}
			return strings.Join(words, " ")
		}
		run("store", func(_ memory.Space, st store.Store, i int) error {
			_, err := st.Commit(context.Background(), store.Op{Key: fmt.Sprintf("x%d", i), Value: []byte(text()), If: store.Absent})
			return err
		})
		run("remember", func(s memory.Space, _ store.Store, i int) error {
			_, err := s.Remember(context.Background(), memory.Draft{Kind: memory.Fact, Content: text()})
			return err
		})
	}
}
