package flush_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBoom = errors.New("boom")

// failing is a store whose commits fail while err is set, and that counts
// them.
type failing struct {
	store.Store
	mu      sync.Mutex
	err     error
	commits int
	keys    []string // of the ops, in order
}

func (f *failing) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *failing) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commits++
	for _, op := range ops {
		f.keys = append(f.keys, op.Key)
	}
	if f.err != nil {
		return 0, f.err
	}
	return f.Store.Commit(ctx, ops...)
}

func put(k, v string) store.Op { return store.Op{Key: k, Value: []byte(v)} }

func value(t *testing.T, st store.Store, k string) string {
	t.Helper()
	e, err := st.Get(t.Context(), k)
	if errors.Is(err, store.ErrNotFound) {
		return ""
	}
	require.NoError(t, err)
	return string(e.Value)
}

func TestChangesAreWrittenTogetherAfterTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &failing{Store: store.NewMem()}
		w := flush.New(st)
		require.NoError(t, w.Add(t.Context(), put("a", "1"), put("b", "1")))
		require.NoError(t, w.Add(t.Context(), put("a", "2")))
		op, ok := w.Pending("a")
		require.True(t, ok)
		require.Equal(t, "2", string(op.Value))
		idle(flush.Delay - 1)
		synctest.Wait()
		require.Empty(t, value(t, st, "a"))
		idle(1)
		synctest.Wait()
		require.Equal(t, "2", value(t, st, "a"))
		require.Equal(t, "1", value(t, st, "b"))
		require.Equal(t, 1, st.commits)
		_, ok = w.Pending("a")
		require.False(t, ok)
		require.NoError(t, w.Close())
	})
}

func TestFailureSurfacesOnceAndTheGroupIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &failing{Store: store.NewMem()}
		w := flush.New(st)
		st.set(errBoom)
		require.NoError(t, w.Add(t.Context(), put("a", "1"), put("b", "1")))
		idle(flush.Delay)
		synctest.Wait()
		require.ErrorIs(t, w.Add(t.Context(), put("a", "2")), errBoom)
		require.NoError(t, w.Add(t.Context(), put("c", "1")))
		require.ErrorIs(t, w.Flush(t.Context()), errBoom)
		st.set(nil)
		require.NoError(t, w.Flush(t.Context()))
		require.Equal(t, "2 1 1", fmt.Sprint(value(t, st, "a"), " ", value(t, st, "b"), " ", value(t, st, "c")))
		require.NoError(t, w.Close())
	})
}

func TestCloseWritesAndRefuses(t *testing.T) {
	t.Parallel()
	st := &failing{Store: store.NewMem()}
	w := flush.New(st)
	require.NoError(t, w.Add(t.Context(), put("a", "1")))
	require.NoError(t, w.Close())
	require.Equal(t, "1", value(t, st, "a"))
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Add(t.Context(), put("a", "2")), store.ErrClosed)

	w = flush.New(st)
	st.set(errBoom)
	require.NoError(t, w.Add(t.Context(), put("a", "3")))
	require.ErrorIs(t, w.Close(), errBoom)
}

func TestManyChangesAreWrittenInGroupsThatFit(t *testing.T) {
	t.Parallel()
	st := &failing{Store: store.NewMem()}
	w := flush.New(st)
	for i := range 3 * store.MaxCommitOps {
		require.NoError(t, w.Add(t.Context(), put(fmt.Sprint("key-", i), "1")))
	}
	require.NoError(t, w.Close())
	n := 0
	for _, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 3*store.MaxCommitOps, n)

	st.set(errBoom)
	w = flush.New(st)
	var err error
	for i := 0; err == nil; i++ {
		require.Less(t, i, store.MaxCommitOps, "a store that refuses everything must be noticed")
		err = w.Add(t.Context(), put(fmt.Sprint("more-", i), "1"))
	}
	require.ErrorIs(t, err, errBoom)
	require.ErrorIs(t, w.Close(), errBoom)
}

func TestCommitTakesWhatIsPendingWithIt(t *testing.T) {
	t.Parallel()
	st := &failing{Store: store.NewMem()}
	shared := flush.Share(st)
	w, other := flush.New(shared), flush.New(shared)
	require.Same(t, w, other)
	require.NoError(t, w.Add(t.Context(), put("a", "1")))
	rev, err := other.Commit(t.Context(), store.Op{Key: "s", Value: []byte("1"), If: store.Absent})
	require.NoError(t, err)
	require.Equal(t, 1, st.commits)
	require.Equal(t, "1 1", value(t, st, "a")+" "+value(t, st, "s"))

	// What is pending stays so when the commit does not take place.
	require.NoError(t, w.Add(t.Context(), put("a", "2")))
	_, err = w.Commit(t.Context(), store.Op{Key: "s", Value: []byte("2"), If: store.Absent})
	require.ErrorIs(t, err, store.ErrConflict)
	require.Equal(t, "1", value(t, st, "a"))
	_, err = w.Commit(t.Context(), store.Op{Key: "s", Value: []byte("2"), If: store.At(rev)})
	require.NoError(t, err)
	require.Equal(t, "2", value(t, st, "a"))

	// Together they are too large for a commit; by themselves they are not.
	require.NoError(t, w.Add(t.Context(), put("b", string(make([]byte, store.MaxCommitBytes/4-10)))))
	require.NoError(t, w.Add(t.Context(), put("c", "1")))
	large := put("s", string(make([]byte, store.MaxValue)))
	_, err = w.Commit(t.Context(), large, put("d", string(make([]byte, 1<<10))))
	require.NoError(t, err)
	require.Equal(t, "1", value(t, st, "c"))
	require.Len(t, value(t, st, "s"), store.MaxValue)
	require.NoError(t, w.Close())
}

