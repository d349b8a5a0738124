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
// Where the store of RunShared has a method Cut() error, which ends its connections, commits
// under way may then have an unknown outcome, and a Watch goes on. With a method Prune() error
// a Watch may end with an error because it fell behind.
//
// It cannot see whether a commit is on disk when it returns: that takes a
// process that is killed, and a disk that loses power.
package storetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

func rules() []rule {
	return slices.Concat(readRules, commitRules, inputRules, sharingRules, closeRules, watchRules, modelRules)
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
