package identity_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// before is a store as the version left it that kept identities in records of their own,
// with what it exported of each scope: facts of every state, with evidence and history,
// rejections, suggestions, events, and the parts of a document that it could not read.
type before struct {
	Now     time.Time
	Entries map[string][]byte
	Want    map[memory.Scope]json.RawMessage
}

func readBefore(t *testing.T) (b before) {
	t.Helper()
	raw, err := os.ReadFile("testdata/before.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &b))
	require.Len(t, b.Want, 5)
	return b
}

func (b *before) store(t *testing.T) store.Store {
	t.Helper()
	st := store.NewMem()
	for k, v := range b.Entries {
		_, err := st.Commit(t.Context(), store.Op{Key: k, Value: v})
		require.NoError(t, err)
	}
	for scope := range b.Want { // of a long one the hash alone is known
		_, err := bankOf(t, st).In(scope).Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "a memory of the scope"})
		require.NoError(t, err)
	}
	return st
}

// sorted is a document with its events by id, and without the marks that a former version exports none of.
func sorted(t *testing.T, raw []byte) string {
	t.Helper()
	var d map[string]any
	require.NoError(t, json.Unmarshal(raw, &d))
	events := d["events"].([]any)
	require.Len(t, events, 5)
	id := func(e any) string { return e.(map[string]any)["id"].(string) }
	slices.SortFunc(events, func(a, b any) int { return cmp.Compare(id(a), id(b)) })
	for _, day := range d["rollups"].([]any) {
		delete(day.(map[string]any), "marks")
	}
	out, err := json.MarshalIndent(d, "", " ")
	require.NoError(t, err)
	return string(out)
}

func TestOldStoresMove(t *testing.T) {
	b := readBefore(t)
	st := b.store(t)
	require.NoError(t, identity.Adopt(t.Context(), st, bankOf(t, st)))
	for e, err := range st.Scan(t.Context(), store.Range{Prefix: "identity"}) {
		require.NoError(t, err)
		t.Errorf("%q is left", e.Key)
	}
	for scope, want := range b.Want {
		x := view(t, st, scope, &identity.Options{Now: func() time.Time { return b.Now }})
		require.Equal(t, sorted(t, want), sorted(t, []byte(exported(t, x, identity.Local))), "%.40s", scope)

		n, err := x.Observe(t.Context(), identity.Event{Key: "old3", Topic: "Go"}, identity.Event{Key: "new3", Topic: "Go"})
		require.NoError(t, err)
		require.Zero(t, n, "the keys of events are known, rolled up or not")
		_, err = x.Add(t.Context(), identity.Draft{Content: "plays poker", Source: identity.Inferred})
		require.ErrorIs(t, err, identity.ErrRejected)
		f, err := x.Get(t.Context(), "v-2")
		require.NoError(t, err)
		require.Equal(t, identity.ID("v-1"), f.ID, "the id of what was merged leads on")
		for _, suggested := range []bool{true, false} {
			got, err := x.Infer(t.Context(), days(400))
			require.NoError(t, err)
			require.Equal(t, suggested, slices.ContainsFunc(got, func(s identity.Suggestion) bool { return s.Topic == "React" }), "it was once before")
		}
	}
}

// A move that is cut off after any of its commits is completed by the next one, with the
// same end.
func TestOldStoresMoveOnce(t *testing.T) {
	b := readBefore(t)
	for n := 0; ; n += 3 {
		st := b.store(t)
		cut := &cutOff{Store: st, after: n}
		bank, err := memory.Open(t.Context(), cut, nil)
		require.NoError(t, err)
		failed := identity.Adopt(t.Context(), cut, bank)
		require.NoError(t, bank.Close())
		again, err := memory.Open(t.Context(), st, nil)
		require.NoError(t, err)
		require.NoError(t, identity.Adopt(t.Context(), st, again))
		for scope, want := range b.Want {
			x, err := identity.New(again, scope, &identity.Options{Now: func() time.Time { return b.Now }})
			require.NoError(t, err)
			require.Equal(t, sorted(t, want), sorted(t, []byte(exported(t, x, identity.Local))), "cut off after %d commits", n)
		}
		require.NoError(t, again.Close())
		if failed == nil {
			require.Greater(t, n, 10)
			return
		}
	}
}

