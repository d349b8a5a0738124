package codec_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

type record struct {
	Name  string
	Count int64
	Score float64
	Tags  []string
	At    time.Time
	Sub   map[string]float64
}

func draw(t *rapid.T) record {
	return record{
		Name:  rapid.String().Draw(t, "name"),
		Count: rapid.Int64().Draw(t, "count"),
		Score: rapid.Float64().Draw(t, "score"),
		Tags:  rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "tags"),
		At:    time.Unix(0, rapid.Int64Range(0, 1<<62).Draw(t, "at")).UTC(),
		Sub:   map[string]float64{"a": rapid.Float64().Draw(t, "a")},
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t)
		one, err := codec.Encode("k", in)
		require.NoError(t, err)
		two, err := codec.Append([]byte("before"), "k", in)
		require.NoError(t, err)
		require.Equal(t, append([]byte("before"), one...), two)
		var out record
		require.NoError(t, codec.Decode(store.Entry{Key: "k", Value: one}, &out))
		require.Equal(t, in, out)
	})
}

func TestDamageIsNoticed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value, err := codec.Encode("k", draw(t))
		require.NoError(t, err)
		var out record
		require.ErrorIs(t, codec.Decode(store.Entry{Key: "other", Value: value}, &out), store.ErrDamaged)
		cut := rapid.IntRange(0, len(value)-1).Draw(t, "cut")
		require.ErrorIs(t, codec.Decode(store.Entry{Key: "k", Value: value[:cut]}, &out), store.ErrDamaged)
		bad := bytes.Clone(value)
		bad[rapid.IntRange(1, len(bad)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		err = codec.Decode(store.Entry{Key: "k", Value: bad}, &out)
		require.ErrorIs(t, err, store.ErrDamaged)
		require.ErrorContains(t, err, `"k"`)
		newer := bytes.Clone(value)
		newer[0] = codec.Version + 1
		require.ErrorIs(t, codec.Decode(store.Entry{Key: "k", Value: newer}, &out), store.ErrNewer)
	})
}

func FuzzDecode(f *testing.F) {
	value, err := codec.Encode("k", record{Name: "x", Tags: []string{"y"}})
	require.NoError(f, err)
	f.Add(value)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		var out record
		if err := codec.Decode(store.Entry{Key: "k", Value: value}, &out); err != nil {
			return
		}
		again, err := codec.Encode("k", out)
		require.NoError(t, err)
		var back record
		require.NoError(t, codec.Decode(store.Entry{Key: "k", Value: again}, &back))
	})
}
