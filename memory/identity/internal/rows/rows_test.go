package rows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity/internal/rows"
	"github.com/arc-learn/arc/store"
)

func table(t *testing.T) *rows.Table {
	t.Helper()
	bank, err := memory.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bank.Close()) })
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return &rows.Table{Space: bank.In("acme/ann"), Now: func() time.Time { return now }, Head: "head"}
}

type cup struct{ Tea int }

func TestRows(t *testing.T) {
	tb, ctx := table(t), t.Context()
	for i, name := range []string{"b", "a"} {
		require.NoError(t, tb.Change(ctx, func(b *rows.Batch) error {
			rows.Put(b, rows.Row[cup]{}, "cup", name, tb.Now().Add(time.Duration(i)*time.Hour), &cup{i})
			return nil
		}))
	}
	all, err := rows.All[cup](ctx, tb, "cup")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []any{"b", cup{0}, "a", cup{1}}, []any{all[0].Name(), all[0].Value, all[1].Name(), all[1].Value})
	r, err := rows.Get[cup](ctx, tb, rows.ID("cup", "none"))
	require.NoError(t, err)
	require.False(t, r.Stored())
	_, err = rows.All[string](ctx, tb, "cup")
	require.ErrorIs(t, err, store.ErrDamaged)

	require.NoError(t, tb.Change(ctx, func(b *rows.Batch) error { b.Remove(all[0].Was); return nil }))
	all, err = rows.All[cup](ctx, tb, "cup")
	require.NoError(t, err)
	require.Len(t, all, 1)
}

// A writer in between has the attempt made again, on what that one left; with Alone also
// one that has added another row.
func TestWritersInBetween(t *testing.T) {
	tb, ctx := table(t), t.Context()
	more := func(c *cup) time.Time { c.Tea++; return time.Time{} }
	tries := 0
	require.NoError(t, tb.Change(ctx, func(b *rows.Batch) error {
		r, err := rows.Get[cup](ctx, tb, rows.ID("cup", ""))
		if tries++; tries == 1 {
			require.NoError(t, rows.Merge(ctx, tb, "cup", "", more))
		}
		rows.Put(b, r, "cup", "", time.Time{}, &cup{r.Value.Tea + 10})
		return err
	}))
	require.Equal(t, 2, tries)
	r, err := rows.Get[cup](ctx, tb, rows.ID("cup", ""))
	require.NoError(t, err)
	require.Equal(t, 11, r.Value.Tea)

	tries = 0
	add := func(name string) func(*rows.Batch) error {
		return func(b *rows.Batch) error {
			if tries++; name == "a" && tries == 1 {
				require.NoError(t, tb.Alone(ctx, func(b *rows.Batch) error {
					rows.Put(b, rows.Row[cup]{}, "can", "b", time.Time{}, &cup{})
					return nil
				}))
			}
			rows.Put(b, rows.Row[cup]{}, "can", name, time.Time{}, &cup{})
			return nil
		}
	}
	require.NoError(t, tb.Alone(ctx, add("a")))
	require.Equal(t, 2, tries)
}

// What cannot be written leaves the others of its commit out as well; what a merge does not
// change is not written.
func TestMerge(t *testing.T) {
	tb, ctx := table(t), t.Context()
	var limit *store.LimitError
	require.ErrorAs(t, tb.Change(ctx, func(b *rows.Batch) error {
		rows.Put(b, rows.Row[cup]{}, "cup", "", time.Time{}, &cup{})
		long := strings.Repeat("x", memory.MaxRecord)
		rows.Put(b, rows.Row[string]{}, "long", "", time.Time{}, &long)
		return nil
	}), &limit)
	r, err := rows.Get[cup](ctx, tb, rows.ID("cup", ""))
	require.NoError(t, err)
	require.False(t, r.Stored())

	require.NoError(t, rows.Merge(ctx, tb, "cup", "", func(*cup) time.Time { return tb.Now() }))
	require.NoError(t, tb.Change(ctx, func(b *rows.Batch) error {
		r, err := rows.Get[cup](ctx, tb, rows.ID("cup", ""))
		require.True(t, r.Stored(), "one that was not there is written as it is")
		require.NoError(t, rows.Merge(ctx, tb, "cup", "", func(*cup) time.Time { return time.Time{} }))
		rows.Put(b, r, "cup", "", r.Was.At, &cup{1})
		return err
	}))
	r, err = rows.Get[cup](ctx, tb, rows.ID("cup", ""))
	require.NoError(t, err)
	require.Equal(t, 1, r.Value.Tea)
}

// A batch is full when one more record of the largest size is all that a commit still takes.
func TestFull(t *testing.T) {
	tb, ctx := table(t), t.Context()
	long, largest := strings.Repeat("x", 100<<10), strings.Repeat("x", memory.MaxRecord-2)
	require.NoError(t, tb.Change(ctx, func(b *rows.Batch) error {
		for i := 0; !b.Full(); i++ {
			rows.Put(b, rows.Row[string]{}, "long", strings.Repeat("n", 1+i), time.Time{}, &long)
		}
		rows.Put(b, rows.Row[string]{}, "largest", "", time.Time{}, &largest)
		return b.Err()
	}))
	all, err := rows.All[string](ctx, tb, "long")
	require.NoError(t, err)
	require.Len(t, all, 4)
}
