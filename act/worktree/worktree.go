package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/redact"
)

// Work does a task in a directory, which is a worktree of its own. It may commit there; what it
// leaves without a commit is committed for it.
type Work func(ctx context.Context, dir string, w act.Work) (act.Result, error)

// Options configure an [Executor].
type Options struct {
	// Repo is the directory of the repository whose tree people work in. A branch must be
	// checked out in it.
	Repo string
	// Guard looks at a worktree before it is merged: an error refuses it. nil: nothing is
	// refused.
	Guard func(ctx context.Context, dir string) error
	// Health looks at Repo after a merge: an error has that commit reverted, and Restart
	// called. nil: a merge stays.
	Health func(ctx context.Context, dir string) error
	// Restart brings up again what the merged commit may have brought down. nil: nothing is.
	Restart func(ctx context.Context, dir string) error
	// FollowUp is told of what has to be looked at, such as to enqueue a job: work that was
	// not merged, or was reverted. nil: only the error says so, as it does of work that cannot
	// be committed, whose worktree stays.
	FollowUp func(ctx context.Context, k *KeptError) error
	// CheckTimeout bounds each call of Guard, Health, Restart and FollowUp. 0: ten minutes.
	CheckTimeout time.Duration
	// Env is the environment of git commands beyond what the package sets, as NAME=value.
	Env []string
}

// KeptError says that work was not merged, or not for long, and where it is.
type KeptError struct {
	Branch string   // in the repository; "": there was nothing to keep
	Why    string   // in words
	Files  []string // in which it conflicts with the main tree
	Err    error    // of the part that failed, if any
}

