package worktree

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// Options of an Around. Nil and the zero value are the defaults. Guard, Health and Restart have ten minutes.
type Options struct {
	Dir  string                 // where worktrees are made; "": the repository's folder with ".worktrees" added
	Only func(c *act.Call) bool // which attempts work in a worktree; nil: all

	Guard   func(ctx context.Context, dir string) error // looks at a worktree before it is merged
	Health  func(ctx context.Context, dir string) error // looks at the repository after a merge
	Restart func(ctx context.Context, dir string) error // brings up what a reverted merge brought down
}

// Around has attempts work in worktrees, by its method. They are merged one after the other.
type Around struct {
	o     Options
	repo  git
	merge chan struct{} // has room for the one that merges
	trees sync.Mutex    // over git's list of worktrees
}

// New returns an Around for the repository at a folder. It changes nothing. An error is that of git, or that
// no branch is checked out there: work could not be merged.
func New(ctx context.Context, repo string, o *Options) (*Around, error) {
	a := &Around{o: *cmp.Or(o, new(Options)), merge: make(chan struct{}, 1)}
	top, err := git(repo).do(ctx, "rev-parse", "--path-format=absolute", "--show-toplevel")
	if a.repo = git(top); err == nil {
		_, err = a.checkedOut(ctx)
	}
	if err == nil {
		a.o.Dir, err = filepath.Abs(cmp.Or(a.o.Dir, top+".worktrees"))
	}
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	return a, nil
}

// checkedOut is the branch of the repository's own tree.
func (a *Around) checkedOut(ctx context.Context) (string, error) {
	name, err := a.repo.do(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		err = fmt.Errorf("no branch is checked out in %s", a.repo)
	}
	return name, err
}

type dirKey struct{}

// Dir returns the folder in which an attempt works; "" where it has no worktree.
func Dir(ctx context.Context) string {
	dir, _ := ctx.Value(dirKey{}).(string)
	return dir
}

// job is the work of one attempt.
type job struct {
	*Around
	begun
	branch string // its own
	tree   git
	about  string // the first line of commit messages
}

// begun is where an attempt began: the commit, and what was checked out, into which it is merged.
type begun struct{ Base, Onto string }

// refused is in the chain of what the work itself is to blame for.
type refused struct{ error }

// Around is an [act.Around]. What Guard or Health refuses, or no commit can hold, has failed; what could
// not be done for any other reason is [rank.Unknown]. The complaint says where the work is.
func (a *Around) Around(
	ctx context.Context, c *act.Call, next func(context.Context) act.Attempt,
) act.Attempt {
	if a.o.Only != nil && !a.o.Only(c) {
		return next(ctx)
	}
	j, err := a.begin(ctx, c)
	if err != nil {
		return failed(act.Attempt{}, fmt.Errorf("worktree: %w", err))
	}
	attempt, over := next(context.WithValue(ctx, dirKey{}, string(j.tree))), context.WithoutCancel(ctx)
	switch attempt.Outcome {
	case "", rank.Away, rank.TimedOut, rank.Canceled: // it may go on, in the same worktree
		return attempt
	}
	made, err := j.capture(over)
	switch {
	case err != nil:
		return failed(attempt, fmt.Errorf("the work stays in %s: %w", j.tree, err))
	case made && attempt.Outcome != rank.Delivered:
		err = errors.New("its attempt did not pass")
	case made:
		err = j.deliver(ctx)
	}
	if err != nil && err == ctx.Err() { // it was canceled before it was merged, and may go on
		attempt.Outcome = rank.Canceled
		return attempt
	}
	if err != nil {
		attempt = failed(attempt, fmt.Errorf("the work is on branch %s: %w", j.branch, err))
	}
	if left := j.remove(over, err == nil); left != nil { // which changes nothing of what was delivered
		act.Note(ctx, act.Event{Kind: "output", Name: "worktree", Text: left.Error()})
	}
	return attempt
}

