package act

import (
	"context"
	"encoding/json"

	"github.com/arc-learn/arc/next/iar"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/reason"
)

// Result is what an executor made of its task; a delivery is one that the gates have passed.
type Result struct {
	Output     json.RawMessage // at most 512 KiB
	Text       string          // the answer in words, at most 64 KiB
	Reflection *iar.Reflection // nil: none was made; an invalid one fails the attempt
	Utilized   []memory.ID     // nil: not known
	Usage      *reason.Usage   // of the whole attempt, also of what it took before a crash
	Deltas     []reason.Delta  // changes of the world that were made
	Plan       *reason.Plan    // the calls that were made, of an executor that makes calls
}

// Attempt is one execution with its verdict, whatever came of it.
type Attempt struct {
	Verdict              // of the gate that refused, or of the last one; Complaint is also what else went wrong
	Result               // of one that failed to make any: its Usage
	Outcome rank.Outcome // "" while a person has to rule or to answer before it goes on: no attempt is spent
	// Err is what the executor or a gate returned, or why it was not called; with the Outcome "" it wraps a
	// *[PendingError].
	Err *reason.Error
}

// Verdict is what a gate says.
type Verdict struct {
	Pass      bool
	Complaint string // required where it does not pass
	Gate      string // filled in by the Runner
}

// Gate decides whether a task was done, by what it can observe. An error, a panic or silence (no complaint) is no
// pass. A gate that has a String method is named by it, any other by its type.
type Gate interface {
	Verify(ctx context.Context, c *Call, r *Result) (Verdict, error)
}

// GateFunc adapts a function to [Gate].
type GateFunc func(ctx context.Context, c *Call, r *Result) (Verdict, error)

// Verify calls f.
func (f GateFunc) Verify(ctx context.Context, c *Call, r *Result) (Verdict, error) {
	return f(ctx, c, r)
}

// NoGate passes everything: a host that has no way to check a worker's tasks says so with it.
var NoGate Gate = noGate{}

type noGate struct{}

func (noGate) String() string { return "no gate" }
func (noGate) Verify(context.Context, *Call, *Result) (Verdict, error) {
	return Verdict{Pass: true}, nil
}
