// Package act makes attempts: a [Worker] does a task under a deadline, gates judge the result, a person is
// asked where the worker's mode says so, and a [Journal] keeps what was done, so that it is not made again.
//
// A [Runner] has the workers. [Runner.Able] says who can take a task, [Runner.Run] makes one attempt. All
// that acts goes through [Do]: a worker, a tool (package act/tools), a [Step] of the host's own code. There
// approval is asked, secrets are filled in, and nothing irreversible is done twice in a run unasked. By its
// [IdempotencyKey] the other side knows a call again.
//
// Host code runs in place, with the deadline in its context. A panic, a typed nil and a malformed or huge
// value of it are errors of the attempt. Code that ignores its context holds its own attempt, and nothing
// else. A Runner may be used concurrently; the parts that hosts bring are then called concurrently, too.
package act
