package hybrid_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/internal/vector"
	"github.com/arc-learn/arc/memory/internal/hybrid"
)

const dim = 16

var fusion = hybrid.Fusion{Min: .3, Weight: .5}

// corpus has rows of random words, two of three of which have a random vector.
func corpus(t *testing.T, rng *rand.Rand, rows int) hybrid.Scope {
	t.Helper()
	in := hybrid.Scope{Words: index.New(), Vectors: vector.New(dim)}
	for row := range uint32(rows) {
		in.Words.Put(row, index.Doc{Content: text.Append(nil, words(rng, 12))})
		if row%3 != 0 {
			var c vector.Code
			require.NoError(t, c.Make(direction(rng)))
			require.NoError(t, in.Vectors.Put(row, &c, 0))
		}
	}
	return in
}

func words(rng *rand.Rand, n int) string {
	var ws []string
	for range n {
		ws = append(ws, fmt.Sprintf("w%d", int(60*math.Pow(rng.Float64(), 2))))
	}
	return strings.Join(ws, " ")
}

func direction(rng *rand.Rand) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// The best of a search are those of all rows, each rated by itself.
func TestSearchFindsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	in := corpus(t, rng, 3000)
	var s hybrid.Scratch
	var sc index.Scratch
	better := func(a, b hybrid.Match) int { return cmp.Compare(b.Ratio, a.Ratio) }
	for range 40 {
		ask := index.Query{Terms: text.Append(nil, words(rng, 3)), Gate: .8}
		require.True(t, s.Vector.Ask(direction(rng)))
		all := slices.Clone(s.Search(in, &sc, ask, 3000, fusion)) // K 0: every row with a word or a vector
		slices.SortStableFunc(all, better)

		ask.K = 10
		got := s.Search(in, &sc, ask, ask.K, fusion)
		slices.SortStableFunc(got, better)
		for i, want := range all {
			if i >= ask.K && want.Ratio < ask.Gate*all[0].Ratio {
				break
			}
			require.Equal(t, want.Ratio, got[i].Ratio, "rank %d", i)
		}
	}
}

func TestSearchByWordsAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	in := corpus(t, rng, 200)
	in.Vectors = nil
	var s hybrid.Scratch
	var sc index.Scratch
	require.True(t, s.Vector.Ask(direction(rng)))
	ask := index.Query{Terms: text.Append(nil, words(rng, 3))}
	got := s.Search(in, &sc, ask, 10, fusion)
	require.NotEmpty(t, got)
	for _, m := range got {
		require.InDelta(t, m.Lexical, m.Relevance, 1e-12)
		require.Zero(t, m.Cosine)
	}
}

func TestSearchByVectorAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	in := corpus(t, rng, 200)
	var s hybrid.Scratch
	var sc index.Scratch
	require.True(t, s.Vector.Ask(direction(rng)))
	got := s.Search(in, &sc, index.Query{}, 10, hybrid.Fusion{Alone: true})
	require.NotEmpty(t, got)
	for _, m := range got {
		require.Positive(t, m.Cosine, "what points elsewhere is not found")
		require.Equal(t, m.Cosine, m.Relevance)
	}
}

// A vector takes nothing from what words say.
func TestVectorsOnlyAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	in := corpus(t, rng, 500)
	var s hybrid.Scratch
	var sc index.Scratch
	require.True(t, s.Vector.Ask(direction(rng)))
	for _, m := range s.Search(in, &sc, index.Query{Terms: text.Append(nil, words(rng, 3))}, 500, fusion) {
		require.GreaterOrEqual(t, m.Relevance, m.Lexical)
		if m.Cosine <= fusion.Min {
			require.InDelta(t, m.Lexical, m.Relevance, 1e-12)
		}
	}
}
