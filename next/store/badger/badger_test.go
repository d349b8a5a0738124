package badger_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/next/store"
	"github.com/arc-learn/arc/next/store/badger"
	"github.com/arc-learn/arc/next/store/storetest"
)

func open(t testing.TB, dir string) *badger.Store {
	t.Helper()
	st, err := badger.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

// A scan that is under way while the store is rewritten sees the state of its beginning; so does nobody else.
func TestScanOverRewrites(t *testing.T) {
	st := open(t, t.TempDir())
	ctx := t.Context()
	for i := range 1000 {
		_, err := st.Commit(ctx, store.Op{Key: fmt.Sprintf("k%04d", i), Value: []byte("a")})
		require.NoError(t, err)
	}
	n := 0
	for e, err := range st.Scan(ctx, store.Range{}) {
		require.NoError(t, err)
		require.Equal(t, "a", string(e.Value))
		if n++; n == 10 {
			for i := range 1000 {
				_, err := st.Commit(ctx, store.Op{Key: fmt.Sprintf("k%04d", i), Value: []byte("b")})
				require.NoError(t, err)
			}
			require.NoError(t, st.Compact(ctx))
			require.NoError(t, st.Compact(ctx))
		}
	}
	require.Equal(t, 1000, n)
	e, err := st.Get(ctx, "k0500")
	require.NoError(t, err)
	require.Equal(t, "b", string(e.Value))
}

// The suite, on the store and on a part of it.
func TestStore(t *testing.T) {
	storetest.Run(t, func(dir string) (store.Store, error) { return badger.Open(t.Context(), dir, nil) },
		storetest.Options{})
}

// part is a Sub that closes the store it is of.
type part struct {
	store.Store
	whole store.Store
}

func (p part) Close() error { return p.whole.Close() }

func TestSubOfStore(t *testing.T) {
	storetest.Run(t, func(dir string) (store.Store, error) {
		st, err := badger.Open(t.Context(), dir, nil)
		if err != nil {
			return nil, err
		}
		return part{store.Sub(st, "t/acme/"), st}, nil
	}, storetest.Options{Prefix: len("t/acme/")})
}
