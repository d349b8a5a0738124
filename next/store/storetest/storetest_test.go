package storetest_test

import (
	"context"
	"iter"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/next/store"
	"github.com/arc-learn/arc/next/store/storetest"
)

func openMem(string) (store.Store, error) { return store.NewMem(), nil }

func TestMem(t *testing.T) { storetest.Run(t, openMem, storetest.Options{Volatile: true}) }

// part is a Sub that closes the store it is of, as a conforming store must.
type part struct {
	store.Store
	store.Changer
	store.Compacter
	whole store.Store
}

func (p part) Close() error { return p.whole.Close() }

func TestSubOfMem(t *testing.T) {
	storetest.Run(t, func(string) (store.Store, error) {
		st := store.NewMem()
		_, err := st.Commit(t.Context(), store.Op{Key: "t/acme", Value: []byte("x")}, store.Op{Key: "t/acme0", Value: []byte("x")})
		sub := store.Sub(store.Sub(st, "t/"), "acme/")
		return part{sub, sub.(store.Changer), sub.(store.Compacter), st}, err
	}, storetest.Options{Volatile: true, Prefix: len("t/acme/")})
}

func TestServed(t *testing.T) {
	storetest.Run(t, func(dir string) (store.Store, error) {
		socket := filepath.Join(t.TempDir(), "s")
		stop, err := storetest.Serve(store.NewMem(), socket)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { require.NoError(t, stop()) })
		return storetest.Dial(socket)
	}, storetest.Options{Volatile: true})
}

var _ = context.Background
var _ iter.Seq[int]
