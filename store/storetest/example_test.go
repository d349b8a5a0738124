package storetest_test

import (
	"testing"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

// The test of a store of yours, which open opens in a directory.
func Example() {
	testStore := func(t *testing.T, open func(dir string) (store.Store, error)) {
		storetest.Run(t, open, storetest.Options{})
	}
	_ = testStore
}
