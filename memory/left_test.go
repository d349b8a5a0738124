package memory_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// slow is an Embedder and an Extractor that says when it is asked, and answers when it is
// let go.
type slow struct {
	thesaurus
	asked chan string
	going chan struct{}
}

func newSlow() *slow { return &slow{asked: make(chan string, 8), going: make(chan struct{})} }

func (s *slow) wait(ctx context.Context, text string) error {
	s.asked <- text
	select {
	case <-s.going:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slow) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := s.wait(ctx, texts[0]); err != nil {
		return nil, err
	}
	return s.thesaurus.Embed(ctx, texts)
}

func (s *slow) Extract(ctx context.Context, r memory.Record, _ []memory.Record) ([]memory.Statement, error) {
	return stated("Ann", "home", "Paris", "set", .95), s.wait(ctx, r.Content)
}

// What is asked of a host behind the writes comes back when the tenant has left memory, and
// was erased since: nothing of that is kept.
func TestWhatComesBackAfterEraseIsNotKept(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]func(*memory.Options, *slow){
		"vectors":    func(o *memory.Options, s *slow) { o.Embedder = s },
		"statements": func(o *memory.Options, s *slow) { o.Extractor = s },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, st, host := t.Context(), store.NewMem(), newSlow()
			o := memory.Options{Seed: 1, IndexBytes: 1}
			options(&o, host)
			b, err := memory.Open(ctx, st, &o)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, b.Close()) })
			say := func(s memory.Scope, text string) {
				_, err := b.In(s).Remember(ctx, memory.Draft{Kind: memory.Episode, Content: text, Actor: "Ann"})
				require.NoError(t, err)
			}
			say("other/ann", "a car is something")
			require.Contains(t, <-host.asked, "car")
			say("acme/ann", "my soup is in Paris") // waits, and leaves memory
			host.going <- struct{}{}
			require.Contains(t, <-host.asked, "soup")
			require.NoError(t, b.Erase(ctx, "acme"))
			host.going <- struct{}{}
			say("other/bob", "a lake")
			require.Contains(t, <-host.asked, "lake", "what came before is over")
			require.NoError(t, b.Flush(ctx))
			for e, err := range b.Entries(ctx, "acme") {
				require.NoError(t, err)
				t.Errorf("%q is kept", e.Key)
			}
		})
	}
}

// A scope that another Bank has erased is not one of those that the Bank has, also if its tenant
// had left memory.
func TestWhatIsErasedElsewhereIsNoScope(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), &feed{Mem: store.NewMem()}
	opened := func(bytes int64) *memory.Bank {
		b, err := memory.Open(ctx, st, &memory.Options{Seed: 1, Shared: true, IndexBytes: bytes})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		return b
	}
	a := opened(1)
	for _, user := range []memory.Scope{"acme/ann", "acme/ben"} {
		remember(t, a.In(user), memory.Draft{Kind: memory.Episode, Content: "hello"})
	}
	scopes := func() (all []memory.Scope) {
		for s := range a.Scopes() {
			all = append(all, s)
		}
		return all
	}
	require.ElementsMatch(t, []memory.Scope{"acme/ann", "acme/ben"}, scopes())
	require.NoError(t, opened(0).Erase(ctx, "acme/ann"))
	for _, e := range st.all {
		require.NoError(t, a.Follow(ctx, e))
	}
	require.Equal(t, []memory.Scope{"acme/ben"}, scopes())
	require.NoError(t, a.Erase(ctx, "acme"))
	require.Empty(t, scopes())
}

// What was not read when the process ended is read by the next one, whose tenants are not in
// memory yet.
func TestTextsOfTenantsThatAreNotInMemoryAreRead(t *testing.T) {
	t.Parallel()
	ctx, st, host := t.Context(), store.NewMem(), newSlow()
	before, err := memory.Open(ctx, st, &memory.Options{Seed: 1, Extractor: host})
	require.NoError(t, err)
	long := memory.Scope("corp" + strings.Repeat("/"+strings.Repeat("x", 100), 6)) // for a key
	for _, s := range []memory.Scope{"acme/ann", long} {
		remember(t, before.In(s), memory.Draft{Kind: memory.Episode, Content: "hello from " + string(s)[:4]})
	}
	require.NoError(t, before.Close())
	x := &scripted{says: map[string][]memory.Statement{}}
	b, err := memory.Open(ctx, st, &memory.Options{Seed: 1, Extractor: x, IndexBytes: 1})
	require.NoError(t, err)
	require.NoError(t, b.Extract(ctx))
	require.NoError(t, b.Close())
	require.ElementsMatch(t, []string{"hello from acme", "hello from corp"}, x.read)
}

// An error names what was not found by its first 256 characters.
func TestErrorsAreShort(t *testing.T) {
	t.Parallel()
	b, err := memory.Open(t.Context(), store.NewMem(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	id := memory.ID(strings.Repeat("a", 100<<10))
	_, err = b.In("acme").Get(t.Context(), id)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Less(t, len(err.Error()), 512)
	_, err = b.In("acme").Explain(t.Context(), memory.Query{Text: "x"}, id)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Less(t, len(err.Error()), 512)
}
