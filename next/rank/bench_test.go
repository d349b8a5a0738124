package rank_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/store"
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

// BenchmarkStage stages a sample of each of 64 candidates whose records are full, in one commit that is dropped.
func BenchmarkStage(b *testing.B) {
	clock := time.Unix(1_700_000_000, 0)
	st := store.NewMem()
	begin := clock
	book := open(b, st, func() time.Time { return clock }, 0)
	usd := .0123
	sample := func(i int, name string) rank.Sample {
		return rank.Sample{
			Run: fmt.Sprint("run/", i), Candidate: name, Task: rank.Task{Skill: name, Key: fmt.Sprint(i % 20)}, Outcome: rank.Delivered,
			Wall: 3 * time.Second, Usage: rank.Usage{Input: 1200, Output: 300, CostUSD: &usd}, At: begin.Add(time.Duration(i) * time.Hour),
		}
	}
	clock = clock.Add(1000 * time.Hour)
	next := make([]rank.Sample, 64)
	for c := range next {
		for i := range 800 {
			require.NoError(b, book.Observe(context.Background(), sample(i, fmt.Sprint(c))))
		}
		next[c] = sample(801, fmt.Sprint(c))
	}
	dropped, least := errors.New("dropped"), time.Hour
	b.ReportAllocs()
	for b.Loop() {
		err := store.NewGroup(st).Update(context.Background(), func(batch *store.Batch) error {
			begin := time.Now()
			for _, s := range next {
				if err := book.Stage(context.Background(), batch, s); err != nil {
					return err
				}
			}
			least = min(least, time.Since(begin)/time.Duration(len(next)))
			return dropped
		})
		require.ErrorIs(b, err, dropped)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(next)), "ns/sample")
	b.ReportMetric(float64(least), "least-ns/sample")
}
