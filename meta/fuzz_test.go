package meta_test

import (
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

// FuzzStored puts bytes where a session's totals and its first outcome should
// be, with checksums that hold. They are either damage, or add up.
func FuzzStored(f *testing.F) {
	totals := []any{
		map[int]uint64{1: 1 << 63, 2: 1 << 63}, map[int]uint64{1: 1<<64 - 1, 2: 1, 3: 1 << 63},
		map[int]int{1: 1, 3: 1}, map[int]int{1: 1, 2: 1}, map[int]int{1: 300, 3: 300}, map[int]int{},
		map[int]int{1: 2, 2: 1}, map[int]int{1: 1, 2: 5}, map[int]int{1: -1}, []int{1},
	}
	outcomes := []any{
		map[int]any{1: 0, 2: 1, 4: "k", 5: "g", 6: "a", 7: "n", 8: 0.5}, map[int]any{1: 0, 3: true}, "outcome", nil,
		map[int]any{1: 0, 8: 7.5}, map[int]any{1: 5}, map[int]any{2: -1},
	}
	for _, a := range totals {
		for _, b := range outcomes {
			x, err := cbor.Marshal(a)
			require.NoError(f, err)
			y, err := cbor.Marshal(b)
			require.NoError(f, err)
			f.Add(x, y)
		}
	}
	f.Fuzz(func(t *testing.T, totals, outcome []byte) {
		st := store.NewMem()
		for k, raw := range map[string][]byte{
			key.Join("meta", "totals", "s"):    totals,
			key.Join("meta", "slot", "s", "0"): outcome,
		} {
			v, err := codec.Encode(k, cbor.RawMessage(raw))
			if err != nil {
				return
			}
			_, err = st.Commit(t.Context(), store.Op{Key: k, Value: v})
			require.NoError(t, err)
		}
		m, err := meta.Open(t.Context(), st, nil)
		require.NoError(t, err)
		defer m.Close()
		a, err := m.Assess(t.Context(), "s")
		require.NoError(t, err)
		require.LessOrEqual(t, a.Successes+a.Failures, a.Total)
		require.LessOrEqual(t, a.Same, a.Failures)
	})
}