func TestLateIsEncodedOnceAGroup(t *testing.T) {
	t.Parallel()
	st := &failing{Store: store.NewMem()}
	w := flush.New(st)
	count, encoded := 0, 0
	late := flush.LateOf("n", func(buf []byte) ([]byte, error) {
		encoded++
		return fmt.Append(buf, count), nil
	})
	change := func() error {
		return w.Change(t.Context(), func() { count++ }, []*flush.Late{&late}, put(fmt.Sprint("marker-", count), "1"))
	}
	for range 100 {
		require.NoError(t, change())
	}
	require.Zero(t, encoded)
	op, ok := w.Pending("n")
	require.True(t, ok)
	require.Equal(t, "100", string(op.Value))
	require.NoError(t, change()) // after it was read
	st.set(errBoom)
	require.ErrorIs(t, w.Flush(t.Context()), errBoom)
	require.NoError(t, change()) // while a group waits to be tried again
	st.set(nil)
	require.NoError(t, w.Flush(t.Context()))
	require.Equal(t, "102 1", value(t, st, "n")+" "+value(t, st, "marker-101"))
	require.Equal(t, 3, encoded)

	require.NoError(t, change())
	require.NoError(t, w.Add(t.Context(), store.Op{Key: "n", Delete: true})) // the last word counts
	require.NoError(t, w.Flush(t.Context()))
	require.Empty(t, value(t, st, "n"))
	require.NoError(t, change())
	require.NoError(t, w.Close())
	require.Equal(t, "104", value(t, st, "n"))
	require.ErrorIs(t, change(), store.ErrClosed)
	require.Equal(t, 104, count, "what is not added is not applied")

	w = flush.New(st)
	unwritable := flush.LateOf("bad", func([]byte) ([]byte, error) { return nil, errBoom })
	require.NoError(t, w.Change(t.Context(), nil, []*flush.Late{&unwritable}))
	require.ErrorIs(t, w.Flush(t.Context()), errBoom)
	_, err := w.Commit(t.Context(), put("x", "1"))
	require.ErrorIs(t, err, errBoom)
	require.Empty(t, value(t, st, "x"))
	require.ErrorIs(t, w.Close(), errBoom)
}

func TestGroupsAreInTheOrderOfTheirKeys(t *testing.T) {
	t.Parallel()
	st := &failing{Store: store.NewMem()}
	w := flush.New(st)
	for _, k := range []string{"b", "c", "a", "c", "b"} {
		require.NoError(t, w.Add(t.Context(), put(k, "1")))
	}
	require.NoError(t, w.Close())
	require.Equal(t, []string{"b", "c", "a"}, st.keys)
}

func TestConcurrentAddAndFlushLoseNothing(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	w := flush.New(st)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				if err := w.Add(t.Context(), put(fmt.Sprintf("%d-%d", g, i), "1")); err != nil {
					t.Error(err)
				}
				if i%20 == 0 {
					if err := w.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, w.Close())
	n := 0
	for range st.Scan(t.Context(), store.Range{}) {
		n++
	}
	require.Equal(t, 1600, n)
}

// idle lets time pass inside a bubble.
func idle(d time.Duration) { <-time.After(d) }

// counted is a batch whose changes are numbers: each sets its own key, and "last".
func counted(fresh *[]int, unpacked *int) flush.Batch {
	return flush.BatchOf(func(add func(store.Op)) error {
		*unpacked++
		for _, n := range *fresh {
			add(put(fmt.Sprint("n-", n), "1"))
			add(put("last", fmt.Sprint(n)))
		}
		*fresh = nil
		return nil
	})
}

