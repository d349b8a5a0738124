package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// What was derived from a source goes with it, also where it says the same as a
// record that was there before: that one stays, and stays what it was.
func TestDerivedTwinIsRevoked(t *testing.T) {
	t.Parallel()
	bank, err := memory.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	defer bank.Close()
	s := bank.In("acme")
	remember := func(d memory.Draft) memory.Receipt {
		r, err := s.Remember(t.Context(), d)
		require.NoError(t, err)
		return r
	}
	known := remember(memory.Draft{Kind: memory.Fact, Content: "the cache is emptied at midnight"})
	page := remember(memory.Draft{Kind: memory.Fact, Content: "a page about caches", Source: memory.Source{Ref: "page"}})
	derived := remember(memory.Draft{Kind: memory.Fact, Content: "the cache is emptied at midnight", Links: []memory.Link{{To: page.ID}}})
	require.Equal(t, memory.Stored, derived.Disposition)
	again := remember(memory.Draft{Kind: memory.Fact, Content: "the cache is emptied at midnight", Links: []memory.Link{{To: page.ID}}})
	require.Equal(t, derived.ID, again.Into, "from the same source")
	n, err := s.Revoke(t.Context(), memory.Source{Ref: "page"})
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = s.Get(t.Context(), known.ID)
	require.NoError(t, err)
	_, err = s.Get(t.Context(), derived.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
}
