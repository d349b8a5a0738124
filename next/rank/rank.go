// Package rank orders candidates (workers, models, tools) for a task by what was observed of them, tells when
// nobody is worth another try, and keeps a stream of tasks under an average price.
//
// This file has the nouns. A [Book] keeps one tenant's statistics.
package rank

import "time"

// Candidate is something that can take a task.
type Candidate struct {
	Name  string
	Prior float64 // the confidence that it claims, in [0,1]
	Blast int     // how far a mistake reaches; the smaller wins a tie
	Price float64 // expected US dollars of an attempt, where known beforehand
}

// Task is what a candidate is wanted for.
type Task struct {
	Skill  string
	Key    string   // the kind of case, e.g. its situation; "" if it has none
	Failed []string // the candidates that failed at this very task
}

// Outcome is what came of an attempt. Only Delivered, Failed and Malformed tell about skill; an outage
// (Away, TimedOut, Canceled) or a refusal (Denied) does not.
type Outcome string

const (
	Delivered Outcome = "delivered" // a gate passed it
	Failed    Outcome = "failed"    // a gate or the worker refused it
	Malformed Outcome = "malformed" // the answer was unusable
	Away      Outcome = "away"      // rate limit, server error, no connection
	TimedOut  Outcome = "timed out"
	Canceled  Outcome = "canceled"
	Denied    Outcome = "denied"  // permission, or a person said no
	Unknown   Outcome = "unknown" // made, and no gate could tell
)

// Sample is the outcome of one attempt. It holds no text.
type Sample struct {
	Run        string // the run and attempt, e.g. "run/3/1": makes a sample idempotent and lets a verdict correct it
	Candidate  string
	Task       Task
	Outcome    Outcome
	Class      string   // the class of the error or complaint
	Confidence *float64 // what the candidate itself reported, in [0,1]
	Wall       time.Duration
	CostUSD    *float64 // nil: unknown
	Tokens     int
	At         time.Time
}

// Scored is a candidate with its score; the order of a slice of them is the ranking.
type Scored struct {
	Candidate
	Score float64
	Warm  bool // observed often enough to be scored by what was observed
}
