package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/embed"
	"github.com/arc-learn/arc/store"
)

// What was forgotten is nowhere: not in the store, as text or as vector, not in
// what any method returns, not in what is asked of the Embedder, be it short or
// long, alone or merged, and not after a restart.
func TestForgetIsFinal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, body := range []string{"The vault of the observatory is opened by marmalade.", long("marmalade")} {
		for _, consolidated := range []bool{false, true} {
			testForgetIsFinal(ctx, t, body, consolidated)
		}
	}
}

func testForgetIsFinal(ctx context.Context, t *testing.T, body string, consolidated bool) {
	st, c := store.NewMem(), newClock()
	bank := openWith(t, st, c, embed.Hashed{})
	s := bank.In("acme")
	d := memory.Draft{
		Kind: memory.Fact, Content: body, Key: "first", Actor: "Quentin", Thread: "t",
		Slot: memory.Slot{Subject: "the observatory vault", Attribute: "password", Value: "marmalade"},
		Plan: []byte(`"marmalade"`), Source: memory.Source{Origin: memory.User, Ref: "marmalade.txt"},
	}
	id := remember(t, s, d)
	c.move(time.Second)
	e := d
	e.Key, e.Content, e.Source.Run = "again", body+" The", "marmalade run"
	merged, err := s.Remember(ctx, e)
	require.NoError(t, err)
	require.Equal(t, memory.Merged, merged.Disposition)
	c.move(time.Second)
	f := d
	f.Key, f.Source, f.Content = "trusted", memory.Source{}, body+" An"
	twin := remember(t, s, f)
	neighbour := remember(t, s, memory.Draft{Kind: memory.Episode, Content: "a word with Quentin", Thread: "t", Links: []memory.Link{{To: id, Rel: "about"}}})
	require.NoError(t, s.Trust(ctx, id))
	feedback(t, s, memory.Feedback{Key: "marmalade feedback", Situation: "marmalade", Injected: []memory.ID{id, twin}, Delivered: true})
	require.NoError(t, bank.Embed(ctx))
	for _, text := range []string{body, "marmalade"} { // fills the caches
		recall(t, s, memory.Query{Text: text})
	}
	if consolidated {
		require.Equal(t, 1, consolidate(t, s).Merged)
		require.NoError(t, bank.Embed(ctx))
	} else {
		require.NoError(t, s.Forget(ctx, twin))
	}
	require.NoError(t, s.Forget(ctx, id))
	for range 2 {
		require.Zero(t, consolidate(t, s).Merged)
		_, err := s.Decay(ctx)
		require.NoError(t, err)
		for _, q := range []memory.Query{
			{}, {Text: "marmalade"}, {Text: body[:40]}, {Text: "what is the password of the observatory vault?"}, {Text: "What did Quentin say?"},
		} {
			q.Archived = true
			requireWithout(t, "marmalade", recall(t, s, q))
			threads, err := s.RecallThreads(ctx, q)
			require.NoError(t, err)
			requireWithout(t, "marmalade", threads)
			x, err := s.Explain(ctx, q, neighbour)
			require.NoError(t, err)
			require.LessOrEqual(t, x.Of, 1)
		}
		for r, err := range s.All(ctx) {
			require.NoError(t, err)
			require.Equal(t, neighbour, r.ID)
			requireWithout(t, "marmalade", []memory.Record{r})
		}
		for _, gone := range []memory.ID{id, twin} {
			_, err := s.Get(ctx, gone)
			require.ErrorIs(t, err, store.ErrNotFound)
		}
		for _, again := range []memory.Draft{d, e, f} {
			r, err := s.Remember(ctx, again)
			require.NoError(t, err)
			require.Equal(t, memory.Receipt{Disposition: memory.Rejected, Reason: "forgotten"}, r, again.Key)
		}
		h, err := s.Health(ctx)
		require.NoError(t, err)
		require.Equal(t, 1, h.Total)
		require.NoError(t, bank.Flush(ctx))
		vectors := 0
		for e, err := range st.Scan(ctx, store.Range{}) {
			require.NoError(t, err)
			require.NotContains(t, strings.ToLower(e.Key+string(e.Value)), "marmalade")
			require.NotContains(t, strings.ToLower(e.Key+string(e.Value)), "observatory")
			if strings.HasPrefix(e.Key, "memory\x00v\x00") {
				vectors++
				require.Contains(t, e.Key, string(neighbour))
			}
		}
		require.Equal(t, 1, vectors)
		require.NoError(t, bank.Close())
		bank = openWith(t, st, c, &deaf{t: t, word: "marmalade"})
		s = bank.In("acme")
		require.NoError(t, bank.Embed(ctx))
	}
}

// deaf is embed.Hashed for texts without a word.
type deaf struct {
	embed.Hashed
	t    *testing.T
	word string
}

func (d *deaf) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	for _, text := range texts {
		// Queries hold it; records, which have more words than that, do not.
		require.False(d.t, strings.Contains(text, d.word) && len(text) > 60)
	}
	return d.Hashed.Embed(ctx, texts)
}

