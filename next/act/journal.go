package act

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Event is something that happened in a run. Kinds of this package are "notify", "approval asked", "ruled",
// "output" (a line of a program) and "tool" (not called again); act/tools has "text", "answer" (with its usage as Data),
// "calling" and "tool".
type Event struct {
	Seq  int // place in the run's journal, from 1; 0: not kept yet
	At   time.Time
	Kind string
	Name string // of the worker or tool
	Text string
	Data json.RawMessage
	Live bool // told as it happens and not kept: a piece of what a later event has whole
}

// States of a StepRecord.
const (
	StepNew   = ""      // not made, or made and not done
	StepBegun = "begun" // committed before an irreversible call: its end is not known
	StepDone  = "done"
)

// StepRecord is what a Journal keeps of a step.
type StepRecord struct {
	Name  string // in the run
	State string
	Input string // digest of its input
	Value []byte // JSON; nil in a done step: the result was too large to keep
	Begun int    // how often an irreversible step was begun
	Note  string // of an irreversible step: what it is and what came of it, for a person
}

// Journal keeps the steps and events of a run. It travels in the context, see [WithJournal]. Its methods are called
// concurrently. [NewJournal] returns one over a store.
type Journal interface {
	// Get returns the step of a name; one that is not there has the state StepNew.
	Get(ctx context.Context, name string) (StepRecord, error)
	// Steps yields the steps whose names begin with prefix, in the order of their names.
	Steps(ctx context.Context, prefix string) iter.Seq2[StepRecord, error]
	// Put commits a step with events and all that was noted before. A step without a name is none: the events alone.
	Put(ctx context.Context, s StepRecord, events ...Event) error
	// Note tells of an event, e.g. a line of output; it is committed with the next Put.
	Note(e Event)
}
