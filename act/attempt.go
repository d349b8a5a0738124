package act

import "time"

// End says how an attempt ended.
type End string

// The ends of an attempt. Only Finished goes to the gates.
const (
	Finished  End = "finished"  // a result with a valid reflection that claims success
	Failed    End = "failed"    // an error, or a reflection that says Failure or Skipped
	Malformed End = "malformed" // a result that is not valid: its reflection or its output
	TimedOut  End = "timed_out" // no result within the deadline
	Panicked  End = "panicked"  // a panic, or a lost goroutine
	Denied    End = "denied"    // ErrDenied, 401 or 403
	Rejected  End = "rejected"  // an error that the worker would meet again, see Permanent
	Canceled  End = "canceled"  // the caller's context ended: not an attempt at all
	// Refused, Unanswered and Undecided are attempts that were not made, since
	// the Approver said no, did not answer in time, or failed.
	Refused    End = "refused"
	Unanswered End = "unanswered"
	Undecided  End = "undecided"
	// Pending is an attempt that is yet to be made, once a human has allowed it.
	Pending End = "pending"
	// Away is an attempt of a worker that was not there: what it needs refuses
	// connections, is overloaded, or limits the rate. Attempt.After says when
	// to try again, if that is known.
	Away End = "away"
	// InputRequired is an attempt that is to be made again, with Work.Answers to
	// Attempt.Questions.
	InputRequired End = "input_required"
	// Interrupted is an attempt that was cut off and must not be made again:
	// what came of it is unknown. Execute never returns it.
	Interrupted End = "interrupted"
)

// Barred reports whether the worker may not do the task, for want of
// permission or approval. That is no failure of the worker's.
func (e End) Barred() bool {
	return e == Denied || e == Refused || e == Unanswered || e == Undecided || e == Pending
}

// Attempt is one execution, whatever came of it.
type Attempt struct {
	End       End
	Result    Result // as given if Finished; else what is known of it
	Resonance float64
	Complaint string // what went wrong; "" if Finished
	Stack     []byte // of a panic
	Wall      time.Duration
	After     time.Duration // if Away: when to try again; 0: not known
	Err       error         // the executor's error, if any
	Questions []string      // if InputRequired
}
