package rank_test

import (
	"math"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// FuzzSlot puts bytes where a sample should be, with a checksum that holds.
// They are either damage, or a sample whose score is a number.
func FuzzSlot(f *testing.F) {
	for _, v := range []any{
		map[int]any{1: 0, 2: 1, 3: 1, 4: 0.5, 5: 1_000_000, 6: 0.25, 7: 10, 8: 20},
		map[int]any{1: 0, 2: 1, 3: 9}, map[int]any{1: 0, 2: -1}, map[int]any{1: 0, 6: math.NaN()},
		map[int]any{1: 200, 2: 1}, map[int]any{1: 0, 4: math.Inf(1)}, map[int]any{1: 0, 7: int64(1 << 40)},
		map[int]any{1: uint64(math.MaxUint64)}, []int{1}, "sample", nil,
	} {
		raw, err := cbor.Marshal(v)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		k := key.Join("rank", "slot", "c", "s", "0")
		v, err := codec.Encode(k, cbor.RawMessage(raw))
		if err != nil {
			return
		}
		st := store.NewMem()
		_, err = st.Commit(t.Context(), store.Op{Key: k, Value: v})
		require.NoError(t, err)
		book, err := rank.Open(t.Context(), st, nil)
		require.NoError(t, err)
		defer book.Close()
		ss, err := book.Observed().Score(t.Context(), rank.Situation{Skill: "s"}, []rank.Candidate{{Name: "c"}})
		if err != nil {
			require.ErrorIs(t, err, store.ErrDamaged)
			return
		}
		require.Equal(t, 1, ss[0].Samples)
		require.False(t, math.IsNaN(ss[0].Score) || math.IsInf(ss[0].Score, 0))
		stats, err := book.Stats(t.Context(), "c", "s")
		require.NoError(t, err)
		require.GreaterOrEqual(t, stats.CostUSD, 0.0)
		require.GreaterOrEqual(t, int64(stats.Wall), int64(0))
	})
}
