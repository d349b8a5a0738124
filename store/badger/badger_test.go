package badger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
	"github.com/arc-learn/arc/store/storetest"
)

func open(t testing.TB, dir string) store.Compacter {
	t.Helper()
	st, err := badger.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

// A scan that is under way while the store is rewritten sees the state of its beginning; so does nobody else.
func TestScanOverRewrites(t *testing.T) {
	st := open(t, t.TempDir())
	ctx := t.Context()
	for i := range 1000 {
		_, err := st.Commit(ctx, store.Op{Key: fmt.Sprintf("k%04d", i), Value: []byte("a")})
		require.NoError(t, err)
	}
	n := 0
	for e, err := range st.Scan(ctx, store.Range{}) {
		require.NoError(t, err)
		require.Equal(t, "a", string(e.Value))
		if n++; n == 10 {
			for i := range 1000 {
				_, err := st.Commit(ctx, store.Op{Key: fmt.Sprintf("k%04d", i), Value: []byte("b")})
				require.NoError(t, err)
			}
			require.NoError(t, st.Compact(ctx))
			require.NoError(t, st.Compact(ctx))
		}
	}
	require.Equal(t, 1000, n)
	e, err := st.Get(ctx, "k0500")
	require.NoError(t, err)
	require.Equal(t, "b", string(e.Value))
}

// The suite, on the store and on a part of it.
func TestStore(t *testing.T) {
	storetest.Run(t, func(dir string) (store.Store, error) { return badger.Open(t.Context(), dir, nil) },
		storetest.Options{})
}

// part is a Sub that closes the store it is of.
type part struct {
	store.Store
	whole store.Store
}

func (p part) Close() error { return p.whole.Close() }

func TestSubOfStore(t *testing.T) {
	storetest.Run(t, func(dir string) (store.Store, error) {
		st, err := badger.Open(t.Context(), dir, nil)
		if err != nil {
			return nil, err
		}
		return part{store.Sub(st, "t/acme/"), st}, nil
	}, storetest.Options{Prefix: len("t/acme/")})
}

func put(key, value string) store.Op { return store.Op{Key: key, Value: []byte(value)} }

// Each directory that is not to be opened says why, and stays as it was.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		is    error
		says  string
	}{
		"other":            {map[string]string{"notes.txt": "x"}, store.ErrForeign, "notes.txt"},
		"an earlier state": {map[string]string{"arc.mark": "x", "CURRENT": "x"}, store.ErrForeign, "before v0.1.0"},
		"badger":           {map[string]string{"MANIFEST": "x"}, store.ErrForeign, "MANIFEST"},
		"newer":            {map[string]string{"arc.store": "arc store 4\n"}, store.ErrVersion, "arc store 4"},
		"header":           {map[string]string{"arc.store": "arx store 1\n"}, store.ErrDamaged, "arc.store"},
		"no header":        {map[string]string{"g000003/MANIFEST": "x"}, store.ErrDamaged, "missing"},
		"manifest":         {map[string]string{"arc.store": "", "g000001/000001.sst": "x"}, store.ErrDamaged, "MANIFEST"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			_, err := badger.Open(t.Context(), dir, nil)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
			for file, text := range c.files {
				data, err := os.ReadFile(filepath.Join(dir, file))
				require.NoError(t, err)
				require.Equal(t, text, string(data[:len(text)]))
			}
		})
	}
	dir := t.TempDir()
	st := open(t, dir)
	_, err := badger.Open(t.Context(), dir, nil)
	require.ErrorIs(t, err, store.ErrLocked)
	require.ErrorContains(t, err, "this one")
	_, err = badger.Open(t.Context(), "", nil)
	require.ErrorContains(t, err, "no directory; store.NewMem()")
	_, err = st.Get(t.Context(), "a")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// Revisions go on after the newest commit, though all that it wrote is gone from the files.
// Who follows what an error says loses nothing: an older folder with more commits is named, not removed.
func TestOlderGenerationHasMore(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	_, err := st.Commit(t.Context(), store.Op{Key: "a"})
	require.NoError(t, err)
	require.NoError(t, st.Close())
	require.NoError(t, os.Mkdir(filepath.Join(dir, "g000009"), 0o700)) // as half of a backup leaves it
	_, err = badger.Open(t.Context(), dir, nil)
	require.ErrorIs(t, err, store.ErrDamaged)
	require.ErrorContains(t, err, "g000009 has 0 of")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "g000009")))
	_, err = open(t, dir).Get(t.Context(), "a")
	require.NoError(t, err)
}

