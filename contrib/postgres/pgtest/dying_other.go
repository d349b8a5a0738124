//go:build !linux && !windows

package pgtest

import "syscall"

// dying would have a program end with its parent: there is no such thing here.
func dying() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
