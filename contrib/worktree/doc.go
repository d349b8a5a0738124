// Package worktree has workers edit a git repository without touching the tree that people work in: each
// attempt gets a worktree and a branch of its own, which are merged only once its gates have passed it.
//
//	w, err := worktree.New(ctx, "/srv/site", &worktree.Options{Guard: worktree.GoSyntax, Health: alive})
//	…
//	edit := act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
//		return command.New(worktree.Dir(ctx), os.Environ(), "codex", "exec").Execute(ctx, c)
//	})
//	worker := act.Worker{Name: "edit", Skills: []string{"code"}, Executor: edit}
//	host := arc.Host{Workers: []act.Worker{worker}, Around: []act.Around{w.Around}}
//
// An attempt of a worker that [Options].Only selects goes through these steps:
//
//  1. a worktree of what is checked out in the repository is made beside it, with its submodules;
//  2. the executor and the gates run; [Dir] tells them where;
//  3. what is left there without a commit is committed to the branch;
//  4. Guard looks at the worktree;
//  5. the branch is merged into the one that was checked out then, if that is still, as one merge commit;
//  6. Health looks at the repository; when it fails, exactly that merge is reverted, and Restart is called.
//
// Nothing that was made is lost but what the repository ignores or git was told to (--skip-worktree). What
// fails, is refused, conflicts, or would overwrite what is not committed in the main tree stays on the
// branch, which the complaint names; what a commit cannot hold, such as work within a submodule, in the
// worktree. Nothing is pushed.
//
// An attempt that waits, is out of time or was interrupted goes on in its worktree. On another disk or in a
// fresh container that is not there, nor what its finished steps have written: the attempt has no outcome, as
// with a conflict, a detached HEAD and what git cannot do, and another begins anew. One interrupted between
// merge and health check is not checked again. «git branch --list "arc/*"» lists what nobody has merged.
//
// git is of version 2.38 or later, and has the user's configuration and environment, but for hooks, signing
// and prompts: a filter or merge driver of theirs that hangs holds the attempt. Two processes on one
// repository are kept apart by git's own locks: what comes second is not merged, and its branch is named.
package worktree
