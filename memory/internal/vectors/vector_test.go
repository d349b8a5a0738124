package vectors_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/vectors"
	"github.com/arc-learn/arc/store"
)

func TestCheck(t *testing.T) {
	require.NoError(t, vectors.Check(nil))
	require.NoError(t, vectors.Check([]float32{0, 1}))
	require.ErrorIs(t, vectors.Check([]float32{0, 0}), vectors.ErrVector)
	require.ErrorIs(t, vectors.Check([]float32{1, float32(math.NaN())}), vectors.ErrVector)
	require.ErrorIs(t, vectors.Check([]float32{float32(math.Inf(-1))}), vectors.ErrVector)
	var limit *store.LimitError
	require.ErrorAs(t, vectors.Check(make([]float32, vectors.MaxDimension+1)), &limit)
}

func TestPack(t *testing.T) {
	for _, v := range [][]float32{nil, {1}, {-2.5, 0, math.SmallestNonzeroFloat32, math.MaxFloat32}} {
		got, err := vectors.Unpack(vectors.Pack(v))
		require.NoError(t, err)
		require.Equal(t, v, got)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(vectors.Pack([]float32{1, -2}))
	f.Add([]byte{1, 2, 3})
	f.Add(vectors.Pack([]float32{float32(math.NaN())}))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := vectors.Unpack(b)
		if err == nil && len(b) > 0 {
			require.Equal(t, b, vectors.Pack(v))
		}
	})
}