// One of a scope whose name is not known stays where it is.
func TestOldStoreOfAnUnknownScope(t *testing.T) {
	st := store.NewMem()
	const key = "identity\x00f\x00#0123456789abcdef01234567\x00fact"
	_, err := st.Commit(t.Context(), store.Op{Key: key, Value: []byte("x")})
	require.NoError(t, err)
	require.NoError(t, identity.Adopt(t.Context(), st, bankOf(t, st)))
	e, err := st.Get(t.Context(), key)
	require.NoError(t, err)
	require.True(t, bytes.Equal([]byte("x"), e.Value))

	_, err = st.Commit(t.Context(), store.Op{Key: strings.Replace(key, "#", "acme", 1), Value: []byte("x")})
	require.NoError(t, err)
	require.ErrorIs(t, identity.Adopt(t.Context(), st, bankOf(t, st)), store.ErrDamaged)
}

// cutOff is a store that refuses all commits after some.
type cutOff struct {
	store.Store
	after int
}

func (c *cutOff) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if c.after--; c.after < 0 {
		return 0, store.ErrFull
	}
	return c.Store.Commit(ctx, ops...)
}

// Whatever a record of a former version holds that Check lets in, Adopt moves: an Agent that
// took it opens.
func FuzzOldRecord(f *testing.F) {
	raw, err := os.ReadFile("testdata/before.json")
	require.NoError(f, err)
	var b before
	require.NoError(f, json.Unmarshal(raw, &b))
	for k, v := range b.Entries {
		if parts := strings.Split(k, "\x00"); parts[2] == "acme/ann" {
			f.Add(parts[1], parts[len(parts)-1], v[5:])
		}
	}
	f.Add("e", "event", []byte("\xa1\x01\x62a\x00")) // a mark that no id may hold
	f.Add("f", "fact", []byte("\xa6\x01\x6didentity:head\x02\x64core\x03\x61x\x07\x66proven\x08\x66manual\x0a\x67trusted"))
	f.Add("f", "0", []byte("\xae\x01\x61f\x02g0000000\x03m00000 00 A000\x04b00\x05h00000000\x06\xf900\akestablished\ba0\n"+
		"gtrusted00\rt0000-01-01T00:00:00Z1t000000000000000000002t000000000000000000007t00000000000000000000")) // of a year that none is
	f.Add("r", "2026-03-01", []byte("\xa1\x01\x81\xa2\x05\x01\x18\x82\xf9\x7e\x00")) // a weight that is no number
	f.Fuzz(func(t *testing.T, part, name string, body []byte) {
		if strings.ContainsRune(part+name, 0) || !utf8.ValidString(part+name) || len(part+name) > 200 {
			return // no key of a store
		}
		e := store.Entry{Key: strings.Join([]string{"identity", part, "acme/ann", name}, "\x00")}
		table := crc32.MakeTable(crc32.Castagnoli)
		e.Value = append(binary.BigEndian.AppendUint32([]byte{1}, crc32.Update(crc32.Update(0, table, []byte(e.Key)), table, body)), body...)
		if identity.Check(e, "acme") != nil {
			return
		}
		st := store.NewMem()
		_, err := st.Commit(t.Context(), store.Op{Key: e.Key, Value: e.Value})
		require.NoError(t, err)
		bank, err := memory.Open(t.Context(), st, nil)
		require.NoError(t, err)
		require.NoError(t, identity.Adopt(t.Context(), st, bank))
		x, err := identity.New(bank, "acme/ann", &identity.Options{Now: func() time.Time { return b.Now }})
		require.NoError(t, err)
		_, err = x.Export(t.Context(), identity.Local)
		require.NoError(t, err)
		require.NoError(t, bank.Close())
	})
}
