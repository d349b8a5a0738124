package disk

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/windows"

	"github.com/arc-learn/arc/store"
)

// Lock opens and locks a file, until it is closed or the process ends.
func Lock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return f, nil
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		err = store.ErrLocked
	} else {
		err = fmt.Errorf("lock %s: %w", name, err)
	}
	return nil, errors.Join(err, f.Close())
}

// Free returns the bytes that this user may still write on the disk of
// dir. Windows does not bound the number of files.
func Free(dir string) (bytes, files uint64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &bytes, nil, nil)
	return bytes, math.MaxUint64, err
}

// CheckMemory does nothing here.
func CheckMemory(int64) error { return nil }

// Map returns the contents of a file.
func Map(name string) ([]byte, error) { return os.ReadFile(name) }

// Unmap does nothing here.
func Unmap([]byte) error { return nil }

// SyncDir does nothing: Windows has no way to sync a directory.
func SyncDir(string) error { return nil }
