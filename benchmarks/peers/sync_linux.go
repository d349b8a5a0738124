package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// sync1 makes what was written to f durable, but for its times.
func sync1(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
