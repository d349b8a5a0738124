package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/worktree"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=ann", "-c",
		"user.email=ann@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// repository returns one with a commit of two files, in a home of its own.
func repository(t *testing.T) string {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	dir := filepath.Join(t.TempDir(), "site")
	require.NoError(t, os.Mkdir(dir, 0o755))
	git(t, dir, "init", "-q", "-b", "main")
	write(t, dir+"/a.txt", "one\n")
	write(t, dir+"/.gitignore", "*.log\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	return dir
}

var delivered = act.Attempt{Outcome: rank.Delivered, Verdict: act.Verdict{Pass: true},
	Result: act.Result{Text: "done"}}

// attempt has work done within an Around. outcome is what came of it before the merge.
func attempt(
	t testing.TB, a *worktree.Around, key string, outcome act.Attempt, work func(dir string),
) act.Attempt {
	c := &act.Call{Case: reason.Case{Run: key}, Task: reason.Task{Objective: "edit the site\nand more"}}
	return a.Around(t.Context(), c, func(ctx context.Context) act.Attempt {
		work(worktree.Dir(ctx))
		return outcome
	})
}

func around(t testing.TB, repo string, o *worktree.Options) *worktree.Around {
	a, err := worktree.New(t.Context(), repo, o)
	require.NoError(t, err)
	return a
}

// left are the branches that are not merged.
func left(t testing.TB, repo string) []string {
	return strings.Fields(git(t, repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/arc/"))
}

func TestDelivered(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/unsaved.txt", "of a person")
	a := around(t, repo, nil)
	got := attempt(t, a, "1", delivered, func(dir string) {
		require.Equal(t, repo+".worktrees", filepath.Dir(dir), "beside the repository")
		write(t, dir+"/b.txt", "two\n")
		require.NoFileExists(t, repo+"/b.txt")
	})
	require.Equal(t, rank.Delivered, got.Outcome, got.Complaint)
	require.Equal(t, "two\n", read(t, repo+"/b.txt"))
	require.Equal(t, "of a person", read(t, repo+"/unsaved.txt"))
	require.Equal(t, "edit the site", git(t, repo, "log", "-1", "--format=%s"))
	require.Len(t, strings.Fields(git(t, repo, "log", "-1", "--format=%P")), 2)
	require.Empty(t, left(t, repo))
	require.Len(t, strings.Split(git(t, repo, "worktree", "list"), "\n"), 1)
	// Nothing made is nothing merged.
	head := git(t, repo, "rev-parse", "HEAD")
	require.Equal(t, rank.Delivered, attempt(t, a, "2", delivered, func(string) {}).Outcome)
	require.Equal(t, head, git(t, repo, "rev-parse", "HEAD"))
}

// What is not merged leaves the main tree as it was, and all that was made on its branch or in its worktree.
func TestNothingIsLost(t *testing.T) {
	refused := errors.New("no")
	failed := act.Attempt{Outcome: rank.Failed, Verdict: act.Verdict{Complaint: "tests fail"}}
	for name, c := range map[string]struct {
		o       *worktree.Options
		main    func(repo string) // before the attempt ends
		work    func(dir string)
		outcome act.Attempt
		stays   bool // in the worktree
		failed  bool // the worker has
		says    string
	}{
		"gate": {outcome: failed, failed: true, says: "did not pass"},
		"guard": {o: &worktree.Options{Guard: func(context.Context, string) error { return refused }},
			failed: true, says: "guard"},
		"syntax": {o: &worktree.Options{Guard: worktree.GoSyntax}, failed: true, says: "expected 'package', found pakage\ny.go:1",
			work: func(dir string) { write(t, dir+"/x.go", "pakage x"); write(t, dir+"/y.go", "pakage y") }},
		"conflict": {says: "a.txt", work: func(dir string) { write(t, dir+"/a.txt", "theirs\n") },
			main: func(repo string) { write(t, repo+"/a.txt", "ours\n"); git(t, repo, "commit", "-qam", "ours") }},
		"not committed": {says: "overwritten", work: func(dir string) { write(t, dir+"/a.txt", "theirs\n") },
			main: func(repo string) { write(t, repo+"/a.txt", "unsaved\n") }},
		"ignored": {says: "overwritten", main: func(repo string) { write(t, repo+"/run.log", "unsaved\n") },
			work: func(dir string) { write(t, dir+"/run.log", "theirs\n"); git(t, dir, "add", "-f", "run.log") }},
		"repository within": {stays: true, failed: true, says: "does not hold", work: func(dir string) {
			git(t, dir, "init", "-q", "lib")
			write(t, dir+"/lib/l.txt", "made")
			git(t, dir+"/lib", "add", ".")
			git(t, dir+"/lib", "commit", "-qm", "lib")
		}},
		"another branch": {says: "main is not checked out any more",
			main: func(repo string) { git(t, repo, "switch", "-qc", "feature") }},
		"branch moved": {says: "arc/", outcome: failed, failed: true,
			work: func(dir string) { git(t, dir, "checkout", "-q", "--detach") }},
	} {
		t.Run(name, func(t *testing.T) {
			repo := repository(t)
			a := around(t, repo, c.o)
			outcome := c.outcome
			if outcome.Outcome == "" {
				outcome = delivered
			}
			var tree, before string
			got := attempt(t, a, name, outcome, func(dir string) {
				tree = dir
				write(t, dir+"/made.txt", "made\n")
				if c.work != nil {
					c.work(dir)
				}
				if c.main != nil {
					c.main(repo)
				}
				before = git(t, repo, "rev-parse", "HEAD") + git(t, repo, "status", "--porcelain", "--ignored")
			})
			require.Equal(t, map[bool]rank.Outcome{true: rank.Failed, false: rank.Unknown}[c.failed], got.Outcome)
			require.Contains(t, got.Complaint, c.says)
			require.Equal(t, before, git(t, repo, "rev-parse", "HEAD")+git(t, repo, "status", "--porcelain",
				"--ignored"))
			require.NoFileExists(t, repo+"/made.txt")
			branches := left(t, repo)
			require.Len(t, branches, 1)
			if c.stays {
				require.FileExists(t, tree+"/made.txt")
				require.Contains(t, got.Complaint, tree)
				return
			}
			require.Contains(t, got.Complaint, branches[0])
			require.NoDirExists(t, tree)
			require.Equal(t, "made", git(t, repo, "show", branches[0]+":made.txt"))
		})
	}
}

func TestHealth(t *testing.T) {
	repo := repository(t)
	restarted := 0
	ends := func(ctx context.Context) { // whatever the attempt's does
		at, ok := ctx.Deadline()
		require.True(t, ok)
		require.LessOrEqual(t, time.Until(at), 10*time.Minute)
	}
	a := around(t, repo, &worktree.Options{
		Health: func(ctx context.Context, dir string) error {
			ends(ctx)
			if _, err := os.Stat(dir + "/bad.txt"); err == nil {
				write(t, repo+"/c.txt", "of a person\n") // somebody commits meanwhile
				git(t, repo, "add", "c.txt")
				git(t, repo, "commit", "-qm", "person")
				panic("it is down") // as an error: nothing stays half done
			}
			return nil
		},
		Restart: func(ctx context.Context, _ string) error { ends(ctx); restarted++; panic("nobody there") },
	})
	got := attempt(t, a, "1", delivered, func(dir string) { write(t, dir+"/bad.txt", "bad") })
	require.Equal(t, rank.Failed, got.Outcome)
	require.Contains(t, got.Complaint, "it is down")
	require.Contains(t, got.Complaint, "nobody there")
	require.Contains(t, got.Complaint, left(t, repo)[0])
	require.NoFileExists(t, repo+"/bad.txt")
	require.Equal(t, "of a person\n", read(t, repo+"/c.txt"))
	require.Empty(t, git(t, repo, "status", "--porcelain"))
	require.Len(t, left(t, repo), 1)
	require.Equal(t, 1, restarted)
	require.Equal(t, rank.Delivered,
		attempt(t, a, "2", delivered, func(dir string) { write(t, dir+"/good.txt", "good") }).Outcome)
}

// An attempt that waits, is out of time, or whose process ended, goes on where it was: it is the same one,
// and has steps that are not made again.
func TestGoesOn(t *testing.T) {
	for _, outcome := range []rank.Outcome{"", rank.Away, rank.TimedOut, rank.Canceled} {
		repo := repository(t)
		a := around(t, repo, nil)
		attempt(t, a, "1", act.Attempt{Outcome: outcome}, func(dir string) { write(t, dir+"/b.txt", "half") })
		require.Len(t, left(t, repo), 1)
		got := attempt(t, around(t, repo, nil), "1", delivered,
			func(dir string) { require.Equal(t, "half", read(t, dir+"/b.txt")) })
		require.Equal(t, rank.Delivered, got.Outcome, got.Complaint)
		require.Equal(t, "half", read(t, repo+"/b.txt"))
		require.Empty(t, left(t, repo))
	}
}

func TestSideBySide(t *testing.T) {
	repo := repository(t)
	a := around(t, repo, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			got := attempt(t, a, fmt.Sprint(i), delivered,
				func(dir string) { write(t, fmt.Sprintf("%s/%d.txt", dir, i), "x") })
			if got.Outcome != rank.Delivered {
				t.Error(got.Complaint)
			}
		})
	}
	wg.Wait()
	for i := range 8 {
		require.FileExists(t, fmt.Sprintf("%s/%d.txt", repo, i))
	}
}

// A repository as people have them: a submodule, a filter of the user's configuration, hooks, signing,
// sparse.
func TestUsersRepository(t *testing.T) {
	repo := repository(t)
	lib := filepath.Join(t.TempDir(), "lib")
	require.NoError(t, os.Mkdir(lib, 0o755))
	git(t, lib, "init", "-q", "-b", "main")
	write(t, lib+"/l.txt", "lib\n")
	git(t, lib, "add", ".")
	git(t, lib, "commit", "-qm", "lib")
	git(t, repo, "submodule", "add", "-q", lib, "lib")
	write(t, repo+"/.gitattributes", "*.big filter=big\n")
	write(t, repo+"/far/f.txt", "far\n")
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-qm", "more")
	git(t, repo, "config", "--global", "filter.big.clean", "tr a-z A-Z")
	git(t, repo, "config", "--global", "filter.big.smudge", "tr A-Z a-z")
	git(t, repo, "config", "--global", "protocol.file.allow", "always")
	git(t, repo, "config", "--global", "commit.gpgSign", "true")
	git(t, repo, "config", "--global", "branch.main.mergeOptions", "--squash")
	git(t, repo, "config", "--global", "diff.ignoreSubmodules", "all")
	git(t, repo, "sparse-checkout", "set", "--no-cone", "/*", "!/far/")
	write(t, repo+"/.git/hooks/post-merge", "#!/bin/sh\ntouch hooked\n")
	write(t, repo+"/.git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
	require.NoError(t, os.Chmod(repo+"/.git/hooks/post-merge", 0o755))
	require.NoError(t, os.Chmod(repo+"/.git/hooks/pre-commit", 0o755))
	a := around(t, repo, nil)
	got := attempt(t, a, "1", delivered, func(dir string) {
		require.Equal(t, "lib\n", read(t, dir+"/lib/l.txt"), "submodules are checked out")
		require.NoDirExists(t, dir+"/far")
		write(t, dir+"/x.big", "large\n")
		write(t, dir+"/far/new.txt", "outside of what is checked out\n")
	})
	require.Equal(t, rank.Delivered, got.Outcome, got.Complaint)
	require.Equal(t, "LARGE", git(t, repo, "cat-file", "-p", "HEAD:x.big"))
	require.Equal(t, "large\n", read(t, repo+"/x.big"))
	require.Contains(t, git(t, repo, "ls-tree", "-r", "--name-only", "HEAD"), "far/new.txt")
	require.Contains(t, git(t, repo, "ls-tree", "-r", "--name-only", "HEAD"), "far/f.txt")
	require.NoFileExists(t, repo+"/hooked")
	// git itself would overwrite it, in a sparse checkout.
	write(t, repo+"/mine.txt", "of a person\n")
	got = attempt(t, a, "2", delivered, func(dir string) { write(t, dir+"/mine.txt", "made\n") })
	require.Equal(t, rank.Unknown, got.Outcome)
	require.Equal(t, "of a person\n", read(t, repo+"/mine.txt"))
	// Work within the submodule is not what a commit of the repository holds.
	for i, work := range []func(dir string){
		func(dir string) { write(t, dir+"/lib/l.txt", "made\n") },
		func(dir string) { write(t, dir+"/lib/new.txt", "made\n") },
		func(dir string) {
			write(t, dir+"/lib/l.txt", "made\n")
			git(t, dir+"/lib", "commit", "-qam", "made", "--no-gpg-sign")
		},
	} {
		var tree string
		got := attempt(t, a, fmt.Sprint("lib", i), delivered, func(dir string) { tree = dir; work(dir) })
		require.Equal(t, []rank.Outcome{rank.Failed, rank.Failed, rank.Unknown}[i], got.Outcome, got.Complaint)
		require.Contains(t, got.Complaint, tree) // the last is what git, so configured, cannot commit
		require.DirExists(t, tree)
	}
	require.Equal(t, "lib\n", read(t, repo+"/lib/l.txt"))
}

// A detached HEAD is refused at once, or says nothing of the worker where it comes later.
func TestRefusedRepositories(t *testing.T) {
	_, err := worktree.New(t.Context(), t.TempDir(), nil)
	require.Error(t, err)
	repo := repository(t)
	a := around(t, repo, nil)
	git(t, repo, "checkout", "-q", "--detach")
	_, err = worktree.New(t.Context(), repo, nil)
	require.ErrorContains(t, err, "no branch is checked out in "+repo)
	got := attempt(t, a, "1", delivered, func(string) { t.Error("called") })
	require.Equal(t, rank.Unknown, got.Outcome)
	require.Contains(t, got.Complaint, "no branch")
}

// An attempt that goes on where its worktree is not has no outcome, and calls nobody: what its steps have
// written is elsewhere. One whose work was merged before its process ended is delivered.
func TestGoesOnElsewhere(t *testing.T) {
	repo := repository(t)
	fresh := filepath.Join(t.TempDir(), "fresh")
	require.NoError(t, os.CopyFS(fresh, os.DirFS(repo)))
	ctx := act.WithJournal(t.Context(), act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, nil), nil)
	run := func(repo string, number int, gate act.Gate) act.Attempt {
		w := act.Worker{Name: "w", Gates: []act.Gate{gate}, Executor: act.ExecutorFunc(
			func(ctx context.Context, _ *act.Call) (*act.Result, error) {
				_, err := act.Step(ctx, "write", nil, func(context.Context) (bool, error) {
					return true, os.WriteFile(worktree.Dir(ctx)+"/a.txt", []byte("two\n"), 0o644)
				})
				return &act.Result{Text: "done"}, err
			})}
		r, err := act.NewRunner([]act.Worker{w}, nil, 0, nil, around(t, repo, nil).Around)
		require.NoError(t, err)
		return r.Run(ctx, &act.Call{Case: reason.Case{Run: "7"}, Attempt: number, Worker: r.Workers()[0],
			Task: reason.Task{Objective: "edit"}})
	}
	away := act.GateFunc(func(context.Context, *act.Call, *act.Result) (act.Verdict, error) {
		return act.Verdict{}, &reason.Error{Class: reason.Unavailable, Err: errors.New("away")}
	})
	require.Equal(t, rank.Away, run(repo, 1, away).Outcome)
	got := run(fresh, 1, act.NoGate)
	require.Equal(t, rank.Unknown, got.Outcome)
	require.Contains(t, got.Complaint, "is not here")
	require.Equal(t, rank.Delivered, run(fresh, 2, act.NoGate).Outcome, "another attempt begins anew")
	require.Equal(t, "two\n", read(t, fresh+"/a.txt"))

	got = run(repo, 1, act.NoGate)
	require.Equal(t, rank.Delivered, got.Outcome, got.Complaint)
	head := git(t, repo, "rev-parse", "HEAD")
	require.Equal(t, "two\n", read(t, repo+"/a.txt"))
	got = run(repo, 1, act.NoGate)
	require.Equal(t, rank.Delivered, got.Outcome, got.Complaint)
	require.Equal(t, head, git(t, repo, "rev-parse", "HEAD"))

	// It ended between the two: the branch is gone, the tree is not.
	write(t, repo+"/a.txt", "three\n")
	git(t, repo, "commit", "-qam", "three")
	require.Equal(t, rank.Away, run(repo, 3, away).Outcome)
	tree := strings.Fields(strings.Split(git(t, repo, "worktree", "list"), "\n")[1])[0]
	git(t, tree, "commit", "-qam", "two")
	branch := git(t, tree, "symbolic-ref", "--short", "HEAD")
	git(t, repo, "merge", "-q", "--no-ff", "-m", "edit\n\nFrom "+branch, branch)
	git(t, repo, "update-ref", "-d", "refs/heads/"+branch)
	got = run(repo, 3, act.NoGate)
	require.Equal(t, rank.Delivered, got.Outcome, got.Complaint)
	require.Equal(t, "two\n", read(t, repo+"/a.txt"))
	require.Empty(t, git(t, repo, "status", "--porcelain"))

	// A person has switched branches before it goes on: that one gets neither its work nor main's.
	write(t, repo+"/a.txt", "four\n")
	git(t, repo, "commit", "-qam", "four")
	require.Equal(t, rank.Away, run(repo, 4, away).Outcome)
	git(t, repo, "switch", "-qc", "feature")
	got = run(repo, 4, act.NoGate)
	require.Equal(t, rank.Unknown, got.Outcome)
	require.Contains(t, got.Complaint, "refs/heads/main is not checked out any more")
	require.Equal(t, "four\n", read(t, repo+"/a.txt"))
}

// Who is canceled while the guard looks goes on with what it has made.
func TestCanceledBeforeTheMerge(t *testing.T) {
	repo := repository(t)
	ctx, cancel := context.WithCancel(t.Context())
	a := around(t, repo, &worktree.Options{Guard: func(context.Context, string) error { cancel(); return ctx.Err() }})
	c := &act.Call{Case: reason.Case{Run: "1"}, Task: reason.Task{Objective: "edit"}}
	got := a.Around(ctx, c, func(ctx context.Context) act.Attempt {
		write(t, worktree.Dir(ctx)+"/b.txt", "made")
		return delivered
	})
	require.Equal(t, rank.Canceled, got.Outcome)
	got = around(t, repo, nil).Around(t.Context(), c, func(context.Context) act.Attempt { return delivered })
	require.Equal(t, rank.Delivered, got.Outcome, got.Complaint)
	require.Equal(t, "made", read(t, repo+"/b.txt"))
}
