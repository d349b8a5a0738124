//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// allocated is what a file takes on the disk: Badger's files have holes.
func allocated(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return 512 * int64(s.Blocks)
	}
	return info.Size()
}
