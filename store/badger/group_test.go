package badger_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// gate stops the commits of a store until it is opened, and counts them.
type gate struct {
	st      *badger.Store
	started chan struct{}
	release chan struct{}
	groups  atomic.Int64
}

func newGate(st *badger.Store) *gate {
	g := &gate{st: st, started: make(chan struct{}, 100), release: make(chan struct{})}
	st.OnCommit(func(commit func() error) error {
		g.groups.Add(1)
		g.started <- struct{}{}
		<-g.release
		return commit()
	})
	return g
}

type outcome struct {
	rev store.Revision
	err error
}

func (g *gate) commit(ctx context.Context, ops ...store.Op) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		rev, err := g.st.Commit(ctx, ops...)
		done <- outcome{rev, err}
	}()
	return done
}

// wait returns when n commits are waiting behind the one under way.
func (g *gate) wait(n int) {
	for g.st.Waiting() != n {
		runtime.Gosched()
	}
}

func put(key, value string, cond store.Condition) store.Op {
	return store.Op{Key: key, Value: []byte(value), If: cond}
}

func TestConcurrentCommitsShareAGroup(t *testing.T) {
	st := open(t, t.TempDir())
	base, err := st.Commit(t.Context(), put("n", "0", store.Any))
	require.NoError(t, err)

	g := newGate(st)
	first := g.commit(t.Context(), put("first", "1", store.Any))
	<-g.started
	ctx, cancel := context.WithCancel(t.Context())
	withdrawn := g.commit(ctx, put("withdrawn", "1", store.Any))
	g.wait(1)
	var won []<-chan outcome
	for i := range 10 {
		// Each wants to be the one that follows base.
		won = append(won, g.commit(t.Context(), put("n", fmt.Sprint(i), store.At(base)), put(fmt.Sprint("won/", i), "", store.Any)))
	}
	var free []<-chan outcome
	for i := range 10 {
		free = append(free, g.commit(t.Context(), put(fmt.Sprint("free/", i), "", store.Any)))
	}
	g.wait(21)
	cancel()
	require.ErrorIs(t, (<-withdrawn).err, context.Canceled)
	g.wait(20)
	close(g.release)

	require.NoError(t, (<-first).err)
	revs := map[store.Revision]bool{}
	for _, c := range free {
		o := <-c
		require.NoError(t, o.err)
		revs[o.rev] = true
	}
	winners := 0
	for i, c := range won {
		o := <-c
		_, err := st.Get(t.Context(), fmt.Sprint("won/", i))
		if errors.Is(o.err, store.ErrConflict) {
			require.ErrorIs(t, err, store.ErrNotFound, "a conflict left something behind")
			continue
		}
		require.NoError(t, o.err)
		require.NoError(t, err)
		e, err := st.Get(t.Context(), "n")
		require.NoError(t, err)
		require.Equal(t, o.rev, e.Rev)
		revs[o.rev] = true
		winners++
	}
	require.Equal(t, 1, winners)
	require.Len(t, revs, 11, "each commit has its own revision")
	require.EqualValues(t, 2, g.groups.Load())
	_, err = st.Get(t.Context(), "withdrawn")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// A commit that is being written is no longer the context's to stop, whoever
// writes it.
func TestContextThatEndsTooLate(t *testing.T) {
	st := open(t, t.TempDir())
	g := newGate(st)
	first := g.commit(t.Context(), put("first", "1", store.Any))
	<-g.started
	ctx, cancel := context.WithCancel(t.Context())
	var late []<-chan outcome
	for i := range 3 { // one of them writes the group
		late = append(late, g.commit(ctx, put(fmt.Sprint("late", i), "1", store.Any)))
	}
	g.wait(len(late))
	g.release <- struct{}{}
	require.NoError(t, (<-first).err)
	<-g.started
	cancel()
	close(g.release)
	for i, c := range late {
		require.NoError(t, (<-c).err)
		_, err := st.Get(t.Context(), fmt.Sprint("late", i))
		require.NoError(t, err)
	}
}

// A reader sees what was acknowledged, and does not wait for what is not.
func TestReadsDoNotWaitForTheDisk(t *testing.T) {
	st := open(t, t.TempDir())
	_, err := st.Commit(t.Context(), put("a", "old", store.Any))
	require.NoError(t, err)
	g := newGate(st)
	done := g.commit(t.Context(), put("a", "new", store.Any))
	<-g.started
	e, err := st.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "old", string(e.Value))
	close(g.release)
	require.NoError(t, (<-done).err)
	e, err = st.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "new", string(e.Value))
}

// Groups stay below what Badger takes in a transaction, whatever waits.
func TestLargeCommitsDoNotOutgrowAGroup(t *testing.T) {
	st := open(t, t.TempDir())
	g := newGate(st)
	first := g.commit(t.Context(), put("first", "1", store.Any))
	<-g.started
	var waiting []<-chan outcome
	for i := range 12 {
		var ops []store.Op
		switch i % 3 {
		case 0:
			large := make([]byte, store.MaxValue)
			rest := make([]byte, store.MaxCommitBytes-store.MaxValue-1024)
			ops = []store.Op{{Key: fmt.Sprint("large", i), Value: large}, {Key: fmt.Sprint("rest", i), Value: rest}}
		case 1:
			for j := range store.MaxCommitOps {
				ops = append(ops, store.Op{Key: fmt.Sprintf("%d/%d", i, j)})
			}
		case 2:
			ops = []store.Op{put(fmt.Sprint("small", i), "", store.Any)}
		}
		waiting = append(waiting, g.commit(t.Context(), ops...))
	}
	g.wait(len(waiting))
	close(g.release)
	require.NoError(t, (<-first).err)
	for _, c := range waiting {
		require.NoError(t, (<-c).err)
	}
}
