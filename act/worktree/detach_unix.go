//go:build unix

package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// detach keeps signals to the host's process group from a git command, which ends in a
// moment and would leave its locks. It holds a file as long as it runs.
func detach(cmd *exec.Cmd, held *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if held != nil {
		cmd.ExtraFiles = []*os.File{held}
	}
}

// patience is how long a lock is waited for that the git commands of an ended process may
// hold.
const patience = 10 * time.Second

// hold locks a file, which is free again when it is closed or the process has ended.
func hold(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return f, nil
		}
		select {
		case <-look.C:
		case <-limited.Done():
			return nil, fmt.Errorf("%w: %w", ErrInUse, errors.Join(err, ctx.Err(), f.Close()))
		}
	}
}
