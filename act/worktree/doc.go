// Package worktree has an executor work on a git repository without touching the
// tree that people work in: each attempt gets a worktree and a branch of its own,
// and what it has made is merged only after it has passed.
//
//	x, err := worktree.New(ctx, worktree.Options{Repo: "/srv/site", Guard: worktree.GoSyntax, Health: alive}, edit)
//	…
//	act.Worker{Card: …, Executor: x}
//
// An attempt goes through six steps. One that ends early, or whose process ends, is taken
// up by the next New, from the step that its record names:
//
//  1. a worktree is made of the commit that is checked out in Repo;
//  2. the host's function works in it;
//  3. what it has left, and not committed itself, is committed to the branch;
//  4. the Guard looks at it;
//  5. it is merged into the branch of Repo, as one merge commit;
//  6. the Health check looks at Repo. If it fails, exactly that commit is reverted, and
//     Restart is called.
//
// Nothing that was made is lost but what the repository ignores, and nothing goes to the
// main tree by another way: what fails, is refused, conflicts with the main tree, or would
// overwrite what is not committed there stays on the branch, which the error names. Nothing
// is ever pushed.
//
// The package calls the git program, of version 2.38 or later.
package worktree
