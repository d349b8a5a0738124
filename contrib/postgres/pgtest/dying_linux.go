package pgtest

import "syscall"

// dying has a program end with its parent, however that ends.
func dying() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} }
