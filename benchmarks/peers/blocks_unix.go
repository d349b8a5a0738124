//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

func blocks(info fs.FileInfo) float64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return 512 * float64(s.Blocks)
	}
	return float64(info.Size())
}
