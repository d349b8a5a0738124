package badger_test

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	plain "github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// made returns the directory of a closed store that holds a = 1.
func made(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deep", "store")
	st, err := badger.Open(dir, nil)
	require.NoError(t, err)
	_, err = st.Commit(t.Context(), put("a", "1", store.Any))
	require.NoError(t, err)
	require.NoError(t, st.Close())
	return dir
}

func requireHolds(t *testing.T, dir string) {
	t.Helper()
	st, err := badger.Open(dir, nil)
	require.NoError(t, err)
	e, err := st.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "1", string(e.Value))
	require.NoError(t, st.Close())
}

// requireRefused opens dir and wants it unchanged.
func requireRefused(t *testing.T, dir string, want error, text string) {
	t.Helper()
	before := fingerprint(t, dir)
	_, err := badger.Open(dir, nil)
	require.ErrorIs(t, err, want)
	require.ErrorContains(t, err, text)
	require.Equal(t, before, fingerprint(t, dir))
}

func TestNewDirectoryIsPrivate(t *testing.T) {
	mode := func(name string) fs.FileMode {
		info, err := os.Stat(name)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	dir := made(t)
	require.Equal(t, fs.FileMode(0o700), mode(dir))
	for _, name := range []string{badger.LockName, badger.MarkName} {
		require.Equal(t, fs.FileMode(0o600), mode(filepath.Join(dir, name)))
	}
	empty := t.TempDir()
	require.NoError(t, os.Chmod(empty, 0o755))
	open(t, empty)
	require.Equal(t, fs.FileMode(0o700), mode(empty))
}

func TestNotADirectory(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte("mine"), 0o644))
	_, err := badger.Open(name, nil)
	require.ErrorIs(t, err, store.ErrForeign)
	_, err = badger.Open(filepath.Join(name, "below"), nil)
	require.Error(t, err)
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "mine", string(data))
	_, err = badger.Open("", nil)
	require.ErrorIs(t, err, fs.ErrInvalid)
}

func TestForeignDirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("x"), 0o644))
	requireRefused(t, dir, store.ErrForeign, "thesis.txt")

	dir = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "MANIFEST"), 0o755))
	requireRefused(t, dir, store.ErrForeign, "MANIFEST")

	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "MANIFEST"), []byte("Manifest-Version: 1.0"), 0o644))
	requireRefused(t, dir, store.ErrForeign, "MANIFEST")

	dir = t.TempDir()
	db, err := plain.Open(plain.DefaultOptions(dir).WithLogger(nil))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	requireRefused(t, dir, store.ErrForeign, "another program")
}

func TestFilesBesideAStore(t *testing.T) {
	dir := made(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".DS_Store"), []byte("x"), 0o644))
	requireHolds(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.mem"), []byte("x"), 0o644))
	requireRefused(t, dir, store.ErrForeign, "notes.mem")
}

func TestNewerStore(t *testing.T) {
	for _, at := range []int64{5, 7} { // arc's version, and Badger's
		dir := made(t)
		name := filepath.Join(dir, badger.ManifestName)
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		data[at]++
		require.NoError(t, os.WriteFile(name, data, 0o600))
		requireRefused(t, dir, store.ErrNewer, "version")
		data[at]--
		require.NoError(t, os.WriteFile(name, data, 0o600))
		requireHolds(t, dir)
	}
}

func TestManifestMissing(t *testing.T) {
	dir := made(t)
	name := filepath.Join(dir, badger.ManifestName)
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.Remove(name))
	requireRefused(t, dir, store.ErrDamaged, "MANIFEST is missing")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	requireHolds(t, dir)

	// The same with nothing left but tables, or but the mark.
	for _, keep := range []string{".sst", badger.MarkName} {
		dir := made(t)
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), keep) && f.Name() != badger.LockName {
				require.NoError(t, os.Remove(filepath.Join(dir, f.Name())))
			}
		}
		requireRefused(t, dir, store.ErrDamaged, "MANIFEST is missing")
	}
}

// A kill while a store is made leaves files that come before MANIFEST.
func TestUnfinishedStore(t *testing.T) {
	for _, names := range [][]string{{badger.LockName}, {badger.LockName, "DISCARD"}, {badger.LockName, "LOCK", "DISCARD", "MANIFEST-REWRITE"}} {
		dir := t.TempDir()
		for _, name := range names {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), make([]byte, 1<<10), 0o600))
		}
		_, err := open(t, dir).Commit(t.Context(), put("a", "1", store.Any))
		require.NoError(t, err)
	}
}

// A kill at the wrong moment leaves a log without a byte in it.
func TestEmptyLogs(t *testing.T) {
	for _, names := range [][]string{{"00001.mem"}, {"00002.mem"}, {"00099.mem"}, {"000001.vlog"}, {"000002.vlog"}, {"00002.mem", "000002.vlog"}} {
		t.Run(strings.Join(names, " "), func(t *testing.T) {
			dir := made(t)
			for _, name := range names {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
			}
			for range 2 {
				requireHolds(t, dir)
			}
		})
	}
}

// A table that a killed compaction left behind is not in the manifest.
func TestUnfinishedTable(t *testing.T) {
	dir := made(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "000777.sst"), make([]byte, 1<<20), 0o600))
	requireHolds(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "000778.sst"), nil, 0o600))
	requireHolds(t, dir)
}

func TestNoPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("permissions do not bind root")
	}
	parent := t.TempDir()
	require.NoError(t, os.Chmod(parent, 0o500))
	t.Cleanup(func() { require.NoError(t, os.Chmod(parent, 0o700)) })
	_, err := badger.Open(filepath.Join(parent, "store"), nil)
	require.ErrorIs(t, err, fs.ErrPermission)

	dir := made(t)
	for _, mode := range []fs.FileMode{0o000, 0o500} {
		require.NoError(t, os.Chmod(dir, mode))
		_, err = badger.Open(dir, nil)
		require.NoError(t, os.Chmod(dir, 0o700))
		require.ErrorIs(t, err, fs.ErrPermission)
	}
	requireHolds(t, dir)
}

func TestLinkAndRelativeName(t *testing.T) {
	real := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(real, link))
	t.Chdir(filepath.Dir(link))
	st, err := badger.Open("link", nil)
	require.NoError(t, err)
	_, err = badger.Open(real, nil)
	require.ErrorIs(t, err, store.ErrLocked)
	t.Chdir(real)
	require.NoError(t, os.Remove(link))
	_, err = st.Commit(t.Context(), put("a", "1", store.Any))
	require.NoError(t, err)
	require.NoError(t, st.Close())
	requireHolds(t, real)
}

// holdUntilTold opens the store until its input ends.
func holdUntilTold(dir string, _ []string) error {
	st, err := badger.Open(dir, nil)
	if err != nil {
		return err
	}
	fmt.Println("open")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return st.Close()
}

func TestSecondProcess(t *testing.T) {
	dir := made(t)
	cmd := childCommand("hold", dir)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "open\n", line)
	for range 2 {
		_, err = badger.Open(dir, nil)
		require.ErrorIs(t, err, store.ErrLocked)
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait(), "the first opener")
	requireHolds(t, dir)
}
