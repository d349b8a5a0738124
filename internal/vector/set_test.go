package vector_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/vector"
)

// tolerance is what the codes may be off, in a cosine.
const tolerance = 0.005

// naive holds the vectors as they are.
type naive struct {
	vectors map[uint32][]float32
	flags   map[uint32]uint32
}

// check holds a search to a scan of everything: it finds as many, each with
// its cosine, and none much worse than one that it leaves out.
func (m naive) check(t require.TestingT, s *vector.Set, sc *vector.Scratch, q []float32, n int, mask, want uint32, skip func(uint32) bool) {
	var all []float64
	for slot, v := range m.vectors {
		if m.flags[slot]&mask == want && (skip == nil || !skip(slot)) {
			all = append(all, cosine(v, q))
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	require.True(t, sc.Ask(q))
	ms := s.Search(sc, n, mask, want, skip)
	require.Len(t, ms, min(n, len(all)))
	seen := map[uint32]bool{}
	for i, got := range ms {
		v := m.vectors[got.Slot]
		require.NotNil(t, v, "slot %d is not there", got.Slot)
		require.False(t, seen[got.Slot], "slot %d is found twice", got.Slot)
		seen[got.Slot] = true
		require.Equal(t, want, m.flags[got.Slot]&mask)
		require.True(t, skip == nil || !skip(got.Slot))
		require.InDelta(t, cosine(v, q), got.Cosine, tolerance)
		require.InDelta(t, all[i], got.Cosine, tolerance, "match %d", i)
		if i > 0 {
			require.GreaterOrEqual(t, ms[i-1].Cosine, got.Cosine)
		}
		c, ok := s.Cosine(sc, got.Slot)
		require.True(t, ok)
		require.Equal(t, got.Cosine, c)
	}
}

// drawVector draws dense and sparse vectors of any length.
// put codes v and keeps it.
func put(s *vector.Set, slot uint32, v []float32, flags uint32) error {
	var c vector.Code
	if err := c.Make(v); err != nil {
		return err
	}
	return s.Put(slot, &c, flags)
}

func drawVector(t *rapid.T, dim int, label string) []float32 {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, label), 1))
	scale := float32(math.Exp(160*r.Float64() - 80)) // 1e-35 to 1e35: never zero or infinite
	v := make([]float32, dim)
	for i := range v {
		if r.IntN(3) > 0 || dim < 8 {
			v[i] = float32(r.NormFloat64()) * scale
		}
	}
	v[r.IntN(dim)] = scale
	return v
}

func TestSetAgainstScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.SampledFrom([]int{1, 2, 3, 64, 100, 129, 384}).Draw(t, "dim")
		s, m := vector.New(dim), naive{map[uint32][]float32{}, map[uint32]uint32{}}
		var sc vector.Scratch
		slots := rapid.Uint32Range(0, 300)
		t.Repeat(map[string]func(*rapid.T){
			"put some": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					slot, flags := slots.Draw(t, "slot"), rapid.Uint32Range(0, 7).Draw(t, "flags")
					v := drawVector(t, dim, "vector")
					require.NoError(t, put(s, slot, v, flags))
					m.vectors[slot], m.flags[slot] = v, flags
				}
			},
			"delete some": func(t *rapid.T) {
				for range rapid.IntRange(1, 60).Draw(t, "n") {
					slot := slots.Draw(t, "slot")
					s.Delete(slot)
					delete(m.vectors, slot)
					delete(m.flags, slot)
				}
			},
			"move": func(t *rapid.T) {
				from, to := slots.Draw(t, "from"), slots.Draw(t, "to")
				if _, taken := m.vectors[to]; taken {
					t.Skip("taken")
				}
				s.Move(from, to, 5)
				if v, ok := m.vectors[from]; ok {
					m.vectors[to], m.flags[to] = v, 5
					delete(m.vectors, from)
					delete(m.flags, from)
				}
				require.False(t, s.Has(from))
				require.Equal(t, m.vectors[to] != nil, s.Has(to))
			},
			"flag": func(t *rapid.T) {
				slot, flags := slots.Draw(t, "slot"), rapid.Uint32Range(0, 7).Draw(t, "flags")
				s.SetFlags(slot, flags)
				if _, ok := m.flags[slot]; ok {
					m.flags[slot] = flags
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(m.vectors), s.Len())
				mask := rapid.Uint32Range(0, 7).Draw(t, "mask")
				want := rapid.Uint32Range(0, 7).Draw(t, "want") & mask
				var skip func(uint32) bool
				if every := rapid.Uint32Range(0, 3).Draw(t, "every"); every > 0 {
					skip = func(slot uint32) bool { return slot%(every+1) != 0 }
				}
				m.check(t, s, &sc, drawVector(t, dim, "query"), rapid.IntRange(1, 50).Draw(t, "k"), mask, want, skip)
			},
		})
	})
}

