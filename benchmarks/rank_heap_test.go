package benchmarks

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// forgetful is a store that keeps nothing, so that what is measured is the
// Book's memory.
type forgetful struct{}

func (forgetful) Get(context.Context, string) (store.Entry, error) {
	return store.Entry{}, store.ErrNotFound
}
func (forgetful) Scan(context.Context, store.Range) iter.Seq2[store.Entry, error] {
	return func(func(store.Entry, error) bool) {}
}
func (forgetful) Commit(context.Context, ...store.Op) (store.Revision, error) { return 1, nil }
func (forgetful) Close() error                                                { return nil }

// TestRankHeap holds a Book of 100,000 candidate–skill pairs to 200 MB.
func TestRankHeap(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const skills, candidates, samples = 1000, 100, 4
	before := heap()
	book, err := rank.Open(t.Context(), forgetful{}, nil)
	require.NoError(t, err)
	begin := time.Now()
	for i := range samples {
		for s := range skills {
			for c := range candidates {
				require.NoError(t, book.Observe(t.Context(), rank.Sample{
					Key: fmt.Sprint(i, s, c), Candidate: fmt.Sprint("candidate-", c), Success: i%2 == 0, Wall: time.Second,
					Situation: rank.Situation{Skill: fmt.Sprint("skill-", s)},
				}))
			}
		}
	}
	took := time.Since(begin)
	require.NoError(t, book.Flush(t.Context()))
	grown := heap() - before
	t.Logf("%d pairs: %.0f MB, %.1f µs a sample", skills*candidates, float64(grown)/1e6,
		took.Seconds()*1e6/(skills*candidates*samples))
	require.Less(t, grown, 200e6)
	require.NoError(t, book.Close())
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
