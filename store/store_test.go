package store_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/store"
)

func TestScope(t *testing.T) {
	for s, bad := range map[store.Scope]bool{
		"": false, "acme": false, "acme/anna b/ü": false, "/": true, "acme/": true, "/acme": true, "a//b": true,
		"a\nb": true, "a\xff": true, store.Scope(strings.Repeat("a", 257)): true, store.Scope(strings.Repeat("a", 256)): false,
	} {
		require.Equal(t, bad, s.Check() != nil, "%q", s)
	}
	require.Error(t, store.CheckID(""))
	require.NoError(t, store.CheckID("a//b"))
	require.Equal(t, "t/acme/", store.Scope("acme/anna").TenantPrefix())
	require.Equal(t, "t/_/", store.Scope("").TenantPrefix())
	require.Equal(t, "s/acme/anna//plan/x", store.Scope("acme/anna").Key("plan", "x"))
	for _, key := range []string{"", "s/a/plan/x", "t/a//plan/x", "s/a//plan"} {
		_, _, _, ok := store.ParseKey(key)
		require.False(t, ok, key)
	}
}

// A key says its scope, kind and id; the keys below a scope are those of the scopes that it contains.
func TestScopeKeys(t *testing.T) {
	segment := rapid.StringMatching(`[ab_/.\-]{1,3}`)
	scope := rapid.Custom(func(t *rapid.T) store.Scope {
		return store.Scope(strings.Join(rapid.SliceOfN(segment, 0, 3).Draw(t, "segments"), "/"))
	}).Filter(func(s store.Scope) bool { return s.Check() == nil && s != "_" })
	rapid.Check(t, func(t *rapid.T) {
		a, b, id := scope.Draw(t, "a"), scope.Draw(t, "b"), segment.Draw(t, "id")
		s, kind, got, ok := store.ParseKey(a.Key("kind", id))
		require.True(t, ok)
		require.Equal(t, []any{a, "kind", id}, []any{s, kind, got})
		path := func(s store.Scope) string { return s.Tenant() + strings.TrimPrefix(string(s), s.Tenant()) + "/" }
		require.Equal(t, strings.HasPrefix(path(b), path(a)), a.Contains(b))
		require.Equal(t, a.Contains(b), strings.HasPrefix(b.Key("kind", id), a.Below()))
	})
}

func TestBatch(t *testing.T) {
	ctx := t.Context()
	st := store.NewMem()
	g := store.NewGroup(st)
	var order []int
	stage := func(b *store.Batch) error {
		order = nil
		b = b.Sub("t/")
		require.NoError(t, b.Put("a", []byte("1"), store.Absent))
		require.NoError(t, b.Put("a", []byte("2"), store.Any), "the first condition is kept")
		require.NoError(t, b.Put("b", nil, store.Any))
		require.NoError(t, b.Delete("b", store.Any))
		require.NoError(t, b.Check("c", store.Absent))
		e, err := b.Get(ctx, "a")
		require.NoError(t, err)
		require.Equal(t, store.Entry{Key: "a", Value: []byte("2")}, e)
		_, err = b.Get(ctx, "b")
		require.ErrorIs(t, err, store.ErrNotFound)
		b.After(func(store.Revision) { order = append(order, 1) })
		b.After(func(rev store.Revision) { order = append(order, int(rev)+1) })
		return nil
	}
	require.NoError(t, g.Update(ctx, stage))
	e, err := st.Get(ctx, "t/a")
	require.NoError(t, err)
	require.Equal(t, "2", string(e.Value))
	require.Equal(t, []int{1, int(e.Rev) + 1}, order)
	require.ErrorIs(t, g.Update(ctx, stage), store.ErrConflict)
	require.Empty(t, order, "nothing after a conflict")

	require.NoError(t, g.Update(ctx, func(b *store.Batch) (err error) {
		require.ErrorIs(t, b.Put("", nil, store.Any), store.ErrInvalid)
		require.ErrorIs(t, b.Put("a", make([]byte, 768<<10+1), store.Any), store.ErrInvalid)
		for i := 0; err == nil || i == 0; i++ {
			err = b.Put(fmt.Sprint(i), make([]byte, 768<<10), store.Any)
		}
		require.ErrorIs(t, err, store.ErrInvalid)
		_, err = st.Commit(ctx, store.Op{Key: "t/a", Delete: true, Check: true})
		require.ErrorIs(t, err, store.ErrInvalid, "it would delete nothing")
		return nil
	}), "what was too much is not staged")
}

func TestCopy(t *testing.T) {
	ctx := t.Context()
	st, to := store.NewMem(), store.NewMem()
	for i := range 3000 {
		_, err := st.Commit(ctx, store.Op{Key: fmt.Sprintf("t/a/%04d\u2028<", i), Value: bytes.Repeat([]byte{byte(i)}, i)})
		require.NoError(t, err)
	}
	_, err := st.Commit(ctx, store.Op{Key: "t/ab"}, store.Op{Key: "t/a/empty"})
	require.NoError(t, err)
	var copied, again bytes.Buffer
	n, err := store.Copy(ctx, st, "t/a/", &copied)
	require.NoError(t, err)
	require.Equal(t, 3001, n)
	n, err = store.Load(ctx, to, "t/b/", bytes.NewReader(copied.Bytes()))
	require.NoError(t, err)
	require.Equal(t, 3001, n)
	_, err = store.Copy(ctx, to, "t/b/", &again)
	require.NoError(t, err)
	require.Equal(t, copied.String(), again.String())
	_, err = store.Load(ctx, to, "t/b/", bytes.NewReader(copied.Bytes()))
	require.ErrorIs(t, err, store.ErrConflict, "only where nothing is")

	long := strings.Repeat("p", 2000) + "/" // the parts of a copy are commits that have room for it
	n, err = store.Load(ctx, to, long, bytes.NewReader(copied.Bytes()))
	require.NoError(t, err)
	require.Equal(t, 3001, n)

	small := store.NewMem()
	_, err = small.Commit(ctx, store.Op{Key: "a", Value: []byte("1")}, store.Op{Key: "b", Value: []byte("2")})
	require.NoError(t, err)
	copied.Reset()
	_, err = store.Copy(ctx, small, "", &copied)
	require.NoError(t, err)
	for i := range copied.Len() {
		flipped := bytes.Clone(copied.Bytes())
		flipped[i] ^= 1
		for _, damaged := range [][]byte{copied.Bytes()[:i], flipped, append(copied.Bytes()[:copied.Len():copied.Len()], flipped[i:]...)} {
			into := store.NewMem()
			if _, err = store.Load(ctx, into, "t/c/", bytes.NewReader(damaged)); err == nil { // the date of a gzip may be any
				again.Reset()
				_, err = store.Copy(ctx, into, "t/c/", &again)
				require.NoError(t, err)
				require.Equal(t, copied.String(), again.String(), "%q", damaged)
				continue
			}
			require.ErrorIs(t, err, store.ErrDamaged)
		}
	}
	n, err = store.Load(ctx, to, "t/c/", &copied)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.ErrorIs(t, err2(store.Load(ctx, to, "t/d/", strings.NewReader("a copy"))), store.ErrDamaged)
}

func err2(_ int, err error) error { return err }
