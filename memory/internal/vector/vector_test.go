package vector_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory/internal/vector"
)

func cosine(a, b []float32) float64 {
	dot, x, y := 0.0, 0.0, 0.0
	for i := range a {
		dot, x, y = dot+float64(a[i])*float64(b[i]), x+float64(a[i])*float64(a[i]), y+float64(b[i])*float64(b[i])
	}
	return dot / math.Sqrt(x*y)
}

// A set of few vectors finds the nearest of a map's, whatever was put and deleted before.
func TestAgainstAMap(t *testing.T) {
	t.Parallel()
	const dim = 70
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		draw := func() []float32 {
			v := make([]float32, dim)
			for i := range v {
				v[i] = float32(rng.NormFloat64())
			}
			return v
		}
		s, all := vector.New(dim), map[uint32][]float32{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			row := uint32(rng.IntN(20))
			if rng.IntN(3) == 0 {
				s.Delete(row)
				delete(all, row)
				continue
			}
			all[row] = draw()
			require.NoError(t, s.Put(row, all[row]))
		}
		require.Equal(t, len(all), s.Len())
		v := draw()
		q, err := s.Ask(v)
		require.NoError(t, err)
		even := func(row uint32) bool { return row%2 == 0 }
		got := s.Search(q, 30, even)
		n := 0
		for row, x := range all {
			require.InDelta(t, cosine(v, x), s.Cosine(q, row), .02)
			if even(row) {
				n++
			}
		}
		require.Len(t, got, n)
		require.True(t, slices.IsSortedFunc(got, func(a, b vector.Match) int { return cmp.Compare(b.Cosine, a.Cosine) }))
		for _, m := range got {
			require.InDelta(t, cosine(v, all[m.Row]), m.Cosine, .02)
		}
		require.Zero(t, s.Cosine(q, 99))
	})
}

func TestBadVectors(t *testing.T) {
	t.Parallel()
	s, inf := vector.New(2), float32(math.Inf(1))
	for _, v := range [][]float32{nil, {1}, {1, 2, 3}, {0, 0}, {1, inf}, {1, float32(math.NaN())}} {
		require.Error(t, s.Put(0, v), v)
		_, err := s.Ask(v)
		require.Error(t, err, v)
	}
	require.Zero(t, s.Len())
	require.NoError(t, s.Put(0, []float32{math.MaxFloat32, math.SmallestNonzeroFloat32}))
}

// BenchmarkSearch reports how many of the exact ten nearest are found among 100,000 vectors that lie in clusters.
func BenchmarkSearch(b *testing.B) {
	const n, dim = 100_000, 384
	rng := rand.New(rand.NewPCG(1, 2))
	centres := make([][]float32, 500)
	draw := func(around []float32, spread float64) []float32 {
		v := make([]float32, dim)
		for i := range v {
			if v[i] = float32(spread * rng.NormFloat64()); around != nil {
				v[i] += around[i]
			}
		}
		return v
	}
	for i := range centres {
		centres[i] = draw(nil, 1)
	}
	s, all := vector.New(dim), make([][]float32, n)
	for i := range all {
		all[i] = draw(centres[rng.IntN(len(centres))], .7)
		if err := s.Put(uint32(i), all[i]); err != nil {
			b.Fatal(err)
		}
	}
	found, asked := 0, 0
	for b.Loop() {
		v := draw(centres[rng.IntN(len(centres))], .7)
		q, _ := s.Ask(v)
		got := s.Search(q, 10, nil)
		b.StopTimer()
		if asked < 200 {
			exact := make([]float64, n)
			for i := range all {
				exact[i] = cosine(v, all[i])
			}
			least := slices.Sorted(slices.Values(exact))[n-10]
			for _, m := range got {
				if exact[m.Row] >= least {
					found++
				}
			}
			asked += 10
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(found)/float64(asked), "of-exact-ten")
}
