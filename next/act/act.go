// Package act makes attempts: a [Worker] executes a task under a deadline, gates judge the result, a person is
// asked where its mode says so, and what was done is kept in a [Journal] so that no finished step is made again.
//
// This file has the nouns.
package act

import (
	"context"
	"encoding/json"
	"time"

	"github.com/arc-learn/arc/next/iar"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/reason"
)

// Mode says how far a worker or tool may go without a person.
type Mode int

const (
	Autonomous Mode = iota
	Notify          // a person is told
	Veto            // a person may stop it within the time there is
	Gated           // a person must agree
	Compound        // two people must agree
)

// Blast says how far a mistake reaches. From Fleet on at least Gated applies.
type Blast int

const (
	Self Blast = iota
	Project
	Repo
	Fleet
	Public
)

// Worker is an Executor with what it can do and under which conditions.
type Worker struct {
	Name, Description string
	Prior             float64 // the confidence that it claims
	Executor          Executor
	Skills            []string // it takes tasks that name one of them; none: tasks without a skill
	Effects           []reason.Effect
	Gates             []Gate // after the host's
	Mode              Mode
	Blast             Blast
	Irreversible      bool               // delivered at most once a run unless a person says so
	ByName            bool               // takes only tasks that name it
	AskAbove          map[string]float64 // asks where the input of this name is above the amount
	Secrets           []string           // names of secrets that its inputs may hold
	Input             json.RawMessage    // the JSON Schema of its inputs
	Timeout           time.Duration      // of an attempt; 0: the host's
	Price             float64            // expected US dollars of an attempt
}

// Call is a task for a worker: one attempt, as an executor, a gate, an Around and an approver see it.
type Call struct {
	Run, Session string
	Scope        memory.Scope
	Objective    string
	Situation    string
	Inputs, Data json.RawMessage // the objective's
	Task         reason.Task
	Worker       *Worker
	Attempt      int    // from 1, over all workers
	Key          string // identifies the attempt: the same after a crash
	Fired        bool   // the task is of a fired plan
	Suggested    *reason.Plan
	Memories     []memory.Hit
	Background   []memory.Hit
	Facts        []string
	Warnings     []reason.Warning
	Lineage      []reason.Delivery
	Answers      []reason.Answer
	Complaint    string // why the previous attempt did not pass
	Agent        string // AGENT.md of the skill
}

// Executor does a task. It returns when ctx ends, and must not change the Call. An error may be a *reason.Error, a
// *PendingError, or any other, which is classified.
type Executor interface {
	Execute(ctx context.Context, c *Call) (*Result, error)
}

// Result is what an executor made of its task; a delivery is one that the gates have passed.
type Result struct {
	Output     json.RawMessage
	Text       string          // the answer in words
	Reflection *iar.Reflection // nil: none was made
	Utilized   []memory.ID     // nil: not known
	Misled     []memory.ID
	Usage      *reason.Usage
	Deltas     []reason.Delta
	Plan       *reason.Plan // the calls that were made, of an executor that makes calls
}

// Verdict is what a gate says.
type Verdict struct {
	Pass      bool
	Complaint string // required where it does not pass
	Gate      string
}

// Gate decides whether a task was done, by what it can observe. An error, panic or silence is no pass.
type Gate interface {
	Verify(ctx context.Context, c *Call, r *Result) (Verdict, error)
}

// Attempt is one execution with its verdict, whatever came of it.
type Attempt struct {
	Outcome   rank.Outcome
	Result    *Result
	Verdict   Verdict
	Class     reason.ErrorClass
	Complaint string // what went wrong, in words
	Wall      time.Duration
	Wait      time.Duration // of an outage: when to try again at the earliest
	Pending   []Approval    // a person has to rule before it goes on; no attempt is spent
	Questions []string      // the worker asks
	Resonance float64
	Err       error
}

// Approval asks a person to allow a call of a worker or a tool.
type Approval struct {
	ID       string // stable over restarts
	Run      string
	Name     string // of the worker or tool
	Inputs   json.RawMessage
	Mode     Mode
	Why      []string // "blast is fleet", "amount 120 is above 100"
	Done     []string // what this run has done so far
	Asked    time.Time
	Deadline time.Time
	Rulings  []Ruling
}

// Ruling is a person's answer to an Approval.
type Ruling struct {
	Approval, By, Note string
	Allow              bool
	At                 time.Time
}

// Approver asks a person, or a policy that stands for one. An error leaves the Approval open: the run waits.
type Approver interface {
	Approve(ctx context.Context, a Approval) (Ruling, error)
}

// Around wraps every attempt: it may look at and change the Call before next, and the Attempt after it.
type Around interface {
	Around(ctx context.Context, c *Call, next func(context.Context) Attempt) Attempt
}

// Event is something that happened in a run. The root appends it to the run's journal in the commit of its step.
type Event struct {
	Seq    int
	At     time.Time
	Kind   string // "attempt began", "tool called", "text", "output", "approval asked", …
	Name   string // of the worker or tool
	Text   string
	Data   json.RawMessage
	Usage  *reason.Usage
	Ending bool
}

// Step states of a Journal.
const (
	StepNew   = ""
	StepBegun = "begun" // committed before an irreversible call was made; its end is not known
	StepDone  = "done"
)

// StepRecord is what a Journal knows of a step.
type StepRecord struct {
	State string
	Input string // digest of its input
	Value []byte // nil: kept as done without its value
}

// Journal keeps the steps of an attempt. It is bound to a run and an attempt, and travels in the context. The root
// has one over the run's store; without a Journal a step is simply made.
type Journal interface {
	// Get returns what is known of a step.
	Get(ctx context.Context, name string) (StepRecord, error)
	// Begin commits that an irreversible step is about to be made.
	Begin(ctx context.Context, name, input string) error
	// Put commits the end of a step, and its events in the same commit.
	Put(ctx context.Context, name string, r StepRecord, events ...Event) error
	// Note appends an event, e.g. a line of output; it may be committed with a later Put.
	Note(e Event)
	// Ruling returns the ruling of an approval that was asked for in this run, and whether there is one.
	Ruling(ctx context.Context, approval string) (Ruling, bool, error)
}
