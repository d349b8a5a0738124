// Package act does the work: a [Worker] pairs an [Executor], which does a
// task, with the [Gate] values that decide whether it was done.
//
//	r, err := act.NewRunner(act.Options{
//		Workers: []act.Worker{{Card: rank.Candidate{Name: "fixer"}, Executor: fixer, Skills: []string{"edit"}}},
//		Gates:   []act.Gate{tests},
//	})
//	c := &act.Call{Worker: "fixer", Work: act.Work{Task: task, Key: "run/1"}}
//	a := r.Execute(ctx, c)                                   // never panics, always ends
//	v, err := r.Verify(ctx, "fixer", c.Work, a.Result)       // every gate, fail closed
//
// Executors and gates are host code and are not trusted: each call runs under
// a deadline, a panic, a lost goroutine or a malformed reflection is a failed
// attempt, and a gate that errs or hangs does not let anything pass.
//
// Each [Interceptor] stands around every attempt. Within them the package decides by radius,
// price and odds whether a human is asked, asks, and checks the cost, the confidence and
// the deltas of a result.
//
// An Executor that has to know something says so by [InputRequiredError], and is called
// again with the answer.
//
// The package makes single attempts. Which worker gets the next one, and what
// is learned from it, is decided by the loop in the root package. Jobs that
// outlive the process are in act/queue, executors in a git worktree in act/worktree.
package act
