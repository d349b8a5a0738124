//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// checkPrivate reports whether only this user can enter a directory.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a directory of this user's alone", dir)
	}
	return nil
}
