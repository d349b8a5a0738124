package badger

import (
	"os"

	"golang.org/x/sys/unix"
)

// ownSync: here a sync of a file also writes what was changed through a map of it.
const ownSync = true

func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
