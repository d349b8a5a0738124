package stored_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// A key is taken apart as it was made, of a scope that is too long for one too.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"acme", "acme/ann", "acme/" + strings.Repeat("x", 600)} {
		place := stored.PlaceOf(scope)
		k := place.Key(stored.Vectors, "id")
		require.Equal(t, k, stored.Key(stored.Vectors, scope, "id"))
		part, of, id, ok := stored.Split(k)
		require.True(t, ok)
		require.Equal(t, []string{stored.Vectors, place.Part, "id"}, []string{part, of, id})
		require.Equal(t, len(scope) > 512, strings.HasPrefix(of, stored.LongMark))
		require.Less(t, len(k), 600)
		require.NotContains(t, place.FeedbackKey("secret"), "secret")
		require.True(t, strings.HasPrefix(place.Key(stored.Counts, ""), place.Counts))
	}
	_, _, _, ok := stored.Split("other/r/acme/id")
	require.False(t, ok)
	_, _, _, ok = stored.Split(stored.ModelKey())
	require.False(t, ok)
}

// What lies under a scope is of it and of those below it.
func TestUnder(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), store.NewMem()
	long := "acme/" + strings.Repeat("x", 600)
	for _, scope := range []string{"acme", "acme/ann", "acmes", "b", long} {
		op, err := stored.Put(stored.Key(stored.Vectors, scope, "id"), scope)
		require.NoError(t, err)
		_, err = st.Commit(ctx, op)
		require.NoError(t, err)
	}
	under := func(scope string, ours bool) (n int) {
		for _, err := range stored.Under(ctx, st, stored.Vectors, scope, func(store.Entry) (bool, error) { return ours, nil }) {
			require.NoError(t, err)
			n++
		}
		return n
	}
	require.Equal(t, 3, under("acme", true))
	require.Equal(t, 2, under("acme", false))
	require.Equal(t, 5, under("", false))
	require.Equal(t, 1, under("b", false))
}

func entryOf(t *testing.T, op store.Op, err error) store.Entry {
	t.Helper()
	require.NoError(t, err)
	return store.Entry{Key: op.Key, Value: op.Value, Rev: 3}
}

// What is put is what is read, and what no Bank has written is damage that names its key.
func TestBeside(t *testing.T) {
	t.Parallel()
	c := &tally.Counts{Helped: 2, LastUsed: 7}
	e := &table.Entry{Key: ident.Of("a"), More: &table.More{Foreign: "a"}}
	ops, err := stored.AppendCounts(nil, nil, "prefix/", table.Change{Entry: e, Counts: c})
	require.NoError(t, err)
	require.Equal(t, "prefix/a", ops[0].Key)
	got, err := stored.CountsOf(entryOf(t, ops[0], nil))
	require.NoError(t, err)
	require.Equal(t, &tally.Counts{Helped: 2, LastUsed: 7, Rev: 3}, got)
	bad, err := stored.Put("k", &tally.Counts{Helped: -1})
	_, err = stored.CountsOf(entryOf(t, bad, err))
	require.ErrorIs(t, err, store.ErrDamaged)

	for _, x := range [][]float32{{1, -.5}, nil} {
		op, err := stored.PutVector("k", "model", x)
		model, y, err := stored.VectorOf(entryOf(t, op, err))
		require.NoError(t, err)
		require.Equal(t, "model", model)
		require.Equal(t, x, y)
	}
	bad, err = stored.Put("k", map[int]any{1: []byte{1}})
	damaged := entryOf(t, bad, err)
	_, _, err = stored.VectorOf(damaged)
	require.ErrorIs(t, err, store.ErrDamaged)
	some, err := stored.PutVector("some", "model", []float32{1, 0})
	none, missing := stored.PutVector("none", "model", nil)
	coded := stored.CodeVectors([]store.Entry{entryOf(t, some, err), entryOf(t, none, missing), damaged})
	require.Equal(t, []int{2, 0, 0}, []int{coded[0].Dim, coded[1].Dim, coded[2].Dim})
	require.NoError(t, coded[1].Err)
	require.ErrorIs(t, coded[2].Err, store.ErrDamaged)

	guesses := []stored.Guess{{Old: "o", Probability: .5, Evidence: table.ByCue}}
	op, err := stored.Put("k", guesses)
	kept, err := stored.GuessesOf(entryOf(t, op, err))
	require.NoError(t, err)
	require.Equal(t, guesses, kept)
	for _, g := range []stored.Guess{{Probability: .5}, {Old: "o", Probability: 2}, {Old: "o", Probability: math.NaN()}} {
		op, err := stored.Put("k", []stored.Guess{g})
		_, err = stored.GuessesOf(entryOf(t, op, err))
		require.ErrorIs(t, err, store.ErrDamaged)
	}
}
