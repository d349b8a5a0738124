package memory_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// long is a text that is not kept in memory.
func long(word string) string { return strings.Repeat(word+" and more of it, ", 400) }

func openCache(t tb, st store.Store, cache int) *memory.Bank {
	t.Helper()
	b, err := memory.Open(context.Background(), st, &memory.Options{Now: newClock().now, Seed: 1, Cache: cache})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// Long records are read from the disk, and do all that short ones do, however
// many are cached.
func TestLongRecords(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, err := memory.Open(ctx, store.NewMem(), &memory.Options{Cache: -1})
	require.ErrorContains(t, err, "Cache")
	results := func(cache int) [][]memory.Hit {
		st := store.NewMem()
		b := openCache(t, st, cache)
		s := b.In("acme")
		var ids []memory.ID
		for i, w := range []string{"import", "cycle", "build"} {
			ids = append(ids, remember(t, s, memory.Draft{
				Kind: memory.Fact, Trigger: "about " + w, Content: long(w), Key: fmt.Sprint(i), Plan: []byte(`{"n":1}`),
				Source: memory.Source{Origin: memory.Web, Ref: fmt.Sprint("r", i)}, Links: []memory.Link{{To: "x"}},
			}))
		}
		var all [][]memory.Hit
		ask := func() {
			for _, text := range []string{"", "import", "more build"} {
				all = append(all, recall(t, s, memory.Query{Text: text}))
			}
		}
		ask()
		require.Equal(t, long("import"), get(t, s, ids[0]).Content)
		r, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Trigger: "about cycle", Content: long("cycle") + "the", Key: "k", Source: memory.Source{Origin: memory.Web, Ref: "again"}})
		require.NoError(t, err)
		require.Equal(t, memory.Receipt{ID: ids[1], Disposition: memory.Merged, Into: ids[1]}, r)
		require.Len(t, get(t, s, ids[1]).Variants, 1)
		ask()
		require.NoError(t, s.Trust(ctx, ids[2]))
		n, err := s.Revoke(ctx, memory.Source{Origin: memory.Web, Ref: "r1"})
		require.NoError(t, err)
		require.Zero(t, n, "it was said again")
		require.Equal(t, long("cycle")+"the", get(t, s, ids[1]).Content)
		require.NoError(t, s.Forget(ctx, ids[0]))
		_, err = s.Get(ctx, ids[0])
		require.ErrorIs(t, err, store.ErrNotFound)
		ask()
		require.NoError(t, b.Close())
		s = openCache(t, st, cache).In("acme")
		ask()
		require.Equal(t, all[len(all)-6:len(all)-3], all[len(all)-3:])
		return all
	}
	want := results(256)
	require.Equal(t, want, results(1))
	require.Equal(t, want, results(1000))
}

// A part of a record that is missing, or damaged, is an error that names it.
func TestMissingParts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c, st := newClock(), store.NewMem()
	s := open(t, st, c).In("acme")
	body := remember(t, s, memory.Draft{Kind: memory.Fact, Content: long("import")})
	vector := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "cycle", Vector: []float32{1, 2}})
	require.Equal(t, []float32{1, 2}, get(t, s, vector).Vector)
	var keys []string
	for e, err := range st.Scan(ctx, store.Range{Prefix: "memory"}) {
		require.NoError(t, err)
		if strings.HasSuffix(e.Key, string(body)) || strings.HasPrefix(e.Key, "memory\x00v") {
			keys = append(keys, e.Key)
		}
	}
	require.Len(t, keys, 2)
	for _, k := range keys {
		_, err := st.Commit(ctx, store.Op{Key: k, Value: []byte("xxxxxxxxx")})
		require.NoError(t, err)
	}
	fails := func() {
		t.Helper()
		for _, id := range []memory.ID{body, vector} {
			_, err := s.Get(ctx, id)
			require.True(t, strings.Contains(err.Error(), string(id)), err)
			require.NotErrorIs(t, err, store.ErrNotFound)
		}
		_, err := s.Recall(ctx, memory.Query{Text: "import"})
		require.ErrorContains(t, err, string(body))
		require.NotErrorIs(t, err, store.ErrNotFound)
		for r, err := range s.All(ctx) {
			require.Error(t, err, r)
		}
		require.Len(t, recall(t, s, memory.Query{Text: "cycle"}), 1, "a vector is not needed for that")
	}
	fails()
	for _, k := range keys {
		_, err := st.Commit(ctx, store.Op{Key: k, Delete: true})
		require.NoError(t, err)
	}
	fails()
}

