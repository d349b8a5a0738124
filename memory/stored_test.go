package memory

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

func sample() (*shard, *Record) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123000, time.UTC)
	return newShard("acme/user-42", nil), &Record{
		ID: "k1", Scope: "acme/user-42", Kind: Pattern, Trigger: "t", Content: "c", At: at, Known: at.Add(time.Hour),
		Source: Source{Origin: Web, Ref: "r", Run: "u"}, Actor: "a", Thread: "th", Links: []Link{{To: "x", Rel: "y"}},
		Variants: []Variant{{ID: "v", Source: Source{Run: "w"}, At: at, Trigger: "vt", Content: "vc"}},
		Plan:     []byte(`{}`), Trusted: true, Repaired: true,
	}
}

// What is encoded decodes to the same, and what decodes encodes to the same.
func FuzzDecodeRecord(f *testing.F) {
	sh, r := sample()
	op, err := sh.encodeRecord(r, stowed{7, 3})
	require.NoError(f, err)
	got, with, err := decodeRecord(store.Entry{Key: op.Key, Value: op.Value})
	require.NoError(f, err)
	require.Equal(f, r, got)
	require.Equal(f, stowed{7, 3}, with)
	f.Add(op.Value[5:])
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, body []byte) {
		// The body is put in a valid envelope, so that the checksum does not
		// keep the fuzzer out.
		value, err := codec.Encode(op.Key, cborBytes(body))
		if err != nil {
			return
		}
		r, with, err := decodeRecord(store.Entry{Key: op.Key, Value: value})
		if err != nil {
			require.True(t, errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNewer))
			require.Contains(t, err.Error(), "k1")
			return
		}
		again, err := newShard(r.Scope, nil).encodeRecord(r, with)
		require.NoError(t, err)
		same, _, err := decodeRecord(store.Entry{Key: again.Key, Value: again.Value})
		require.NoError(t, err)
		require.Equal(t, r, same)
	})
}

// cborBytes is a body that is in CBOR already.
type cborBytes []byte

func (b cborBytes) MarshalCBOR() ([]byte, error) { return b, nil }

func FuzzDecodeCounts(f *testing.F) {
	sh, r := sample()
	ops, err := stored.AppendCounts(nil, nil, sh.at.Counts, table.Change{Entry: newEntry(r, stowed{}, nil, 1), Counts: &tally.Counts{Helped: 1, Situations: []tally.Situation{{Hash: 3, Failed: 2}}, LastUsed: 1}})
	require.NoError(f, err)
	op := ops[0]
	f.Add(op.Value[5:])
	f.Fuzz(func(t *testing.T, body []byte) {
		value, err := codec.Encode(op.Key, cborBytes(body))
		if err != nil {
			return
		}
		c, err := stored.CountsOf(store.Entry{Key: op.Key, Value: value})
		if err != nil {
			require.ErrorIs(t, err, store.ErrDamaged)
			return
		}
		e := c.Effectiveness(3)
		require.True(t, e >= 0 && e <= 1, "%v of %+v", e, c)
	})
}

func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, change := range map[string]func(*Record){
		"kind":    func(r *Record) { r.Kind = "note" },
		"origin":  func(r *Record) { r.Source.Origin = "root" },
		"scope":   func(r *Record) { r.Scope = "acme/user-43" },
		"content": func(r *Record) { r.Content = "" },
	} {
		sh, r := sample()
		change(r)
		op, err := sh.encodeRecord(r, stowed{})
		require.NoError(t, err)
		st := store.NewMem()
		_, err = st.Commit(ctx, op)
		require.NoError(t, err)
		_, err = Open(ctx, st, nil)
		require.ErrorIs(t, err, store.ErrDamaged, name)
		require.ErrorContains(t, err, "k1")
	}
	// A flipped bit anywhere in the value.
	sh, r := sample()
	record, err := sh.encodeRecord(r, stowed{})
	require.NoError(t, err)
	both, err := stored.AppendCounts([]store.Op{record}, nil, sh.at.Counts, table.Change{Entry: newEntry(r, stowed{}, nil, 1), Counts: &tally.Counts{Helped: 1}})
	require.NoError(t, err)
	for _, op := range both {
		for i := range op.Value {
			st := store.NewMem()
			value := bytes.Clone(op.Value)
			value[i] ^= 4
			_, err := st.Commit(ctx, record)
			require.NoError(t, err)
			_, err = st.Commit(ctx, store.Op{Key: op.Key, Value: value})
			require.NoError(t, err)
			_, err = Open(ctx, st, nil)
			require.True(t, errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNewer), "byte %d: %v", i, err)
			require.ErrorContains(t, err, "k1")
		}
	}
}