// failed is an attempt that has ended for a reason beside its own.
func failed(a act.Attempt, err error) act.Attempt {
	if a.Outcome == rank.Delivered || a.Outcome == "" {
		a.Outcome, a.Verdict, a.Err = rank.Unknown, act.Verdict{Gate: "worktree"}, &reason.Error{Err: err}
		if errors.As(err, new(refused)) {
			a.Outcome = rank.Failed
		}
	}
	a.Complaint = strings.TrimPrefix(a.Complaint+"\n"+err.Error(), "\n")
	return a
}

// begin makes the worktree of an attempt, or finds the one that it had when it was interrupted. One that was
// made and is not there is not made again: what finished steps have changed would not be in it.
func (a *Around) begin(ctx context.Context, c *act.Call) (*job, error) {
	a.trees.Lock()
	defer a.trees.Unlock()
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(c.Key())))[:12]
	about, _, _ := strings.Cut(strings.TrimSpace(c.Task.Objective), "\n")
	about = cmp.Or(fence.Cut(fence.Visible(about), 72), "work of an agent")
	j := &job{Around: a, branch: "arc/" + name, tree: git(filepath.Join(a.o.Dir, name)), about: about}
	var err error
	if j.begun, err = act.Step(ctx, "worktree", nil, j.make); err != nil {
		return nil, err
	}
	_, gone := os.Stat(string(j.tree))
	_, none := j.repo.do(ctx, "rev-parse", "--verify", "--quiet", j.branch)
	if gone == nil && none == nil {
		return j, nil
	}
	merge, _ := a.repo.do(ctx, "log", "-1", "--format=%H", "--fixed-strings", "--grep=From "+j.branch)
	if gone != nil && (none == nil || merge == "") {
		return nil, fmt.Errorf("%s is not here: it was made on another disk, or somebody has removed it", j.tree)
	} else if merge == "" {
		return j, nil
	}
	// All of it was merged, and the process ended before the run was told.
	if err = j.removeTree(ctx); err == nil {
		j.begun, err = j.make(ctx)
	}
	return j, err
}

// make makes the worktree, unless it has a branch.
func (j *job) make(ctx context.Context) (b begun, err error) {
	if b.Onto, err = j.checkedOut(ctx); err != nil {
		return b, err
	}
	if b.Base, err = j.repo.do(ctx, "merge-base", "HEAD", j.branch); err == nil {
		return b, nil
	}
	if b.Base, err = j.repo.do(ctx, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return b, err
	}
	_, err = j.repo.do(ctx, "worktree", "add", "--quiet", "-b", j.branch, string(j.tree), b.Base)
	if err == nil {
		if _, none := os.Stat(filepath.Join(string(j.tree), ".gitmodules")); none == nil {
			_, err = j.tree.do(ctx, "submodule", "--quiet", "update", "--init", "--recursive")
		}
	}
	if err != nil {
		over := context.WithoutCancel(ctx)
		tree := j.removeTree(over)
		_, branch := j.repo.do(over, "update-ref", "-d", "refs/heads/"+j.branch)
		err = errors.Join(err, tree, branch)
	}
	return b, err
}

