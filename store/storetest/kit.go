package storetest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/store"
)

// patience is how long the suite waits for what must happen at some time.
const patience = 10 * time.Second

// tb is the part of *testing.T that the rules need, so that the suite can be
// tested with stores that break them.
type tb interface {
	rapid.TB
	Context() context.Context
}

// rule is one promise of the interface, and the check of it.
type rule struct {
	name  string
	check func(t tb, st store.Store)
}

func put(key, value string) store.Op { return store.Op{Key: key, Value: []byte(value)} }

func del(key string) store.Op { return store.Op{Key: key, Delete: true} }

func commit(t tb, st store.Store, ops ...store.Op) store.Revision {
	t.Helper()
	rev, err := st.Commit(t.Context(), ops...)
	require.NoError(t, err, "commit")
	require.NotZero(t, rev, "the revision of a commit")
	return rev
}

func requireValue(t tb, st store.Store, key, want string) store.Entry {
	t.Helper()
	e, err := st.Get(t.Context(), key)
	require.NoError(t, err, "get %q", key)
	require.Equal(t, key, e.Key, "the key of the entry")
	require.Equal(t, want, string(e.Value), "the value of %q", key)
	require.False(t, e.Deleted, "Deleted outside of Watch")
	return e
}

func requireAbsent(t tb, st store.Store, key string) {
	t.Helper()
	e, err := st.Get(t.Context(), key)
	require.ErrorIs(t, err, store.ErrNotFound, "get %q", key)
	require.Empty(t, e, "the entry beside an error")
}

func scan(t tb, st store.Store, r store.Range) []store.Entry {
	t.Helper()
	var all []store.Entry
	for e, err := range st.Scan(t.Context(), r) {
		require.NoError(t, err, "scan %+v", r)
		require.False(t, e.Deleted, "Deleted outside of Watch")
		all = append(all, e)
	}
	return all
}

func keys(entries []store.Entry) []string {
	all := []string{}
	for _, e := range entries {
		all = append(all, e.Key)
	}
	return all
}

func values(entries []store.Entry) map[string]string {
	all := map[string]string{}
	for _, e := range entries {
		all[e.Key] = string(e.Value)
	}
	return all
}
