package store_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

// counter is a part that keeps a number under a key and decides from its memory, as the parts of arc do.
type counter struct {
	rev store.Revision
	n   uint64
}

func (c *counter) apply(e store.Entry) {
	if e.Rev >= c.rev {
		c.rev, c.n = e.Rev, binary.BigEndian.Uint64(e.Value)
	}
}

func (c *counter) add(b *store.Batch) error {
	n := c.n + 1
	v := binary.BigEndian.AppendUint64(nil, n)
	if err := b.Put("n", v, store.At(c.rev)); err != nil {
		return err
	}
	b.After(func(rev store.Revision) { c.apply(store.Entry{Rev: rev, Value: v}) })
	return nil
}

// Groups of two processes add to one number, each from its own memory.
func TestGroupLosesNoUpdate(t *testing.T) {
	st := store.NewMem()
	var wg sync.WaitGroup
	for range 2 {
		g := store.NewGroup(store.Sub(st, "t/acme/"))
		c := new(counter)
		g.Follow("n", c.apply, nil)
		for range 8 {
			wg.Go(func() {
				for range 50 {
					for {
						err := g.Update(t.Context(), c.add)
						if err == nil {
							break
						}
						if !assertConflict(t, err) {
							return
						}
					}
				}
			})
		}
	}
	wg.Wait()
	e, err := st.Get(context.Background(), "t/acme/n")
	require.NoError(t, err)
	require.EqualValues(t, 800, binary.BigEndian.Uint64(e.Value))
}

func assertConflict(t *testing.T, err error) bool {
	t.Helper()
	if _, ok := err.(*store.ConflictError); !ok {
		t.Errorf("update: %v", err)
		return false
	}
	return true
}

// A function that fails takes nothing of the others with it, and one whose ctx ended while it waited does not run.
func TestGroupFaults(t *testing.T) {
	st := store.NewMem()
	g := store.NewGroup(st)
	put := func(key string) func(*store.Batch) error {
		return func(b *store.Batch) error { return b.Put(key, nil, store.Any) }
	}
	ended, cancel := context.WithCancel(t.Context())
	begun, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	runs := 0
	wg.Go(func() { // the leader, while the others come to wait
		_ = g.Update(t.Context(), func(b *store.Batch) error {
			if runs++; runs == 1 {
				close(begun)
				<-release
			}
			return errors.Join(put("first")(b), io.EOF)
		})
	})
	<-begun
	wg.Go(func() { assert.ErrorIs(t, g.Update(ended, put("late")), context.Canceled) })
	wg.Go(func() {
		assert.ErrorIs(t, g.Update(t.Context(), func(b *store.Batch) error { _ = put("no")(b); return io.EOF }), io.EOF)
	})
	wg.Go(func() { assert.NoError(t, g.Update(t.Context(), put("good"))) })
	cancel()
	close(release)
	wg.Wait()
	require.Equal(t, 1, runs)
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.Equal(t, "good", e.Key)
	}
	_, err := st.Get(t.Context(), "good")
	require.NoError(t, err)
}

// What a function that fails has staged over what another of its commit has staged is taken back.
func TestGroupUndo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		g := store.NewGroup(st)
		release := make(chan struct{})
		var wg sync.WaitGroup
		update := func(f func(*store.Batch) error) {
			wg.Go(func() { _ = g.Update(t.Context(), f) })
			synctest.Wait()
		}
		add := func(b *store.Batch, what string) error {
			e, err := b.Get(t.Context(), "n")
			if errors.Is(err, store.ErrNotFound) {
				err = nil
			}
			return errors.Join(err, b.Put("n", append(e.Value, what...), store.Any))
		}
		update(func(*store.Batch) error { <-release; return nil }) // leads, while the others come to wait
		update(func(b *store.Batch) error { return add(b, "1") })
		update(func(b *store.Batch) error {
			b.After(func(store.Revision) { t.Error("it has failed") })
			return errors.Join(add(b, "2"), add(b, "3"), b.Put("next", nil, store.Any), io.EOF)
		})
		update(func(b *store.Batch) error { return errors.Join(add(b, "4"), b.Put("next", []byte("5"), store.Absent)) })
		close(release)
		wg.Wait()
		held := map[string]string{}
		for e, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			require.EqualValues(t, 1, e.Rev, "one commit")
			held[e.Key] = string(e.Value)
		}
		require.Equal(t, map[string]string{"n": "14", "next": "5"}, held)
	})
}

