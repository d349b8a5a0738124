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
// error or a panic counts as [Failed]; an error after the context has ended leaves
// the run unfinished, for Resume. A call that does not return by the end of the
// lease is left behind, and the dispatch ends as [Interrupted].
type Runner interface {
	// Run carries a dispatch out. It is called once for an ID.
	Run(ctx context.Context, d Dispatch) (Result, error)
	// Resume goes on with a dispatch that another process had begun, without doing
	// again what was done. The error is store.ErrNotFound if Run was never called
	// for it, or had no effect.
	Resume(ctx context.Context, d Dispatch) (Result, error)
}

// Dispatch is what is to be done about a violated goal.
type Dispatch struct {
	ID       string `cbor:"1,keyasint,omitempty"` // of its run, used for no other, at most 192 bytes
	Number   uint64 `cbor:"2,keyasint,omitempty"` // of all dispatches of the controller, from 1
	Goal     string `cbor:"3,keyasint,omitempty"` // the ID of the goal
	Severity string `cbor:"4,keyasint,omitempty"`
	Text     string `cbor:"5,keyasint,omitempty"` // what should hold and what does, in words
	// Inputs are {"goal", "selector", "actual", "reason"} as JSON, at most 32 KiB; nil if
	// they are larger.
	Inputs json.RawMessage `cbor:"6,keyasint,omitempty"`
	Steps  []Step          `cbor:"7,keyasint,omitempty"` // to be done in this order; at least one
	At     time.Time       `cbor:"8,keyasint,omitempty"` // when it was admitted
	Until  time.Time       `cbor:"9,keyasint,omitempty"` // when its lease ends
}

// Step is one action of a [Dispatch].
type Step struct {
	Action string      `cbor:"1,keyasint,omitempty"` // the name
	Task   reason.Task `cbor:"2,keyasint,omitempty"`
}

// End says how a dispatch ended.
type End string

// The ends of a dispatch. Each that was admitted comes to exactly one.
const (
	Succeeded   End = "succeeded"   // all steps were done, and passed every gate
	Failed      End = "failed"      // a step was tried and did not succeed
	Refused     End = "refused"     // no worker was called, or an approval was denied
	Interrupted End = "interrupted" // cut off: what was done is unknown
)

// Result is what came of a dispatch. One without a valid End, or with bad Deltas,
// is a failure.
type Result struct {
	End    End
	Why    string         // in words; "" if it succeeded
	Worker string         // made the last attempt; "": no worker was called
	Done   int            // steps that were done, in order; all if it succeeded
	Deltas []reason.Delta // what has changed in the world, whatever the End
}

// Outcome is how a dispatch ended, as it is kept.
type Outcome struct {
	ID       string    `cbor:"1,keyasint,omitempty" json:"id"` // of the dispatch, and its run
	Number   uint64    `cbor:"2,keyasint,omitempty" json:"number"`
	Goal     string    `cbor:"3,keyasint,omitempty" json:"goal"`
	Severity string    `cbor:"4,keyasint,omitempty" json:"severity"`
	Actions  []string  `cbor:"5,keyasint,omitempty" json:"actions"`
	Done     int       `cbor:"6,keyasint,omitempty" json:"done"` // how many of Actions were done
	End      End       `cbor:"7,keyasint,omitempty" json:"end"`
	Why      string    `cbor:"8,keyasint,omitempty" json:"why,omitempty"`
	Worker   string    `cbor:"9,keyasint,omitempty" json:"worker,omitempty"`
	At       time.Time `cbor:"10,keyasint,omitempty" json:"at"`    // when it was admitted
	Ended    time.Time `cbor:"11,keyasint,omitempty" json:"ended"` // when this was known
}
