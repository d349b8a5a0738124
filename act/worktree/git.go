package worktree

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// git is the git program in a directory.
type git struct {
	dir string
	env []string
	// held is a lock that commands hold as well: one that outlives its parent is waited
	// for by who comes after.
	held *os.File
	set  []string // settings beside those of each command
}

// gitError is a git command that did not succeed.
type gitError struct {
	Command string
	Code    int
	Said    string
}

func (e *gitError) Error() string { return fmt.Sprintf("git %s: %s", e.Command, e.Said) }

// settings are those of each command, whatever is configured: no hook runs, nothing is
// signed, commits are arc's, and a name beyond ASCII is told as it is.
var settings = []string{
	"-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "advice.detachedHead=false",
	"-c", "user.name=arc", "-c", "user.email=arc@localhost", "-c", "core.quotePath=false",
}

// do runs a command, which is not ended with ctx: half of one would leave locks.
func (g git) do(ctx context.Context, args ...string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	cmd := exec.Command("git", append(append(append([]string{"-C", g.dir}, settings...), g.set...), args...)...)
	cmd.Env = append([]string{"GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}, g.env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	detach(cmd, g.held)
	err := cmd.Run()
	if exit, ok := err.(*exec.ExitError); ok {
		return out.String(), &gitError{args[0], exit.ExitCode(), strings.TrimSpace(said.String() + "\n" + out.String())}
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// in is git in another directory.
func (g git) in(dir string) git { return git{dir, g.env, g.held, g.set} }

// dirty reports whether a tree holds what is not committed.
func (g git) dirty(ctx context.Context) (bool, error) {
	out, err := g.do(ctx, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty")
	return out != "", err
}

// commitAll commits all that a tree holds, and returns the commit.
func (g git) commitAll(ctx context.Context, message string) (string, error) {
	dirty, err := g.dirty(ctx)
	if err == nil && dirty {
		if _, err = g.do(ctx, "add", "--all"); err == nil {
			_, err = g.do(ctx, "commit", "--quiet", "--no-verify", "--allow-empty", "--cleanup=whitespace", "--message", message)
		}
	}
	if err != nil {
		return "", err
	}
	return g.do(ctx, "rev-parse", "HEAD")
}

// repositories returns the repositories within the tree of a commit that are not as in the
// one before, or not as their own commit: of these a commit has the name alone.
func (g git) repositories(ctx context.Context, before, commit string) (paths []string, err error) {
	out, err := g.do(ctx, "diff-tree", "-r", "--no-renames", before, commit)
	for line := range strings.Lines(out) {
		is, path, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if modes := strings.Fields(is); len(modes) > 1 && modes[1] == "160000" {
			paths = append(paths, path)
		}
	}
	if err != nil || len(paths) > 0 {
		return paths, err
	}
	out, err = g.do(ctx, "status", "--porcelain=v2", "--untracked-files=normal", "--ignore-submodules=none")
	for line := range strings.Lines(out) {
		if is := strings.SplitN(strings.TrimRight(line, "\n"), " ", 9); len(is) == 9 && is[2][0] == 'S' {
			paths = append(paths, is[8])
		}
	}
	return paths, err
}

// join returns a new commit of the tree that comes of merging two others, with the parents
// given. Nothing else changes. Where they conflict there is none, and files says in which.
func (g git) join(ctx context.Context, ours, theirs, message string, parents ...string) (string, []string, error) {
	out, err := g.do(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", ours, theirs)
	tree, rest, _ := strings.Cut(strings.TrimRight(out, "\n"), "\n")
	if failed, is := err.(*gitError); is && failed.Code == 1 {
		return "", strings.Split(rest, "\n"), nil
	}
	if err != nil {
		return "", nil, err
	}
	commit, err := g.commitTree(ctx, tree, message, parents...)
	return commit, nil, err
}

// undo returns a new commit on ours without what a commit changed from its first parent.
func (g git) undo(ctx context.Context, ours, commit, message string) (string, []string, error) {
	// A child of the commit with the tree before it: what merges with that is without it.
	before, err := g.commitTree(ctx, commit+"^1^{tree}", "before", commit)
	if err != nil {
		return "", nil, err
	}
	return g.join(ctx, ours, before, message, ours)
}

func (g git) commitTree(ctx context.Context, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree, "-m", message}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return g.do(ctx, args...)
}
