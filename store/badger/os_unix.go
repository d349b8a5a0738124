//go:build unix

package badger

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/arc-learn/arc/store"
)

// lock locks a file until it is closed or the process ends.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return store.ErrLocked
	}
	return err
}

// freeSpace returns how many bytes and inodes an ordinary user may still take.
func freeSpace(dir string) (bytes, inodes int64, err error) {
	var st unix.Statfs_t
	err = unix.Statfs(dir, &st)
	inodes = math.MaxInt64
	if st.Files > 0 { // some file systems do not count
		inodes = int64(st.Ffree)
	}
	return int64(st.Bavail) * int64(st.Bsize), inodes, err
}
