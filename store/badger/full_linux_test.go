package badger_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// tmpfs returns a small disk of its own.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting takes root")
	}
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, 0)) })
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
	require.ErrorIs(t, st.Close(), store.ErrFull)
	require.NoError(t, os.Remove(filler))
	require.NoError(t, st.Close())

	filler = fillDisk(t, disk)
	_, err = badger.Open(dir, nil)
	require.ErrorIs(t, err, store.ErrFull)
	fresh := filepath.Join(disk, "fresh")
	_, err = badger.Open(fresh, nil)
	require.ErrorIs(t, err, store.ErrFull)
	require.NoDirExists(t, fresh)
	require.NoError(t, os.Remove(filler))
	st = open(t, dir)
	requireCount(t, st, 2)
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
