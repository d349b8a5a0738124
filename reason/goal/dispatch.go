package goal

import (
	"context"
	"encoding/json"
	"time"

	"github.com/arc-learn/arc/reason"
)

// Catalog says what can be done at present. A [Controller] asks it at every tick.
// Its methods may be called concurrently.
type Catalog interface {
	// Skills returns the skills that a worker has.
	Skills() []string
	// Effects returns the effects that a worker can bring about.
	Effects() []reason.Effect
}

// Runner carries dispatches out. Each is a run of its own, which the Runner keeps
// under [Dispatch].ID.
//
// Calls for different dispatches overlap. The context ends with the dispatch's
// lease, and when the Controller is closed. A call returns what came of the run. An
// error or a panic counts as [Failed]; an error once the Controller is being closed leaves
// the run unfinished, for Resume. One at the end of the lease, and a call that does not
// return by then, which is left behind, end the dispatch as [Interrupted].
type Runner interface {
	// Run carries a dispatch out. It is called once for an ID.
	Run(ctx context.Context, d Dispatch) (Result, error)
	// Resume goes on with a dispatch that another process had begun, without doing
	// again what was done. The error is store.ErrNotFound if Run was never called
	// for it, or had no effect.
	Resume(ctx context.Context, d Dispatch) (Result, error)
	// Judge takes in whether the effect of the dispatch of an ID was observed, after
	// it had Succeeded by its steps. It is called again with the same if it fails, and
	// with what the next reading shows if the process does. A call that does not return
	// within ten seconds is left behind, and no other is made until it does.
	Judge(ctx context.Context, id string, seen bool) error
}

// Dispatch is what is to be done about a violated goal. The Controller keeps it until
// it has an outcome, so a Runner must not change what it refers to.
type Dispatch struct {
	// ID is that of the run, used for no other, at most 192 bytes: name/goal/number-time, or
	// name/number-time where that is longer, such as "goals/ci.green/7-20260701120000". The
	// time is At: a ledger that begins anew beside runs of another counts from 1.
	ID string `cbor:"1,keyasint,omitempty"`
	// Number counts all dispatches of the controller's name, from 1.
	Number uint64 `cbor:"2,keyasint,omitempty"`
	// Goal is the ID of the goal.
	Goal string `cbor:"3,keyasint,omitempty"`
	// Severity is that of the goal, medium if it has none.
	Severity string `cbor:"4,keyasint,omitempty"`
	// Text says in words what should hold and what does, without secrets.
	Text string `cbor:"5,keyasint,omitempty"`
	// Inputs are {"goal", "selector", "actual", "reason"} as JSON, at most 32 KiB,
	// without secrets; nil if they are larger.
	Inputs json.RawMessage `cbor:"6,keyasint,omitempty"`
	// Steps are to be done in this order; at least one.
	Steps []Step `cbor:"7,keyasint,omitempty"`
	// At is when it was admitted, in UTC.
	At time.Time `cbor:"8,keyasint,omitempty"`
	// Until is when its lease ends.
	Until time.Time `cbor:"9,keyasint,omitempty"`
}

// Step is one action of a [Dispatch].
type Step struct {
	// Action is the name of the [Action], or "change <domain> <path>" for an effect of
	// the [Catalog].
	Action string `cbor:"1,keyasint,omitempty"`
	// Task is what a worker gets. Its Delta and Verify are the goal's condition in
	// words, and it has a Skill or an Effect to find the worker by.
	Task reason.Task `cbor:"2,keyasint,omitempty"`
}

// End says how a dispatch ended.
type End string

// The ends of a dispatch. Each that was admitted comes to exactly one.
const (
	// Succeeded: all steps were done and passed every gate, and a reading that began
	// afterwards shows the goal met. A Runner says it of the steps alone.
	Succeeded End = "succeeded"
	// Unseen: all steps were done and passed every gate, and no reading has shown the
	// goal met. The goal is left alone for its cooldown. A reading after that which
	// shows the goal violated counts against the actions and the worker, and Why says so.
	// That a goal with ActOnUnknown is still unknown then counts against the actions alone.
	Unseen End = "unknown"
	// Failed: a step was tried and did not succeed.
	Failed End = "failed"
	// Refused: no worker was called, or an approval was denied. The action rests for
	// Options.Cooldown.
	Refused End = "refused"
	// Interrupted: the run was cut off, and what was done is unknown.
	Interrupted End = "interrupted"
)

// Result is what came of a dispatch. One without a valid End, or with bad Deltas,
// is a failure.
type Result struct {
	End End
	// Why says in words why it did not succeed; "" if it did. The outcome keeps 2 KiB of
	// it, without secrets.
	Why string
	// Worker made the last attempt; "": no worker was called.
	Worker string
	// Done is how many steps were done, in order. All count if the End is Succeeded.
	Done int
	// Deltas are what has changed in the world, whatever the End.
	Deltas []reason.Delta
}

// Outcome is how a dispatch ended, as it is kept in the store and written as JSON.
type Outcome struct {
	// ID is that of the dispatch, and of its run.
	ID       string   `cbor:"1,keyasint,omitempty" json:"id"`
	Number   uint64   `cbor:"2,keyasint,omitempty" json:"number"`
	Goal     string   `cbor:"3,keyasint,omitempty" json:"goal"`
	Severity string   `cbor:"4,keyasint,omitempty" json:"severity"`
	Actions  []string `cbor:"5,keyasint,omitempty" json:"actions"`
	// Done is how many of Actions were done, from 0 to all.
	Done   int    `cbor:"6,keyasint,omitempty" json:"done"`
	End    End    `cbor:"7,keyasint,omitempty" json:"end"`
	Why    string `cbor:"8,keyasint,omitempty" json:"why,omitempty"`
	Worker string `cbor:"9,keyasint,omitempty" json:"worker,omitempty"`
	// At is when the dispatch was admitted, and Ended when its end was known, both in UTC.
	At    time.Time `cbor:"10,keyasint,omitempty" json:"at"`
	Ended time.Time `cbor:"11,keyasint,omitempty" json:"ended"`
	// Actual is the number that violated the goal when it was admitted; nil: none.
	Actual *float64 `cbor:"55,keyasint,omitempty" json:"actual,omitempty"`
	// Want is the goal's condition in words, as it was then. A goal that wants something
	// else by now does not judge the dispatch. "": one of an earlier version.
	Want string `cbor:"257,keyasint,omitempty" json:"want,omitempty"`
	// About is the value that the goal was about. The zero Effect: one of an earlier version.
	About reason.Effect `cbor:"258,keyasint,omitzero" json:"about,omitzero"`
}
