package feedtest_test

import (
	"testing"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest/internal/feedtest"
)

func TestMem(t *testing.T) {
	feedtest.Check(t, &feedtest.Options{Rounds: -1, Open: func() ([]feedtest.Store, error) {
		return []feedtest.Store{store.NewMem()}, nil
	}})
}

func TestMemStays(t *testing.T) {
	st := store.NewMem()
	feedtest.Check(t, &feedtest.Options{Open: func() ([]feedtest.Store, error) { return []feedtest.Store{st}, nil }})
}
