package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Latest finds what is in a thread and nothing else, the last of it, in order,
// whatever was remembered, forgotten and merged before.
func TestLatest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bank, err := memory.Open(t.Context(), store.NewMem(), &memory.Options{Seed: 1})
		require.NoError(t, err)
		defer bank.Close()
		space := bank.In("acme")
		want := make(map[string][]memory.ID)
		for i := range rapid.IntRange(0, 120).Draw(t, "records") {
			thread := rapid.SampledFrom([]string{"one", "two", ""}).Draw(t, "thread")
			if ids := want[thread]; len(ids) > 0 && rapid.IntRange(0, 4).Draw(t, "forget") == 0 {
				require.NoError(t, space.Forget(t.Context(), ids[0]))
				want[thread] = ids[1:]
				continue
			}
			r, err := space.Remember(t.Context(), memory.Draft{
				Kind: memory.Episode, Content: fmt.Sprint("number ", i), Thread: thread,
				At: time.Unix(int64(i), 0), Source: memory.Source{Origin: memory.Executor},
			})
			require.NoError(t, err)
			want[thread] = append(want[thread], r.ID)
		}
		n := rapid.IntRange(0, 50).Draw(t, "n")
		for _, thread := range []string{"one", "two", "none"} {
			records, err := space.Latest(t.Context(), thread, n)
			require.NoError(t, err)
			var ids []memory.ID
			for _, r := range records {
				require.Equal(t, thread, r.Thread)
				ids = append(ids, r.ID)
			}
			all := want[thread]
			require.Equal(t, append([]memory.ID(nil), all[max(0, len(all)-n):]...), ids)
		}
	})
}

// Two threads that say the same of a failure both have it.
func TestFailuresOfThreadsStayApart(t *testing.T) {
	t.Parallel()
	bank, err := memory.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	defer bank.Close()
	space := bank.In("acme")
	for _, thread := range []string{"staging", "production", "staging"} {
		_, err := space.Remember(t.Context(), memory.Draft{
			Kind: memory.Failure, Trigger: "a release is ready", Content: "The migrations did not run.", Thread: thread,
			Source: memory.Source{Origin: memory.Executor, Ref: thread},
		})
		require.NoError(t, err)
	}
	for _, thread := range []string{"staging", "production"} {
		records, err := space.Latest(t.Context(), thread, 9)
		require.NoError(t, err)
		require.Len(t, records, 1)
	}
}

// A negative number of records is refused.
func TestLatestOfNegative(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	remember(t, s, memory.Draft{Kind: memory.Episode, Content: "hello there", Thread: "t"})
	_, err := s.Latest(t.Context(), "t", -1)
	require.ErrorIs(t, err, memory.ErrQuery)
}
