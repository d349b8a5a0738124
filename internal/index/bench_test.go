package index_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/arc-learn/arc/internal/index"
)

// BenchmarkSearch measures an Index of 100,000 records of 20 to 40 words, drawn from 30,000 by Zipf's law, and
// questions of eight words of one record: without the hundred commonest words, or all.
func BenchmarkSearch(b *testing.B) {
	const n = 100_000
	for _, threads := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(1, 2))
		sums, sum := make([]float64, 30_000), 0.0
		for i := range sums {
			sum += 1 / float64(i+1)
			sums[i] = sum
		}
		var questions [2][]string // content words, all words
		docs := make([]index.Doc, n)
		bytes := 0
		for i := range docs {
			var words, content []string
			for range 20 + rng.IntN(21) {
				rank := sort.SearchFloat64s(sums, rng.Float64()*sum)
				w := wordOf(rank)
				words = append(words, w)
				if rank >= 100 && !slices.Contains(content, w) {
					content = append(content, w)
				}
			}
			docs[i] = index.Doc{Content: strings.Join(words, " ")}
			bytes += len(docs[i].Content)
			if threads {
				docs[i].Thread, docs[i].Actor = fmt.Sprint("thread-", i/20), []string{"Ann", "Bob", "Cid"}[rng.IntN(3)]
			}
			if i%(n/200) == 0 {
				questions[0] = append(questions[0], strings.Join(content[:min(8, len(content))], " "))
				questions[1] = append(questions[1], strings.Join(words[:8], " "))
			}
		}
		before := heap()
		ix := index.New(analyzer(b), func(a, b uint32) int { return int(a) - int(b) })
		start := time.Now()
		for i := range docs {
			ix.Join(ix.Insert(index.Analyze(analyzer(b), docs[i])), docs[i].Thread)
		}
		took := time.Since(start)
		size := float64(heap()-before) / n
		runtime.KeepAlive(docs)
		for i, kind := range []string{"content", "all"} {
			b.Run(fmt.Sprintf("threads=%v/%s", threads, kind), func(b *testing.B) {
				var ds []time.Duration
				for j := 0; b.Loop(); j++ {
					at := time.Now()
					ix.Search(&index.Query{Text: questions[i][j%200], K: 10, Gate: .8})
					ds = append(ds, time.Since(at))
				}
				slices.Sort(ds)
				b.ReportMetric(float64(ds[len(ds)/2].Nanoseconds())/1e3, "p50-µs")
				b.ReportMetric(float64(ds[len(ds)*99/100].Nanoseconds())/1e3, "p99-µs")
				b.ReportMetric(size, "B/record")
				b.ReportMetric(float64(took.Nanoseconds())/n/1e3, "µs/insert")
			})
		}
	}
}

// wordOf makes a word of a number.
func wordOf(n int) string {
	w := "v"
	for n += 26; n > 0; n /= 26 {
		w += string(rune('a' + n%26))
	}
	return w
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
