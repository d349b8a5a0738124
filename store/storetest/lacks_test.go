package storetest_test

import (
	"testing"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

// client is one of several openers of data that outlives it, as a client of a
// database server is.
type client struct{ store.Store }

func (client) Close() error { return nil }

// A store that several may open at once declares that it has no lock, and is
// held to everything else.
func TestRunDurableOfASharedStore(t *testing.T) {
	server := map[string]store.Store{}
	storetest.RunDurable(t, func(dir string) (store.Store, error) {
		if server[dir] == nil {
			server[dir] = store.NewMem()
		}
		return client{server[dir]}, nil
	}, &storetest.Lacks{Lock: true})
}
