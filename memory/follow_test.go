package memory_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// TestBanksFollowOneAnother has two Banks on one store remember, merge, change and forget, and
// hear of what the other has done sooner or later. In the end each has what a third
// one reads from the store.
func TestBanksFollowOneAnother(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ctx, mem := t.Context(), &feed{Mem: store.NewMem()}
		open := func() *memory.Bank {
			b, err := memory.Open(ctx, mem, &memory.Options{Seed: 1, Sync: true, Shared: true})
			require.NoError(r, err)
			return b
		}
		banks := [2]*memory.Bank{open(), open()}
		var heard [2]int
		hear := func(i int) {
			for ; heard[i] < len(mem.all); heard[i]++ {
				require.NoError(r, banks[i].Follow(ctx, mem.all[heard[i]]))
			}
		}
		n := 0
		var ids []memory.ID
		pick := func() (int, memory.Space) {
			i := rapid.IntRange(0, 1).Draw(r, "bank")
			return i, banks[i].In("acme/ann")
		}
		r.Repeat(map[string]func(*rapid.T){
			"remember": func(r *rapid.T) {
				_, s := pick()
				n++
				d := memory.Draft{
					Kind: memory.Pattern, Trigger: fmt.Sprint("when the cache of host number ", n%4, " is broken"),
					Content: fmt.Sprint("clear the cache of host number ", n%4), Key: fmt.Sprint("key ", n%6),
				}
				if got, err := s.Remember(ctx, d); err == nil && got.ID != "" {
					ids = append(ids, got.ID)
				}
			},
			"feedback": func(r *rapid.T) {
				if len(ids) == 0 {
					return
				}
				_, s := pick()
				n++
				id := rapid.SampledFrom(ids).Draw(r, "id")
				require.NoError(r, s.Feedback(ctx, memory.Feedback{
					Key: fmt.Sprint("f", n), Injected: []memory.ID{id}, Utilized: []memory.ID{id}, Delivered: true,
				}))
			},
			"forget": func(r *rapid.T) {
				if len(ids) == 0 {
					return
				}
				_, s := pick()
				_ = s.Forget(ctx, rapid.SampledFrom(ids).Draw(r, "id")) // the other may have before
			},
			"hear": func(r *rapid.T) { i, _ := pick(); hear(i) },
		})
		hear(0)
		hear(1)
		third := open()
		want := held(r, t, third)
		for _, b := range banks {
			require.Equal(r, want, held(r, t, b))
			require.NoError(r, b.Close())
		}
		require.NoError(r, third.Close())
	})
}

// TestFeedbackOfSeveralBanksAddsUp has three Banks rate the same records, be told the same feedback twice, archive
// and merge, and hear of one another late: each feedback counts once.
func TestFeedbackOfSeveralBanksAddsUp(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ctx, mem := t.Context(), &feed{Mem: store.NewMem()}
		var banks [3]*memory.Bank
		var ids []memory.ID
		for i := range banks {
			var err error
			if banks[i], err = memory.Open(ctx, mem, &memory.Options{Seed: 1, Shared: true}); i == 0 {
				for _, text := range []string{"the small key opens the door", "ann prefers tea"} {
					got, err := banks[0].In("acme").Remember(ctx, memory.Draft{Kind: memory.Fact, Content: text})
					require.NoError(r, err)
					ids = append(ids, got.ID)
				}
			}
			require.NoError(r, err)
		}
		var heard [3]int
		hear := func(i int) {
			for ; heard[i] < len(mem.all); heard[i]++ {
				require.NoError(r, banks[i].Follow(ctx, mem.all[heard[i]]))
			}
		}
		helped, told := map[memory.ID]int{}, map[int]bool{}
		pick := func() int { return rapid.IntRange(0, 2).Draw(r, "bank") }
		r.Repeat(map[string]func(*rapid.T){
			"feedback": func(r *rapid.T) {
				n, undo := rapid.IntRange(0, 20).Draw(r, "key"), rapid.IntRange(0, 3).Draw(r, "undo") == 0
				of := ids[n%2 : n%2+1+n%3/2*(1-n%2)]
				if !told[n] {
					for _, id := range of {
						if helped[id]++; undo {
							helped[id] = max(0, helped[id]-2)
						}
					}
				}
				told[n] = true
				require.NoError(r, banks[pick()].In("acme").Feedback(ctx, memory.Feedback{
					Key: fmt.Sprint("f", n), Injected: of, Utilized: of, Delivered: true, Undo: undo,
				}))
			},
			"archive": func(r *rapid.T) {
				_ = banks[pick()].In("acme").Archive(ctx, ids[0], rapid.Bool().Draw(r, "archived"))
			},
			"say again": func(r *rapid.T) {
				_, err := banks[pick()].In("acme").Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "ann prefers tea"})
				require.NoError(r, err)
			},
			"hear": func(r *rapid.T) { hear(pick()) },
		})
		fourth, err := memory.Open(ctx, mem, &memory.Options{Seed: 1, Shared: true})
		require.NoError(r, err)
		for i, b := range append(banks[:], fourth) {
			if i < len(banks) {
				hear(i)
			}
			for _, id := range ids {
				rec, err := b.In("acme").Get(ctx, id)
				require.NoError(r, err)
				require.Equal(r, helped[id], rec.Stats.Helped, "bank %d", i)
			}
			require.NoError(r, b.Close())
		}
	})
}

// feed is a store that keeps what was committed to it, in order.
type feed struct {
	*store.Mem
	all []store.Entry
}

func (f *feed) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := f.Mem.Commit(ctx, ops...)
	for _, op := range ops {
		if err == nil {
			f.all = append(f.all, store.Entry{Key: op.Key, Value: bytes.Clone(op.Value), Rev: rev, Deleted: op.Delete})
		}
	}
	return rev, err
}

func held(r *rapid.T, t *testing.T, b *memory.Bank) map[memory.ID]string {
	out := make(map[memory.ID]string)
	for rec, err := range b.In("acme/ann").All(t.Context()) {
		require.NoError(r, err)
		hits, err := b.In("acme/ann").Recall(t.Context(), memory.Query{Text: rec.Content, K: 20})
		require.NoError(r, err)
		n := 0
		for _, h := range hits {
			if h.Record.ID == rec.ID {
				n++
			}
		}
		out[rec.ID] = fmt.Sprint(rec.Content, " ", len(rec.Variants), " ", rec.Stats.Helped, " found ", n)
	}
	return out
}
