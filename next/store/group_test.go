package store_test

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/next/store"
)

// counter is a part that keeps a number under a key and decides from its memory, as the parts of arc do.
type counter struct {
	rev store.Revision
	n   uint64
}

func (c *counter) apply(e store.Entry) {
	if e.Rev >= c.rev {
		c.rev, c.n = e.Rev, binary.BigEndian.Uint64(e.Value)
	}
}

func (c *counter) add(b *store.Batch) error {
	n := c.n + 1
	v := binary.BigEndian.AppendUint64(nil, n)
	if err := b.Put("n", v, store.At(c.rev)); err != nil {
		return err
	}
	b.After(func(rev store.Revision) { c.apply(store.Entry{Rev: rev, Value: v}) })
	return nil
}

// Groups of two processes add to one number, each from its own memory.
func TestGroupLosesNoUpdate(t *testing.T) {
	st := store.NewMem()
	var wg sync.WaitGroup
	for range 2 {
		g := store.NewGroup(store.Sub(st, "t/acme/"))
		c := new(counter)
		g.Follow("n", c.apply)
		for range 8 {
			wg.Go(func() {
				for range 50 {
					for {
						err := g.Update(t.Context(), c.add)
						if err == nil {
							break
						}
						if !assertConflict(t, err) {
							return
						}
					}
				}
			})
		}
	}
	wg.Wait()
	e, err := st.Get(context.Background(), "t/acme/n")
	require.NoError(t, err)
	require.EqualValues(t, 800, binary.BigEndian.Uint64(e.Value))
}

func assertConflict(t *testing.T, err error) bool {
	t.Helper()
	if _, ok := err.(*store.ConflictError); !ok {
		t.Errorf("update: %v", err)
		return false
	}
	return true
}
