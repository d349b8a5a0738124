package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"
)

const (
	words      = 30_000 // in the language
	common     = 100    // ranks that the set content leaves out of its queries, as a list of stop words does
	perQuery   = 8      // distinct words
	queries    = 200
	threadSize = 20
	actors     = 50
	dimension  = 384
	latent     = 48 // dimensions that the vectors really have
)

// zipf is a language: the word of rank r comes with probability in proportion
// to 1/r.
type zipf struct {
	sums  []float64
	words []string
}

func newZipf() *zipf {
	z := &zipf{}
	sum := 0.0
	for r := range words {
		sum += 1 / float64(r+1)
		z.sums = append(z.sums, sum)
		z.words = append(z.words, spell(r))
	}
	return z
}

// spell returns a word for a rank that can be said and that no stemmer
// changes.
func spell(rank int) string {
	const consonants, vowels = "bcdfghjlmnprstvwz", "aeiou"
	var b []byte
	for n := rank; len(b) < 4 || n > 0; n /= len(consonants) * len(vowels) {
		s := n % (len(consonants) * len(vowels))
		b = append(b, consonants[s/len(vowels)], vowels[s%len(vowels)])
	}
	return string(append(b, 'k'))
}

func (z *zipf) rank(rng *rand.Rand) int {
	return min(sort.SearchFloat64s(z.sums, rng.Float64()*z.sums[words-1]), words-1)
}

// doc is a memory of 20 to 40 words. Its ranks are not kept: they can be read
// off its text.
type doc struct {
	text          string
	thread, actor string
	at            time.Time
	vector        []float32
}

// epoch is when the first memory happened; one follows each minute.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// corpus makes up n memories, the same ones for the same seed.
func corpus(z *zipf, n int, seed uint64, threads bool) []doc {
	rng := rand.New(rand.NewPCG(seed, 1))
	docs := make([]doc, n)
	var b strings.Builder
	for i := range docs {
		b.Reset()
		for w := range 20 + rng.IntN(21) {
			if w > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(z.words[z.rank(rng)])
		}
		docs[i] = doc{text: b.String(), at: epoch.Add(time.Duration(i) * time.Minute)}
		if threads {
			docs[i].thread = fmt.Sprintf("thread-%d", i/threadSize)
			docs[i].actor = z.words[words-1-rng.IntN(actors)]
		}
	}
	return docs
}

// questions draws queries of 8 distinct words of one memory each; content
// leaves out the words of the commonest ranks.
func questions(z *zipf, docs []doc, content bool) []string {
	rank := make(map[string]int, words)
	for r, w := range z.words {
		rank[w] = r
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var qs []string
	for len(qs) < queries {
		ws := strings.Fields(docs[rng.IntN(len(docs))].text)
		slices.Sort(ws)
		ws = slices.Compact(ws)
		if content {
			ws = slices.DeleteFunc(ws, func(w string) bool { return rank[w] < common })
		}
		rng.Shuffle(len(ws), func(i, j int) { ws[i], ws[j] = ws[j], ws[i] })
		if len(ws) >= perQuery {
			qs = append(qs, strings.Join(ws[:perQuery], " "))
		}
	}
	return qs
}

// addVectors gives the memories vectors of few dimensions in truth, with a
// falling spectrum, as those of sentence models have, and returns a vector for
// each of the queries, near to one of them.
func addVectors(docs []doc) [][]float32 {
	rng := rand.New(rand.NewPCG(1, 3))
	base := make([][]float64, latent)
	for i := range base {
		base[i] = make([]float64, dimension)
		for j := range base[i] {
			base[i][j] = rng.NormFloat64() * math.Pow(0.95, float64(i))
		}
	}
	draw := func() []float64 {
		v := make([]float64, latent)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return v
	}
	full := func(v []float64) []float32 {
		out := make([]float32, dimension)
		norm := 0.0
		for j := range out {
			x := 0.3 * rng.NormFloat64()
			for i, c := range v {
				x += c * base[i][j]
			}
			out[j] = float32(x)
			norm += x * x
		}
		for j := range out {
			out[j] /= float32(math.Sqrt(norm))
		}
		return out
	}
	origins := make([][]float64, 0, queries)
	step := max(1, len(docs)/queries)
	for i := range docs {
		v := draw()
		if i%step == 0 && len(origins) < queries {
			origins = append(origins, v)
		}
		docs[i].vector = full(v)
	}
	out := make([][]float32, 0, queries)
	for _, v := range origins {
		near := draw()
		for i := range near {
			near[i] = v[i] + 0.4*near[i]
		}
		out = append(out, full(near))
	}
	return out
}

// nearest returns the k memories nearest to v, exactly.
func nearest(docs []doc, v []float32, k int) []int {
	dots, order := make([]float32, len(docs)), make([]int, len(docs))
	for i := range docs {
		order[i] = i
		for j, x := range docs[i].vector {
			dots[i] += x * v[j]
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(dots[b], dots[a]) })
	return order[:min(k, len(order))]
}
