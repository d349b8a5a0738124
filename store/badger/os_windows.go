package badger

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"

	"github.com/arc-learn/arc/store"
)

// lock locks a file until it is closed or the process ends.
func lock(f *os.File) error {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return store.ErrLocked
	}
	return err
}

// freeSpace returns how many bytes the user may still take. There are no inodes here.
func freeSpace(dir string) (bytes, inodes int64, err error) {
	var free uint64
	name, err := windows.UTF16PtrFromString(dir)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	}
	return int64(free), math.MaxInt64, err
}
