package arc_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// fitful is a store whose Watch ends when the channel is closed, as that of PostgreSQL after
// an error of the server. The next one lasts.
type fitful struct {
	*store.Mem
	at chan struct{}
}

func (b *fitful) Watch(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		select {
		case <-b.at:
		default:
			go func() {
				select {
				case <-b.at:
				case <-inner.Done():
				}
				cancel()
			}()
		}
		for e, err := range b.Mem.Watch(inner, prefix, after) {
			if err != nil && ctx.Err() == nil {
				err = errors.New("canceling statement due to statement timeout")
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestDeletedWhileTheWatchIsBroken has one replica forget, and erase, while another hears of
// nothing: that recalls it no more once it hears again.
func TestDeletedWhileTheWatchIsBroken(t *testing.T) {
	for _, bytes := range []int64{0, 1 << 30} {
		synctest.Test(t, func(t *testing.T) {
			mem := store.NewMem()
			st := &fitful{mem, make(chan struct{})}
			a := replica(t, mem, "a", (&script{}).host(), arc.Options{})
			b := replica(t, st, "b", (&script{}).host(), arc.Options{Memory: memory.Options{IndexBytes: bytes}})
			var ids []memory.ID
			for n := range 3 {
				text := fmt.Sprint("the key of door ", n, " is blue")
				r, err := a.In("local/ann").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: text})
				require.NoError(t, err)
				ids = append(ids, r.ID)
			}
			_, err := a.In("local/ben").Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "ben has a blue key"})
			require.NoError(t, err)
			found := func(scope memory.Scope) int {
				hits, err := b.In(scope).Memory().Recall(t.Context(), memory.Query{Text: "which key is blue", After: memory.Latest})
				require.NoError(t, err)
				return len(hits)
			}
			require.Equal(t, 3, found("local/ann"))
			require.Equal(t, 1, found("local/ben"))
			close(st.at)
			synctest.Wait()
			require.NoError(t, a.In("local/ann").Memory().Forget(t.Context(), ids[1]))
			require.NoError(t, a.Erase(t.Context(), "local/ben"))
			idle(2 * time.Second)
			require.Equal(t, 2, found("local/ann"))
			require.Equal(t, 0, found("local/ben"))
		})
	}
}
