package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
)

// RunShared checks what has to hold where several openers share a store. Open is
// called once for each subtest and returns two handles on one store, which is empty;
// the suite closes both.
func RunShared(t *testing.T, open func(t *testing.T) (a, b store.Store)) {
	for _, r := range sharedRules {
		t.Run(r.name, func(t *testing.T) {
			a, b := open(t)
			t.Cleanup(func() {
				require.NoError(t, a.Close(), "close")
				require.NoError(t, b.Close(), "close")
			})
			r.check(t, a, b)
		})
	}
}

var sharedRules = []struct {
	name  string
	check func(t tb, a, b store.Store)
}{
	{"one opener sees what another was acknowledged", seesOther},
	{"a condition is about the commits of all", conditionsOfAll},
	{"revisions grow from one opener to the other", revisionsAcross},
	{"increments of two openers are not lost", sharedIncrements},
	{"a writer whose epoch is over cannot commit", fencing},
	{"one watch sees the commits of all, in order", bothAre(watchAll)},
	{"a watch is taken up again without a gap", bothAre(watchResumed)},
	{"watches say what all have committed", bothAre(func(t tb, a, b watchedStore) { feedsOf(t, a, b) })},
	{"the first that is free is what no other is at work on", bothAre(firstFree)},
	{"each key that is free has one who commits first", bothAre(firstOfAll)},
	{"closing one leaves the other open", closeOne},
}

// bothAre skips a rule for stores that are no S.
func bothAre[S store.Store](check func(t tb, a, b S)) func(t tb, a, b store.Store) {
	return func(t tb, a, b store.Store) { check(t, as[S](t, a), as[S](t, b)) }
}

// taker is what a queue of several processes asks of a store that has it: see act/queue.
type taker interface {
	store.Store
	CommitFirst(
		ctx context.Context, marks, keys []string, fn func(n int, e store.Entry) ([]store.Op, error),
	) (store.Revision, error)
}

// marked writes n keys and their marks.
func marked(t tb, st store.Store, n int) (marks, keys []string) {
	for i := range n {
		marks, keys = append(marks, fmt.Sprintf("mark/%02d", i)), append(keys, fmt.Sprintf("key/%02d", i))
		commit(t, st, put(marks[i], "x"), put(keys[i], "free"))
	}
	return marks, keys
}

// taken returns the ops that take a key of marked, if it is as it was read.
func taken(n int, e store.Entry) []store.Op {
	return []store.Op{
		{Key: e.Key, Value: []byte("taken"), If: store.At(e.Rev)}, del(fmt.Sprintf("mark/%02d", n)),
	}
}

func firstFree(t tb, a, b taker) {
	marks, keys := marked(t, a, 5)
	commit(t, b, del(marks[0]))
	_, err := a.CommitFirst(t.Context(), marks, keys, func(n int, e store.Entry) ([]store.Op, error) {
		require.Equal(t, 1, n, "the first whose mark exists")
		require.Equal(t, keys[1], e.Key)
		require.Equal(t, "free", string(e.Value))
		rev, err := b.CommitFirst(t.Context(), marks, keys, func(n int, e store.Entry) ([]store.Op, error) {
			require.Equal(t, 2, n, "the first that no other is at work on")
			return taken(n, e), nil
		})
		require.NoError(t, err)
		require.Equal(t, rev, requireValue(t, a, keys[2], "taken").Rev)
		return taken(n, e), nil
	})
	require.NoError(t, err)
	requireAbsent(t, b, marks[1])
	requireValue(t, b, keys[1], "taken")

	broken := errors.New("broken")
	_, err = a.CommitFirst(t.Context(), marks, keys, func(n int, e store.Entry) ([]store.Op, error) {
		require.Equal(t, 3, n)
		return taken(n, e), broken
	})
	require.ErrorIs(t, err, broken)
	_, err = a.CommitFirst(t.Context(), marks, keys, func(n int, e store.Entry) ([]store.Op, error) {
		require.Equal(t, 3, n, "what was not committed is free again")
		commit(t, b, put(e.Key, "changed")) // a commit is held off by nothing
		return taken(n, e), nil
	})
	require.ErrorIs(t, err, store.ErrConflict)
	requireValue(t, a, keys[3], "changed")
	commit(t, a, del(marks[3]), del(keys[4]))
	_, err = b.CommitFirst(t.Context(), marks, keys, func(n int, _ store.Entry) ([]store.Op, error) {
		return nil, fmt.Errorf("key %d is not free", n)
	})
	require.ErrorIs(t, err, store.ErrConflict, "no key is free")
}

