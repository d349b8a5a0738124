package worktree_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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