// Error says why, and where the work is.
func (e *KeptError) Error() string {
	text := e.Why
	if len(e.Files) > 0 {
		text += " in " + strings.Join(e.Files, ", ")
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Branch != "" {
		text += " (the work is on branch " + e.Branch + ")"
	}
	return text
}

// Unwrap returns Err.
func (e *KeptError) Unwrap() error { return e.Err }

// ErrInUse says that another process has the repository.
var ErrInUse = errors.New("worktree: another process uses the repository")

// Executor is an [act.Executor] that works in worktrees. It is safe for concurrent use:
// work goes on side by side, merges follow one another.
type Executor struct {
	o    Options
	work Work
	main git
	dir  string // of records and worktrees, within the repository's own
	lock *os.File

	merge chan struct{} // a lock, from a merge to the end of its health check

	names sync.Mutex // while a branch is named
	trees sync.Mutex // while git's list of worktrees is read or written
}

// New returns an Executor, once it has taken up what an ended process has left: see the
// package. It has the repository for itself until Close.
func New(ctx context.Context, o Options, work Work) (*Executor, error) {
	if work == nil {
		return nil, errors.New("worktree: there is no work")
	}
	if o.CheckTimeout == 0 {
		o.CheckTimeout = 10 * time.Minute
	}
	x := &Executor{o: o, work: work, main: git{dir: o.Repo, env: o.Env}, merge: make(chan struct{}, 1)}
	dir, err := x.main.do(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	if x.main.dir, err = x.main.do(ctx, "rev-parse", "--path-format=absolute", "--show-toplevel"); err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	x.dir = filepath.Join(dir, "arc")
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	if x.lock, err = hold(ctx, filepath.Join(x.dir, "lock")); err != nil {
		return nil, err
	}
	x.main.held = x.lock
	if err := x.recover(ctx); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// Close lets go of the repository. No call of Execute may be under way.
func (x *Executor) Close() error { return x.lock.Close() }

// stage is how far an attempt has come.
type stage string

const (
	making  stage = "making"  // its worktree is being made
	working stage = "working" // its worktree has what was made
	kept    stage = "kept"    // its branch has all of it
	merging stage = "merging" // its merge commit exists, and may be merged
	merged  stage = "merged"  // its merge commit is to be checked
	sick    stage = "sick"    // its merge commit is to be reverted
)

// record is what is written of an attempt before each step.
type record struct {
	Name  string // of its branch and files
	Task  string
	Base  string // the commit that it began from
	Merge string `json:",omitempty"`
	Stage stage
	Sick  string `json:",omitempty"` // why it is to be reverted
}

func (r *record) branch() string { return "arc/" + r.Name }

func (x *Executor) tree(r *record) string { return filepath.Join(x.dir, r.Name) }

// mark keeps a record, whole or as it was.
func (x *Executor) mark(r *record, s stage) error {
	r.Stage = s
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(x.dir, "record")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(x.dir, r.Name+".json"))
}

// forget removes the record of an attempt that is over.
func (x *Executor) forget(r *record) error { return os.Remove(filepath.Join(x.dir, r.Name+".json")) }

// Execute implements act.Executor. What is made is merged only if the work succeeds, with
// [iar.Success] or [iar.Warning]; otherwise the error is a *[KeptError] where there is
// anything to keep, unless the reflection says that the work failed.
func (x *Executor) Execute(ctx context.Context, w act.Work) (act.Result, error) {
	r, err := x.branchOff(ctx, w)
	if err != nil {
		return act.Result{}, err
	}
	var res act.Result
	if broke := guard.Call(func() { res, err = x.work(ctx, x.tree(r), w) }); broke != nil {
		res, err = act.Result{}, broke
	}
	ok := err == nil && (res.Reflection.Status == iar.Success || res.Reflection.Status == iar.Warning)
	// From here on what was made is kept, whoever has gone.
	over := context.WithoutCancel(ctx)
	made, failed := x.capture(over, r)
	switch {
	case failed != nil && x.gone(r):
		return res, errors.Join(err, errors.New("worktree: it was removed by the work"), x.clear(over, r))
	case failed != nil: // the next New takes it up
		return res, errors.Join(err, failed)
	case !made:
		return res, errors.Join(err, x.clear(over, r))
	case !ok:
		left := x.leave(over, r, &KeptError{Why: "the work did not succeed", Err: err})
		if err == nil {
			return res, nil // its reflection says so
		}
		return res, left
	}
	return res, x.deliver(ctx, over, r)
}

// gone reports whether the worktree of an attempt was removed.
func (x *Executor) gone(r *record) bool {
	_, err := os.Stat(x.tree(r))
	return errors.Is(err, os.ErrNotExist)
}

// branchOff makes the worktree of an attempt.
func (x *Executor) branchOff(ctx context.Context, w act.Work) (*record, error) {
	if _, err := x.main.do(ctx, "symbolic-ref", "--quiet", "HEAD"); err != nil {
		return nil, &KeptError{Why: "no branch is checked out in the repository"}
	}
	base, err := x.main.do(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return nil, &KeptError{Why: "the repository has no commit", Err: err}
	}
	clean := new(redact.Sanitizer).Knowing(slices.Collect(maps.Values(w.Secrets))...)
	r := &record{Task: clean.Sanitize(w.Task.Objective), Base: base}
	if err := x.claimName(ctx, r, w.Key); err != nil {
		return nil, err
	}
	err = x.worktree(ctx, "add", "--quiet", "--no-checkout", "-b", r.branch(), x.tree(r), base)
	if err == nil {
		_, err = x.main.in(x.tree(r)).do(ctx, "reset", "--quiet", "--hard")
	}
	if err == nil {
		err = x.mark(r, working)
	}
	if err != nil {
		return nil, errors.Join(err, x.clear(context.WithoutCancel(ctx), r))
	}
	return r, nil
}

// worktree runs a command on the list of worktrees, one at a time: git fails where it reads
// the record of a worktree that is half made. A checkout takes long, and has no part in it.
func (x *Executor) worktree(ctx context.Context, args ...string) error {
	x.trees.Lock()
	defer x.trees.Unlock()
	_, err := x.main.do(ctx, append([]string{"worktree"}, args...)...)
	return err
}

// claimName names an attempt by its key, as no branch is named yet, and records it.
func (x *Executor) claimName(ctx context.Context, r *record, key string) error {
	x.names.Lock()
	defer x.names.Unlock()
	sum := sha256.Sum256([]byte(key))
	for n := 1; ; n++ {
		r.Name = hex.EncodeToString(sum[:6])
		if n > 1 {
			r.Name += fmt.Sprint("-", n)
		}
		_, taken := os.Stat(filepath.Join(x.dir, r.Name+".json"))
		_, err := x.main.do(ctx, "rev-parse", "--quiet", "--verify", "refs/heads/"+r.branch())
		if _, none := err.(*gitError); none && taken != nil {
			return x.mark(r, making)
		} else if err != nil && !none {
			return err
		}
	}
}

// capture commits what a worktree holds to its branch, and reports whether there is anything.
func (x *Executor) capture(ctx context.Context, r *record) (made bool, err error) {
	tree := x.main.in(x.tree(r))
	tip, err := tree.commitAll(ctx, message(r))
	if err == nil {
		var within []string
		if within, err = tree.repositories(ctx, r.Base, tip); err == nil && len(within) > 0 {
			err = &KeptError{Why: "its worktree " + x.tree(r) + " stays, since a commit holds nothing of a repository", Files: within}
		}
	}
	if err == nil {
		// Whatever the work has checked out: the branch is what it has left.
		_, err = x.main.do(ctx, "update-ref", "refs/heads/"+r.branch(), tip)
	}
	if err == nil {
		err = x.mark(r, kept)
	}
	if _, known := errors.AsType[*KeptError](err); err != nil && !known {
		err = &KeptError{Why: "its worktree " + x.tree(r) + " stays, since it cannot be committed", Err: err}
	}
	return tip != r.Base, err
}

// message is that of the commits of an attempt.
func message(r *record) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(r.Task, "\x00", "")), "\n")
	if line = strings.TrimSpace(strings.ToValidUTF8(line[:min(len(line), 72)], "")); line == "" {
		line = "work of an agent"
	}
	return line
}

