package act

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Approval asks a person to allow a call of a worker, tool or step.
type Approval struct {
	ID       string // stable over restarts; another attempt and another try of an irreversible call have another
	Run      string
	Name     string // of the worker, tool or step
	Inputs   json.RawMessage
	Mode     Mode     // Veto, Gated or Compound
	Why      []string // "mode is gated", "blast is fleet", "amount is 120, above 100"
	Done     []string // irreversible calls that the run has made so far
	Asked    time.Time
	Deadline time.Time // afterwards silence lets a Veto go on and denies the others
	Rulings  []Ruling
}

// Ruling is a person's answer to an Approval. The zero value with an Approval's id is none: a no has By or Note.
type Ruling struct {
	Approval, By, Note string
	Allow              bool
	At                 time.Time
}

// Approver asks a person, or a policy that stands for one. An error, or an answer that is neither a clear yes nor a
// clear no, leaves the Approval open: the attempt is pending. In mode Compound it is called again until two
// different people have agreed.
type Approver interface {
	Approve(ctx context.Context, a Approval) (Ruling, error)
}

// ApproverFunc adapts a function to [Approver].
type ApproverFunc func(ctx context.Context, a Approval) (Ruling, error)

// Approve calls f.
func (f ApproverFunc) Approve(ctx context.Context, a Approval) (Ruling, error) { return f(ctx, a) }

// PendingError says that an attempt cannot go on before people have ruled or answered. An executor that gets one
// from [Do] or [Step] returns it; one that has a question returns its own. It spends no attempt: the attempt is made
// again with the same number and goes on where it was.
type PendingError struct {
	Approvals []Approval
	Questions []string
}

func (e *PendingError) Error() string {
	var parts []string
	for _, a := range e.Approvals {
		parts = append(parts, "approval of "+a.Name)
	}
	return "act: waiting for " + strings.Join(append(parts, e.Questions...), ", ")
}

// ErrDenied is in the chain of the error of a call that a person has refused, or that nobody has allowed in time.
var ErrDenied = errors.New("act: denied")
