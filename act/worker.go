package act

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/reason"
)

// Mode says how far a worker or tool may go without a person.
type Mode int

const (
	Autonomous Mode = iota // it acts
	Notify                 // a person is told by an event
	Veto                   // a person may stop it; silence agrees, also if nobody is reached, or while blocked
	Gated                  // a person must agree
	Compound               // two people must agree
)

// String returns the mode's name: "autonomous", "notify", "veto", "gated", "compound", or else "?".
func (m Mode) String() string {
	return [...]string{"autonomous", "notify", "veto", "gated", "compound", "?"}[min(uint(m), 5)]
}

// MarshalText and UnmarshalText write and read the name, in JSON and YAML.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

func (m *Mode) UnmarshalText(name []byte) error {
	for *m = Autonomous; m.String() != string(name); *m++ {
		if *m == Compound {
			return fmt.Errorf("act: there is no mode %q", name)
		}
	}
	return nil
}

// Blast says how far a mistake reaches. From Fleet on at least [Gated] applies.
type Blast int

const (
	Self    Blast = iota // the worker's own place
	Project              // what it works on
	Repo                 // all that is kept with it
	Fleet                // what others run
	Public               // what everybody sees
)

// String returns the radius's name: "self", "project", "repo", "fleet" or "public"; "?" of none of these.
func (b Blast) String() string {
	return [...]string{"self", "project", "repo", "fleet", "public", "?"}[min(uint(b), 5)]
}

// Worker is an Executor with what it can do and under which conditions.
type Worker struct {
	Name, Description string          // Name: unique in its Runner, up to 256 bytes; Description: for who plans
	Prior             float64         // the chance of success that it claims, in [0,1], for [rank.Candidate]
	Executor          Executor        // required
	Skills            []string        // it takes tasks that name one of them; none: tasks without a skill
	ByName            bool            // takes only tasks that name it
	Effects           []reason.Delta  // what it is there to change, see package goal
	Gates             []Gate          // at least one: [NoGate] where nothing can be checked
	Input             json.RawMessage // the JSON Schema of a task's inputs; nil: any
	Timeout           time.Duration   // of an execution, and of each gate; 0: 10 minutes. People may take longer
	Price             float64         // expected US dollars of an attempt

	Mode         Mode               // zero: it acts without a person
	Blast        Blast              // zero: a mistake reaches nobody else
	Irreversible bool               // made once a run, or asks, see [Do]; asks in a plan that fires
	AskAbove     map[string]float64 // by input: asks if it is further from 0 than that, no number, or absent
	Secrets      []string           // names of those that it gets, by [Secret] or as values of its inputs
	input        *schema.Schema     // compiled, of one that a Runner has
}

// Executor does a task. It returns when ctx ends, and must not change the Call. An error may be a
// *[reason.Error], a *[PendingError] or any other, which is classified by [reason.Classify]. Of a Result
// beside an error the Usage is kept, and nothing else; that of an outage, in the error, is added to it.
type Executor interface {
	Execute(ctx context.Context, c *Call) (*Result, error)
}

// ExecutorFunc adapts a function to [Executor].
type ExecutorFunc func(ctx context.Context, c *Call) (*Result, error)

func (f ExecutorFunc) Execute(ctx context.Context, c *Call) (*Result, error) { return f(ctx, c) }

// Call is a task for a worker: one attempt, as an executor, a gate and an Around see it. Where a plan Fires,
// an executor that makes calls is to make those of the plan, as long as the world answers as it did.
type Call struct {
	reason.Case             // what the run is about, and what is known of it
	Task        reason.Task // an executor finds the secrets filled in its Inputs; nobody else does
	Worker      *Worker
	Attempt     int    // from 1, over all workers of the run; the same when it goes on, after a crash, say
	Fired       bool   // the task is of a fired plan: an irreversible one is at least Gated
	Agent       string // AGENT.md of the skill
}

// Key identifies the attempt for others. All calls in it share that; of one it is [IdempotencyKey].
func (c *Call) Key() string { return string(c.Scope) + "//" + c.Run + "/" + strconv.Itoa(c.Attempt) }

// Around wraps every attempt: it may change the Call, the attempt's own copy, before next, and look at and
// change the Attempt after it. Its context reaches the executor. An Around that panics fails the attempt.
type Around func(ctx context.Context, c *Call, next func(context.Context) Attempt) Attempt
