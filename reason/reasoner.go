package reason

import (
	"context"
	"encoding/json"
	"time"

	"github.com/arc-learn/arc/memory"
)

// Reasoner decides what to do about an objective.
//
// Reason may be called concurrently, for different runs. It should return when
// ctx ends; a call that does not is left behind at its deadline and counts as
// failed.
//
// A panic or an error fails the deliberation: the loop asks again, a bounded
// number of times, with the error in Brief.Complaint, unless that is an
// [ErrModel]. An error that is [Retryable] does not fail it: the run waits, and
// calls again when the error says, between a second and five minutes, or, if it
// does not say, after 1, 2, 4 … seconds. Reason itself waits for nothing but its model. Of a Decision
// with an error, the Usage counts and nothing else.
//
// The Brief and what it refers to belong to the callee for the length of the
// call only, and must not be changed.
type Reasoner interface {
	Reason(ctx context.Context, b Brief) (Decision, error)
}

// Answerer is a Reasoner that is asked first when a worker that it has dispatched has to
// know something.
type Answerer interface {
	Reasoner
	// Answer returns "" where neither the brief nor the Reasoner says: then a human is
	// asked, as also after an error.
	Answer(ctx context.Context, b Brief, questions []string) (text string, used Usage, err error)
}

// ReasonerFunc adapts a function to [Reasoner].
type ReasonerFunc func(ctx context.Context, b Brief) (Decision, error)

// Reason calls f.
func (f ReasonerFunc) Reason(ctx context.Context, b Brief) (Decision, error) { return f(ctx, b) }

// Accept is the JSON Schema of the inputs of a worker's tasks.
type Accept struct {
	Worker string
	Skills []string // none: tasks that ask for no skill
	Inputs json.RawMessage
}

// Brief is all that a Reasoner is told.
type Brief struct {
	// Run is the run's id, Session that of its session.
	Run, Session string

	// Objective is what is asked for; in a subgoal, the subgoal.
	Objective string
	// Situation is the kind of situation, in the host's words; the Objective if
	// the host gave none.
	Situation string
	// Inputs are the host's data, as given in the objective.
	Inputs json.RawMessage
	// Goals are, in a subgoal, the goals above it, outermost first.
	Goals []string
	// Complexity is an estimate by the wording of the objective, and Signs are
	// the words that it goes by. See [Signals].
	Complexity Complexity
	Signs      []string

	// Memories are what was recalled, best first.
	Memories []memory.Hit
	// Facts are what is known of the person or project of the run's scope, the most
	// useful first: data to weigh. One that is not Trusted is not confirmed.
	Facts []memory.Hit
	// Background are lessons and episodes in quarantine, best first. They quote
	// models, workers and gates: data to weigh, which no plan should repeat.
	Background []memory.Hit
	// Suggestions are plans that delivered cases like this one, best first: what
	// differs says why none of them fired.
	Suggestions []Suggestion
	// Passages are what the host's sources say, in the order of the sources.
	Passages []Passage
	// Skills are what the workers can do, sorted.
	Skills []string
	// Accepts is what workers take for the inputs of their tasks: a decision with a task
	// that no worker can take is refused.
	Accepts []Accept
	// Manuals are the skills whose SKILL.md is to be read first: Objective.Skills.
	Manuals []string

	// Lineage is what was delivered in this run so far, subgoals included.
	Lineage []Delivery
	// Failed is what was tried for this goal, and why it did not pass.
	Failed []FailedAttempt
	// Warnings say what has failed in this situation before, in other runs too,
	// and what passed instead; the most helpful first.
	Warnings []Warning
	// Answers are what a human answered, oldest first.
	Answers []Answer
	// Avoid are approaches that metacognition says to leave.
	Avoid []string
	// Advice is the metacognitive recommendation, in words. "": none.
	Advice string
	// Alternatives are approaches that an earlier decision on this goal proposed,
	// and that were not tried; where there is Advice, also those that delivered in
	// its situation before.
	Alternatives []string
	// Rest is what was left of the plan, where one task at a time is taken and the
	// next is to be decided. Tasks of the decision go on after what is done.
	Rest []Task
	// Complaint says why the previous decision on this goal was refused. "":
	// there was none, or it was not refused.
	Complaint string
}

// Suggestion is the plan of a chunk that does not fire. It is a hint to weigh:
// where the cases differ, so may what is right.
type Suggestion struct {
	// ID is that of the chunk.
	ID memory.ID
	// Situation is the kind of situation that the plan was made for.
	Situation string
	// Approach and Tasks are the plan. What it quotes of its inputs is bound to
	// those of this case, or shown as {name} where they cannot be.
	Approach string
	Tasks    []Task
	// Differs says in words what keeps the chunk from firing. None: it fires.
	Differs []string
}

// Delivery is a task that was done and passed its gates.
type Delivery struct {
	Task   Task
	Worker string
	// Attempt is the attempt that passed, from 1.
	Attempt int
	// Output is what the worker made. nil: nothing.
	Output json.RawMessage
	// Summary is the worker's own account of it.
	Summary string
	// Deltas are what the worker says it changed in the world.
	Deltas []Delta
	// At is when it had passed. Zero: before runs kept that.
	At time.Time
}

// FailedAttempt is an attempt at a task that did not pass.
type FailedAttempt struct {
	Objective string `cbor:"1,keyasint,omitempty"` // of the task
	Worker    string `cbor:"2,keyasint,omitempty"`
	Complaint string `cbor:"3,keyasint,omitempty"` // of the gate, or what went wrong
	// Gate is the one that did not pass it. "": none was asked, or all were away.
	Gate string `cbor:"256,keyasint,omitempty"`
	// At is when it ended, in an arc.Report alone. Zero: before runs kept that.
	At time.Time `cbor:"-" json:"-"`
}

// Answer is a human's answer to the questions of a run.
type Answer struct {
	Questions []string `cbor:"1,keyasint,omitempty"`
	Text      string   `cbor:"2,keyasint,omitempty"`
}
