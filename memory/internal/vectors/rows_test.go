package vectors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/vector"
	"github.com/arc-learn/arc/memory/internal/vectors"
)

func TestRows(t *testing.T) {
	r := vectors.New()
	var sc vector.Scratch
	require.True(t, sc.Ask([]float32{1, 0}))
	require.Nil(t, r.Set())
	require.True(t, r.Waits(0))
	require.Zero(t, r.Cosine(&sc, 0))
	require.Empty(t, r.Search(&sc, 3, 0, 0, nil))
	r.Move(0, 1, 0)
	r.SetFlags(0, 1)
	r.Delete(0)

	r.Put(0, 1, []float32{2, 0})
	r.Put(1, 0, nil)
	r.Put(2, 0, []float32{0, 0})    // no direction
	r.Put(3, 0, []float32{1, 1, 1}) // of another dimension
	require.Equal(t, 4, r.Settled())
	for row := range uint32(5) {
		require.Equal(t, row == 4, r.Waits(row), row)
	}
	require.InDelta(t, 1, r.Cosine(&sc, 0), .001)
	require.Zero(t, r.Cosine(&sc, 1))
	require.Empty(t, r.Search(&sc, 3, 1, 0, nil))

	r.Move(0, 7, 0)
	require.True(t, r.Waits(0))
	near := r.Search(&sc, 3, 1, 0, nil)
	require.Len(t, near, 1)
	require.EqualValues(t, 7, near[0].Slot)
	r.SetFlags(7, 1)
	require.Empty(t, r.Search(&sc, 3, 1, 0, nil))
	r.Delete(7)
	r.Delete(1)
	require.True(t, r.Waits(7))
	require.True(t, r.Waits(1))
	require.Equal(t, 2, r.Settled())
}

func TestQueue(t *testing.T) {
	var q vectors.Queue
	_, ok := q.Return()
	require.False(t, ok)
	q.PutOff(4, 6)
	require.EqualValues(t, 7, q.From)
	q.PutOff(9, 9)
	row, ok := q.Return()
	require.True(t, ok)
	require.EqualValues(t, 4, row, "the first that was put off")
	_, ok = q.Return()
	require.False(t, ok)
	q.PutOff(0, 0)
	row, ok = q.Return()
	require.True(t, ok)
	require.Zero(t, row)
}
