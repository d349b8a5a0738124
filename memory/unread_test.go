package memory

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/backlog"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/store"
)

// gated is an Extractor that waits to be let go, and counts what it reads.
type gated struct {
	open chan struct{}
	mu   sync.Mutex
	read map[ID]int
}

func (g *gated) Extract(ctx context.Context, r Record, _ []Record) ([]Statement, error) {
	select {
	case <-g.open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read[r.ID]++
	return nil, nil
}

// What waits for a slow Extractor waits in the store, but for a bounded part; each
// record is read once, passing ones too, and what is forgotten is not read.
func TestWhatWaitsToBeReadIsBounded(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), store.NewMem()
	g := &gated{open: make(chan struct{}), read: make(map[ID]int)}
	b, err := Open(ctx, st, &Options{Extractor: g, Seed: 1})
	require.NoError(t, err)
	s := b.In("acme/ann")
	var ids []ID
	for n := range 3*backlog.Most + 7 {
		d := Draft{Kind: Episode, Content: fmt.Sprintf("turn %d", n), Passing: n%100 == 0}
		r, err := s.Remember(ctx, d)
		require.NoError(t, err)
		ids = append(ids, r.ID)
		require.LessOrEqual(t, b.reading.waiting.Len(), backlog.Most)
	}
	require.NoError(t, s.Forget(ctx, ids[len(ids)-1]))
	close(g.open)
	require.NoError(t, b.Extract(ctx))
	require.NoError(t, b.Flush(ctx))
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Len(t, g.read, len(ids)-1)
	for _, id := range ids[:len(ids)-1] {
		require.Equal(t, 1, g.read[id], id)
	}
	for e, err := range st.Scan(ctx, store.Range{Prefix: key.Prefix(stored.Root, stored.Unread)}) {
		require.NoError(t, err)
		t.Errorf("%q waits still", e.Key)
	}
	require.NoError(t, b.Close())
}

// What is found in the store before it is handed on, and waits twice, is read once.
func TestWhatWaitsTwiceIsReadOnce(t *testing.T) {
	t.Parallel()
	ctx, g := t.Context(), &gated{open: make(chan struct{}), read: make(map[ID]int)}
	b, err := Open(ctx, store.NewMem(), &Options{Extractor: g, Seed: 1})
	require.NoError(t, err)
	require.NoError(t, b.Extract(ctx))
	s := b.In("acme/ann")
	for _, passing := range []bool{false, true} {
		kept, err := s.Remember(ctx, Draft{Kind: Episode, Content: fmt.Sprint("passing ", passing), Passing: passing})
		require.NoError(t, err)
		r, err := s.Get(ctx, kept.ID)
		require.NoError(t, err)
		b.reading.unread(s.scope, &r)
	}
	close(g.open)
	require.NoError(t, b.Extract(ctx))
	require.NoError(t, b.Close())
	for id, n := range g.read {
		require.Equal(t, 1, n, id)
	}
	require.Len(t, g.read, 2)
}