func firstOfAll(t tb, a, b taker) {
	const workers, n = 6, 30
	marks, keys := marked(t, a, n)
	var took atomic.Int64
	require.NoError(t, inParallel(workers, func(w int) error {
		for {
			_, err := []taker{a, b}[w%2].CommitFirst(t.Context(), marks, keys, func(n int, e store.Entry) ([]store.Op, error) {
				return taken(n, e), nil
			})
			switch {
			case err == nil:
				took.Add(1)
			case !errors.Is(err, store.ErrConflict):
				return err
			case len(scan(t, a, store.Range{Prefix: "mark/"})) == 0:
				return nil
			}
		}
	}))
	require.EqualValues(t, n, took.Load(), "each once")
	for i := range n {
		requireValue(t, b, keys[i], "taken")
	}
}

func seesOther(t tb, a, b store.Store) {
	requireAbsent(t, b, "k")
	for i := range 20 {
		from, to := a, b
		if i%2 == 1 {
			from, to = b, a
		}
		want := strconv.Itoa(i)
		rev := commit(t, from, put("k", want), put("other/"+want, want))
		require.Equal(t, rev, requireValue(t, to, "k", want).Rev)
		require.Len(t, scan(t, to, store.Range{Prefix: "other/"}), i+1)
	}
	commit(t, a, del("k"))
	requireAbsent(t, b, "k")
}

func conditionsOfAll(t tb, a, b store.Store) {
	first := commit(t, a, put("k", "1"))
	refused := func(st store.Store, cond store.Condition) {
		t.Helper()
		_, err := st.Commit(t.Context(), store.Op{Key: "k", Value: []byte("no"), If: cond}, put("beside", "no"))
		require.ErrorIs(t, err, store.ErrConflict)
		requireAbsent(t, st, "beside")
	}
	refused(b, store.Absent)
	second := commit(t, b, store.Op{Key: "k", Value: []byte("2"), If: store.At(first)})
	refused(a, store.At(first))
	commit(t, a, store.Op{Key: "k", Delete: true, If: store.At(second)})
	refused(b, store.At(second))
	third := commit(t, b, store.Op{Key: "k", Value: []byte("3"), If: store.Absent})
	require.Greater(t, third, second)
	requireValue(t, a, "k", "3")
}

func revisionsAcross(t tb, a, b store.Store) {
	last := store.Revision(0)
	for i := range 20 {
		for _, st := range []store.Store{a, b} {
			rev := commit(t, st, put(fmt.Sprint(i%3), "x"))
			require.Greater(t, rev, last, "a commit that began after another was acknowledged")
			last = rev
		}
	}
}

func sharedIncrements(t tb, a, b store.Store) {
	const workers, each = 6, 15
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, inParallel(workers, func(w int) error {
		for range each {
			if _, err := increment(ctx, []store.Store{a, b}[w%2], "n"); err != nil {
				return err
			}
		}
		return nil
	}))
	requireValue(t, a, "n", strconv.Itoa(workers*each))
	requireValue(t, b, "n", strconv.Itoa(workers*each))
}

