package codec_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

type record struct {
	Text  string             `cbor:"1,keyasint,omitempty"`
	At    time.Time          `cbor:"2,keyasint,omitzero"`
	Data  json.RawMessage    `cbor:"3,keyasint,omitempty"`
	Odds  map[string]float64 `cbor:"4,keyasint,omitempty"`
	Worth *float64           `cbor:"5,keyasint,omitempty"`
	Below []record           `cbor:"6,keyasint,omitempty"`
}

func TestRoundTrip(t *testing.T) {
	zone := time.FixedZone("", 8*3600)
	worth := 0.0
	in := record{Text: "a \xff b", At: time.Date(2026, 3, 6, 7, 30, 0, 1, zone), Data: json.RawMessage(`{"a":1}`),
		Odds: map[string]float64{"b": 1, "a": .5}, Worth: &worth, Below: []record{{Text: "c"}}}
	value, err := codec.Marshal(in)
	require.NoError(t, err)
	var out record
	require.NoError(t, codec.Unmarshal(value, &out))
	require.True(t, in.At.Equal(out.At))
	require.Equal(t, "07:30", out.At.Format("15:04"), "the zone is kept")
	in.At, out.At = time.Time{}, time.Time{}
	require.Equal(t, in, out)
}

// A value of any type is read as JSON has it, so that it can be written as JSON.
func TestAny(t *testing.T) {
	value, err := codec.Marshal(map[string]any{"a": map[string]any{"b": []any{map[string]any{"c": true}}}})
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, codec.Unmarshal(value, &out))
	asJSON, err := json.Marshal(out)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":{"b":[{"c":true}]}}`, string(asJSON))
}

func TestRefused(t *testing.T) {
	good, err := codec.Marshal(record{Text: "x"})
	require.NoError(t, err)
	for name, value := range map[string]string{
		"cut": string(good[:len(good)-1]), "more": string(good) + "\x00", "twice": "\x01\xa2\x01\x61a\x01\x61b",
		"deep": "\x01" + strings.Repeat("\x81", 100) + "\x01", "other type": "\x01\x83\x01\x02\x03",
	} {
		require.ErrorIs(t, codec.Unmarshal([]byte(value), new(record)), store.ErrDamaged, name)
	}
	for name, value := range map[string]string{
		"empty": "", "no version": "\x00" + string(good[1:]), "to come": "\x02" + string(good[1:]), "text": "some text",
	} {
		require.ErrorIs(t, codec.Unmarshal([]byte(value), new(record)), store.ErrVersion, name)
	}

	_, err = codec.Marshal(record{Text: strings.Repeat("x", codec.MaxRecord)})
	require.ErrorIs(t, err, store.ErrInvalid)
	_, err = codec.Marshal(make(chan int))
	require.Error(t, err)
}

// What is read without an error is written as it was read, and equal records are equal bytes.
func FuzzUnmarshal(f *testing.F) {
	good, _ := codec.Marshal(record{Text: "x", At: time.Unix(1e9, 0), Odds: map[string]float64{"a": 1, "b": 2}})
	f.Add(good)
	f.Add([]byte("\x01\xa1\x06\x9f\xa1\x01\x60\xff"))
	f.Fuzz(func(t *testing.T, value []byte) {
		var r, again record
		if codec.Unmarshal(value, &r) != nil {
			return
		}
		first, err := codec.Marshal(r)
		require.NoError(t, err)
		require.NoError(t, codec.Unmarshal(first, &again))
		second, err := codec.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}

// What an earlier part of a commit has staged is there for a later one.
func TestLoadStaged(t *testing.T) {
	g := store.NewGroup(store.NewMem())
	require.NoError(t, g.Update(t.Context(), func(b *store.Batch) error {
		for n := range 3 {
			v, c, err := codec.Load[int](t.Context(), b, "n")
			require.NoError(t, err)
			require.Equal(t, n, v)
			require.Equal(t, n == 0, c == store.Absent)
			require.NoError(t, codec.Put(b, "n", n+1, c))
		}
		return nil
	}))
}

// counting counts the entries that are read.
type counting struct {
	store.Store
	n, scans, commits int
}

func (c *counting) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	c.commits++
	return c.Store.Commit(ctx, ops...)
}

func (c *counting) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	c.scans++
	return func(yield func(store.Entry, error) bool) {
		for e, err := range c.Store.Scan(ctx, r) {
			if c.n++; !yield(e, err) {
				return
			}
		}
	}
}

// A scan of two kinds finds all of theirs, and does not read all of the others.
func TestScan(t *testing.T) {
	st := &counting{Store: store.NewMem()}
	for _, scope := range []store.Scope{"acme", "acme/anna", "acme/ben"} {
		for _, kind := range []string{"a", "b", "bb", "c", "d", "e"} {
			for n := range map[string]int{"bb": 5000, "d": 5000, "e": 900}[kind] + 3 {
				_, err := st.Commit(t.Context(), store.Op{Key: scope.Key(kind, fmt.Sprint(n))})
				require.NoError(t, err)
			}
		}
	}
	for n := range 100 { // no id is behind all that may come
		_, err := st.Commit(t.Context(), store.Op{Key: store.Scope("acme").Key("bbb", "\U0010FFFF"+fmt.Sprint(n))})
		require.NoError(t, err)
	}
	found := map[string]int{}
	for e, err := range codec.Scan(t.Context(), st, "b", "c") {
		require.NoError(t, err)
		_, kind, _, _ := store.ParseKey(e.Key)
		found[kind]++
	}
	require.Equal(t, map[string]int{"b": 9, "c": 9}, found)
	require.Less(t, st.n, 3*(1000+1000+900+20)+120)
	require.LessOrEqual(t, st.scans, 1+st.n/1000, "no more time to look anew than to read")
}

// What somebody has written since it was read stays, with what is behind it, until the next Sweep. It costs one
// more commit, not one for each time that a Group tries.
func TestSweep(t *testing.T) {
	t.Parallel()
	st := &counting{Store: store.NewMem()}
	g := store.NewGroup(st)
	put := func(key string) {
		require.NoError(t, g.Update(t.Context(), func(b *store.Batch) error { return b.Put(key, []byte{1}, store.Any) }))
	}
	for _, key := range []string{"a/0", "a/1", "a/1/1", "a/2", "b"} {
		put(key)
	}
	entries, changed := g.Store().Scan(t.Context(), store.Range{Prefix: "a/"}), false
	old := func(e store.Entry) bool {
		if !changed && e.Key == "a/1" {
			put(e.Key)
			changed, st.commits = true, 0
		}
		return e.Key != "a/2"
	}
	for _, want := range []struct{ swept, commits int }{{1, 2}, {2, 1}, {0, 0}} {
		n, err := codec.Sweep(t.Context(), g, entries, old, false)
		require.NoError(t, err)
		require.Equal(t, want.swept, n)
		require.Equal(t, want.commits, st.commits)
		st.commits = 0
	}
	var left []string
	for e, err := range g.Store().Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		left = append(left, e.Key)
	}
	require.Equal(t, []string{"a/2", "b"}, left)
}
