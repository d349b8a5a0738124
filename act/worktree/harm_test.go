package worktree_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/worktree"
	"github.com/arc-learn/arc/iar"
)

// «Nothing that was made is lost»: nor what was made in a repository within the worktree, such as one
// that a tool has begun with git init. It is merged, kept, or an error.
func TestRepositoryWithin(t *testing.T) {
	r := newRepo(t)
	x, err := worktree.New(t.Context(), worktree.Options{Repo: r.dir}, func(_ context.Context, dir string, _ act.Work) (act.Result, error) {
		sub := filepath.Join(dir, "app")
		for _, args := range [][]string{{"init", "--quiet", sub}, {"-C", sub, "config", "user.email", "a@example.com"}, {"-C", sub, "config", "user.name", "a"}} {
			require.NoError(t, exec.Command("git", args...).Run())
		}
		require.NoError(t, os.WriteFile(filepath.Join(sub, "main.txt"), []byte("an hour of work"), 0o600))
		for _, args := range [][]string{{"-C", sub, "add", "--all"}, {"-C", sub, "commit", "--quiet", "--message", "all of it"}} {
			require.NoError(t, exec.Command("git", args...).Run())
		}
		return act.Result{Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.9}}, nil
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, x.Close()) }()
	_, err = x.Execute(t.Context(), act.Work{Key: "k", Task: act.Task{Objective: "make an app"}})
	if err != nil {
		return // somebody is told
	}
	require.Equal(t, "an hour of work", r.has("app/main.txt"))
}

// A secret of the objective that stands in a task, which a worker gets as it is, is in no commit
// message and in no record on disk.
func TestNoSecretInTheHistory(t *testing.T) {
	const secret = "correct-horse-battery"
	r := newRepo(t)
	var records string
	x, err := worktree.New(t.Context(), worktree.Options{Repo: r.dir}, func(_ context.Context, dir string, _ act.Work) (act.Result, error) {
		files, err := filepath.Glob(filepath.Join(r.dir, ".git", "arc", "*.json"))
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			records += string(text)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "c.txt"), []byte("done"), 0o600))
		return act.Result{Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.9}}, nil
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, x.Close()) }()
	_, err = x.Execute(t.Context(), act.Work{
		Key: "k", Task: act.Task{Objective: "log in with " + secret + " and mend it"}, Secrets: act.Secrets{"password": secret},
	})
	require.NoError(t, err)
	require.NotContains(t, r.git("log", "--all", "--format=%B"), secret)
	require.NotContains(t, records, secret)
}

// attempt has a function work in a worktree, in a process of its own.
func attempt(t *testing.T, r repo, o worktree.Options, task string, fn func(dir string) error) error {
	t.Helper()
	o.Repo = r.dir
	x, err := worktree.New(t.Context(), o, func(_ context.Context, dir string, _ act.Work) (act.Result, error) {
		return result(iar.Success), fn(dir)
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, x.Close()) }()
	_, err = x.Execute(t.Context(), act.Work{Key: "k", Task: act.Task{Objective: task}})
	return err
}

// put writes a file below a directory.
func put(dir, name, text string) error {
	path := filepath.Join(dir, name)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
}

// What was made in a submodule, and not committed there, is not removed with the worktree.
func TestWorkInASubmodule(t *testing.T) {
	t.Parallel()
	sub, r := newRepo(t), newRepo(t)
	r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.dir, "sub")
	r.git("commit", "--quiet", "--message", "sub", ".gitmodules", "sub")
	r.git("config", "status.showUntrackedFiles", "no")
	for _, name := range []string{"sub/new.go", "sub/a.go"} {
		err := attempt(t, r, worktree.Options{}, "change the submodule", func(dir string) error {
			return errors.Join(in(dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"), put(dir, name, "package b\n"))
		})
		kept, is := errors.AsType[*worktree.KeptError](err)
		require.True(t, is, "%v", err)
		require.Equal(t, []string{"sub"}, kept.Files)
		left, err := filepath.Glob(filepath.Join(r.dir, ".git/arc/*", name))
		require.NoError(t, err)
		text, err := os.ReadFile(left[len(left)-1])
		require.NoError(t, err)
		require.Equal(t, "package b\n", string(text))
	}
}

// Whatever keeps an attempt from being committed keeps its worktree, says where that is, and
// keeps no other attempt from beginning.
func TestWhatCannotBeCommitted(t *testing.T) {
	t.Parallel()
	for name, fn := range map[string]func(dir string) error{
		"a git that was killed": func(dir string) error {
			lock, err := exec.Command("git", "-C", dir, "rev-parse", "--git-path", "index.lock").Output()
			return errors.Join(err, os.WriteFile(strings.TrimSpace(string(lock)), nil, 0o600))
		},
		"a repository without a commit": func(dir string) error { return in(dir, "init", "--quiet", "app") },
		"a repository over it": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, ".git")), in(dir, "init", "--quiet", "."))
		},
		"no repository": func(dir string) error { return os.Remove(filepath.Join(dir, ".git")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			err := attempt(t, r, worktree.Options{}, "make an app", func(dir string) error {
				return errors.Join(put(dir, "app/new.go", "package a\n"), fn(dir))
			})
			kept, is := errors.AsType[*worktree.KeptError](err)
			require.True(t, is, "%v", err)
			left, err := filepath.Glob(filepath.Join(r.dir, ".git/arc/*/app/new.go"))
			require.NoError(t, err)
			require.Len(t, left, 1)
			require.ErrorContains(t, kept, filepath.Dir(filepath.Dir(left[0])))
			require.NoError(t, attempt(t, r, worktree.Options{}, "make another", func(dir string) error { return put(dir, "other.go", "package a\n") }))
			require.Equal(t, "package a\n", r.has("other.go"))
		})
	}
}

