//go:build unix

package command

import (
	"os/exec"
	"syscall"
)

// Group has a program and all that it starts killed when the context of cmd ends. Call it before cmd starts.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
