//go:build !linux

package badger

import "os"

const ownSync = false // Badger syncs its maps

func syncData(f *os.File) error { return f.Sync() }
