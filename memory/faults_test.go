package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/redact"
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
		require.Equal(t, want, recall(t, s, ask))
		require.Equal(t, want, recall(t, follower.In("a"), ask))
	}
	id := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "spoke", Vector: []float32{1, 0}})
	require.NoError(t, archive(t.Context(), s, id, true)) // so that the record is newer than its vector
	told("spoke")
	update := func(f func(r *memory.Record)) {
		require.NoError(t, s.Update(t.Context(), id, func(r *memory.Record) error { f(r); return nil }))
	}
	update(func(r *memory.Record) { r.Actor, r.At = "anna", day0.Add(-time.Hour) })
	told("spoke")
	remember(t, s, memory.Draft{Kind: memory.Fact, Content: "wheel", Vector: []float32{1, 0, 0}})
	told("spoke")
	update(func(r *memory.Record) { r.Content = "another" })
	update(func(r *memory.Record) { r.Content = "spoke" }) // a follower learns of this, and of a vector that is gone
	told()
	require.Equal(t, []string{"wheel"}, recall(t, s, memory.Query{Vector: []float32{1, 0, 0}}))
}

// A host's vector of another dimension than the Embedder's takes no search away.
func TestVectorsOfTwoDimensions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, err := memory.Open(t.Context(), store.NewGroup(store.NewMem()), &memory.Options{Embedder: &letters{}})
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

// A part of a step changes what an earlier part has staged, and names it.
func TestChangesOfWhatIsStaged(t *testing.T) {
	t.Parallel()
	g := store.NewGroup(store.NewMem())
	bank, err := memory.Open(t.Context(), g, nil)
	require.NoError(t, err)
	var one, two memory.Record
	require.NoError(t, g.Update(t.Context(), func(b *store.Batch) error {
		s := bank.In("a").Stage(b)
		one, err = s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "one"})
		require.NoError(t, err)
		two, err = s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "two"})
		require.NoError(t, err)
		require.NoError(t, supersede(t.Context(), s, one.ID, two.ID))
		asked := 0
		return s.Update(t.Context(), two.ID, func(r *memory.Record) error {
			if asked++; asked > 3 {
				return errors.New("asked again and again")
			}
			r.Content = "three"
			return nil
		})
	}))
	got, err := bank.In("a").Get(t.Context(), one.ID)
	require.NoError(t, err)
	require.Equal(t, two.ID, got.SupersededBy)
	got, err = bank.In("a").Get(t.Context(), two.ID)
	require.NoError(t, err)
	require.Equal(t, "three", got.Content)
}

// Each way to read has what another process has written just now, and nothing that it has erased; not within a commit.
func TestReadsSeeOthers(t *testing.T) {
	t.Parallel()
	ctx, thread := t.Context(), "chat"
	for name, count := range map[string]func(s memory.Space, id memory.ID) (int, error){
		"recall": func(s memory.Space, _ memory.ID) (int, error) {
			hits, err := s.Recall(ctx, memory.Query{Text: "diabetes"})
			return len(hits), err
		},
		"get": func(s memory.Space, id memory.ID) (int, error) {
			r, err := s.Get(ctx, id)
			return len(r.Content) / len("Anna has diabetes."), err
		},
		"all": func(s memory.Space, _ memory.ID) (n int, err error) {
			for _, err = range s.All(ctx) {
				n++
			}
			return n, err
		},
		"latest": func(s memory.Space, _ memory.ID) (int, error) {
			rs, err := s.Latest(ctx, thread, 9)
			return len(rs), err
		},
		"health": func(s memory.Space, _ memory.ID) (int, error) {
			of, _, _, err := s.Health(ctx)
			return of[memory.Fact], err
		},
		"revoke": func(s memory.Space, _ memory.ID) (int, error) { return s.Revoke(ctx, memory.Source{Ref: "mail"}) },
	} {
		st := store.NewMem()
		one, _ := open(t, st, memory.Options{})
		group := store.NewGroup(st)
		two, err := memory.Open(ctx, group, nil)
		require.NoError(t, err)
		id := remember(t, one.In("a"), memory.Draft{Kind: memory.Fact, Content: "Anna has diabetes.", Thread: thread,
			Source: memory.Source{Ref: "mail"}})
		require.NoError(t, group.Update(ctx, func(b *store.Batch) error { // else it would wait for itself
			_, err := two.In("a").Stage(b).Latest(ctx, thread, 9)
			return err
		}))
		n, err := count(two.In("a"), id)
		require.NoError(t, err, name)
		require.Equal(t, 1, n, name)
		require.NoError(t, one.In("a").Erase(ctx))
		n, err = count(two.In("a"), id)
		require.True(t, err == nil || errors.Is(err, store.ErrNotFound), name)
		require.Zero(t, n, name)
	}
}

