// Package learn is the layer around any loop: what a check has passed is used again, what a check refused is warned
// of, and the difference is measured. [Layer.Before] advises before a case is worked on, [Layer.After] learns from
// what came of it. The root package is built on the same two calls.
//
// This file has the nouns.
package learn

import (
	"encoding/json"

	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/reason"
)

// Case is what is to be done.
type Case struct {
	Scope      memory.Scope
	Lessons    memory.Scope // the scope that plans, warnings and statistics are shared in; "": Scope
	Also       []memory.Scope
	Session    string
	Situation  string // the kind of case, in the host's words
	Text       string
	Inputs     json.RawMessage // an object; what varies belongs here, not in the text
	Conditions []string        // what else must hold for the same plan to be right
	Goals      []string        // in a subgoal: the goals above it
	Skill      string          // of the step, for Ranked
	Candidates []rank.Candidate
	Turns      []reason.Message // what was said before, for recall
	Fresh      bool             // nothing is recalled and nothing fires; the outcome is learned
}

// Advice is what Before knows about a case. The zero Advice is empty and usable. It survives JSON, and is given to
// After once.
type Advice struct {
	ID          string
	Case        Case
	Memories    []memory.Hit
	Background  []memory.Hit // quarantined: data to weigh
	Warnings    []reason.Warning
	Fires       *reason.Plan // the plan to carry out without asking a model; nil: none
	FiredBy     string       // the id of its chunk
	Suggestions []reason.Suggestion
	Ranked      []rank.Scored
	Held        bool // by the holdout: nothing was recalled, to measure what memory is worth
}

// Verdict says what came of a case.
type Verdict string

const (
	Unknown   Verdict = "" // nobody could tell: feeds no counter
	Delivered Verdict = "delivered"
	Failed    Verdict = "failed"
)

// Outcome is what came of a case.
type Outcome struct {
	Verdict   Verdict
	Complaint string
	Gate      string
	Plan      *reason.Plan // the calls that were made
	Use       string       // the Suggestion that was taken
	Applied   []memory.ID  // memories that shaped the plan
	Utilized  []memory.ID  // nil: not known
	Misled    []memory.ID
	Worker    string
	Sample    *rank.Sample // nil: made of the other fields
	Usage     *reason.Usage
	Answer    string // what was said to the user, for the episode
}

// Learned says what After has learned.
type Learned struct {
	Memories []memory.ID // failures, patterns and episodes
	Plan     string      // the chunk that was made or strengthened; "" if none
	Ready    bool        // it fires from now on
	Warning  string      // in words
}
