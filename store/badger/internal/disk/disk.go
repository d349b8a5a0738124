// Package disk is what a store asks of the operating system beyond package os:
// locks, free space, files that are durable, and errors with a type.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/arc-learn/arc/store"
)

// Tmp ends the name of the file that Replace makes first.
const Tmp = ".tmp"

// Write makes data the durable content of a new file.
func Write(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Replace makes data the durable content of a file, or leaves the file as it was.
func Replace(name string, data []byte) error {
	if err := Write(name+Tmp, data); err != nil {
		return err
	}
	if err := os.Rename(name+Tmp, name); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(name))
}

// Reserve gives a file room on the disk, also behind its end, and makes it if
// need be.
func Reserve(name string, size int64) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return Typed(err, nil)
	}
	return Typed(errors.Join(allocate(f.Fd(), size), f.Close()), nil)
}

// Typed returns an error that tells by its text what lacks, as those of Badger do,
// as one of the store's; and another as otherwise, if that is not nil.
func Typed(err, otherwise error) error {
	if err == nil {
		return nil
	}
	for _, c := range []struct {
		part string
		is   error
	}{
		{"Cannot acquire directory lock", store.ErrLocked},
		{"Cannot create lock file", store.ErrLocked},
		{"permission denied", fs.ErrPermission},
		{"no space left", store.ErrFull},
		{"too many open files", store.ErrScarce},
		{"cannot allocate memory", store.ErrScarce},
	} {
		if strings.Contains(err.Error(), c.part) {
			return fmt.Errorf("%w: %w", c.is, err)
		}
	}
	if otherwise != nil {
		return fmt.Errorf("%w: %v", otherwise, err)
	}
	return err
}
