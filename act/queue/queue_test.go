package queue_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/act/queue/queuetest"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestModelInMemory(t *testing.T) {
	queuetest.Run(t, func(*testing.T) store.Store { return store.NewMem() })
}

func TestModelOnBadger(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) store.Store {
		st, err := badger.Open(t.TempDir(), nil)
		require.NoError(t, err)
		return st
	})
}
