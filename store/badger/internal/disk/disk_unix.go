//go:build linux || darwin || freebsd

package disk

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/arc-learn/arc/store"
)

// Lock opens and locks a file, until it is closed or the process ends.
func Lock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = store.ErrLocked
	} else {
		err = fmt.Errorf("lock %s: %w", name, err)
	}
	return nil, errors.Join(err, f.Close())
}

// Free returns the bytes that this user may still write on the disk of
// dir, and the files that may be made there.
func Free(dir string) (bytes, files uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	bytes, files = uint64(st.Bavail)*uint64(st.Bsize), uint64(st.Ffree)
	if st.Blocks == 0 {
		bytes = math.MaxUint64 // it does not count them, as /proc does not
	}
	if st.Files == 0 {
		files = math.MaxUint64
	}
	return bytes, files, nil
}

// CheckMemory returns store.ErrScarce unless the process may map so many bytes more.
func CheckMemory(size int64) error {
	data, err := unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("%w: %d MiB of memory: %v", store.ErrScarce, size>>20, err)
	}
	return unix.Munmap(data)
}

// Map returns the contents of a file, which are read as they are used, until
// Unmap.
func Map(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was not written to
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil, err
	}
	return unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
}

// Unmap ends the use of what Map returned.
func Unmap(data []byte) error {
	if data == nil {
		return nil
	}
	return unix.Munmap(data)
}

// SyncDir makes the names in dir durable.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
