//go:build !unix

package command

import "os/exec"

// ownGroup does nothing: there are no groups of processes here.
func ownGroup(*exec.Cmd) {}
