package badger_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// state returns all entries of a store.
func state(t testing.TB, st store.Store) (all []store.Entry) {
	t.Helper()
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		all = append(all, e)
	}
	return all
}

// churn writes, overwrites and deletes, so that most of what the store holds is
// garbage.
func churn(t testing.TB, st store.Store, random *rand.Rand, commits int) {
	t.Helper()
	for range commits {
		var ops []store.Op
		for i := range 8 {
			op := store.Op{Key: fmt.Sprintf("%d/%03d", i, random.IntN(12)), Delete: random.IntN(4) == 0}
			if !op.Delete {
				op.Value = make([]byte, random.IntN(48<<10))
				op.Value = append(op.Value, op.Key...)
			}
			ops = append(ops, op)
		}
		_, err := st.Commit(t.Context(), ops...)
		require.NoError(t, err)
	}
}

// garbage returns a store of which most is garbage, in tables as soon as they are written,
// which Maintain goes by and Purge does not.
func garbage(t testing.TB, dir string) *badger.Store {
	t.Helper()
	st, err := badger.Open(dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	churn(t, st, rand.New(rand.NewPCG(1, 2)), 120)
	return st
}

func generations(t testing.TB, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		if f.IsDir() || f.Name() == badger.ManifestName {
			names = append(names, f.Name())
		}
	}
	return names
}

func TestMaintainGivesSpaceBack(t *testing.T) {
	dir := t.TempDir()
	st := garbage(t, dir)
	for i := range 3 {
		want := state(t, st)
		live := uint64(0)
		for _, e := range want {
			live += uint64(len(e.Key) + len(e.Value))
		}
		require.Eventually(t, func() bool { // tables are written in the background
			_, _, size := st.Tables()
			return size > 2*live+8<<20
		}, 10*time.Second, time.Millisecond)
		require.NoError(t, st.Maintain(t.Context()))
		zero, _, after := st.Tables()
		require.Zero(t, zero)
		require.Less(t, after, live+live/4)
		require.Equal(t, []string{fmt.Sprintf("g%06d", i+1)}, generations(t, dir))
		require.Equal(t, want, state(t, st), "entries and revisions")

		require.NoError(t, st.Maintain(t.Context()), "there is nothing to do")
		require.Equal(t, []string{fmt.Sprintf("g%06d", i+1)}, generations(t, dir))
		require.NoError(t, st.Close())
		var err error
		st, err = badger.Open(dir, nil)
		require.NoError(t, err)
		require.Equal(t, want, state(t, st))
		churn(t, st, rand.New(rand.NewPCG(1, uint64(i))), 120)
	}
	require.NoError(t, st.Close())
	require.ErrorIs(t, st.Maintain(t.Context()), store.ErrClosed)
}

// Commits at each step of a rewrite are in the new generation, and an iteration
// that began before sees none of them.
func TestRewriteFollowsCommits(t *testing.T) {
	dir := t.TempDir()
	st := garbage(t, dir)
	random := rand.New(rand.NewPCG(3, 4))
	var steps []string
	followed := make(chan struct{})
	st.OnStep(func(step string) error {
		steps = append(steps, step)
		if step == "switching" {
			close(followed)
		} else { // then a commit waits
			churn(t, st, random, 10)
			_, err := st.Commit(t.Context(), put("step", step, store.Any), store.Op{Key: "gone", Delete: step != "begun"})
			require.NoError(t, err)
		}
		return nil
	})
	before := state(t, st)
	var seen []store.Entry
	rewritten := make(chan error, 1)
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		if seen = append(seen, e); len(seen) == 1 {
			go func() { rewritten <- st.Purge(t.Context()) }()
			<-followed
		}
	}
	require.Equal(t, before, seen)
	require.NoError(t, <-rewritten)
	require.Equal(t, []string{"begun", "copied", "opened", "verified", "followed", "switching", "switched"}, steps)
	after := state(t, st)
	require.Equal(t, []string{"g000001"}, generations(t, dir))
	e, err := st.Get(t.Context(), "step")
	require.NoError(t, err)
	require.Equal(t, "switched", string(e.Value))
	_, err = st.Get(t.Context(), "gone")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = st.Commit(t.Context(), put("step", "next", store.At(e.Rev)))
	require.NoError(t, err)
	copied := open(t, copyDir(t, dir))
	require.Len(t, state(t, copied), len(after))
	require.NoError(t, st.Close())
	require.Len(t, state(t, open(t, dir)), len(after))
}

// A rewrite that fails at any step changes nothing, and a process that is killed
// there leaves a directory that opens with all that was acknowledged.
func TestRewriteInterrupted(t *testing.T) {
	fault := errors.New("fault")
	for i, at := range []string{"begun", "copied", "opened", "verified", "followed", "switching", "switched"} {
		t.Run(at, func(t *testing.T) {
			dir := t.TempDir()
			st := garbage(t, dir)
			if i%2 == 1 { // an earlier generation has a name of its own
				require.NoError(t, st.Purge(t.Context()))
				churn(t, st, rand.New(rand.NewPCG(1, 2)), 120)
			}
			was := generations(t, dir)
			var want []store.Entry
			killed := ""
			st.OnStep(func(step string) error {
				if step != at {
					return nil
				}
				if at != "switching" {
					_, err := st.Commit(t.Context(), put("late", at, store.Any))
					require.NoError(t, err)
				}
				want, killed = state(t, st), copyDir(t, dir)
				return fault
			})
			require.ErrorIs(t, st.Purge(t.Context()), fault)
			require.Equal(t, want, state(t, st))
			if at != "switched" {
				require.Equal(t, was, generations(t, dir))
			}
			for _, dir := range []string{killed, copyDir(t, dir)} {
				copied, err := badger.Open(dir, nil)
				require.NoError(t, err)
				require.Equal(t, want, state(t, copied))
				require.Len(t, generations(t, dir), 1)
				require.NoError(t, copied.Close())
			}
			st.OnStep(func(string) error { return nil })
			require.NoError(t, st.Purge(t.Context()))
			require.Equal(t, want, state(t, st))
		})
	}
}

