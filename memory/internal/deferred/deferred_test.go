package deferred_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/memory/internal/deferred"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

func opened(t *testing.T, st store.Store, shared bool) (*deferred.Store, *flush.Writer) {
	t.Helper()
	w := flush.New(st)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return deferred.New(st, w, shared), w
}

func tableOf() (*table.Table, *table.Entry) {
	e := &table.Entry{Key: ident.Of("a"), Flags: table.Fact, More: &table.More{Foreign: "a"}}
	tab := table.New("acme", nil)
	tab.Put(e, index.Doc{})
	return tab, e
}

// What was added is read at once, and so is that it was removed.
func TestReadsWhatIsPending(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, w := opened(t, store.NewMem(), false)
	_, err := s.Get(ctx, "k")
	require.ErrorIs(t, err, store.ErrNotFound)
	op, err := stored.Put("k", "value")
	require.NoError(t, err)
	taken, err := s.Add(ctx, op)
	require.True(t, taken)
	require.NoError(t, err)
	e, err := s.Get(ctx, "k")
	require.NoError(t, err)
	require.Equal(t, op.Value, e.Value)
	require.NoError(t, w.Flush(ctx))
	_, err = s.Add(ctx, store.Op{Key: "k", Delete: true})
	require.NoError(t, err)
	_, err = s.Get(ctx, "k")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// Counters are visible when Count returns, and on disk after the next Flush.
func TestCount(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), store.NewMem()
	s, w := opened(t, st, false)
	tab, e := tableOf()
	again, err := s.Count(ctx, tab, "c/", nil, nil, table.Change{Entry: e, Counts: &tally.Counts{Helped: 1}})
	require.NoError(t, err)
	require.False(t, again)
	require.Equal(t, 1, e.Counts().Helped)
	require.NoError(t, w.Flush(ctx))
	kept, err := st.Get(ctx, "c/a")
	require.NoError(t, err)
	c, err := stored.CountsOf(kept)
	require.NoError(t, err)
	require.Equal(t, 1, c.Helped)
}

// Where others count too, what they have counted is taken over, and the caller begins again.
func TestCountShared(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), store.NewMem()
	one, _ := opened(t, st, true)
	two, _ := opened(t, st, true)
	mine, a := tableOf()
	theirs, b := tableOf()
	count := func(s *deferred.Store, tab *table.Table, e *table.Entry) (again bool, err error) {
		n := e.Counts().Clone()
		n.Helped++
		return s.Count(ctx, tab, "c/", nil, nil, table.Change{Entry: e, Counts: n})
	}
	again, err := count(one, mine, a)
	require.NoError(t, err)
	require.False(t, again)
	again, err = count(two, theirs, b)
	require.ErrorIs(t, err, store.ErrConflict)
	require.True(t, again)
	require.Equal(t, 1, b.Counts().Helped, "as the store has it")
	again, err = count(two, theirs, b)
	require.NoError(t, err)
	require.False(t, again)
	require.Equal(t, 2, b.Counts().Helped)
}