// What a task is called keeps nothing from being committed.
func TestMessagesOfAnyTask(t *testing.T) {
	t.Parallel()
	for _, task := range []string{"a\x00b", "\x00", "# a title", "-x", ""} {
		r := newRepo(t)
		r.git("config", "commit.cleanup", "strip")
		require.NoError(t, attempt(t, r, worktree.Options{}, task, func(dir string) error { return put(dir, "new.go", "package a\n") }))
		require.Equal(t, "package a\n", r.has("new.go"), task)
	}
}

// A branch that a person has merged and deleted, before its follow-up was told of, is done with.
func TestBranchThatAPersonDeleted(t *testing.T) {
	t.Parallel()
	r, away := newRepo(t), errors.New("the queue is away")
	require.ErrorIs(t, attempt(t, r, worktree.Options{
		Guard:    func(context.Context, string) error { return errors.New("no") },
		FollowUp: func(context.Context, *worktree.KeptError) error { return away },
	}, "add a file", func(dir string) error { return put(dir, "new.go", "package a\n") }), away)
	r.git("merge", "--quiet", r.branches()[0])
	r.git("branch", "--quiet", "-D", r.branches()[0])
	require.NoError(t, attempt(t, r, worktree.Options{}, "add nothing", func(string) error { return nil }))
	require.Equal(t, "package a\n", r.has("new.go"))
	r.sound()
}

// A worktree that git does not remove, since a part of it is gone or is not to be written to, is removed.
func TestWorktreeThatGitDoesNotRemove(t *testing.T) {
	t.Parallel()
	for name, fn := range map[string]func(dir string) error{
		"half removed": func(dir string) error { return os.Remove(filepath.Join(dir, ".git")) },
		"read-only": func(dir string) error {
			return errors.Join(put(dir, "cache/m/x.go", "package x\n"), os.Chmod(filepath.Join(dir, "cache/m"), 0o500))
		},
	} {
		r := newRepo(t)
		guard := func(_ context.Context, dir string) error { return fn(dir) }
		require.NoError(t, attempt(t, r, worktree.Options{Guard: guard}, "add a file", func(dir string) error { return put(dir, "new.go", "package a\n") }), name)
		require.Equal(t, "package a\n", r.has("new.go"))
		r.sound()
	}
}

// What was reverted is not reverted again by the next New, whatever the end of the task's first line.
func TestRevertedOnce(t *testing.T) {
	t.Parallel()
	for _, task := range []string{"add a file\r\nand more", strings.Repeat("a", 71) + " file"} {
		r := newRepo(t)
		o := worktree.Options{
			Health:   func(context.Context, string) error { return errors.New("sick") },
			FollowUp: func(context.Context, *worktree.KeptError) error { return errors.New("the queue is away") },
		}
		add := func(dir string) error { return put(dir, "new.go", "package a\n") }
		require.ErrorContains(t, attempt(t, r, o, task, add), "it was reverted")
		head := r.git("rev-parse", "HEAD")
		o.FollowUp = nil
		require.NoError(t, attempt(t, r, o, "add nothing", func(string) error { return nil }))
		require.Equal(t, head, r.git("rev-parse", "HEAD"), task)
	}
}

// What was reverted is told of by the next New, whose health check finds nothing wrong any more; its branch stays.
func TestRevertedAndToldLater(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	var told []string
	o := worktree.Options{
		Health: func(_ context.Context, dir string) error {
			if _, err := os.Stat(filepath.Join(dir, "new.go")); err == nil {
				return errors.New("new.go is there")
			}
			return nil
		},
		FollowUp: func(_ context.Context, k *worktree.KeptError) error {
			if told = append(told, k.Error()); len(told) == 1 {
				return errors.New("the queue is away")
			}
			return nil
		},
	}
	add := func(dir string) error { return put(dir, "new.go", "package a\n") }
	require.ErrorContains(t, attempt(t, r, o, "add a file", add), "it was reverted")
	head := r.git("rev-parse", "HEAD")
	require.NoError(t, attempt(t, r, o, "add nothing", func(string) error { return nil }))
	require.Equal(t, head, r.git("rev-parse", "HEAD"))
	require.Len(t, told, 2)
	require.Equal(t, told[0], told[1])
	require.Contains(t, r.git("branch", "--list", "arc/*"), "arc/")
}

// An attempt whose time is over does not wait until another one's health check ends: its work stays on the branch.
func TestAttemptThatWaitsForAMerge(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	looked, letGo := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	x, err := worktree.New(t.Context(), worktree.Options{Repo: r.dir, Health: func(context.Context, string) error {
		close(looked)
		<-letGo
		return nil
	}}, func(own context.Context, dir string, w act.Work) (act.Result, error) {
		if w.Key == "late" {
			cancel()
		}
		return writes(map[string]string{w.Key + ".go": "package a\n"})(own, dir, w)
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, x.Close()) }()
	first, late := make(chan error, 1), make(chan error, 1)
	go func() { _, err := x.Execute(t.Context(), act.Work{Key: "first"}); first <- err }()
	<-looked
	go func() { _, err := x.Execute(ctx, act.Work{Key: "late"}); late <- err }()
	select {
	case err = <-late:
		require.ErrorContains(t, err, "its time was over before it was merged")
	case <-time.After(20 * time.Second):
		t.Error("it waits for the other's health check")
	}
	close(letGo)
	require.NoError(t, <-first)
	require.Len(t, r.branches(), 1)
}
