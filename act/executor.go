package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// Executor does a task.
//
// Execute may be called concurrently, for different work. It should return
// when ctx ends; a call that does not is left behind at its deadline, and what
// it returns later is dropped. The Work must not be changed.
//
// A result with [iar.Success] or [iar.Warning] goes to the gates. Everything
// else is a failed attempt: an error (which wins over a result given with it),
// a panic, a missed deadline, a reflection that is not valid, or one that says
// Failure or Skipped. What an error means for the next attempt is in the table of [Class].
// Away is no failure: other workers are tried first, and then this one again.
//
// After a crash an attempt may be executed again with the same [Work.Key],
// unless its outcome had been committed: executors whose effects must not
// happen twice remember the Key.
type Executor interface {
	Execute(ctx context.Context, w Work) (Result, error)
}

// ExecutorFunc adapts a function to [Executor].
type ExecutorFunc func(ctx context.Context, w Work) (Result, error)

// Execute calls f.
func (f ExecutorFunc) Execute(ctx context.Context, w Work) (Result, error) { return f(ctx, w) }

// Work is one attempt at a task, as an Executor and the gates see it.
type Work struct {
	Run       string          // the run's id
	Objective string          // what the run is for; in a subgoal, the subgoal
	Situation string          // the kind of situation
	Inputs    json.RawMessage // the host's data, as given in the objective

	Task     Task
	Agent    string       // AGENT.md of Task.Skill, or else of Objective.Skills
	Memories []memory.Hit // what was recalled for this goal, best first

	// Background are lessons and episodes in quarantine, best first: they quote
	// models, workers and gates. Fence them in a prompt, as memory.Render does.
	Background []memory.Hit

	// Facts are what is known of the person or project of the run's scope, the most
	// useful first. Fence them in a prompt, as memory.Render does.
	Facts []memory.Hit

	Lineage   []Delivery // what earlier tasks of this run delivered
	Attempt   int        // from 1, over all workers
	Key       string     // identifies the attempt: the same after a crash, never used for another
	Complaint string     // why the previous attempt at this task did not pass; "" at first

	// Answers are those to what the worker has asked in this attempt, oldest first; see
	// InputRequiredError.
	Answers []reason.Answer `json:",omitempty"`

	// Warnings say what failed at such tasks before, in other runs too; the most
	// helpful first. They quote workers and gates, as Background does.
	Warnings []Warning

	// Secrets are those of the objective, by name. An Approver does not get them.
	Secrets Secrets
}

// Task, Delivery, Delta, Usage and Warning are the nouns that package reason
// defines and that executors deal in.
type (
	Task     = reason.Task
	Delivery = reason.Delivery
	Delta    = reason.Delta
	Usage    = reason.Usage
	Warning  = reason.Warning
)

// Result is what an Executor made of its work.
type Result struct {
	Output     json.RawMessage // JSON; nil if there is nothing to hand on
	Reflection iar.Reflection
	Utilized   []memory.ID // the injected memories that helped
	Misled     []memory.ID // the injected memories that led astray
	Usage      Usage
	Deltas     []Delta // what changed in the world, at most 1,024 of them
}

// ErrDenied says that the worker may not do this: permission denied, 401,
// 403, or an approval that was refused or did not come in time. The worker is
// not asked again for the task, and not blamed.
var ErrDenied = errors.New("denied")

// InputRequiredError is the error of an Executor that has to know something before it
// can go on. Who dispatched it is asked, and then the Executor again, with Work.Answers:
// that is one attempt.
type InputRequiredError struct{ Questions []string }

// Error lists the questions.
func (e *InputRequiredError) Error() string {
	return "input required: " + strings.Join(e.Questions, "; ")
}

// Transient marks an error of an Executor as one that may go away by itself:
// the call is repeated up to three times, after 1, 2 and 4 seconds, within the
// attempt's deadline, and counts as one attempt; then the worker is [Away].
// Transient(nil) is nil.
func Transient(err error) error { return mark(err, true) }

// Permanent marks an error of an Executor as one that it would meet again, whatever it is told:
// the attempt is [Rejected]. Permanent(nil) is nil.
func Permanent(err error) error { return mark(err, false) }

func mark(err error, again bool) error {
	if err == nil {
		return nil
	}
	return &markedError{err, again}
}

// markedError says whether another try of the same may help.
type markedError struct {
	Err   error
	Again bool
}

func (e *markedError) Error() string                    { return e.Err.Error() }
func (e *markedError) Unwrap() error                    { return e.Err }
func (e *markedError) Retryable() (bool, time.Duration) { return e.Again, 0 }

// RateLimitError is the error of an Executor that was told to wait. The call
// is repeated after that time, for two minutes in all and within the attempt's
// deadline, and counts as one attempt; then the worker is [Away].
type RateLimitError struct {
	After time.Duration // kept between a second and a minute
}

// Error says how long to wait.
func (e *RateLimitError) Error() string { return fmt.Sprintf("rate limited for %v", e.After) }

// Retryable is what [reason.Retryable] asks for.
func (e *RateLimitError) Retryable() (again bool, after time.Duration) { return true, e.After }
