package badger_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// tmpfs returns a small disk of its own, until the test ends.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	disk := mount(t, "size="+size)
	// Detached: a process that another test starts has every descriptor until it execs.
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH)) })
	return disk
}

func mount(t *testing.T, options string) (disk string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting takes root")
	}
	disk = t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, options); err != nil {
		t.Skipf("mount: %v", err)
	}
	return disk
}

// A store that fills the disk itself stops in time, also for what Badger does
// in the background and at Close. Without the guard Badger ends the process.
func TestStoreFillsTheDisk(t *testing.T) {
	dir := filepath.Join(tmpfs(t, "300m"), "store")
	n := 0
	for range 2 {
		st, err := badger.Open(dir, nil)
		if n > 0 && errors.Is(err, store.ErrFull) {
			break
		}
		require.NoError(t, err)
		value := make([]byte, 64<<10)
		for ; err == nil; n++ {
			_, err = st.Commit(t.Context(), store.Op{Key: fmt.Sprintf("%06d", n), Value: value})
		}
		require.ErrorIs(t, err, store.ErrFull)
		n--
		require.Greater(t, n, 100)
		requireCount(t, st, n)
		require.NoError(t, st.Close())
	}
	st, err := badger.Open(dir, &badger.Options{MinFree: 16 << 20})
	require.NoError(t, err)
	requireCount(t, st, n)
	require.NoError(t, st.Close())
}

// Somebody else fills the disk to the last byte.
func TestDiskIsFilled(t *testing.T) {
	disk := tmpfs(t, "200m")
	dir := filepath.Join(disk, "store")
	st, err := badger.Open(dir, nil)
	require.NoError(t, err)
	_, err = st.Commit(t.Context(), put("a", "1", store.Any))
	require.NoError(t, err)
	filler := fillDisk(t, disk)
	_, err = st.Commit(t.Context(), put("b", "1", store.Any))
	require.ErrorIs(t, err, store.ErrFull)
	requireCount(t, st, 1)
	require.NoError(t, os.Remove(filler))
	_, err = st.Commit(t.Context(), put("b", "1", store.Any))
	require.NoError(t, err, "there is space again")

	filler = fillDisk(t, disk)
	require.NoError(t, st.Close(), "there is room held for it")
	require.NoError(t, os.Remove(filler))
	filler = fillDisk(t, disk)
	st, err = badger.Open(dir, nil)
	require.NoError(t, err)
	requireReading(t, st)
	requireCount(t, st, 2)
	require.NoError(t, st.Close())
	fresh := filepath.Join(disk, "fresh")
	_, err = badger.Open(fresh, nil)
	require.ErrorIs(t, err, store.ErrFull)
	require.NoDirExists(t, fresh)
	require.NoError(t, os.Remove(filler))
	st = open(t, dir)
	requireCount(t, st, 2)
}

// requireReading wants a store that was opened for reading alone.
func requireReading(t *testing.T, st *badger.Store) {
	t.Helper()
	_, err := st.Commit(t.Context(), put("late", "1", store.Any))
	require.ErrorIs(t, err, store.ErrFull)
	require.ErrorContains(t, err, "reading alone")
	require.ErrorIs(t, st.Maintain(t.Context()), store.ErrFull)
	rev, err := st.Commit(t.Context())
	require.NoError(t, err, "a commit of no ops does nothing")
	require.Zero(t, rev)
}

// A store that was killed on a full disk is read, and stays as it was.
func TestReadingAfterAKill(t *testing.T) {
	dir := t.TempDir()
	st := garbage(t, dir)
	want := state(t, st)
	for _, scratch := range []string{"", t.TempDir()} {
		killed := copyDir(t, dir)
		before := fingerprint(t, killed)
		reading, err := badger.Open(killed, &badger.Options{MinFree: 1 << 60, Scratch: scratch})
		require.NoError(t, err)
		requireReading(t, reading)
		require.Equal(t, want, state(t, reading))
		for _, e := range want {
			got, err := reading.Get(t.Context(), e.Key)
			require.NoError(t, err)
			require.Equal(t, e, got)
		}
		_, err = badger.Open(killed, nil)
		require.ErrorIs(t, err, store.ErrLocked)
		require.NoError(t, reading.Close())
		require.Equal(t, before, fingerprint(t, killed))
		if scratch != "" {
			left, err := os.ReadDir(scratch)
			require.NoError(t, err)
			require.Empty(t, left)
		}
		require.Equal(t, want, state(t, open(t, killed)))
	}
}

func requireCount(t *testing.T, st *badger.Store, want int) {
	t.Helper()
	n := 0
	for _, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, want, n)
}

// fillDisk leaves no byte free.
func fillDisk(t *testing.T, disk string) (name string) {
	t.Helper()
	name = filepath.Join(disk, "filler")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			require.True(t, errors.Is(err, unix.ENOSPC), "%v", err)
			block = block[:len(block)/2]
		}
	}
	return name
}

// A directory that cannot be made on a file system that counts no blocks is no full disk.
func TestNoDiskIsNotAFullOne(t *testing.T) {
	t.Parallel()
	_, err := badger.Open("/proc/nope", nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotErrorIs(t, err, store.ErrFull)
}

// A rewrite to larger memtables holds more room for Close, which writes one.
func TestBallastGrows(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	for i := range 260 { // 170 MiB, of which a memtable is a sixteenth
		_, err := st.Commit(t.Context(), store.Op{Key: fmt.Sprint(i), Value: make([]byte, 670<<10)})
		require.NoError(t, err)
	}
	require.NoError(t, st.Purge(t.Context()))
	var held unix.Stat_t
	require.NoError(t, unix.Stat(filepath.Join(dir, "arc.ballast"), &held))
	require.GreaterOrEqual(t, held.Blocks*512, int64((170/16+8)<<20))
}