// held is a store whose commits wait until they are let go, and that counts what Changes has sent.
type held struct {
	store.Changer
	hold chan struct{}
	told error // of the context, when a commit was let go
	sent int
}

func (h *held) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	<-h.hold
	h.told = ctx.Err()
	return h.Changer.Commit(context.WithoutCancel(ctx), ops...)
}

func (h *held) Changes(ctx context.Context, prefix string, after store.Revision) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range h.Changer.Changes(ctx, prefix, after) {
			h.sent++
			if err = cmp.Or(err, ctx.Err()); !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Who waits behind a commit that takes long waits for as long as its ctx says, and what it would have written is not.
func TestGroupWaitsByContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &held{Changer: store.NewMem(), hold: make(chan struct{})}
		g := store.NewGroup(store.Sub(st, "t/acme/"))
		put := func(b *store.Batch) error { return b.Put("n", []byte("1"), store.Any) }
		var wg sync.WaitGroup
		own, leave := context.WithCancel(t.Context())
		wg.Go(func() { assert.NoError(t, g.Update(own, put), "its commit has begun") })
		synctest.Wait()
		leave()
		ended, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		wg.Go(func() { assert.ErrorIs(t, g.Refresh(ended), context.DeadlineExceeded) })
		require.ErrorIs(t, g.Update(ended, func(*store.Batch) error { panic("it has left") }), context.DeadlineExceeded)
		require.Equal(t, 300*time.Millisecond, time.Since(start))
		close(st.hold)
		wg.Wait()
		require.ErrorIs(t, st.told, context.Canceled, "nobody waits any more")
	})
}

// While a store is away each caller waits as its own context says, also those that gather behind the first.
func TestGroupWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := store.NewGroup(away{store.NewMem()})
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				most := time.Second + time.Duration(i)*time.Millisecond
				ctx, cancel := context.WithTimeout(t.Context(), most)
				defer cancel()
				began := time.Now()
				err := g.Update(ctx, func(b *store.Batch) error { return b.Put("k", nil, store.Any) })
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, most, time.Since(began))
			})
			synctest.Wait()
		}
		wg.Wait()
	})
}

// away is a store that waits for as long as it may.
type away struct{ store.Store }