// What others change at the same time, in this process and in another one, is not undone.
func TestUpdatesAtOnce(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	one, _ := open(t, st, memory.Options{})
	two, _ := open(t, st, memory.Options{})
	id := remember(t, one.In("a"), memory.Draft{Kind: memory.Fact, Content: "said:"})
	var all sync.WaitGroup
	for i := range 64 {
		s := []memory.Space{one.In("a"), two.In("a")}[i%2]
		all.Go(func() {
			f := memory.Feedback{Key: fmt.Sprint(i), Shown: []memory.ID{id}, Utilized: []memory.ID{id}}
			assert.NoError(t, s.Feedback(t.Context(), f))
		})
		all.Go(func() {
			assert.NoError(t, s.Update(t.Context(), id, func(r *memory.Record) error { r.Content += " w"; return nil }))
		})
	}
	all.Wait()
	r, err := one.In("a").Get(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "said:"+strings.Repeat(" w", 64), r.Content)
	require.Equal(t, 64, r.Helped)
}

// Get goes on beside those who write and forget: it holds no lock where it reads the store.
func TestGetBesideForget(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	id := fact(t, s, "spoke")
	var readers, writers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		writers.Go(func() {
			for range 1000 {
				_, _ = s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "spoke"})
				_ = s.Forget(t.Context(), id)
			}
		})
	}
	for range 6 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_, _ = s.Get(t.Context(), id)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

// What is kept can be written as JSON, whatever its time.
func TestTimes(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	for at, good := range map[time.Time]bool{
		time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC): true, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC): true,
		time.Date(0, 12, 31, 23, 0, 0, 0, time.UTC): false, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC): false,
		time.Date(10000, 1, 1, 0, 30, 0, 0, time.FixedZone("", 3600)):  false, // 9999 in UTC
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("", 30*3600)): false,
	} {
		r, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Episode, Content: "spoke", At: at})
		require.Equal(t, good, err == nil, "%v: %v", at, err)
		_, err = s.Recall(t.Context(), memory.Query{Text: "spoke", At: at, Since: at})
		require.Equal(t, good, err == nil, "%v: %v", at, err)
		_, err = json.Marshal(r)
		require.NoError(t, err)
	}
}

// Of what was merged no id is lost, and none is merged twice.
func TestMergeKeepsAllIDs(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	into := fact(t, s, "one thing")
	var ids []memory.ID
	for i := range 70 {
		ids = append(ids, fact(t, s, fmt.Sprint("thing ", i)))
		require.NoError(t, s.Merge(t.Context(), into, ids[i], ids[i], into, ids[0]))
	}
	for _, id := range ids {
		r, err := s.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, into, r.ID)
	}
	r, err := s.Get(t.Context(), into)
	require.NoError(t, err)
	require.Equal(t, 70, r.Strengthened)
}

// Names that a text makes unreadable, or that hold secrets, stay different names.
func TestNamesStayDifferent(t *testing.T) {
	t.Parallel()
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4"
	b, _ := open(t, store.NewMem(), memory.Options{Sanitizer: redact.New(nil)})
	s := b.In("a")
	for _, n := range []string{"a", "b"} {
		remember(t, s, memory.Draft{Kind: memory.Fact, Content: "the owner is " + n, Slot: "owner of " + token + n,
			Source: memory.Source{Origin: memory.Host, Run: token + n}})
	}
	for r, err := range s.All(t.Context()) {
		require.NoError(t, err)
		require.Empty(t, r.SupersededBy)
	}
	n, err := s.Revoke(t.Context(), memory.Source{Run: token + "a"})
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