func TestRevisionsOutliveDeletes(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	_, err := st.Commit(t.Context(), put("a", "1"))
	require.NoError(t, err)
	deleted, err := st.Commit(t.Context(), store.Op{Key: "a", Delete: true})
	require.NoError(t, err)
	require.NoError(t, st.Compact(t.Context()))
	require.NoError(t, st.Close())
	rev, err := open(t, dir).Commit(t.Context(), put("a", "2"))
	require.NoError(t, err)
	require.Greater(t, rev, deleted)
}

// A store to which many tables were added, here by being closed, is rewritten as it is opened; what was deleted is
// in no file then.
func TestRewrittenWhenDue(t *testing.T) {
	dir := t.TempDir()
	for i := range 18 {
		st, err := badger.Open(t.Context(), dir, nil)
		require.NoError(t, err)
		_, err = st.Commit(t.Context(), put(fmt.Sprint("k", i), "kept"), put("x", fmt.Sprint("canary", i)))
		require.NoError(t, err)
		_, err = st.Commit(t.Context(), store.Op{Key: "x", Delete: true})
		require.NoError(t, err)
		require.NoError(t, st.Close())
	}
	require.NoDirExists(t, filepath.Join(dir, "g000001"))
	st := open(t, dir)
	n := 0
	for _, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 18, n)
	require.NoError(t, st.Compact(t.Context()))
	require.NoError(t, st.Close())
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(data), "canary", path)
		}
		return err
	}))
}

// A commit that waits behind a rewrite goes by its context, and writes nothing then.
// A rewrite takes the memory of a few small tables, not of a large one for each range of keys that it copies.
func TestRewriteTakesLittleMemory(t *testing.T) {
	st := open(t, t.TempDir())
	for n := range 40 {
		_, err := st.Commit(t.Context(), store.Op{Key: fmt.Sprint(n), Value: make([]byte, 200_000)})
		require.NoError(t, err)
	}
	require.NoError(t, st.Compact(t.Context())) // from now on its keys are copied in ranges
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, st.Compact(t.Context()))
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(1000), "MiB; with 128 for each range it is over 2,000")
}

func TestCommitsThatWait(t *testing.T) {
	st := open(t, t.TempDir())
	ctx := t.Context()
	_, err := st.Commit(ctx, put("a", "1"))
	require.NoError(t, err)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = st.Commit(gone, put("a", "2"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, st.Compact(gone), context.Canceled)
	e, err := st.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, "1", string(e.Value))
}

// A rewrite that its caller has ended, such as one at Close, is no fault that anybody is warned of.
func TestRewriteThatIsEnded(t *testing.T) {
	var told strings.Builder
	st, err := badger.Open(t.Context(), t.TempDir(), &badger.Options{Logger: slog.New(slog.NewTextHandler(&told, nil))})
	require.NoError(t, err)
	_, err = st.Commit(t.Context(), put("a", "1"))
	require.NoError(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, st.Compact(&late{Context: gone}), context.Canceled)
	require.NoError(t, st.Close())
	require.NotContains(t, told.String(), "not rewritten")
}

// late ends once it was looked at.
type late struct {
	context.Context
	looked bool
}

func (c *late) Err() error {
	if !c.looked {
		c.looked = true
		return nil
	}
	return c.Context.Err()
}

// Commits of one group that check what another writes do not both hold.
func TestChecksDoNotSkew(t *testing.T) {
	st := open(t, t.TempDir())
	for i := range 50 {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		var all sync.WaitGroup
		var held atomic.Int32
		for _, k := range [][2]string{{a, b}, {b, a}} {
			all.Go(func() {
				_, err := st.Commit(t.Context(), store.Op{Key: k[0], Check: true, If: store.Absent}, put(k[1], "x"))
				if err == nil {
					held.Add(1)
				} else if !errors.Is(err, store.ErrConflict) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, held.Load())
	}
}

// A directory that is taken away from under an open store takes no commit any more, and the store that is made in
// its place is not touched.
func TestDirectoryIsReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	put := func(st store.Store, key string) error {
		_, err := st.Commit(t.Context(), store.Op{Key: key, Value: []byte("v")})
		return err
	}
	has := func(dir, key string) {
		st, err := badger.Open(t.Context(), dir, nil)
		require.NoError(t, err)
		_, err = st.Get(t.Context(), key)
		require.NoError(t, err, key)
		require.NoError(t, st.Close())
	}
	old, err := badger.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	require.NoError(t, put(old, "old"))
	require.NoError(t, os.Rename(dir, dir+".moved"))
	require.ErrorContains(t, put(old, "lost"), "moved, deleted or replaced")
	st, err := badger.Open(t.Context(), dir, nil)
	require.NoError(t, err)
	require.NoError(t, put(st, "new"))
	require.ErrorContains(t, put(old, "lost"), "moved, deleted or replaced")
	require.NoError(t, st.Close())
	require.NoError(t, old.Close())
	has(dir, "new")
	has(dir+".moved", "old")
}
