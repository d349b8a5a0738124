package postgres_test

import (
	"sync"
	"testing"

	"github.com/arc-learn/arc/next/contrib/postgres"
	"github.com/arc-learn/arc/next/store"
	"github.com/arc-learn/arc/next/store/storetest"
)

// suite runs the conformance suite at a connection string.
func suite(t *testing.T, at string) {
	var names sync.Map
	storetest.Run(t, func(dir string) (store.Store, error) {
		name, there := names.Load(dir)
		if !there {
			name = schema(t)
			names.Store(dir, name)
		}
		return postgres.Open(t.Context(), at, &postgres.Options{Schema: name.(string)})
	}, storetest.Options{})
}

func TestStore(t *testing.T) {
	need(t)
	suite(t, dsn)
}
