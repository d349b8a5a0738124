package rank_test

import (
	"fmt"
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
		var damage error
		book, err := rank.Open(t.Context(), st, &rank.Options{Damaged: func(err error) { damage = err }})
		require.NoError(t, err)
		defer book.Close()
		ss, err := book.Observed().Score(t.Context(), rank.Situation{Skill: "s"}, []rank.Candidate{{Name: "c"}})
		require.NoError(t, err)
		if damage != nil {
			require.ErrorIs(t, damage, store.ErrDamaged)
			require.Zero(t, ss[0].Samples)
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

// FuzzModel puts bytes where what was learned should be, with checksums that
// hold. Scores are numbers, and samples are learned from.
func FuzzModel(f *testing.F) {
	st := store.NewMem()
	book, err := rank.Open(f.Context(), st, nil)
	require.NoError(f, err)
	for i, name := range []string{"a", "b", "a"} {
		require.NoError(f, book.Observe(f.Context(), rank.Sample{
			Key: fmt.Sprint(i), Candidate: name, Situation: rank.Situation{Key: "k", Features: []float64{1, 2}}, Reward: p(float64(i)),
		}))
	}
	require.NoError(f, book.Close())
	var keys []string
	var sound []store.Op
	for e, err := range st.Scan(f.Context(), store.Range{}) {
		require.NoError(f, err)
		switch part(e.Key) {
		case "head", "arm", "setting", "point", "axes":
			var raw cbor.RawMessage
			require.NoError(f, codec.Decode(e, &raw))
			f.Add(uint8(len(keys)), []byte(raw))
			f.Add(uint8(len(keys)), []byte{0xa0})
			keys = append(keys, e.Key)
			sound = append(sound, store.Op{Key: e.Key, Value: e.Value})
		}
	}
	require.Len(f, keys, 6)
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		k := keys[int(which)%len(keys)]
		v, err := codec.Encode(k, cbor.RawMessage(raw))
		if err != nil {
			return
		}
		st := store.NewMem()
		_, err = st.Commit(t.Context(), sound...)
		require.NoError(t, err)
		_, err = st.Commit(t.Context(), store.Op{Key: k, Value: v})
		require.NoError(t, err)
		book, err := rank.Open(t.Context(), st, nil)
		require.NoError(t, err)
		defer book.Close()
		s := rank.Situation{Key: "k", Features: []float64{1, 2}}
		ss, err := book.Learned(nil).Score(t.Context(), s, []rank.Candidate{{Name: "a"}, {Name: "b"}, {Name: "c"}})
		require.NoError(t, err)
		for _, x := range ss {
			require.False(t, math.IsNaN(x.Score) || math.IsInf(x.Score, 0))
			require.False(t, math.IsNaN(x.Parts.Draw) || math.IsInf(x.Parts.Draw, 0))
		}
		for i, name := range []string{"a", "d", "b"} {
			sample := rank.Sample{Key: fmt.Sprint("more", i), Candidate: name, Situation: s, Success: i > 0}
			require.NoError(t, book.Observe(t.Context(), sample))
		}
		require.NoError(t, book.Flush(t.Context()))
		again, err := rank.Open(t.Context(), st, nil)
		require.NoError(t, err)
		defer again.Close()
		_, err = again.Learned(nil).Score(t.Context(), s, []rank.Candidate{{Name: "a"}, {Name: "b"}, {Name: "d"}})
		require.NoError(t, err)
	})
}
