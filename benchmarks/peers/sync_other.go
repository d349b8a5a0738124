//go:build !linux

package main

import "os"

func sync1(f *os.File) error { return f.Sync() }
