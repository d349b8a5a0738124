//go:build !unix

package command

import "os/exec"

// Group does nothing: there are no groups of processes here.
func Group(*exec.Cmd) {}
