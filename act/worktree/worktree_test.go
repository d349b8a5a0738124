package worktree_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/worktree"
	"github.com/arc-learn/arc/iar"
)

var every = flag.Bool("every", false, "kill at every git command, not at every fourth")

func TestMain(m *testing.M) {
	if dir := os.Getenv("ARC_WORKTREE_CHILD"); dir != "" {
		child(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// repo is a repository with a branch main, a commit, and a file that is changed and not
// committed.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	r := repo{t, t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("config", "user.name", "ada")
	r.git("config", "user.email", "ada@example.com")
	r.put("a.go", "package a\n")
	r.put("b.txt", "one\ntwo\nthree\n")
	r.put("mine.txt", "committed\n")
	r.git("add", "--all")
	r.git("commit", "--quiet", "--message", "first")
	r.put("mine.txt", "not committed\n")
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir}, args...)...)
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (r repo) put(name, text string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600))
}

func (r repo) has(name string) string {
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return ""
	}
	return string(text)
}

// branches are those of attempts.
func (r repo) branches() []string {
	return slices.DeleteFunc(strings.Fields(r.git("branch", "--list", "--format=%(refname:short)", "arc/*")), func(s string) bool { return s == "" })
}

// sound checks that the main tree is as its commit says, but for what its owner has not
// committed, and that nothing of an attempt is left but branches.
func (r repo) sound() {
	r.t.Helper()
	require.Equal(r.t, "not committed\n", r.has("mine.txt"))
	require.Equal(r.t, "M mine.txt", r.git("status", "--porcelain", "--untracked-files=no"))
	require.Len(r.t, strings.Split(r.git("worktree", "list"), "\n"), 1)
	r.git("fsck", "--no-dangling", "--connectivity-only")
	left, err := filepath.Glob(filepath.Join(r.dir, ".git/arc/*"))
	require.NoError(r.t, err)
	require.Len(r.t, left, 1, "the lock: %q", left)
}

// result is one of an attempt that succeeded.
func result(s iar.Status) act.Result {
	return act.Result{Output: json.RawMessage(`"done"`), Reflection: iar.Reflection{
		Status: s, Confidence: 0.9, Summary: "did it", PotentialIssues: []string{}, AlignmentCheck: map[string]float64{"objective": 1},
	}}
}

// writes is work that writes files.
func writes(files map[string]string) worktree.Work {
	return func(_ context.Context, dir string, _ act.Work) (act.Result, error) {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				return act.Result{}, err
			}
		}
		return result(iar.Success), nil
	}
}

// in runs git in a worktree.
func in(dir string, args ...string) error {
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=bob", "-c", "user.email=bob@example.com"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git %v: %w: %s", args, err, out)
	}
	return nil
}

var errSick = errors.New("the service is down")