// leave ends an attempt whose work stays on its branch, tells of it, and returns why.
func (x *Executor) leave(ctx context.Context, r *record, k *KeptError) error {
	k.Branch = r.branch()
	if err := x.removeTree(ctx, r); err != nil {
		return errors.Join(k, err)
	}
	return x.told(ctx, r, k)
}

// told ends an attempt once its follow-up is told of, and returns why there is one.
func (x *Executor) told(ctx context.Context, r *record, k *KeptError) error {
	if x.o.FollowUp != nil {
		if err := x.call(ctx, func(ctx context.Context) error { return guard.Error(x.o.FollowUp(ctx, k)) }); err != nil {
			return errors.Join(k, fmt.Errorf("follow-up: %w", err)) // the next New tells of it
		}
	}
	return errors.Join(k, x.forget(r))
}

// removeTree removes the worktree of an attempt, and nothing else.
func (x *Executor) removeTree(ctx context.Context, r *record) error {
	if _, err := os.Stat(x.tree(r)); errors.Is(err, os.ErrNotExist) {
		return x.worktree(ctx, "prune")
	}
	// Twice: a locked one too.
	if x.worktree(ctx, "remove", "--force", "--force", x.tree(r)) == nil {
		return nil
	}
	// A part of it is gone, or lies where nothing may be removed, as in a cache of modules.
	locked := filepath.WalkDir(x.tree(r), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	if err := os.RemoveAll(x.tree(r)); err != nil {
		return errors.Join(locked, err)
	}
	return x.worktree(ctx, "prune")
}

// clear removes an attempt that has left nothing.
func (x *Executor) clear(ctx context.Context, r *record) error {
	err := x.removeTree(ctx, r)
	ref := "refs/heads/" + r.branch()
	// There may be none: then the tip is "".
	if tip, _ := x.main.do(ctx, "rev-parse", "--quiet", "--verify", ref); tip == r.Base && err == nil {
		_, err = x.main.do(ctx, "update-ref", "-d", ref)
	}
	return errors.Join(err, x.forget(r))
}

// call has a part of the host's look at something.
func (x *Executor) call(ctx context.Context, fn func(context.Context) error) error {
	_, err := guard.Do(ctx, x.o.CheckTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, fn(ctx)
	})
	return err
}