func requireWithout(t *testing.T, word string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.NotContains(t, strings.ToLower(string(text)), word)
}

// Erase takes along the keys of a scope below whose name is too long for a key of the store.
func TestEraseOfALongScopeBelow(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), newMem(t)
	b := openWith(t, st, newClock(), nil)
	long := b.In(memory.Scope("corp" + strings.Repeat("/"+strings.Repeat("x", 100), 6)))
	d := fact("the port is 8080")
	d.Key = "once"
	id := remember(t, long, d)
	require.NoError(t, long.Feedback(ctx, memory.Feedback{Key: "f", Injected: []memory.ID{id}, Delivered: true}))
	require.NoError(t, b.Erase(ctx, "corp"))
	for e, err := range st.Scan(ctx, store.Range{}) {
		require.NoError(t, err)
		t.Errorf("%q is left", e.Key)
	}
	r, err := long.Remember(ctx, d)
	require.NoError(t, err)
	require.Equal(t, memory.Stored, r.Disposition)
}

// A scope that cannot be read again stays as it was.
func TestReloadAfterAnError(t *testing.T) {
	t.Parallel()
	for _, bound := range []int64{0, 1 << 20} {
		ctx, st := t.Context(), &absent{Store: store.NewMem()}
		b := openBound(t, st, newClock(), bound)
		s := b.In("acme")
		_, err := s.RememberAll(ctx, drafts(9, 12))
		require.NoError(t, err)
		want := recall(t, s, memory.Query{})
		require.NotEmpty(t, want)
		st.away.Store(true)
		require.ErrorIs(t, b.Reload(ctx, "acme"), errAway)
		require.Equal(t, want, recall(t, s, memory.Query{}))
		st.away.Store(false)
		require.NoError(t, b.Reload(ctx, "acme"))
		require.Equal(t, want, recall(t, s, memory.Query{}))
	}
}

// heldCommit holds the first commit up until it is let go.
type heldCommit struct {
	store.Store
	once      sync.Once
	at, letGo chan struct{}
}

func (h *heldCommit) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	h.once.Do(func() { close(h.at); <-h.letGo })
	return h.Store.Commit(ctx, ops...)
}

// A change that waits for another while the scope is read anew is refused: what it was to change is not there.
func TestChangeAcrossReload(t *testing.T) {
	t.Parallel()
	st := &heldCommit{Store: store.NewMem(), at: make(chan struct{}), letGo: make(chan struct{})}
	c := newClock()
	c.move(time.Hour)
	b := open(t, st.Store, c)
	rs, err := b.In("acme").RememberAll(t.Context(), drafts(2, 12))
	require.NoError(t, err)
	require.NoError(t, b.Close())
	b = open(t, st, c)
	s, over := b.In("acme"), make(chan error, len(rs))
	forget := func(id memory.ID) { over <- s.Forget(t.Context(), id) }
	go forget(rs[0].ID)
	<-st.at
	go forget(rs[1].ID)
	for range 1000 {
		runtime.Gosched() // until it waits for the first
	}
	other := open(t, st.Store, newClock())
	_, err = other.In("acme").RememberAll(t.Context(), drafts(12, 9)) // before the others, in the order of ids
	require.NoError(t, err)
	require.NoError(t, b.Reload(t.Context(), "acme"))
	close(st.letGo)
	err = errors.Join(<-over, <-over)
	require.ErrorIs(t, err, store.ErrConflict)
	require.NoError(t, s.Forget(t.Context(), rs[1].ID))
}

// More keys can be released than a commit holds.
func TestReleaseMany(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), store.NewMem()
	b := open(t, st, newClock())
	var keys []string
	for i := range store.MaxCommitOps + 1 {
		keys = append(keys, fmt.Sprint(i))
		require.NoError(t, b.In("acme").Feedback(ctx, memory.Feedback{Key: keys[i], Delivered: true}))
	}
	require.NoError(t, b.In("acme").Release(ctx, keys, nil))
	require.NoError(t, b.Flush(ctx))
	for e, err := range st.Scan(ctx, store.Range{Prefix: "memory"}) {
		require.NoError(t, err)
		t.Fatal(e.Key)
	}
}

// Of a record whose removal was not answered, but took place, nothing is left either.
func TestForgetThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		ctx, mem := t.Context(), store.NewMem()
		f := &faulty{Store: mem}
		b, err := memory.Open(ctx, f, &memory.Options{Shared: shared})
		require.NoError(t, err)
		s := b.In("acme")
		id := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "ann prefers tea"})
		used(t, s, 1, "u", id)
		require.NoError(t, b.Flush(ctx))
		f.set(func(n int, _ []store.Op) (before, after error) {
			if n == 1 {
				after = errDisk
			}
			return nil, after
		})
		require.ErrorIs(t, s.Forget(ctx, id), errDisk)
		require.ErrorIs(t, s.Forget(ctx, id), store.ErrNotFound)
		require.NoError(t, b.Close())
		for e, err := range mem.Scan(ctx, store.Range{}) {
			require.NoError(t, err)
			require.NotContains(t, e.Key, string(id))
		}
	}
}