// capture commits what the worktree holds, and reports whether anything was made. What a commit cannot hold
// is an error.
func (j *job) capture(ctx context.Context) (made bool, err error) {
	if _, err := j.tree.do(ctx, "add", "--all", "--sparse"); err != nil {
		return false, err
	}
	if _, err := j.tree.do(ctx, "diff", "--cached", "--quiet", "--ignore-submodules=none"); err != nil {
		_, err := j.tree.do(ctx, "commit", "--quiet", "--no-verify", "--cleanup=whitespace", "-m", j.about)
		if err != nil {
			return false, err
		}
	}
	tip, err := j.tree.do(ctx, "rev-parse", "HEAD")
	if err != nil {
		return false, err
	}
	// A commit has of a repository within the tree its name alone, and the repository goes with the worktree.
	changed, err := j.tree.do(ctx, "diff-tree", "-r", "--no-renames", j.Base, tip)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(changed) {
		modes, path, _ := strings.Cut(line, "\t")
		if strings.Contains(modes, "160000") {
			return false, refused{fmt.Errorf("a commit does not hold the repository in %s", strings.TrimSpace(path))}
		}
	}
	left, err := j.tree.do(ctx, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=none")
	if err == nil && left != "" {
		err = refused{fmt.Errorf("a commit does not hold all of it:\n%s", left)}
	}
	if err == nil && tip != j.Base { // whatever the work has checked out, the branch is what it has left
		_, err = j.repo.do(ctx, "update-ref", "refs/heads/"+j.branch, tip)
	}
	return tip != j.Base, err
}

// deliver merges the branch, unless it is refused or conflicts.
func (j *job) deliver(ctx context.Context) error {
	no := ask(ctx, j.o.Guard, j.tree)
	select {
	case j.merge <- struct{}{}:
		defer func() { <-j.merge }()
	case <-ctx.Done():
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case no != nil:
		return refused{fmt.Errorf("the guard refuses it: %w", no)}
	}
	over := context.WithoutCancel(ctx) // a merge that has begun is finished
	head, err := j.repo.do(over, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	message := j.about + "\n\nFrom " + j.branch // begin looks for it
	merged, err := j.repo.join(over, head, j.branch, message, head, j.branch)
	if err == nil {
		err = j.repo.forward(over, j.Onto, merged)
	}
	if err != nil {
		return fmt.Errorf("it is not merged: %w", err)
	}
	if no := ask(over, j.o.Health, j.repo); no != nil {
		return refused{j.takeBack(over, merged, fmt.Errorf("the health check failed after it was merged: %w", no))}
	}
	return nil
}

// ask calls a function of the host; nil: there is none. A panic is its error: no work stays half done.
func ask(ctx context.Context, f func(ctx context.Context, dir string) error, dir git) error {
	_, err := call.Do(ctx, 10*time.Minute, func(ctx context.Context) (none struct{}, err error) {
		if f != nil {
			err = f(ctx, string(dir))
		}
		return none, err
	})
	return err
}

// takeBack reverts a merge, and leaves what others have committed since.
func (j *job) takeBack(ctx context.Context, merged string, why error) error {
	// A child of the merge with the tree before it: what is merged with that is without the merge.
	before, err := j.repo.do(ctx, "commit-tree", merged+"^1^{tree}", "-p", merged, "-m", "before")
	var head, reverted string
	if err == nil {
		head, err = j.repo.do(ctx, "rev-parse", "HEAD")
	}
	if err == nil {
		reverted, err = j.repo.join(ctx, head, before, fmt.Sprintf("Revert %.12s: %s", merged, j.about), head)
	}
	if err == nil {
		err = j.repo.forward(ctx, j.Onto, reverted)
	}
	if err != nil {
		why = fmt.Errorf("%w; it could not be reverted: %w", why, err)
	}
	if err := ask(ctx, j.o.Restart, j.repo); err != nil {
		why = fmt.Errorf("%w; restart: %w", why, err)
	}
	return why
}

// remove removes the worktree, and the branch where all of it is merged or nothing was made.
func (j *job) remove(ctx context.Context, done bool) error {
	j.trees.Lock()
	defer j.trees.Unlock()
	var err error
	if done { // the branch first: who is killed between them goes on with the tree, and loses nothing
		_, err = j.repo.do(ctx, "update-ref", "-d", "refs/heads/"+j.branch)
	}
	return errors.Join(err, j.removeTree(ctx))
}

func (j *job) removeTree(ctx context.Context) error {
	if _, err := j.repo.do(ctx, "worktree", "remove", "--force", "--force", string(j.tree)); err == nil {
		return nil
	}
	// A part of it is gone, or lies where nothing may be removed, as in a cache of modules.
	_ = filepath.WalkDir(string(j.tree), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	if err := os.RemoveAll(string(j.tree)); err != nil {
		return err
	}
	_, err := j.repo.do(ctx, "worktree", "prune")
	return err
}
