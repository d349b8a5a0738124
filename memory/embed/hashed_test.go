package embed_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory/embed"
)

func vectors(t require.TestingT, h embed.Hashed, texts ...string) [][]float32 {
	vs, err := h.Embed(context.Background(), texts)
	require.NoError(t, err)
	require.Len(t, vs, len(texts))
	return vs
}

func cosine(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestHashedKnowsSpelling(t *testing.T) {
	near := [][2]string{ // inflections and misspellings
		{"certificate rotation", "certifcate rotatoin"},
		{"the deployment failed", "deployments failing"},
		{"connection refused", "conection refussed"},
	}
	for _, p := range near {
		vs := vectors(t, embed.Hashed{}, p[0], p[1])
		require.Greater(t, cosine(vs[0], vs[1]), 0.25, "%q", p)
	}
	vs := vectors(t, embed.Hashed{}, "the car broke down", "an automobile failed", "car")
	require.Less(t, cosine(vs[0], vs[1]), 0.2, "it does not know meanings")
	require.Greater(t, cosine(vs[0], vs[2]), 0.4)
	require.Equal(t, 1.0, math.Round(1e5*cosine(vs[0], vs[0]))/1e5)
}

func TestHashedProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := embed.Hashed{Dim: rapid.IntRange(16, 100).Draw(t, "dim")}
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		vs := vectors(t, h, a, b, a)
		require.Equal(t, vs[0], vs[2])
		require.Equal(t, vs[1], vectors(t, h, b)[0], "no text depends on its batch")
		for _, v := range vs {
			if v != nil {
				require.Len(t, v, h.Dim)
				require.InDelta(t, 1, cosine(v, v), 1e-5)
			}
		}
	})
	long := vectors(t, embed.Hashed{}, strings.Repeat("x", 64<<10))
	require.InDelta(t, 1, cosine(long[0], long[0]), 1e-5)
	require.Nil(t, vectors(t, embed.Hashed{}, " .,- ")[0])
}

func TestHashedRefuses(t *testing.T) {
	_, err := embed.Hashed{Dim: 15}.Embed(t.Context(), []string{"a"})
	require.Error(t, err)
	_, err = embed.Hashed{Dim: -1}.Embed(t.Context(), []string{"a"})
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = embed.Hashed{}.Embed(ctx, []string{"a"})
	require.ErrorIs(t, err, context.Canceled)
	require.NotEqual(t, embed.Hashed{}.Model(), embed.Hashed{Dim: 64}.Model())
	require.Equal(t, embed.Hashed{}.Model(), embed.Hashed{Dim: 384}.Model())
}

func ExampleHashed() {
	vs, err := embed.Hashed{}.Embed(context.Background(), []string{"certificate", "certifcate", "weather"})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.1f %.1f\n", cosine(vs[0], vs[1]), cosine(vs[0], vs[2]))
	// Output: 0.5 0.0
}
