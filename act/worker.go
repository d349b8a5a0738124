package act

import (
	"context"
	"slices"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// Worker is an Executor with what it can do and under which conditions.
type Worker struct {
	Card     rank.Candidate // its name, which must be unique, and its own confidence
	Executor Executor
	Skills   []string        // none: any task that asks for no skill
	Effects  []reason.Effect // what it can change
	Gates    []Gate          // applied after the host's gates
	Blast    Blast           // how far its effects reach; wins over Card.Blast if larger
	Mode     Mode            // how far it may go without a human
}

// able reports whether the worker can take the task.
func (w *Worker) able(t *Task) bool {
	if t.Skill != "" && !slices.Contains(w.Skills, t.Skill) {
		return false
	}
	return t.Effect == nil || slices.Contains(w.Effects, *t.Effect)
}

// Blast is the radius of a worker's effects.
type Blast int

// The radii, smallest first.
const (
	Self Blast = iota
	Project
	Repo
	Fleet
	Public
)

// Mode says how much a human has to do with a worker's attempts.
type Mode int

// The modes. Notification is served by the attempt's event. Veto, Gated and
// Compound need an [Approver], which is asked before every attempt: in these
// modes no answer in time means no.
const (
	Autonomous   Mode = iota // runs by itself
	Notification             // runs by itself, and is announced
	Veto                     // a human may stop it
	Gated                    // a human has to agree
	Compound                 // several humans have to agree; the Approver sees to that
)

// Approver asks a human, or a policy that stands for one. Approve may be
// called concurrently; ctx ends with the time that there is for an answer.
// Anything but (true, nil) keeps the worker from the attempt, whose error is
// then ErrDenied: its End says whether the answer was no ([Refused]), did not come
// ([Unanswered]) or failed ([Undecided]). None of them is held against the worker.
type Approver interface {
	Approve(ctx context.Context, r ApprovalRequest) (bool, error)
}

// ApproverFunc adapts a function to [Approver].
type ApproverFunc func(ctx context.Context, r ApprovalRequest) (bool, error)

// Approve calls f.
func (f ApproverFunc) Approve(ctx context.Context, r ApprovalRequest) (bool, error) { return f(ctx, r) }

// ApprovalRequest is what is to be approved: one attempt of one worker.
type ApprovalRequest struct {
	Worker string
	Mode   Mode
	Blast  Blast
	Work   Work
}