func TestScenarios(t *testing.T) {
	t.Parallel()
	new := map[string]string{"new.go": "package a\n"}
	sick := func(context.Context, string) error { return errSick }
	for name, c := range map[string]struct {
		before   func(r repo)
		work     worktree.Work
		during   func(r repo, dir string) error // after the work
		o        worktree.Options
		cancel   bool
		merged   bool              // new.go is in main
		files    map[string]string // in main
		why      string            // of the error, if any
		kept     bool              // there is a branch with the work
		restarts int
		unsound  bool // the test itself leaves the tree otherwise
	}{
		"merged":           {work: writes(new), merged: true},
		"nothing was made": {work: writes(nil)},
		"committed by itself": {work: writes(new), merged: true, during: func(_ repo, dir string) error {
			return errors.Join(in(dir, "add", "--all"), in(dir, "commit", "--quiet", "--message", "mine"))
		}},
		"half committed": {work: writes(map[string]string{"new.go": "package a\n", "other.go": "package a\n"}), merged: true,
			files: map[string]string{"other.go": "package a\n"}, during: func(_ repo, dir string) error {
				return errors.Join(in(dir, "add", "other.go"), in(dir, "commit", "--quiet", "--message", "mine"))
			}},
		"on another branch": {work: writes(new), merged: true, during: func(_ repo, dir string) error { return in(dir, "checkout", "--quiet", "-b", "elsewhere") }},
		"on no branch":      {work: writes(new), merged: true, during: func(_ repo, dir string) error { return in(dir, "checkout", "--quiet", "--detach") }},
		"failed": {why: "the work did not succeed: boom", kept: true, work: func(ctx context.Context, dir string, w act.Work) (act.Result, error) {
			_, err := writes(new)(ctx, dir, w)
			return act.Result{}, errors.Join(err, errors.New("boom"))
		}},
		"panicked": {why: "the work did not succeed: panic: boom", kept: true, work: func(ctx context.Context, dir string, w act.Work) (act.Result, error) {
			_, err := writes(new)(ctx, dir, w)
			panic(errors.Join(err, errors.New("boom")))
		}},
		"failed with nothing": {why: "boom", work: func(context.Context, string, act.Work) (act.Result, error) { return act.Result{}, errors.New("boom") }},
		"says that it failed": {kept: true, work: func(ctx context.Context, dir string, w act.Work) (act.Result, error) {
			_, err := writes(new)(ctx, dir, w)
			return result(iar.Failure), err
		}},
		"canceled":             {work: writes(new), cancel: true, kept: true, why: "its time was over before it was merged"},
		"its worktree is gone": {work: writes(new), why: "worktree", unsound: true, during: func(_ repo, dir string) error { return os.RemoveAll(dir) }},

		"no syntax": {work: writes(map[string]string{"new.go": "package {"}), o: worktree.Options{Guard: worktree.GoSyntax}, kept: true,
			why: "the guard refused it: new.go:1:9: expected 'IDENT', found '{'"},
		"syntax":         {work: writes(new), o: worktree.Options{Guard: worktree.GoSyntax}, merged: true},
		"guard panics":   {work: writes(new), o: worktree.Options{Guard: func(context.Context, string) error { panic("boom") }}, kept: true, why: "the guard refused it"},
		"guard vanishes": {work: writes(new), o: worktree.Options{Guard: func(context.Context, string) error { runtime.Goexit(); return nil }}, kept: true, why: "the guard refused it"},

		"main moves on": {work: writes(new), merged: true, files: map[string]string{"c.txt": "c"}, during: func(r repo, _ string) error {
			r.put("c.txt", "c")
			return errors.Join(in(r.dir, "add", "c.txt"), in(r.dir, "commit", "--quiet", "--message", "theirs"))
		}},
		"both change a file": {work: writes(map[string]string{"new.go": "package a\n", "b.txt": "one\ntwo\n3\n"}), merged: true,
			files: map[string]string{"b.txt": "1\ntwo\n3\n"}, during: func(r repo, _ string) error {
				r.put("b.txt", "1\ntwo\nthree\n")
				return in(r.dir, "commit", "--quiet", "--message", "theirs", "b.txt")
			}},
		"conflict": {work: writes(map[string]string{"new.go": "package a\n", "b.txt": "one\nII\nthree\n"}), kept: true,
			why: "it conflicts with the main tree in b.txt", files: map[string]string{"b.txt": "one\n2\nthree\n"}, during: func(r repo, _ string) error {
				r.put("b.txt", "one\n2\nthree\n")
				return in(r.dir, "commit", "--quiet", "--message", "theirs", "b.txt")
			}},
		"conflict in a name beyond ASCII": {work: writes(map[string]string{"für ä.txt": "ours\n"}), kept: true,
			why: "it conflicts with the main tree in für ä.txt", during: func(r repo, _ string) error {
				r.put("für ä.txt", "theirs\n")
				return errors.Join(in(r.dir, "add", "für ä.txt"), in(r.dir, "commit", "--quiet", "--message", "theirs", "für ä.txt"))
			}},
		"deleted by the other": {work: writes(map[string]string{"b.txt": "one\n"}), kept: true, why: "it conflicts with the main tree in b.txt",
			during: func(r repo, _ string) error {
				return errors.Join(in(r.dir, "rm", "--quiet", "b.txt"), in(r.dir, "commit", "--quiet", "--message", "theirs", "b.txt"))
			}},
		"over what is not committed": {work: writes(map[string]string{"new.go": "package a\n", "mine.txt": "overwritten\n"}), kept: true,
			why: "the main tree does not take it, as it is"},
		"over what is not tracked": {before: func(r repo) { r.put("new.go", "package mine\n") }, work: writes(new), kept: true,
			why: "the main tree does not take it, as it is", files: map[string]string{"new.go": "package mine\n"}},
		"over what is ignored": {before: func(r repo) {
			r.put(".gitignore", ".env\n")
			r.git("add", ".gitignore")
			r.git("commit", "--quiet", "--message", "ignore")
			r.put(".env", "the only one\n")
		}, work: writes(map[string]string{".env": "changeme\n", "new.go": "package a\n"}), kept: true, why: "the main tree does not take it, as it is",
			files: map[string]string{".env": "the only one\n"}, during: func(_ repo, dir string) error { return in(dir, "add", "--force", ".env") }},
		"over what would be stashed": {before: func(r repo) { r.git("config", "merge.autoStash", "true") }, kept: true,
			work: writes(map[string]string{"new.go": "package a\n", "mine.txt": "overwritten\n"}), why: "the main tree does not take it, as it is"},
		"staged changes": {before: func(r repo) { r.put("s.txt", "s"); r.git("add", "s.txt") }, work: writes(new), merged: true,
			files: map[string]string{"s.txt": "s"}, unsound: true},
		"detached HEAD":            {before: func(r repo) { r.git("checkout", "--quiet", "--detach") }, work: writes(new), why: "no branch is checked out"},
		"detached HEAD meanwhile":  {work: writes(new), kept: true, why: "no branch is checked out", during: func(r repo, _ string) error { return in(r.dir, "checkout", "--quiet", "--detach") }},
		"another branch meanwhile": {work: writes(new), merged: true, during: func(r repo, _ string) error { return in(r.dir, "checkout", "--quiet", "-b", "feature") }},
		"locked index": {work: writes(new), kept: true, why: "index.lock", during: func(r repo, _ string) error {
			return os.WriteFile(filepath.Join(r.dir, ".git/index.lock"), nil, 0o600)
		}, unsound: true},
		"in the middle of a merge": {work: writes(new), kept: true, why: "the main tree does not take it", unsound: true, during: func(r repo, _ string) error {
			return os.WriteFile(filepath.Join(r.dir, ".git/MERGE_HEAD"), []byte(r.git("rev-parse", "HEAD")+"\n"), 0o600)
		}},
		"hooks": {before: func(r repo) {
			require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, ".git/hooks/pre-commit"), []byte("#!/bin/sh\nexit 1\n"), 0o700))
		}, work: writes(new), merged: true},
		"squashed merges":               {before: func(r repo) { r.git("config", "branch.main.mergeOptions", "--squash") }, work: writes(new), merged: true},
		"merges of one side":            {before: func(r repo) { r.git("config", "branch.main.mergeOptions", "--strategy=ours") }, work: writes(new), merged: true},
		"merges of one side everywhere": {before: func(r repo) { r.git("config", "pull.twohead", "ours") }, work: writes(new), merged: true},
		"a submodule": {before: func(r repo) {
			sub := newRepo(r.t)
			r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.dir, "sub")
			r.git("commit", "--quiet", "--message", "sub", ".gitmodules", "sub")
		}, work: writes(new), merged: true},
		"new files are not shown": {before: func(r repo) { r.git("config", "status.showUntrackedFiles", "no") }, work: writes(new), merged: true},
		"large names":             {work: writes(map[string]string{"new.go": "package a\n", "ünï cødé.txt": "x"}), merged: true, files: map[string]string{"ünï cødé.txt": "x"}},

		"healthy":       {work: writes(new), o: worktree.Options{Health: func(context.Context, string) error { return nil }}, merged: true},
		"sick":          {work: writes(new), o: worktree.Options{Health: sick}, kept: true, restarts: 1, why: "the health check failed after it was merged, and it was reverted: the service is down"},
		"health panics": {work: writes(new), o: worktree.Options{Health: func(context.Context, string) error { panic("boom") }}, kept: true, restarts: 1, why: "it was reverted"},
		"sick, others have committed": {work: writes(new), kept: true, restarts: 1, why: "it was reverted", files: map[string]string{"c.txt": "c"},
			o: worktree.Options{Health: func(_ context.Context, dir string) error {
				err := os.WriteFile(filepath.Join(dir, "c.txt"), []byte("c"), 0o600)
				return errors.Join(err, in(dir, "add", "c.txt"), in(dir, "commit", "--quiet", "--message", "theirs", "c.txt"), errSick)
			}}},
		"sick, and built upon": {work: writes(new), merged: true, kept: true, restarts: 1, why: "it could not be reverted: the service is down\nwhat came after it changes the same, in new.go",
			files: map[string]string{"new.go": "package other\n"}, o: worktree.Options{Health: func(_ context.Context, dir string) error {
				err := os.WriteFile(filepath.Join(dir, "new.go"), []byte("package other\n"), 0o600)
				return errors.Join(err, in(dir, "commit", "--quiet", "--message", "theirs", "new.go"), errSick)
			}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			if c.before != nil {
				c.before(r)
			}
			restarts, told := 0, []string{}
			c.o.Repo = r.dir
			c.o.Restart = func(context.Context, string) error { restarts++; return nil }
			c.o.FollowUp = func(_ context.Context, k *worktree.KeptError) error { told = append(told, k.Branch); return nil }
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			x, err := worktree.New(ctx, c.o, func(ctx context.Context, dir string, w act.Work) (act.Result, error) {
				res, err := c.work(ctx, dir, w)
				if c.during != nil {
					err = errors.Join(err, c.during(r, dir))
				}
				if c.cancel {
					cancel()
				}
				return res, err
			})
			require.NoError(t, err)
			defer func() { require.NoError(t, x.Close()) }()
			_, err = x.Execute(ctx, act.Work{Key: "run/1", Task: act.Task{Objective: "add a file\nand more"}})
			if c.why == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.why)
			}
			require.Equal(t, c.kept, len(r.branches()) == 1, r.branches())
			require.Equal(t, c.kept, len(told) == 1, told)
			if c.kept {
				require.Equal(t, r.branches(), told)
				require.NotEqual(t, r.git("rev-parse", "main"), r.git("rev-parse", told[0]))
			}
			if _, mine := c.files["new.go"]; !mine {
				require.Equal(t, c.merged, r.has("new.go") == "package a\n")
			}
			for name, text := range c.files {
				require.Equal(t, text, r.has(name))
			}
			require.Equal(t, c.restarts, restarts)
			if !c.unsound {
				r.sound()
			}
			require.Equal(t, "not committed\n", r.has("mine.txt"))
		})
	}
}

