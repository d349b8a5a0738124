package reason

import (
	"context"
	"encoding/json"

	"github.com/arc-learn/arc/memory"
)

// Reasoner decides what to do about an objective.
//
// Reason may be called concurrently, for different runs. It should return when
// ctx ends; a call that does not is left behind at its deadline and counts as
// failed. A panic or an error fails the deliberation: the loop asks again, a
// bounded number of times, with the error in [Brief.Complaint], unless that is
// an [ErrModel]. An error that is [Retryable] does not fail it yet: the call is
// repeated when the error says, between a second and a minute, or, if it does
// not say, after 1, 2 and 4 seconds, within the deadline of the deliberation.
// Of a Decision with an error, the Usage counts and nothing else. The Brief and
// what it refers to belong to the callee for the length of the call only, and
// must not be changed.
type Reasoner interface {
	Reason(ctx context.Context, b Brief) (Decision, error)
}

// ReasonerFunc adapts a function to [Reasoner].
type ReasonerFunc func(ctx context.Context, b Brief) (Decision, error)

// Reason calls f.
func (f ReasonerFunc) Reason(ctx context.Context, b Brief) (Decision, error) { return f(ctx, b) }

// Brief is all that a Reasoner is told.
type Brief struct {
	Run     string // the run's id
	Session string

	Objective string          // what is asked for; in a subgoal, the subgoal
	Situation string          // the kind of situation, in the host's words; the Objective if the host gave none
	Inputs    json.RawMessage // the host's data, as given in the objective
	Goals     []string        // in a subgoal: the goals above it, outermost first

	Memories []memory.Hit // what was recalled, best first
	Passages []Passage    // what the host's sources say about the objective, the most useful first
	Estimate Estimate     // what the wording of the objective says about its size
	Skills   []string     // what the workers can do, sorted

	Lineage   []Delivery      // what was delivered in this run so far, subgoals included
	Failed    []FailedAttempt // what was tried for this goal, and why it did not pass
	Answers   []Answer        // what a human answered, oldest first
	Avoid     []string        // approaches that metacognition says to leave
	Advice    string          // the metacognitive recommendation, in words; "" if there is none
	Complaint string          // why the previous decision on this goal was refused; "" at first
}

// Delivery is a task that was done and passed its gates.
type Delivery struct {
	Task    Task
	Worker  string
	Attempt int             // the attempt that passed, from 1
	Output  json.RawMessage // what the worker made; nil if nothing
	Summary string          // the worker's own account of it
	Deltas  []Delta         // what it says it changed in the world
}

// FailedAttempt is an attempt at a task that did not pass.
type FailedAttempt struct {
	Objective string `cbor:"1,keyasint,omitempty"` // of the task
	Worker    string `cbor:"2,keyasint,omitempty"`
	Complaint string `cbor:"3,keyasint,omitempty"` // of the gate, or what went wrong
}

// Answer is a human's answer to the questions of a run.
type Answer struct {
	Questions []string `cbor:"1,keyasint,omitempty"`
	Text      string   `cbor:"2,keyasint,omitempty"`
}