// fencing has each opener work while it holds an epoch, and take the epoch from the
// other now and then. Every commit of work rests on the epoch that the writer last
// saw itself own.
func fencing(t tb, a, b store.Store) {
	const takeovers = 12
	var owner atomic.Int64 // the epoch that was acknowledged last
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, inParallel(2, func(w int) error {
		st := []store.Store{a, b}[w]
		for turn := range takeovers {
			var held store.Revision // take over from the owner
			var epoch int64
			for held == 0 {
				e, err := st.Get(ctx, "epoch")
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					return err
				}
				epoch = int64(len(e.Value)) + 1
				held, err = st.Commit(ctx, epochOp(epoch, e.Rev))
				if err != nil && !errors.Is(err, store.ErrConflict) {
					return err
				}
			}
			for before := owner.Load(); before < epoch && !owner.CompareAndSwap(before, epoch); before = owner.Load() {
			}
			for i := range 4 {
				over := owner.Load() > epoch
				key := fmt.Sprintf("work/%d/%d/%d", w, turn, i)
				rev, err := st.Commit(ctx, put(key, "done"), epochOp(epoch, held))
				if errors.Is(err, store.ErrConflict) {
					if _, err := st.Get(ctx, key); !errors.Is(err, store.ErrNotFound) {
						return fmt.Errorf("%q of a writer that was refused: %v", key, err)
					}
					break
				}
				if err != nil {
					return err
				}
				if over {
					return fmt.Errorf("epoch %d committed %q although a later one was acknowledged before", epoch, key)
				}
				held = rev
			}
		}
		return nil
	}))
	requireValue(t, a, "epoch", strings.Repeat("x", 2*takeovers))
}

// epochOp claims an epoch, or holds it: its value is as long as the epoch is high.
func epochOp(epoch int64, at store.Revision) store.Op {
	return store.Op{Key: "epoch", Value: []byte(strings.Repeat("x", int(epoch))), If: store.At(at)}
}

// busy has both write n keys each, one a commit, and returns all of them when both
// have ended.
func busy(t tb, a, b store.Store, n int) <-chan error {
	done := make(chan error, 1)
	go func() {
		done <- inParallel(2, func(w int) error {
			for i := range n {
				if _, err := []store.Store{a, b}[w].Commit(t.Context(), put(fmt.Sprintf("w/%d/%04d", w, i), "x")); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	return done
}

// inTurn checks that the entries are those of busy: each once, those of each writer in
// the order of its commits.
func inTurn(t tb, got []store.Entry, n int) {
	t.Helper()
	require.Len(t, got, 2*n)
	for w := range 2 {
		own := slices.DeleteFunc(keys(got), func(k string) bool { return !strings.HasPrefix(k, fmt.Sprintf("w/%d/", w)) })
		require.Len(t, own, n, "each once")
		require.True(t, slices.IsSorted(own), "in the order of commits: %v", own)
	}
}

func watchAll(t tb, a, b watchedStore) {
	const n = 60
	commit(t, a, put("w", ""))
	var done <-chan error
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []store.Entry
	for e, err := range b.Watch(ctx, "w", 0) {
		require.NoError(t, err, "watch; so far: %d", len(got))
		if done == nil {
			done = busy(t, a, b, n)
			continue
		}
		if got = append(got, e); len(got) == 2*n {
			break
		}
	}
	require.NoError(t, <-done)
	inTurn(t, got, n)
}

func watchResumed(t tb, a, b watchedStore) {
	const n, part = 60, 7
	done := busy(t, a, b, n)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []store.Entry
	after := store.Revision(0)
	for len(got) < 2*n {
		some := 0
		for e, err := range b.Watch(ctx, "w/", after) {
			require.NoError(t, err, "watch; so far: %d", len(got))
			got, after = append(got, e), e.Rev
			if some++; some == part || len(got) == 2*n {
				break
			}
		}
	}
	require.NoError(t, <-done)
	inTurn(t, got, n)
}

func closeOne(t tb, a, b store.Store) {
	commit(t, a, put("a", "1"))
	require.NoError(t, a.Close())
	_, err := a.Get(t.Context(), "a")
	require.ErrorIs(t, err, store.ErrClosed)
	requireValue(t, b, "a", "1")
	commit(t, b, put("b", "1"))
	require.Equal(t, []string{"a", "b"}, keys(scan(t, b, store.Range{})))
}
