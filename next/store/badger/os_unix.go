//go:build unix

package badger

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/arc-learn/arc/next/store"
)

// lockFile locks a file until it is closed or the process ends.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = store.ErrLocked
	}
	return nil, errors.Join(fmt.Errorf("lock: %w", err), f.Close())
}

// freeSpace returns how many bytes and inodes an ordinary user may still take.
func freeSpace(dir string) (bytes, inodes int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	inodes = math.MaxInt64
	if st.Files > 0 { // some file systems do not count
		inodes = int64(st.Ffree)
	}
	return int64(st.Bavail) * int64(st.Bsize), inodes, nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