// The vector goes with its record, and with the text that it came with.
func TestVectorsGo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	st := store.NewMem()
	s := open(t, st, newClock()).In("acme")
	web := func(ref string) memory.Source { return memory.Source{Origin: memory.Web, Ref: ref} }
	d := memory.Draft{Kind: memory.Fact, Content: "import cycle", Vector: []float32{1, 2}, Source: web("a")}
	stays := remember(t, s, d)
	d.Content, d.Source = "the import cycle", web("b")
	r, err := s.Remember(ctx, d)
	require.NoError(t, err)
	require.Equal(t, stays, r.Into)
	require.NoError(t, s.Trust(ctx, stays))
	require.Equal(t, []float32{1, 2}, get(t, s, stays).Vector)
	d.Content = "something else"
	goes := remember(t, s, d)
	require.NoError(t, s.Forget(ctx, goes))
	_, err = s.Revoke(ctx, web("a"))
	require.NoError(t, err)
	require.Nil(t, get(t, s, stays).Vector)
	for e, err := range st.Scan(ctx, store.Range{Prefix: "memory\x00v"}) {
		require.NoError(t, err)
		t.Errorf("%q is left", e.Key)
	}
}

// A record that is being changed is found all the time, once.
func TestChangingRecordsAreFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, store.NewMem(), newClock()).In("acme")
	d := memory.Draft{Kind: memory.Fact, Content: "import cycle", Source: memory.Source{Ref: "0"}}
	id := remember(t, s, d)
	for i := range 50 {
		remember(t, s, memory.Draft{Kind: memory.Episode, Content: fmt.Sprint("import number ", i)})
	}
	done := make(chan struct{})
	var g errgroup.Group
	for range 2 {
		g.Go(func() error {
			for {
				select {
				case <-done:
					return nil
				default:
				}
				for _, q := range []memory.Query{{Text: "cycle", K: 3}, {Text: "import cycle", K: 60}, {K: 60}} {
					hits, err := s.Recall(ctx, q)
					if err != nil {
						return err
					}
					n := 0
					for _, h := range hits {
						if h.Record.ID == id {
							n++
						}
					}
					if n != 1 {
						return fmt.Errorf("%q finds it %d times", q.Text, n)
					}
				}
				if _, err := s.Get(ctx, id); err != nil {
					return err
				}
			}
		})
	}
	for range 20 {
		for i := range 16 {
			d.Source.Ref = fmt.Sprint(i)
			_, err := s.Remember(ctx, d)
			require.NoError(t, err)
		}
		for i := range 16 {
			_, err := s.Revoke(ctx, memory.Source{Ref: fmt.Sprint(i)})
			require.NoError(t, err)
			if i == 14 {
				break
			}
		}
	}
	close(done)
	require.NoError(t, g.Wait())
}

// Of 1,000 tenants those that were used last are in memory, as far as they are within
// IndexBytes: what is not used is not read, and what has left is found again.
func TestTenantsThatAreIdleLeaveMemory(t *testing.T) {
	t.Parallel()
	const tenants, records, room = 1000, 10, 10
	st, ctx := &counting{Store: store.NewMem()}, t.Context()
	open := func(bytes int64) *memory.Bank {
		b, err := memory.Open(ctx, st, &memory.Options{Seed: 1, IndexBytes: bytes})
		require.NoError(t, err)
		return b
	}
	in := func(b *memory.Bank, n int) memory.Space { return b.In(memory.Scope(fmt.Sprint("tenant-", n, "/ann"))) }
	b := open(0)
	for n := range tenants {
		var ds []memory.Draft
		for i := range records {
			ds = append(ds, memory.Draft{Kind: memory.Episode, Content: fmt.Sprint("room ", i, " of house ", n, " is number ", i*n)})
		}
		_, err := in(b, n).RememberAll(ctx, ds)
		require.NoError(t, err)
	}
	require.NoError(t, b.Close())
	st.read.Store(0)
	const each = 13 << 10 // bytes, by the Bank's own measure
	b = open(room * each)
	require.Less(t, st.read.Load(), int64(5), "Open reads no records")
	find := func(n int) (read int64) {
		before := st.read.Load()
		hits, err := in(b, n).Recall(ctx, memory.Query{Text: fmt.Sprint("which number is room 7 of house ", n)})
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("room 7 of house ", n, " is number ", 7*n), hits[0].Record.Content)
		return st.read.Load() - before
	}
	for n := range tenants {
		require.Equal(t, int64(records), find(n), "of its own")
	}
	for n := range room {
		require.Zero(t, find(tenants-1-n), "in memory")
	}
	id := remember(t, in(b, 0), memory.Draft{Kind: memory.Fact, Content: "room 20 of house 0 is the attic"})
	feedback(t, in(b, 0), memory.Feedback{Key: "f", Injected: []memory.ID{id}, Utilized: []memory.ID{id}, Delivered: true})
	for n := range 2 * room { // it has left since
		find(100 + n)
	}
	require.NotZero(t, find(1))
	r, err := in(b, 0).Get(ctx, id)
	require.NoError(t, err)
	require.Equal(t, 1, r.Stats.Helped)
	scopes := 0
	for range b.Scopes() {
		scopes++
	}
	require.Equal(t, tenants, scopes, "that were used")
	require.NoError(t, b.Close())
}

// counting counts the entries that are read.
type counting struct {
	store.Store
	read atomic.Int64
}

func (c *counting) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range c.Store.Scan(ctx, r) {
			c.read.Add(1)
			if !yield(e, err) {
				return
			}
		}
	}
}