// deliver merges what an attempt has made, unless it is refused or conflicts.
func (x *Executor) deliver(ctx, over context.Context, r *record) error {
	if x.o.Guard != nil {
		if err := x.call(ctx, func(ctx context.Context) error { return guard.Error(x.o.Guard(ctx, x.tree(r))) }); err != nil {
			return x.leave(over, r, &KeptError{Why: "the guard refused it", Err: err})
		}
	}
	if err := x.removeTree(over, r); err != nil {
		return err
	}
	select {
	case x.merge <- struct{}{}:
		defer func() { <-x.merge }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil { // not begun: it can be merged by hand
		return x.leave(over, r, &KeptError{Why: "its time was over before it was merged", Err: err})
	}
	if k := x.land(over, r); k != nil {
		return x.leave(over, r, k)
	}
	return x.inspect(over, r)
}

// land merges a branch into what is checked out in the repository.
func (x *Executor) land(ctx context.Context, r *record) *KeptError {
	for range 5 { // people commit meanwhile
		head, err := x.main.do(ctx, "rev-parse", "HEAD")
		if err != nil {
			return &KeptError{Why: "it could not be merged", Err: err}
		}
		commit, files, err := x.main.join(ctx, head, r.branch(), message(r), head, r.branch())
		switch {
		case err != nil:
			return &KeptError{Why: "it could not be merged", Err: err}
		case commit == "":
			return &KeptError{Why: "it conflicts with the main tree", Files: files}
		}
		r.Merge = commit
		if err := x.mark(r, merging); err != nil {
			return &KeptError{Why: "it could not be merged", Err: err}
		}
		if err = x.forward(ctx, head, commit); err == nil {
			return nil
		}
		if now, _ := x.main.do(ctx, "rev-parse", "HEAD"); now == head {
			return &KeptError{Why: "the main tree does not take it, as it is", Err: err}
		}
	}
	return &KeptError{Why: "others commit too often for it to be merged"}
}

// forward moves the main tree from one commit to a child of it. git refuses to where that
// would overwrite what is not committed, or where another has moved it.
func (x *Executor) forward(ctx context.Context, from, to string) error {
	on, err := x.main.do(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return errors.New("no branch is checked out")
	}
	if now, err := x.main.do(ctx, "rev-parse", "HEAD"); err != nil || now != from {
		return errors.Join(err, errors.New("the branch has moved"))
	}
	// What is configured could have git merge anew: all squashed, or with nothing of the work.
	own := x.main
	own.set = []string{"-c", "branch." + strings.TrimPrefix(on, "refs/heads/") + ".mergeOptions="}
	_, err = own.do(ctx, "merge", "--quiet", "--ff-only", "--strategy=ort", "--no-overwrite-ignore", "--no-autostash", to)
	return err
}

// inspect has the host look at what was merged, and reverts it if that fails.
func (x *Executor) inspect(ctx context.Context, r *record) error {
	if err := x.mark(r, merged); err != nil {
		return err
	}
	var bad error
	if x.o.Health != nil {
		bad = x.call(ctx, func(ctx context.Context) error { return guard.Error(x.o.Health(ctx, x.main.dir)) })
	}
	if bad == nil {
		// What is gone already is no error: its process ended behind that.
		_, err := x.main.do(ctx, "update-ref", "-d", "refs/heads/"+r.branch())
		return errors.Join(err, x.forget(r))
	}
	r.Sick = new(redact.Sanitizer).Sanitize(strings.ToValidUTF8(bad.Error(), "\ufffd"))
	if err := x.mark(r, sick); err != nil {
		return errors.Join(bad, err)
	}
	return x.takeBack(ctx, r, bad)
}

// takeBack reverts what was merged, and tells of it. What is reverted already stays so.
func (x *Executor) takeBack(ctx context.Context, r *record, why error) error {
	k := &KeptError{Branch: r.branch(), Why: "the health check failed after it was merged, and it was reverted", Err: why}
	if err := x.revert(ctx, r); err != nil {
		k.Why, k.Err = "the health check failed after it was merged, and it could not be reverted", errors.Join(why, err)
	}
	if x.o.Restart != nil {
		err := x.call(ctx, func(ctx context.Context) error { return guard.Error(x.o.Restart(ctx, x.main.dir)) })
		if err != nil {
			k.Err = errors.Join(k.Err, fmt.Errorf("restart: %w", err))
		}
	}
	return x.told(ctx, r, k)
}

// revert takes back what the merge commit of an attempt changed, unless that was done.
func (x *Executor) revert(ctx context.Context, r *record) error {
	text := "Revert " + r.Merge[:12] + ": " + message(r)
	for range 5 {
		head, err := x.main.do(ctx, "rev-parse", "HEAD")
		if err != nil {
			return err
		}
		done, err := x.main.do(ctx, "log", "--format=%s", r.Merge+".."+head)
		if err != nil || slices.Contains(strings.Split(done, "\n"), text) {
			return err
		}
		commit, files, err := x.main.undo(ctx, head, r.Merge, text)
		if err == nil && commit == "" {
			err = fmt.Errorf("what came after it changes the same, in %s", strings.Join(files, ", "))
		}
		if err == nil {
			err = x.forward(ctx, head, commit)
		}
		if now, _ := x.main.do(ctx, "rev-parse", "HEAD"); err == nil || now == head {
			return err
		}
	}
	return errors.New("others commit too often")
}

// recover takes up what an ended process has left, each attempt from its stage.
func (x *Executor) recover(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(x.dir, "*.json"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("worktree: %w", err)
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil || r.Name+".json" != filepath.Base(file) {
			return fmt.Errorf("worktree: %s is no record of an attempt: %w", file, err)
		}
		err = x.resume(ctx, &r)
		if _, known := errors.AsType[*KeptError](err); err != nil && !known {
			return fmt.Errorf("worktree: take up %s: %w", r.branch(), err)
		}
	}
	return nil
}

// resume takes up one attempt.
func (x *Executor) resume(ctx context.Context, r *record) error {
	cut := &KeptError{Why: "its process ended"}
	switch r.Stage {
	case making:
		return x.clear(ctx, r)
	case working:
		if x.gone(r) {
			return x.clear(ctx, r)
		}
		made, err := x.capture(ctx, r)
		if err != nil {
			return err
		}
		if !made {
			return x.clear(ctx, r)
		}
		return x.leave(ctx, r, cut)
	case kept:
		tip, err := x.main.do(ctx, "rev-parse", "--verify", "refs/heads/"+r.branch())
		if _, none := err.(*gitError); none || err == nil && tip == r.Base {
			return x.clear(ctx, r) // also if a person has merged it, and deleted the branch
		} else if err != nil {
			return err
		}
		return x.leave(ctx, r, cut)
	case merging:
		_, err := x.main.do(ctx, "merge-base", "--is-ancestor", r.Merge, "HEAD")
		if _, none := err.(*gitError); none {
			return x.leave(ctx, r, cut)
		} else if err != nil {
			return err
		}
		return x.inspect(ctx, r)
	case merged:
		return x.inspect(ctx, r)
	case sick:
		return x.takeBack(ctx, r, errors.New(r.Sick))
	}
	return fmt.Errorf("unknown stage %q", r.Stage)
}