func (away) Commit(ctx context.Context, _ ...store.Op) (store.Revision, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func (away) Get(ctx context.Context, _ string) (store.Entry, error) {
	<-ctx.Done()
	return store.Entry{}, ctx.Err()
}

// What an Update deletes reaches whoever follows it, also a part that did not stage it, before its After.
func TestGroupTellsWhatIsDeleted(t *testing.T) {
	st := store.NewMem()
	g := store.NewGroup(store.Sub(st, "t/acme/"))
	var seen []string
	g.Sub("a/").Follow("b", func(e store.Entry) { seen = append(seen, fmt.Sprint(e)) }, nil)
	step := func(f func(b *store.Batch) error) {
		require.NoError(t, g.Update(t.Context(), f))
	}
	step(func(b *store.Batch) error {
		return errors.Join(b.Put("a/b1", []byte("x"), store.Any), b.Put("a/b2", []byte("x"), store.Any), b.Put("a/c", []byte("x"), store.Any))
	})
	require.Empty(t, seen, "what was written its writer knows")
	step(func(b *store.Batch) error {
		b.After(func(store.Revision) { seen = append(seen, "after") })
		b1, b2 := b.Delete("a/b1", store.Any), b.Delete("a/b2", store.Any)
		return errors.Join(b1, b2, b.Delete("a/c", store.Any), b.Put("a/b2", []byte("y"), store.Any))
	})
	require.Equal(t, []string{fmt.Sprint(store.Entry{Key: "b1", Rev: 2, Deleted: true}), "after"}, seen)
	require.ErrorIs(t, g.Update(t.Context(), func(b *store.Batch) error { return b.Delete("a/b2", store.At(7)) }), store.ErrConflict)
	require.NotContains(t, seen[2:], fmt.Sprint(store.Entry{Key: "b2", Deleted: true}), "which was not deleted")
}

// A Group reads what lies below it alone, goes on where a ctx has ended, and reads everything whatever the ctx.
func TestGroupRefreshes(t *testing.T) {
	st := &held{Changer: store.NewMem(), hold: make(chan struct{})}
	close(st.hold)
	g := store.NewGroup(store.Sub(st, "t/acme/"))
	require.NoError(t, g.Refresh(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var seen []string
	g.Follow("", func(e store.Entry) {
		if seen = append(seen, e.Key); len(seen) == 2 {
			cancel()
		}
	}, func(ctx context.Context) error { return ctx.Err() })
	for _, key := range []string{"t/acme/a", "t/boss/a", "t/acme/b", "t/boss/b", "t/acme/c"} {
		_, err := st.Commit(ctx, store.Op{Key: key})
		require.NoError(t, err)
	}
	st.sent = 0
	require.ErrorIs(t, g.Refresh(ctx), context.Canceled)
	require.NoError(t, g.Refresh(t.Context()))
	require.Equal(t, []string{"a", "b", "b", "c"}, seen)
	require.Equal(t, 3+3, st.sent, "with the last entry, and none of another tenant")
}

// A Group that was away until its store forgot deletions reads everything, once.
func TestGroupReadsAnew(t *testing.T) {
	st := &faulty{Changer: store.NewMem()}
	g, reads := store.NewGroup(store.Sub(st, "t/acme/")), 0
	require.NoError(t, g.Refresh(t.Context()))
	g.Follow("", func(store.Entry) {}, func(context.Context) error {
		reads++
		return map[int]error{2: io.EOF}[reads]
	})
	forget := func() {
		_, err := st.Commit(t.Context(), store.Op{Key: "t/acme/a"})
		require.NoError(t, err)
		for e, err := range st.Changes(t.Context(), "", store.Latest) {
			require.NoError(t, err)
			st.floor = e.Rev
		}
	}
	forget()
	require.NoError(t, g.Refresh(t.Context()))
	require.NoError(t, g.Refresh(t.Context()))
	require.Equal(t, 1, reads)
	forget()
	require.ErrorIs(t, g.Refresh(t.Context()), io.EOF)
	require.NoError(t, g.Refresh(t.Context()))
	require.NoError(t, g.Refresh(t.Context()))
	require.Equal(t, 3, reads, "what has failed is done again")
}

// A function that stages again what did not hold has met a conflict that stays one. One that reads anew goes on.
func TestGroupGivesUp(t *testing.T) {
	st := store.NewMem()
	g := store.NewGroup(st)
	write := func() store.Revision {
		rev, err := st.Commit(t.Context(), store.Op{Key: "run", Value: []byte("x")})
		require.NoError(t, err)
		return rev
	}
	former := write()
	write()
	for _, c := range []store.Condition{store.At(former), store.Absent} {
		runs := 0
		err := g.Update(t.Context(), func(b *store.Batch) error {
			runs++
			return errors.Join(b.Put(fmt.Sprint("other", runs), []byte("x"), store.Absent), b.Check("run", c))
		})
		require.ErrorIs(t, err, store.ErrConflict)
		require.Equal(t, 2, runs)
	}
	for most, want := range map[int]error{20: nil, 1000: store.ErrConflict} {
		runs := 0
		err := g.Update(t.Context(), func(b *store.Batch) error {
			e, err := b.Get(t.Context(), "run")
			if runs++; runs < most {
				write()
			}
			return errors.Join(err, b.Put("run", []byte("y"), store.At(e.Rev)))
		})
		require.ErrorIs(t, err, want)
		require.Equal(t, min(most, 100), runs)
	}
}

// astray names a key that is not in the commit, for some commits.
type astray struct {
	store.Store
	left int
}

func (a *astray) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if a.left--; a.left >= 0 {
		return 0, &store.ConflictError{Key: "another"}
	}
	return a.Store.Commit(ctx, ops...)
}

func TestConflictOnAnotherKey(t *testing.T) {
	g := store.NewGroup(&astray{store.NewMem(), 5})
	put := func(b *store.Batch) error { return b.Put("a", nil, store.Absent) }
	require.NoError(t, g.Update(t.Context(), put))
}
