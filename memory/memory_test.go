package memory_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a clock that moves when it is told to.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: epoch} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

const day = 24 * time.Hour

// testing is what *testing.T and *rapid.T share.
type tb interface {
	require.TestingT
	Helper()
	Cleanup(func())
}

func open(t tb, st store.Store, c *clock) *memory.Bank { t.Helper(); return openBound(t, st, c, 0) }

// openBound opens a Bank that keeps so much of idle tenants in memory.
func openBound(t tb, st store.Store, c *clock, bytes int64) *memory.Bank {
	t.Helper()
	b, err := memory.Open(context.Background(), st, &memory.Options{Now: c.now, Seed: 1, IndexBytes: bytes})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// space returns a space of a new Bank.
func space(t tb) (memory.Space, *clock) {
	t.Helper()
	c := newClock()
	st := store.NewMem()
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return open(t, st, c).In("acme/user-42"), c
}

func pattern(trigger, content string) memory.Draft {
	return memory.Draft{Kind: memory.Pattern, Trigger: trigger, Content: content}
}

func remember(t tb, s memory.Space, d memory.Draft) memory.ID {
	t.Helper()
	r, err := s.Remember(context.Background(), d)
	require.NoError(t, err)
	require.Equal(t, memory.Stored, r.Disposition, r.Reason)
	return r.ID
}

func recall(t tb, s memory.Space, q memory.Query) []memory.Hit {
	t.Helper()
	hits, err := s.Recall(context.Background(), q)
	require.NoError(t, err)
	return hits
}

func ids(hits []memory.Hit) []memory.ID {
	out := []memory.ID{}
	for _, h := range hits {
		out = append(out, h.Record.ID)
	}
	return out
}

func get(t tb, s memory.Space, id memory.ID) memory.Record {
	t.Helper()
	r, err := s.Get(context.Background(), id)
	require.NoError(t, err)
	return r
}

func feedback(t tb, s memory.Space, f memory.Feedback) {
	t.Helper()
	require.NoError(t, s.Feedback(context.Background(), f))
}

// used says n times that the records helped in a delivered task.
func used(t tb, s memory.Space, n int, key string, ids ...memory.ID) {
	t.Helper()
	for i := range n {
		feedback(t, s, memory.Feedback{Key: fmt.Sprintf("%s-%d", key, i), Injected: ids, Utilized: ids, Delivered: true})
	}
}

func TestRememberAndRecall(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	d := memory.Draft{
		Kind: memory.Failure, Trigger: "go build reports an import cycle", Content: "move the shared type down",
		At: epoch.Add(-time.Hour), Source: memory.Source{Ref: "docs/a.md", Run: "r1"}, Actor: "Ann", Thread: "t1",
		Links: []memory.Link{{To: "x"}}, Vector: []float32{1, 2}, Plan: []byte(`{"a":1}`),
	}
	id := remember(t, s, d)
	hits := recall(t, s, memory.Query{Text: "import cycles in the build"})
	require.Len(t, hits, 1)
	// The vector stays on disk until Get asks for it.
	want := memory.Record{
		ID: id, Scope: "acme/user-42", Kind: d.Kind, Trigger: d.Trigger, Content: d.Content, At: d.At, Known: c.now(),
		Source: d.Source, Actor: d.Actor, Thread: d.Thread, Links: d.Links, Plan: d.Plan, Trusted: true,
	}
	require.Equal(t, want, hits[0].Record)
	want.Vector = d.Vector
	require.Equal(t, want, get(t, s, id))
	require.Empty(t, recall(t, s, memory.Query{Text: "unrelated words"}))
	require.Empty(t, recall(t, s, memory.Query{Text: "?!"}))
	require.Len(t, recall(t, s, memory.Query{Text: "Ann"}), 1, "the actor is indexed")
	require.Len(t, recall(t, s, memory.Query{}), 1, "no text finds everything")
}
