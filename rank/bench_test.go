package rank_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

func BenchmarkScore(b *testing.B) {
	for _, k := range []int{16, 100_000} {
		clock := time.Unix(1_700_000_000, 0)
		book := open(b, store.NewMem(), func() time.Time { return clock }, 0)
		cs := make([]rank.Candidate, k)
		for i := range cs {
			cs[i].Name = fmt.Sprint("candidate-", i)
			if i < 1000 {
				require.NoError(b, book.Observe(context.Background(), rank.Sample{
					Candidate: cs[i].Name, Task: rank.Task{Skill: "s", Key: "k"}, Outcome: rank.Delivered, At: clock,
				}))
			}
		}
		for name, p := range map[string]rank.Policy{"Learned": book.Learned(), "Observed": book.Observed(), "Weighted": book.Weighted()} {
			b.Run(fmt.Sprint(name, "/", k), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Score(context.Background(), rank.Task{Skill: "s", Key: "k"}, cs); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkStage stages a sample of each of 64 candidates whose records are full, in one commit to a store that keeps
// nothing.
func BenchmarkStage(b *testing.B) {
	clock := time.Unix(1_700_000_000, 0)
	book := open(b, &forgetful{Store: store.NewMem()}, func() time.Time { return clock }, 0)
	usd, i, least := .0123, 0, time.Hour
	names, runs := make([]string, 64), make([]string, 1000)
	for j := range runs {
		runs[j] = fmt.Sprint("run/", j)
	}
	for c := range names {
		names[c] = fmt.Sprint(c)
	}
	stage := func(batch *store.Batch) error {
		begin := time.Now()
		for _, name := range names {
			err := book.Stage(context.Background(), batch, rank.Sample{
				Run: runs[i%len(runs)], Candidate: name, Task: rank.Task{Skill: name, Key: names[i%20]}, Outcome: rank.Delivered,
				Wall: 3 * time.Second, Usage: rank.Usage{Input: 1200, Output: 300, CostUSD: &usd}, At: clock,
			})
			if err != nil {
				return err
			}
		}
		least = min(least, time.Since(begin)/time.Duration(len(names)))
		return nil
	}
	group := store.NewGroup(&forgetful{Store: store.NewMem()})
	next := func() {
		i, clock = i+1, clock.Add(time.Hour)
		require.NoError(b, group.Update(context.Background(), stage))
	}
	for range 800 {
		next()
	}
	b.ReportAllocs()
	for b.Loop() {
		next()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(names)), "ns/sample")
	b.ReportMetric(float64(least), "least-ns/sample")
}

// forgetful is a store whose commits keep nothing.
type forgetful struct {
	store.Store
	rev store.Revision
}

func (f *forgetful) Commit(context.Context, ...store.Op) (store.Revision, error) {
	f.rev++
	return f.rev, nil
}
