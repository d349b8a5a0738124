package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// git is the git program in a folder.
type git string

// settings are those of each command, whatever is configured: no hook, no signature, arc as the author.
var settings = []string{
	"-c", "core.hooksPath=" + os.DevNull, "-c", "commit.gpgSign=false", "-c", "gc.auto=0",
	"-c", "maintenance.auto=false", "-c", "user.name=arc", "-c", "user.email=arc@localhost",
	"-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "-c", "advice.addEmbeddedRepo=false",
}

// do runs a command, which is not ended with ctx: half of one would leave locks.
func (g git) do(ctx context.Context, args ...string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	cmd := exec.Command("git", append(append([]string{"-C", string(g)}, settings...), args...)...)
	for _, v := range os.Environ() { // GIT_DIR and the like name another repository
		if !strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "GIT_CONFIG") || strings.HasPrefix(v, "GIT_SSH") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "LC_ALL=C")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		words := strings.TrimSpace(said.String() + out.String())
		return out.String(), fmt.Errorf("git %s: %w: %s", args[0], err, words)
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// join returns a new commit, with the parents given, of the tree that comes of merging two others.
func (g git) join(ctx context.Context, ours, theirs, message string, parents ...string) (string, error) {
	tree, err := g.do(ctx, "merge-tree", "--write-tree", "--name-only", "--no-messages", ours, theirs)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		_, files, _ := strings.Cut(strings.TrimSpace(tree), "\n")
		return "", fmt.Errorf("it conflicts with the main tree in %s", strings.ReplaceAll(files, "\n", ", "))
	}
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree, "-m", message}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return g.do(ctx, args...)
}

// forward moves the branch and the tree to a child of what is checked out, unless that would overwrite what
// is not committed (of which git overlooks untracked files in a sparse checkout), or the branch has moved.
func (g git) forward(ctx context.Context, branch, to string) error {
	if now, err := g.do(ctx, "symbolic-ref", "--quiet", "HEAD"); err != nil || now != branch {
		return fmt.Errorf("%s is not checked out any more", branch)
	}
	added, err := g.do(ctx, "diff", "--name-only", "--no-renames", "--diff-filter=A", "-z", "HEAD", to)
	for name := range strings.SplitSeq(added, "\x00") {
		if _, none := os.Lstat(filepath.Join(string(g), name)); name != "" && none == nil {
			return fmt.Errorf("%s would be overwritten, and is not committed", name)
		}
	}
	if err == nil {
		_, err = g.do(ctx,
			"merge", "--quiet", "--ff-only", "--no-squash", "--no-overwrite-ignore", "--no-autostash", to)
	}
	return err
}

// GoSyntax is a Guard that refuses a tree with Go files that do not parse, and names all; not what go skips.
func GoSyntax(ctx context.Context, dir string) error {
	var wrong []error
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() && path != dir &&
			(name == "testdata" || name == "vendor" || strings.ContainsAny(name[:1], "._")):
			return fs.SkipDir
		case d.Type().IsRegular() && filepath.Ext(name) == ".go":
			if _, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution); err != nil {
				wrong = append(wrong, errors.New(strings.TrimPrefix(err.Error(), dir+string(filepath.Separator))))
			}
		}
		return nil
	})
	return errors.Join(append(wrong, err)...)
}
