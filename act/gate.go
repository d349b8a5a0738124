package act

import "context"

// Gate decides whether a task was done. It is the backpressure of the loop:
// nothing counts as delivered that a gate has not passed.
//
// Verify may be called concurrently. It should judge by what it can observe,
// not by the executor's word. An error, a panic or a missed deadline blocks
// the delivery, since nothing was verified, but is not held against the
// worker. Verify may be called again for the same work after a crash.
type Gate interface {
	Verify(ctx context.Context, w Work, r Result) (Verdict, error)
}

// GateFunc adapts a function to [Gate].
type GateFunc func(ctx context.Context, w Work, r Result) (Verdict, error)

// Verify calls f.
func (f GateFunc) Verify(ctx context.Context, w Work, r Result) (Verdict, error) { return f(ctx, w, r) }

// Verdict is what a Gate says. The Complaint of a failed one goes into the
// next attempt, so it should say what to do differently.
type Verdict struct {
	Pass      bool
	Complaint string
}

// NoGate passes everything. A host that has no way to verify a worker's tasks
// says so by giving the worker this gate.
var NoGate Gate = noGate{}

type noGate struct{}

func (noGate) Verify(context.Context, Work, Result) (Verdict, error) {
	return Verdict{Pass: true}, nil
}