func TestBatchBecomesOpsOnceAGroup(t *testing.T) {
	t.Parallel()
	st := &failing{Store: store.NewMem()}
	w := flush.New(st)
	var fresh []int
	unpacked, n := 0, 0
	b := counted(&fresh, &unpacked)
	change := func() error {
		return w.ChangeBatch(t.Context(), func() int {
			n++
			fresh = append(fresh, n)
			return 2
		}, nil, &b, 2, 20)
	}
	for range 100 {
		require.NoError(t, change())
	}
	require.Zero(t, unpacked)
	op, ok := w.Pending("last")
	require.True(t, ok)
	require.Equal(t, "100", string(op.Value))
	require.NoError(t, change())
	require.NoError(t, w.Add(t.Context(), put("last", "added"))) // the last word counts
	op, _ = w.Pending("last")
	require.Equal(t, "added", string(op.Value))
	require.NoError(t, change())
	st.set(errBoom)
	require.ErrorIs(t, w.Flush(t.Context()), errBoom)
	require.NoError(t, change()) // while a group waits to be tried again
	st.set(nil)
	require.NoError(t, w.Flush(t.Context()))
	require.Equal(t, "103 1 1", value(t, st, "last")+" "+value(t, st, "n-1")+" "+value(t, st, "n-103"))
	require.Equal(t, 4, unpacked)

	require.NoError(t, change())
	_, err := w.Commit(t.Context(), put("x", "1"))
	require.NoError(t, err)
	require.Equal(t, "104", value(t, st, "last"))
	require.NoError(t, change())
	require.NoError(t, w.Close())
	require.Equal(t, "105", value(t, st, "last"))
	require.ErrorIs(t, change(), store.ErrClosed)
	require.Equal(t, 105, n, "what is not added is not applied")

	w = flush.New(st)
	bad := flush.BatchOf(func(func(store.Op)) error { return errBoom })
	require.NoError(t, w.ChangeBatch(t.Context(), func() int { return 1 }, nil, &bad, 1, 1))
	require.ErrorIs(t, w.Add(t.Context(), put("y", "1")), errBoom)
	require.ErrorIs(t, w.Flush(t.Context()), errBoom)
	require.ErrorIs(t, w.Close(), errBoom)
}

func TestManyChangesOfABatchAreWrittenInGroupsThatFit(t *testing.T) {
	t.Parallel()
	st := &failing{Store: store.NewMem()}
	w := flush.New(st)
	var fresh []int
	unpacked := 0
	b := counted(&fresh, &unpacked)
	change := func(i, size int) error {
		return w.ChangeBatch(t.Context(), func() int { fresh = append(fresh, i); return 1 }, nil, &b, 2, size)
	}
	for i := range store.MaxCommitOps {
		require.NoError(t, change(i, 20))
	}
	require.Equal(t, 4, st.commits, "by their number")
	for i := range 4 {
		require.NoError(t, change(i, store.MaxCommitBytes/8))
	}
	require.Equal(t, 6, st.commits, "by their bytes")
	require.NoError(t, w.Close())
	require.Equal(t, "3", value(t, st, "last"))
	require.Equal(t, "1", value(t, st, fmt.Sprint("n-", store.MaxCommitOps-1)))
}

// slow is a store whose commits take a second, may fail, and have a limit.
type slow struct {
	store.Store
	err     error
	largest int // in ops, of all commits
}

func (s *slow) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	idle(time.Second)
	s.largest = max(s.largest, len(ops))
	if err := store.CheckOps(ops); err != nil {
		return 0, err
	}
	if s.err != nil {
		return 0, s.err
	}
	return s.Store.Commit(ctx, ops...)
}

func TestGroupsThatFailStayWithinACommit(t *testing.T) {
	for name, size := range map[string]int{"ops": 1, "bytes": store.MaxCommitBytes / 50} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := &slow{Store: store.NewMem(), err: errBoom}
				w := flush.New(st)
				added := 0
				for range 10 { // as much as may be added while a commit is under way, which fails
					gone := make(chan error)
					go func() { gone <- w.Flush(t.Context()) }()
					synctest.Wait()
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					for w.Add(ctx, put(fmt.Sprint("key-", added), string(make([]byte, size)))) == nil {
						added++
					}
					cancel()
					<-gone
				}
				st.err = nil
				require.NoError(t, w.Close())
				require.Less(t, st.largest, store.MaxCommitOps, "a lease adds one")
				n := 0
				for _, err := range st.Scan(t.Context(), store.Range{}) {
					require.NoError(t, err)
					n++
				}
				require.Equal(t, added, n)
			})
		})
	}
}

func TestLateThatIsReplacedTakesNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which no Delay passes
		st := &failing{Store: store.NewMem()}
		w := flush.New(st)
		for range store.MaxCommitOps {
			late := flush.LateOf("n", func(buf []byte) ([]byte, error) { return fmt.Append(buf, 1), nil })
			require.NoError(t, w.Change(t.Context(), nil, []*flush.Late{&late}))
			require.NoError(t, w.Add(t.Context(), put("n", "2")))
		}
		require.Zero(t, st.commits)
		require.NoError(t, w.Close())
	})
}

func TestWhatCannotBeEncodedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMem()
		w := flush.New(st)
		var good atomic.Bool
		late := flush.LateOf("n", func(buf []byte) ([]byte, error) {
			if !good.Load() {
				return nil, errBoom
			}
			return fmt.Append(buf, 1), nil
		})
		require.NoError(t, w.Change(t.Context(), nil, []*flush.Late{&late}))
		idle(2 * flush.Delay)
		good.Store(true)
		idle(2 * flush.Delay)
		synctest.Wait()
		require.Equal(t, "1", value(t, st, "n"))
		require.NoError(t, w.Close())
	})
}