// Attempts work side by side, and their merges follow one another. The same attempt made
// again has a branch of its own.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	x, err := worktree.New(t.Context(), worktree.Options{Repo: r.dir}, func(ctx context.Context, dir string, w act.Work) (act.Result, error) {
		return writes(map[string]string{w.Task.Objective: "x"})(ctx, dir, w)
	})
	require.NoError(t, err)
	_, err = worktree.New(ended(), worktree.Options{Repo: r.dir}, writes(nil))
	require.Error(t, err, "it is in use")
	var all sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		all.Go(func() {
			_, errs[i] = x.Execute(t.Context(), act.Work{Key: fmt.Sprint("run/", i/2), Task: act.Task{Objective: fmt.Sprint("file", i)}})
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	for i := range errs {
		require.Equal(t, "x", r.has(fmt.Sprint("file", i)))
	}
	require.Empty(t, r.branches())
	r.sound()
	require.NoError(t, x.Close())
}

// ended is a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// child makes an attempt whose health check fails if the main tree has a file sick.
func child(dir string) {
	x, err := worktree.New(context.Background(), options(dir), writes(map[string]string{"new.go": "package a\n"}))
	if err == nil {
		_, err = x.Execute(context.Background(), act.Work{Key: "run/1", Task: act.Task{Objective: "add a file"}})
	}
	if _, kept := errors.AsType[*worktree.KeptError](err); err != nil && !kept {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func options(dir string) worktree.Options {
	return worktree.Options{Repo: dir, Guard: worktree.GoSyntax, Health: func(context.Context, string) error {
		if _, err := os.Stat(filepath.Join(dir, "sick")); err == nil {
			return errSick
		}
		return nil
	}}
}

// A process that is killed before or after any of its git commands loses no work, leaves the main
// tree as one of its commits, and the next one takes up what it has left.
func TestKilledAtEachCommand(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no kill -9, and no sh")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	step := 4
	if *every {
		step = 1
	}
	for _, sick := range []bool{false, true} {
		t.Run(fmt.Sprint("sick ", sick), func(t *testing.T) {
			t.Parallel()
			for n, over := 1, false; !over; n += step {
				for _, when := range []string{"before", "after"} {
					r := newRepo(t)
					if sick {
						r.put("sick", "")
					}
					bin := t.TempDir()
					script := fmt.Sprintf("#!/bin/sh\necho x >>%[1]s/calls\nn=$(/usr/bin/wc -l <%[1]s/calls)\n", bin)
					if when == "before" {
						script += fmt.Sprintf("[ $n -eq %d ] && kill -9 $PPID\n", n)
					}
					script += git + " \"$@\"\ncode=$?\n"
					if when == "after" {
						script += fmt.Sprintf("[ $n -eq %d ] && kill -9 $PPID\n", n)
					}
					require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte(script+"exit $code\n"), 0o700))
					cmd := exec.Command(self)
					cmd.Env = []string{"ARC_WORKTREE_CHILD=" + r.dir, "PATH=" + bin + ":/usr/bin:/bin"}
					out, err := cmd.CombinedOutput()
					exit, failed := errors.AsType[*exec.ExitError](err)
					over = !failed
					if failed {
						require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), "%s", out)
					}
					x, err := worktree.New(t.Context(), options(r.dir), writes(nil))
					require.NoError(t, err, "%s command %d", when, n)
					require.NoError(t, x.Close())
					where := fmt.Sprintf("killed %s command %d of %s", when, n, calls(t, bin))
					r.sound()
					merged, kept := r.has("new.go") != "", len(r.branches()) == 1
					began := slices.ContainsFunc(strings.Split(r.git("log", "--all", "--format=%s"), "\n"), func(s string) bool { return s == "add a file" })
					require.Equal(t, began, merged || kept, where)
					require.False(t, sick && merged, where)
				}
			}
		})
	}
}

// calls is how many commands a child has made.
func calls(t *testing.T, bin string) string {
	f, err := os.Open(filepath.Join(bin, "calls"))
	require.NoError(t, err)
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		n++
	}
	return fmt.Sprint(n)
}
