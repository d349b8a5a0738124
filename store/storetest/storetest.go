// Package storetest checks that a store keeps the rules of
// [github.com/arc-learn/arc/store]: the same suite holds for the in-memory
// store, for Badger, and for any other implementation.
//
// [Run] takes a function that opens a fresh, empty store and checks one rule
// of the interface in each subtest; [RunDurable] does the same for what has
// to outlive a store that was closed; [Benchmark] measures.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store {
//			return mystore.Open(t.TempDir())
//		})
//	}
//
// The suite asks for no more than the interface promises. A revision may skip
// numbers, an empty value may come back as nil, and changes of one commit may
// be watched in any order. It runs one subtest after another, and each uses
// its store from several goroutines.
//
// It cannot see whether a commit is on disk when it returns: that takes a
// process that is killed, and a disk that loses power.
package storetest

import (
	"context"
	"testing"
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

var _ tb = (*testing.T)(nil)

// rule is one promise of the interface, and the check of it.
type rule struct {
	name  string
	check func(t tb, st store.Store)
}

func rules() []rule {
	var all []rule
	for _, some := range [][]rule{readRules, commitRules, inputRules, sharingRules, closeRules, watchRules, modelRules} {
		all = append(all, some...)
	}
	return all
}

// Run checks the store that open returns against every rule of store.Store,
// and of store.Watcher if it is one. Open is called once for each subtest and
// returns an empty store, which the suite closes.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			st := open(t)
			t.Cleanup(func() { require.NoError(t, st.Close(), "close") })
			r.check(t, st)
		})
	}
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
