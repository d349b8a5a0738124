package badger_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
	"github.com/arc-learn/arc/store/storetest"
)

func open(t testing.TB, dir string) *badger.Store {
	t.Helper()
	st, err := badger.Open(dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, t.TempDir()) })
}

func TestDurable(t *testing.T) {
	storetest.RunDurable(t, func(dir string) (store.Store, error) { return badger.Open(dir, nil) }, nil)
}
