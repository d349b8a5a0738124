package act

import (
	"context"
	"strconv"
)

// Blast is the radius of a worker's effects.
type Blast int

// The radii, smallest first. Nowhere is none of a worker's: as
// [Options].ApproveFrom it says that no radius asks for an approval.
const (
	Self Blast = iota
	Project
	Repo
	Fleet
	Public
	Nowhere
)

// String names the radius.
func (b Blast) String() string {
	return label(int(b), "self", "project", "repo", "fleet", "public", "nowhere")
}

// label is the name of a value, or its number.
func label(v int, names ...string) string {
	if v < 0 || v >= len(names) {
		return strconv.Itoa(v)
	}
	return names[v]
}

// Mode says how much a human has to do with a worker's attempts.
type Mode int

// The modes, mildest first. From Veto on a human is asked before each attempt: by the
// [Approver], or, without one, by the caller, who keeps the attempt until there is an
// answer ([Pending]). Silence lets an attempt in mode Veto proceed and denies the others.
const (
	Autonomous   Mode = iota // runs by itself
	Notification             // runs by itself; the event before the attempt has this mode
	Veto                     // a human may stop it
	Gated                    // a human has to agree
	// Compound: several humans have to agree, as many as Worker.Approvers. An
	// Approver sees to that itself.
	Compound
)

// String names the mode.
func (m Mode) String() string {
	return label(int(m), "autonomous", "notification", "veto", "gated", "compound")
}

// Call is an attempt that is to be made, as an [Interceptor] and an [Approver] see it.
type Call struct {
	Worker string
	Work   Work

	// Blast and Mode are the worker's. Mode is raised where the policy asks for more,
	// see Options; Why says what it was, in words for a human.
	Blast Blast
	Mode  Mode
	Why   []string
	// Irreversible is the worker's.
	Irreversible bool

	// Success is how often the worker's attempts at such tasks have passed the gates,
	// whatever it claims, in (0,1], and CostUSD what one takes on average. 0: not
	// known.
	Success, CostUSD float64

	// Allowed is the mode that a human has allowed the attempt in already: only for a
	// stricter one a human is asked again.
	Allowed Mode
	// Once: the worker is called once, also if its error says that another call may succeed.
	Once bool

	by   *Worker // while it is made
	came Attempt // what has come of it so far
}

// Approver asks a human, or a policy that stands for one. Approve may be
// called concurrently; ctx ends with the time that there is for an answer, and the
// Call must not be changed. No answer in time means yes in mode [Veto], no in the others. Anything
// else but (true, nil) keeps the worker from the attempt, whose error is
// then ErrDenied: its End says whether the answer was no ([Refused]), did not come
// ([Unanswered]) or failed ([Undecided]). None of them is held against the worker.
type Approver interface {
	Approve(ctx context.Context, c *Call) (bool, error)
}

// ApproverFunc adapts a function to [Approver].
type ApproverFunc func(ctx context.Context, c *Call) (bool, error)

// Approve calls f.
func (f ApproverFunc) Approve(ctx context.Context, c *Call) (bool, error) { return f(ctx, c) }
