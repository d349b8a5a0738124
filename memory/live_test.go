package memory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/store"
)

// changing returns a bank of n records, and the shard and the id of one more,
// with what replaces that by another entry that says the same, as Trust does.
func changing(t *testing.T, n int) (s Space, sh *shard, id ID, replace func()) {
	ctx := context.Background()
	b, err := Open(ctx, store.NewMem(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	s = b.In("acme")
	ds := []Draft{{Kind: Fact, Content: "import cycle", Thread: "changing", Vector: []float32{1, 0}}}
	for i := range n {
		ds = append(ds, Draft{Kind: Episode, Content: fmt.Sprint("import number ", i), Thread: "thread", Vector: []float32{float32(i), 1}})
	}
	receipts, err := s.RememberAll(ctx, ds)
	require.NoError(t, err)
	sh, id = b.shard("acme"), receipts[0].ID
	replace = func() {
		e := sh.entry(id)
		r, err := b.record(ctx, sh, e)
		if err != nil {
			t.Error(err)
			return
		}
		doc := b.document(r, stowedWith(e))
		sh.Put(newEntry(r, stowedWith(e), e.Counts(), e.Rev), doc, table.Leaving{Entry: e, Doc: doc, Same: true})
	}
	return s, sh, id, replace
}

// An id leads to its record while the table is rebuilt and the record gets
// other rows.
func TestIDsLeadSomewhere(t *testing.T) {
	t.Parallel()
	_, sh, id, replace := changing(t, 0)
	var done atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		at := time.Unix(0, 0)
		for i := 0; !done.Load(); i++ {
			r := &Record{ID: ID(fmt.Sprint("other ", i)), Scope: "acme", Kind: Episode, At: at, Known: at, Trusted: true}
			e := newEntry(r, stowed{}, nil, 0)
			sh.Put(e, index.Doc{})
			sh.Remove(table.Leaving{Entry: e})
			replace()
		}
	})
	for range 200_000 {
		if sh.entry(id) == nil {
			t.Error("the id leads nowhere")
			break
		}
	}
	done.Store(true)
	writer.Wait()
}

// A record that is replaced all the time, faster than any read, is found by
// every read, once.
func TestReplacedRecordsAreFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, sh, id, replace := changing(t, 1000)
	var done atomic.Bool
	var writer, readers sync.WaitGroup
	writer.Go(func() {
		for !done.Load() {
			replace()
		}
	})
	for name, q := range map[string]Query{
		"all":    {K: 2000},
		"rare":   {Text: "cycle", K: 3},
		"common": {Text: "import cycle", K: 2000},
		"vector": {Vector: []float32{1, 0}, K: 3},
		"both":   {Text: "cycle", Vector: []float32{1, 0}, K: 3},
	} {
		readers.Go(func() {
			for range 100 {
				hits, err := s.Recall(ctx, q)
				n := 0
				for _, h := range hits {
					if h.Record.ID == id {
						n++
					}
				}
				if err != nil || n != 1 {
					t.Errorf("%s: found %d times, %v", name, n, err)
					return
				}
			}
		})
	}
	readers.Go(func() {
		for range 1000 {
			if sh.entry(id) == nil {
				t.Error("the id leads nowhere")
				return
			}
			n := 0
			for _, e := range sh.Snapshot() {
				if e.Key == ident.Of(id) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d times in a snapshot", n)
				return
			}
		}
	})
	readers.Go(func() {
		for range 100 {
			hits, err := s.RecallThreads(ctx, Query{Text: "cycle"})
			if err != nil || len(hits) != 1 || len(hits[0].Hits) != 1 {
				t.Errorf("threads: %d, %v", len(hits), err)
				return
			}
		}
	})
	readers.Wait()
	done.Store(true)
	writer.Wait()
}

// What a Bank has heard of before its writer is told gives no other record its vector.
func TestVectorOfWhatIsKnownGoesNowhereElse(t *testing.T) {
	t.Parallel()
	s, sh, id, _ := changing(t, 1)
	e := sh.entry(id)
	r, err := s.b.record(context.Background(), sh, e)
	require.NoError(t, err)
	other := *r
	other.ID = "other"
	sh.Put(newEntry(&other, stowed{dim: 2}, nil, 7), index.Doc{})
	sh.PutVector(newEntry(&other, stowed{dim: 2}, nil, 7), index.Doc{}, []float32{0, 1})
	hits, err := s.Recall(context.Background(), Query{Vector: []float32{1, 0}, K: 1})
	require.NoError(t, err)
	require.Equal(t, id, hits[0].Record.ID)
	require.InDelta(t, 1, hits[0].Parts.Cosine, .01)
}