// A commit that fails while a rewrite follows ends both, and the directory is
// whole.
func TestRewriteWithAFailedDisk(t *testing.T) {
	dir := t.TempDir()
	st := garbage(t, dir)
	st.OnStep(func(step string) error {
		if step == "verified" {
			st.OnCommit(func(func() error) error { return errors.New("input/output error") })
			_, err := st.Commit(t.Context(), put("a", "1", store.Any))
			require.ErrorContains(t, err, "outcome unknown")
		}
		return nil
	})
	want := state(t, st)
	require.Error(t, st.Purge(t.Context()))
	requireFailed(t, st)
	require.NoError(t, st.Close())
	require.Equal(t, want, state(t, open(t, dir)))
}

// Many small tables are rewritten without being asked for.
func TestTablesStayFew(t *testing.T) {
	st := open(t, t.TempDir())
	value := make([]byte, 256<<10)
	most := 0
	for i := range 440 { // 110 MiB
		_, err := st.Commit(t.Context(), store.Op{Key: fmt.Sprintf("%04d", i), Value: value})
		require.NoError(t, err)
		zero, _, _ := st.Tables()
		most = max(most, zero)
	}
	require.LessOrEqual(t, most, 16)
	require.Len(t, state(t, st), 440)
}

// A Close in the middle of a rewrite is no trouble that anybody is told of.
func TestCloseEndsARewrite(t *testing.T) {
	dir, logged := t.TempDir(), new(bytes.Buffer)
	for i := range 4 { // a table each
		st, err := badger.Open(dir, nil)
		require.NoError(t, err)
		_, err = st.Commit(t.Context(), put("a", fmt.Sprint(i), store.Any))
		require.NoError(t, err)
		require.NoError(t, st.Close())
	}
	st, err := badger.Open(dir, &badger.Options{Logger: slog.New(slog.NewTextHandler(logged, nil))})
	require.NoError(t, err)
	begun, stopped := make(chan struct{}), make(chan struct{})
	st.OnStop(func() { close(stopped) })
	st.OnStep(func(step string) error {
		if step == "begun" {
			close(begun)
			<-stopped
		}
		return nil
	})
	_, err = st.Commit(t.Context(), put("a", "5", store.Any))
	require.NoError(t, err)
	<-begun
	require.NoError(t, st.Close())
	require.Empty(t, logged.String())
}

// A store of the version before generations opens, and is rewritten.
func TestOldStore(t *testing.T) {
	dir := copyDir(t, "testdata/v1")
	holds := func(st *badger.Store) {
		for i := range 40 {
			e, err := st.Get(t.Context(), fmt.Sprintf("key/%02d", i))
			if i%4 == 2 {
				require.ErrorIs(t, err, store.ErrNotFound)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(2000+i), string(e.Value))
			require.EqualValues(t, 82+i, e.Rev)
		}
	}
	for range 2 {
		st, err := badger.Open(dir, nil)
		require.NoError(t, err)
		holds(st)
		require.NoError(t, st.Purge(t.Context()))
		holds(st)
		_, err = st.Commit(t.Context(), put("new", strings.Repeat("x", 100), store.Any))
		require.NoError(t, err)
		require.NoError(t, st.Close())
	}
	holds(open(t, dir))
}

// Many writes of few keys are applied by a rewrite that follows, however few keys
// there are: Badger counts the writes.
func TestRewriteFollowsOverwrites(t *testing.T) {
	st := open(t, t.TempDir())
	ops := make([]store.Op, store.MaxCommitOps)
	st.OnStep(func(step string) error {
		for round := 0; step == "followed" && round < 4; round++ {
			for i := range ops {
				ops[i] = put(fmt.Sprint("key", i), fmt.Sprint(round), store.Any)
			}
			_, err := st.Commit(t.Context(), ops...)
			require.NoError(t, err)
		}
		return nil
	})
	require.NoError(t, st.Purge(t.Context()))
	for _, e := range state(t, st) {
		require.Equal(t, "3", string(e.Value))
	}
}

// A Close ends the calls of Maintain and Purge with its own error, not with that of a
// context that goes on.
func TestCloseEndsAPurge(t *testing.T) {
	st := open(t, t.TempDir())
	_, err := st.Commit(t.Context(), put("a", "1", store.Any))
	require.NoError(t, err)
	closed, stopped := make(chan error, 1), make(chan struct{})
	st.OnStop(func() { close(stopped) })
	st.OnStep(func(step string) error {
		if step == "begun" {
			go func() { closed <- st.Close() }()
			<-stopped
		}
		return nil
	})
	require.ErrorIs(t, st.Purge(t.Context()), store.ErrClosed)
	require.NoError(t, <-closed)
}
