package embedder_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/embedder"
	"github.com/arc-learn/arc/memory/internal/vectors"
	"github.com/arc-learn/arc/store"
)

// host is a Host that says what is asked of it.
type host func(texts []string) ([][]float32, error)

func (h host) Embed(_ context.Context, texts []string) ([][]float32, error) { return h(texts) }

func (h host) Model() string { return "m" }

func started(t *testing.T, h embedder.Host, noted embedder.Model) *embedder.Embedder {
	v := new(embedder.Embedder)
	require.NoError(t, v.Start(h, noted))
	return v
}

// batch is how many texts are asked for next.
func batch(v *embedder.Embedder) int {
	v.Want("acme")
	_, n, _ := v.Next()
	return n
}

func clock() time.Time { return time.Unix(1e9, 0) }

// What was asked for is remembered, for its tenant, until it is dropped.
func TestTexts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var asked []string
	v := started(t, host(func(texts []string) (out [][]float32, _ error) {
		asked = append(asked, texts...)
		for _, s := range texts {
			out = append(out, []float32{float32(len(s)), 0})
		}
		return out, nil
	}), embedder.Model{})
	out, n, err := v.Texts(ctx, "acme", []string{"a", "bb", "a", ""})
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, [][]float32{{1, 0}, {2, 0}, {1, 0}, nil}, out)
	require.Equal(t, embedder.Model{Name: "m", Dim: 2}, v.Model())
	x, err := v.Query(ctx, clock, "acme", "bb")
	require.NoError(t, err)
	require.Equal(t, []float32{2, 0}, x)
	require.Equal(t, []string{"a", "bb", ""}, asked)
	v.Drop("acme", "bb")
	_, n, err = v.Texts(ctx, "acme", []string{"a", "bb"})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, n, err = v.Texts(ctx, "other", []string{"a"})
	require.NoError(t, err)
	require.Equal(t, 1, n, "another tenant's are not told by how fast they come")
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for want, h := range map[string]host{
		"embedder: away":                    func([]string) ([][]float32, error) { return nil, errors.New("away") },
		"embedder: 0 vectors for 1 texts":   func([]string) ([][]float32, error) { return nil, nil },
		"bad vector: dimension 1, not 2 as": func([]string) ([][]float32, error) { return [][]float32{{1}}, nil },
	} {
		v := started(t, h, embedder.Model{Name: "m", Dim: 2})
		_, n, err := v.Texts(ctx, "acme", []string{"a"})
		require.ErrorContains(t, err, want)
		require.Equal(t, 1, n)
		x, err := v.Query(ctx, clock, "acme", "a")
		require.NoError(t, err, "words alone have to do")
		require.Nil(t, x)
		require.ErrorContains(t, v.LastError("acme"), want)
	}
	v := started(t, host(func([]string) ([][]float32, error) { return [][]float32{{float32(math.NaN())}}, nil }), embedder.Model{})
	_, _, err := v.Texts(ctx, "acme", []string{"a"})
	require.ErrorIs(t, err, vectors.ErrVector)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = v.Query(ended, clock, "acme", "b")
	require.ErrorIs(t, err, context.Canceled)
}

// After a failure, a query does not ask for a while, and batches are smaller.
func TestRests(t *testing.T) {
	t.Parallel()
	calls := 0
	v := started(t, host(func([]string) ([][]float32, error) {
		calls++
		return nil, errors.New("away")
	}), embedder.Model{})
	for range 2 {
		x, err := v.Query(context.Background(), clock, "acme", "a")
		require.NoError(t, err)
		require.Nil(t, x)
	}
	require.Equal(t, 1, calls)
	require.Equal(t, 16, batch(v))
	for range 9 {
		v.Tried(clock(), "acme", errors.New("away"))
	}
	require.Equal(t, 1, batch(v))
	for range 9 {
		v.Tried(clock(), "acme", nil)
	}
	require.Equal(t, 32, batch(v))
}

func TestModel(t *testing.T) {
	t.Parallel()
	v := started(t, nil, embedder.Model{})
	require.False(t, v.Works())
	v.Adopt(embedder.Model{Name: "theirs", Dim: 3})
	v.Adopt(embedder.Model{Name: "late", Dim: 4})
	require.Equal(t, embedder.Model{Name: "theirs", Dim: 3}, v.Model())
	require.True(t, v.Fits(3) && !v.Fits(4))
	st := store.NewMem()
	none, err := embedder.Load(t.Context(), st)
	require.NoError(t, err)
	require.Zero(t, none)
	m, ops, err := v.Note()
	require.NoError(t, err)
	_, err = st.Commit(t.Context(), ops...)
	require.NoError(t, err)
	v.Noted(m)
	_, ops, err = v.Note()
	require.NoError(t, err)
	require.Empty(t, ops)
	noted, err := embedder.Load(t.Context(), st)
	require.NoError(t, err)
	require.Equal(t, m, noted)
	works := started(t, host(nil), embedder.Model{Name: "before", Dim: 7})
	require.Equal(t, embedder.Model{Name: "m"}, works.Model())
	works.Adopt(embedder.Model{Name: "theirs", Dim: 3})
	require.True(t, works.Works() && works.Fits(9))
	require.Equal(t, 9, works.Model().Dim)
}

func TestQueue(t *testing.T) {
	t.Parallel()
	v := started(t, host(func([]string) ([][]float32, error) { return nil, nil }), embedder.Model{})
	for _, s := range []string{"a", "b", "a"} {
		v.Want(s)
	}
	for _, want := range []string{"a", "b"} {
		s, _, ok := v.Next()
		require.True(t, ok)
		require.Equal(t, want, s)
		v.Want("a") // again, since it was taken
	}
	s, _, ok := v.Next()
	require.True(t, ok)
	require.Equal(t, "a", s)
	_, _, ok = v.Next()
	require.False(t, ok)

	none := started(t, nil, embedder.Model{})
	none.Want("a")
	_, _, ok = none.Next()
	require.False(t, ok, "there is no Host to ask")
}
