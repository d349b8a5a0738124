package badger

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/windows"

	"github.com/arc-learn/arc/next/store"
)

// lockFile locks a file until it is closed or the process ends.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return f, nil
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = store.ErrLocked
	}
	return nil, errors.Join(fmt.Errorf("lock: %w", err), f.Close())
}

// freeSpace returns how many bytes the user may still take. Inodes are not counted here.
func freeSpace(dir string) (bytes, inodes int64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return int64(free), math.MaxInt64, err
}

func syncDir(string) error { return nil } // a rename is durable with its file
