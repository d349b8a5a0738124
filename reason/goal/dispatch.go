package goal

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/arc-learn/arc/reason"
)

// Catalog says what can be done at present. A [Controller] asks it at every
// tick. Its methods may be called concurrently.
type Catalog interface {
	// Skills are those that somebody has.
	Skills() []string
	// Effects are those that somebody can bring about.
	Effects() []reason.Effect
}

// Dispatcher has dispatches carried out.
//
// Dispatch is called once for a key, with a context that ends with the
// dispatch's lease; calls for different goals overlap. It returns what came of
// the dispatch. An error means that nothing came of it: [ErrRefused] that nobody
// was called, [ErrInterrupted] that nobody knows, and any other that it failed.
// So does a panic. A call that does not return in time is left behind, and the
// dispatch ends as [Interrupted].
type Dispatcher interface {
	Dispatch(ctx context.Context, d Dispatch) (Result, error)
}

// Resumer is what a [Dispatcher] implements that can go on with a dispatch
// after its process was restarted. Without it such a dispatch ends as
// [Interrupted].
type Resumer interface {
	// Resume says what came of a dispatch that had been begun, without having
	// it done a second time. Otherwise it is as Dispatch.
	Resume(ctx context.Context, d Dispatch) (Result, error)
}

// Errors of a [Dispatcher].
var (
	// ErrRefused: the dispatch was dropped, and nothing was done.
	ErrRefused = errors.New("dispatch refused")
	// ErrInterrupted: the dispatch was cut off, and what was done is unknown.
	ErrInterrupted = errors.New("dispatch interrupted")
)

// Dispatch is what is to be done about a violated goal.
type Dispatch struct {
	Key      string   `cbor:"1,keyasint,omitempty"` // identifies it: never used for another, at most 256 bytes
	Number   uint64   `cbor:"2,keyasint,omitempty"` // of all dispatches of the controller, from 1
	Goal     string   `cbor:"3,keyasint,omitempty"` // the ID
	Severity Severity `cbor:"4,keyasint,omitempty"`
	Text     string   `cbor:"5,keyasint,omitempty"` // what should hold and what does, in words
	// Inputs are {"goal", "selector", "actual", "reason"} as JSON.
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
	Succeeded   End = "succeeded"   // all steps were done, and passed whatever verifies them
	Failed      End = "failed"      // a step was tried and did not succeed
	Refused     End = "refused"     // nobody was called, or somebody who may did not allow it
	Interrupted End = "interrupted" // cut off: what was done is unknown
)

// Result is what came of a dispatch. One that has no valid End or deltas is a
// failure.
type Result struct {
	End    End
	Why    string         // in words; "" if it succeeded
	Worker string         // who did, or tried, the last step; "" if nobody
	Done   int            // steps that were done, in order; all if it succeeded
	Deltas []reason.Delta // what has changed in the world, whatever the End
}

// Outcome is how a dispatch ended, as it is kept.
type Outcome struct {
	Key      string    `cbor:"1,keyasint,omitempty" json:"key"`
	Number   uint64    `cbor:"2,keyasint,omitempty" json:"number"`
	Goal     string    `cbor:"3,keyasint,omitempty" json:"goal"`
	Severity Severity  `cbor:"4,keyasint,omitempty" json:"severity"`
	Actions  []string  `cbor:"5,keyasint,omitempty" json:"actions"`
	Done     int       `cbor:"6,keyasint,omitempty" json:"done"` // how many of Actions were done
	End      End       `cbor:"7,keyasint,omitempty" json:"end"`
	Why      string    `cbor:"8,keyasint,omitempty" json:"why,omitempty"`
	Worker   string    `cbor:"9,keyasint,omitempty" json:"worker,omitempty"`
	At       time.Time `cbor:"10,keyasint,omitempty" json:"at"`    // when it was admitted
	Ended    time.Time `cbor:"11,keyasint,omitempty" json:"ended"` // when this was known
}
