//go:build unix

package command

import (
	"os/exec"
	"syscall"
)

// ownGroup has a program and all that it starts end together.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
