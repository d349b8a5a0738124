package index_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sort"
	"sync"
	"testing"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
)

// corpus makes documents of 20 to 40 words, which are drawn from 30,000 by
// Zipf's law with exponent 1, and queries of 8 distinct words of one document.
type corpus struct {
	words []text.Term
	sums  []float64
	docs  [][]uint16 // ranks
}

func newCorpus(n int) *corpus {
	c := &corpus{}
	sum := 0.0
	for i := range 30_000 {
		c.words = append(c.words, text.Term{Text: fmt.Sprintf("w%d", i)})
		sum += 1 / float64(i+1)
		c.sums = append(c.sums, sum)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		doc := make([]uint16, 20+rng.IntN(21))
		for i := range doc {
			doc[i] = uint16(sort.SearchFloat64s(c.sums, rng.Float64()*sum))
		}
		c.docs = append(c.docs, doc)
	}
	return c
}

// doc returns the i-th document: in a thread of 20 and by one of two actors, if
// threads.
func (c *corpus) doc(i int, threads bool) index.Doc {
	var d index.Doc
	for _, rank := range c.docs[i] {
		d.Content = append(d.Content, c.words[rank])
	}
	if threads {
		d.Thread, d.At = fmt.Sprint(i/20), int64(i)
		d.Actor = []text.Term{{Text: [2]string{"ann", "bob"}[i%2]}}
	}
	return d
}

func (c *corpus) index(threads bool) *index.Index {
	ix := index.New()
	for i := range c.docs {
		ix.Put(uint32(i), c.doc(i, threads))
	}
	return ix
}

// queries returns queries without the commonest words, which a stop list would
// hold.
func (c *corpus) queries(without uint16) []index.Query {
	rng := rand.New(rand.NewPCG(3, 4))
	out := make([]index.Query, 200)
	for i := range out {
		for len(out[i].Terms) < 8 {
			out[i] = index.Query{K: 10, Gate: 0.8}
			seen := map[uint16]bool{}
			for _, rank := range c.docs[rng.IntN(len(c.docs))] {
				if rank >= without && !seen[rank] && len(seen) < 8 {
					seen[rank] = true
					out[i].Terms = append(out[i].Terms, c.words[rank])
				}
			}
		}
	}
	return out
}

// bench is what the benchmarks of one size share.
type bench struct {
	corpus *corpus
	index  [2]*index.Index // without and with threads
}

var benches = map[int]func() *bench{}

func init() {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		benches[n] = sync.OnceValue(func() *bench {
			c := newCorpus(n)
			return &bench{c, [2]*index.Index{c.index(false), c.index(true)}}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		for i, threads := range []string{"alone", "threads"} {
			for _, set := range []struct {
				name    string
				without uint16
			}{{"content", 100}, {"all", 0}} {
				b.Run(fmt.Sprintf("n=%d/%s/%s", n, threads, set.name), func(b *testing.B) {
					if testing.Short() && n > 100_000 {
						b.Skip("a million takes a while")
					}
					c := benches[n]()
					queries := c.corpus.queries(set.without)
					var sc index.Scratch
					for i2 := range queries { // warm
						c.index[i].Search(&sc, &queries[i2])
					}
					b.ReportAllocs()
					b.ResetTimer()
					for j := 0; b.Loop(); j++ {
						c.index[i].Search(&sc, &queries[j%len(queries)])
					}
				})
			}
		}
	}
}

func BenchmarkPut(b *testing.B) {
	for i, name := range []string{"alone", "threads"} {
		b.Run(name, func(b *testing.B) {
			c := newCorpus(100_000)
			docs := make([]index.Doc, len(c.docs))
			for j := range docs {
				docs[j] = c.doc(j, i == 1)
			}
			var before, after runtime.MemStats
			var ix *index.Index
			runtime.GC()
			runtime.ReadMemStats(&before)
			b.ReportAllocs()
			for j := 0; b.Loop(); j++ {
				if j%len(docs) == 0 {
					ix = index.New()
				}
				ix.Put(uint32(j%len(docs)), docs[j%len(docs)])
			}
			b.StopTimer()
			runtime.GC()
			runtime.ReadMemStats(&after)
			if n := ix.Len(); n > 10_000 {
				b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(n), "heapB/record")
			}
			b.ReportMetric(math.Round(float64(ix.Len())), "records")
			runtime.KeepAlive(docs)
		})
	}
}

func BenchmarkSimilar(b *testing.B) {
	c := benches[100_000]()
	var sc index.Scratch
	found, asked := 0, 0
	for i := 0; b.Loop(); i++ {
		d := c.corpus.doc(i*31%len(c.corpus.docs), false)
		found += len(similar(c.index[0], &sc, nil, d.Content, 0.85, func(row uint32) (trigger, content []text.Term) {
			asked++
			return nil, c.corpus.doc(int(row), false).Content
		}))
	}
	b.ReportMetric(float64(found)/float64(b.N), "found/op")
	b.ReportMetric(float64(asked)/float64(b.N), "asked/op")
}