// With more vectors than are reranked the result is not exact, but close.
func TestRecall(t *testing.T) {
	const n, dim, queries = 3000, 384, 20
	r := rand.New(rand.NewPCG(3, 4))
	for name, vs := range map[string][][]float32{
		"clusters": clusters(r, n+queries, dim), "low rank": lowRank(r, n+queries, dim), "sparse": sparse(r, n+queries, dim),
	} {
		s := vector.New(dim)
		for i, v := range vs[:n] {
			require.NoError(t, put(s, uint32(i), v, uint32(i)%2))
		}
		var sc vector.Scratch
		found := 0
		for _, q := range vs[n:] {
			require.True(t, sc.Ask(q))
			ms := s.Search(&sc, 10, 0, 0, nil)
			for _, slot := range exact(vs[:n], q, 10) {
				if slices.ContainsFunc(ms, func(m vector.Match) bool { return m.Slot == slot }) {
					found++
				}
			}
			// A filter that leaves few does not lose them.
			rare := func(slot uint32) bool { return slot%1000 != 7 }
			require.Len(t, s.Search(&sc, 10, 1, 1, rare), 3)
			require.Empty(t, s.Search(&sc, 10, 1, 0, rare))
		}
		require.GreaterOrEqual(t, float64(found)/(10*queries), 0.97, name)
	}
}

// sparse has few numbers that are not zero, as hashed words have.
func sparse(r *rand.Rand, n, dim int) [][]float32 {
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, dim)
		for range 60 {
			j := int(math.Pow(float64(dim), r.Float64()))
			out[i][(j*j*7)%dim] += float32(1 - 2*(j%2))
		}
		out[i][r.IntN(dim)]++
	}
	return out
}

// A set that several goroutines scan gives what one would.
func TestLargeSet(t *testing.T) {
	if testing.Short() {
		t.Skip("280,000 vectors")
	}
	const n = 280_000
	s := vector.New(2)
	at := func(i int) []float32 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		return []float32{float32(cos), float32(sin)}
	}
	for i := range n {
		require.NoError(t, put(s, uint32(i), at(i), uint32(i)%2))
	}
	var sc vector.Scratch
	for _, i := range []int{0, 1, n / 3, n - 1} {
		require.True(t, sc.Ask(at(i)))
		ms := s.Search(&sc, 10, 1, uint32(i)%2, nil)
		require.Len(t, ms, 10)
		for _, m := range ms {
			require.Equal(t, uint32(i)%2, m.Slot%2)
			require.InDelta(t, 1, cosine(at(int(m.Slot)), at(i)), tolerance)
		}
	}
}

func TestRefused(t *testing.T) {
	s := vector.New(3)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, v := range [][]float32{nil, {1, 2}, {0, 0, 0}, {1, nan, 0}, {inf, 0, 0}, {1, 2, 3, 4}} {
		require.Error(t, put(s, 0, v, 0))
	}
	var code vector.Code
	require.Error(t, s.Put(0, &code, 0), "it is not made")
	require.NoError(t, code.Make([]float32{1, 2, 3}))
	require.Error(t, code.Make([]float32{0}))
	require.Error(t, s.Put(0, &code, 0), "it is not made any more")
	require.Zero(t, s.Len())
	var sc vector.Scratch
	require.Empty(t, s.Search(&sc, 5, 0, 0, nil), "no query")
	for _, q := range [][]float32{nil, {0, 0, 0}, {nan, 0, 0}, {1, inf, 0}} {
		require.False(t, sc.Ask(q))
	}
	require.NoError(t, put(s, 7, []float32{1, 2, 3}, 0))
	_, ok := s.Cosine(&sc, 7)
	require.False(t, ok, "no query")
	require.True(t, sc.Ask([]float32{1, 2}))
	require.Empty(t, s.Search(&sc, 5, 0, 0, nil), "another dimension")
	require.True(t, sc.Ask([]float32{2, 4, 6}))
	require.Empty(t, s.Search(&sc, 0, 0, 0, nil))
	for _, slot := range []uint32{6, 8, math.MaxUint32} {
		_, ok = s.Cosine(&sc, slot)
		require.False(t, ok)
	}
	c, ok := s.Cosine(&sc, 7)
	require.True(t, ok)
	require.InDelta(t, 1, c, tolerance)
}
