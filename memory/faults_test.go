package memory_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// A vector is of a text: it stays with the record while that stays, in whatever order a follower learns of both, and
// one of another dimension is of another model.
func TestAVectorStaysWithItsText(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	writer, _ := open(t, st, memory.Options{})
	follower, _ := open(t, st, memory.Options{})
	s, ask := writer.In("a"), memory.Query{Vector: []float32{1, 0}}
	told := func(want ...string) {
		t.Helper()
		require.NoError(t, follower.Refresh(t.Context()))
		require.Equal(t, want, recall(t, s, ask))
		require.Equal(t, want, recall(t, follower.In("a"), ask))
	}
	id := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "spoke", Vector: []float32{1, 0}})
	require.NoError(t, s.Archive(t.Context(), id, true)) // so that the record is newer than its vector
	told("spoke")
	update := func(f func(r *memory.Record)) {
		require.NoError(t, s.Update(t.Context(), id, func(r *memory.Record) error { f(r); return nil }))
	}
	update(func(r *memory.Record) { r.Actor, r.At = "anna", day0.Add(-1) })
	told("spoke")
	remember(t, s, memory.Draft{Kind: memory.Fact, Content: "wheel", Vector: []float32{1, 0, 0}})
	told("spoke")
	update(func(r *memory.Record) { r.Content = "another" })
	told()
	require.Equal(t, []string{"wheel"}, recall(t, s, memory.Query{Vector: []float32{1, 0, 0}}))
}

// A host's vector of another dimension than the Embedder's takes no search away.
func TestVectorsOfTwoDimensions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, err := memory.Open(t.Context(), store.NewMem(), &memory.Options{Embedder: &letters{}})
		require.NoError(t, err)
		defer func() { require.NoError(t, b.Close()) }()
		remember(t, b.In("a"), memory.Draft{Kind: memory.Fact, Content: "apple", Vector: []float32{1, 0}})
		fact(t, b.In("a"), "avocado")
		synctest.Wait()
		require.Equal(t, []string{"avocado"}, recall(t, b.In("a"), memory.Query{Text: "ant"}))
	})
}

// A memory that is changed is found all the while.
func TestAChangeIsOneStep(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	id := fact(t, s, "the spoke")
	for i := range 500 { // so that to look for the words of one takes its time
		fact(t, s, fmt.Sprint("the wheel ", i))
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 1000 {
			_ = s.Update(t.Context(), id, func(r *memory.Record) error { r.Actor = fmt.Sprint("a", i%2); return nil })
		}
	})
	for range 5000 {
		require.Len(t, recall(t, s, memory.Query{Text: "spoke"}), 1)
	}
	wg.Wait()
}
