package vector_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arc-learn/arc/internal/vector"
)

// clusters has 256 clusters with isotropic noise, in which cosines are about
// 0.5: members are hard to tell apart.
func clusters(r *rand.Rand, n, dim int) [][]float32 {
	centers := gaussian(r, 256, dim)
	out := gaussian(r, n, dim)
	for _, v := range out {
		for j, c := range centers[r.IntN(len(centers))] {
			v[j] += c
		}
	}
	return out
}

// lowRank has 48 directions of falling weight, nearer to embeddings of
// sentences.
func lowRank(r *rand.Rand, n, dim int) [][]float32 {
	basis := gaussian(r, 48, dim)
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, dim)
		for k, b := range basis {
			w := float32(r.NormFloat64() / math.Sqrt(float64(k+1)))
			for j, x := range b {
				out[i][j] += w * x
			}
		}
	}
	return out
}

func gaussian(r *rand.Rand, n, dim int) [][]float32 {
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, dim)
		for j := range out[i] {
			out[i][j] = float32(r.NormFloat64())
		}
	}
	return out
}

func cosine(a, b []float32) float64 {
	ab, aa, bb := 0.0, 0.0, 0.0
	for i, x := range a {
		y := float64(b[i])
		ab, aa, bb = ab+float64(x)*y, aa+float64(x)*float64(x), bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// exact returns the n best slots by a scan of everything.
func exact(vs [][]float32, q []float32, n int) []uint32 {
	cos := make([]float64, len(vs))
	slots := make([]uint32, len(vs))
	for i, v := range vs {
		cos[i], slots[i] = cosine(v, q), uint32(i)
	}
	slices.SortFunc(slots, func(a, b uint32) int {
		if cos[a] != cos[b] {
			return map[bool]int{true: -1, false: 1}[cos[a] > cos[b]]
		}
		return int(a) - int(b)
	})
	return slots[:min(n, len(slots))]
}

func BenchmarkSearch(b *testing.B) {
	const dim, queries = 384, 50
	for _, data := range []struct {
		name string
		make func(r *rand.Rand, n, dim int) [][]float32
	}{{"clusters", clusters}, {"low rank", lowRank}} {
		for _, n := range []int{10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/n=%d", data.name, n), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				vs := data.make(r, n+queries, dim)
				vs, qs := vs[:n], vs[n:]
				s := vector.New(dim)
				for i, v := range vs {
					put(s, uint32(i), v, 0)
				}
				var sc vector.Scratch
				found := 0
				for _, q := range qs {
					sc.Ask(q)
					ms := s.Search(&sc, 10, 0, 0, nil)
					for _, slot := range exact(vs, q, 10) {
						if slices.ContainsFunc(ms, func(m vector.Match) bool { return m.Slot == slot }) {
							found++
						}
					}
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					sc.Ask(qs[i%queries])
					s.Search(&sc, 10, 0, 0, nil)
					i++
				}
				b.ReportMetric(float64(found)/(10*queries), "recall@10")
			})
		}
	}
}

func BenchmarkPut(b *testing.B) {
	vs := lowRank(rand.New(rand.NewPCG(1, 2)), 1000, 384)
	s := vector.New(384)
	i := 0
	for b.Loop() {
		if err := put(s, uint32(i), vs[i%len(vs)], 0); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
