package arc_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// held is a store that holds a Get of when a scope was maintained until it is let go.
type held struct {
	store.Store
	armed atomic.Bool
	letGo chan struct{}
}

func (h *held) Get(ctx context.Context, key string) (store.Entry, error) {
	if strings.Contains(key, "\x00upkeep\x00") && h.armed.CompareAndSwap(true, false) {
		<-h.letGo
	}
	return h.Store.Get(ctx, key)
}

// An Import waits while the background maintains a scope, which it would change below it.
func TestImportWaitsForMaintenance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &held{Store: store.NewMem(), letGo: make(chan struct{})}
		a, err := arc.New(t.Context(), st, (&script{}).host(), &arc.Options{})
		require.NoError(t, err)
		_, err = a.In("acme/ada").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the door is green"})
		require.NoError(t, err)
		var file bytes.Buffer
		require.NoError(t, a.Export(t.Context(), "acme/ada", &file))

		st.armed.Store(true)
		for st.armed.Load() {
			idle(time.Minute)
			synctest.Wait()
		}
		done := make(chan error, 1)
		go func() {
			_, err := a.Import(context.Background(), &file)
			done <- err
		}()
		synctest.Wait()
		select {
		case <-done:
			require.Fail(t, "it did not wait")
		default:
		}
		close(st.letGo)
		require.NoError(t, <-done)
		require.NoError(t, a.Close())
	})
}
