//go:build !unix

package worktree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// detach does nothing here.
func detach(*exec.Cmd, *os.File) {}

// hold opens a file. That no other process has the repository is up to the host.
func hold(_ context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	return f, nil
}
