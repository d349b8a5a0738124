package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Passing Episodes are bounded, in memory and on disk, whatever becomes of them.
func TestPassingEpisodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx, st, c := context.Background(), store.NewMem(), newClock()
		open := func() *memory.Bank {
			b, err := memory.Open(ctx, st, &memory.Options{Now: c.now, Seed: 1})
			require.NoError(t, err)
			return b
		}
		b := open()
		defer func() { require.NoError(t, b.Close()) }()
		space := func() memory.Space { return b.In("acme/episodes") }
		var want []memory.ID // passing, the oldest first
		kept := map[memory.ID]bool{}
		n, last := 0, memory.ID("")
		tell := func(t *rapid.T, times int) {
			for range times {
				n++
				c.move(time.Second)
				r, err := space().Remember(ctx, memory.Draft{
					Kind: memory.Episode, Content: fmt.Sprint("Delivered: dinner ", n), Key: fmt.Sprint("run-", n), At: c.now(), Passing: true,
				})
				require.NoError(t, err)
				want, last = append(want, r.ID), r.ID
				want = want[max(0, len(want)-256):]
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"tell": func(t *rapid.T) { tell(t, rapid.SampledFrom([]int{1, 3, 200}).Draw(t, "times")) },
			"again": func(t *rapid.T) {
				if !slices.Contains(want, last) && !kept[last] {
					return // forgotten for good: no receipt says that it was there
				}
				r, err := space().Remember(ctx, memory.Draft{
					Kind: memory.Episode, Content: "another text", Key: fmt.Sprint("run-", n), Passing: true,
				})
				require.NoError(t, err)
				require.Equal(t, memory.Stored, r.Disposition)
			},
			"trust": func(t *rapid.T) {
				if len(want) == 0 || len(kept) > 5 {
					return
				}
				id := rapid.SampledFrom(want).Draw(t, "id")
				require.NoError(t, space().Trust(ctx, id))
				want, kept[id] = slices.DeleteFunc(want, func(w memory.ID) bool { return w == id }), true
			},
			"forget": func(t *rapid.T) {
				if len(want) == 0 {
					return
				}
				id := rapid.SampledFrom(want).Draw(t, "id")
				require.NoError(t, space().Forget(ctx, id))
				want = slices.DeleteFunc(want, func(w memory.ID) bool { return w == id })
			},
			"decay": func(t *rapid.T) {
				c.move(31 * 24 * time.Hour)
				r, err := space().Decay(ctx)
				require.NoError(t, err)
				require.Equal(t, len(want), r.Removed)
				want = nil
			},
			"reopen": func(t *rapid.T) {
				require.NoError(t, b.Close())
				b = open()
			},
			"": func(t *rapid.T) {
				var got []memory.ID
				for r, err := range space().All(ctx) {
					require.NoError(t, err)
					if !kept[r.ID] {
						require.True(t, r.Passing)
						got = append(got, r.ID)
					}
				}
				require.ElementsMatch(t, want, got)
				require.NoError(t, b.Flush(ctx))
				onDisk := 0
				for _, err := range st.Scan(ctx, store.Range{Prefix: "memory"}) {
					require.NoError(t, err)
					onDisk++
				}
				require.LessOrEqual(t, onDisk, len(want)+2*len(kept)+1, "a counter for each that was archived, and the model")
			},
		})
	})
}

// Nor are there more when they come in groups, beside others too.
func TestPassingInGroupsIsBounded(t *testing.T) {
	t.Parallel()
	for name, group := range map[string][]bool{ // which of them are passing
		"beside facts": {false, true, true, true, true, true}, "many at once": slices.Repeat([]bool{true}, 1000),
	} {
		s, _ := space(t)
		n := 0
		say := func(group ...bool) {
			ds := make([]memory.Draft, len(group))
			for i, passing := range group {
				n++
				ds[i] = memory.Draft{Kind: memory.Fact, Content: fmt.Sprint("the fact number ", n)}
				if passing {
					ds[i] = memory.Draft{Kind: memory.Episode, Passing: true, Content: fmt.Sprint("passing number ", n)}
				}
			}
			_, err := s.RememberAll(context.Background(), ds)
			require.NoError(t, err)
		}
		for n < 2500 {
			say(group...)
			say(true)
		}
		passing := 0
		for r, err := range s.All(context.Background()) {
			require.NoError(t, err)
			if r.Passing {
				passing++
			}
		}
		require.Equal(t, 256, passing, name)
	}
}

// Those that are committed at once, since they are long or bring a vector, give way as well.
func TestPassingAtOnceIsBounded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := openWith(t, newMem(t), newClock(), nil)
	s := b.In("acme")
	var ds []memory.Draft
	for i := range 2000 {
		ds = append(ds, memory.Draft{
			Kind: memory.Episode, Content: fmt.Sprint("Delivered: dinner ", i), At: epoch.Add(time.Duration(i) * time.Second),
			Passing: true, Vector: []float32{1, 2},
		})
	}
	receipts, err := s.RememberAll(ctx, ds)
	require.NoError(t, err)
	require.Len(t, receipts, len(ds))
	require.Equal(t, 256, health(t, s).Total)
	_, err = s.Get(ctx, receipts[len(ds)-1].ID)
	require.NoError(t, err)
	_, err = s.Remember(ctx, memory.Draft{Kind: memory.Episode, Content: "Delivered: supper", Passing: true})
	require.NoError(t, err)
	require.Equal(t, 256, health(t, s).Total)
}

// What the Writer has in hand is not missed.
func TestPassingIsNotMissed(t *testing.T) {
	t.Parallel()
	b, err := memory.Open(t.Context(), newMem(t), &memory.Options{Shared: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	s := b.In("acme")
	id := remember(t, s, memory.Draft{Kind: memory.Episode, Content: "Delivered: supper", Passing: true})
	require.NoError(t, b.Missed(t.Context()))
	_, err = s.Get(t.Context(), id)
	require.NoError(t, err)
}
