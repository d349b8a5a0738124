// Package reason decides what to do. A [Reasoner] gets a [Brief] and returns a [Decision]: tasks, a suggested
// plan, alternatives, an impasse with a subgoal, or questions. [LLM] is one on a [Model], which adapters are.
//
// A Model is called by [Generate] or, for an answer of a schema, by [Ask]. Nothing here tries again or waits:
// the error says what can be done ([Classify]), and the loop does it. Nothing is kept.
package reason

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/memory"
)

// Bounds, in bytes but for the first two.
const (
	maxTasks        = 64 // of a Decision; and its questions
	maxAlternatives = 8
	maxDecision     = 128 << 10
	maxRead         = 16 << 10 // of an error or a body that is read for words
	maxTold         = 1 << 10  // of what is told of one
	maxSaid         = 4 << 10  // of a text of a prompt that is not the objective, its inputs or the complaint
	whole           = 1 << 30  // of one that is
	maxAsked        = 8 << 10  // of the end of a conversation by which known facts are looked up
	maxSkill        = 64 << 10 // of a file
	maxTag          = 300
	maxBody         = 32 << 20 // of a provider's answer: a stream has some 300 for a token
)

// Delta is a change of the world, one that an attempt has made or one that a worker is there for.
type Delta struct {
	Path  string          // dotted: "ci.success_rate"
	Op    string          // "set", "inc" (below 0 it lowers), "push"
	Value json.RawMessage `json:",omitempty" cbor:"Value"` // of a worker's: about how much; nil: not known
}

// Task is one unit of work.
type Task struct {
	Objective string          `cbor:",omitzero"`
	Delta     string          `cbor:",omitzero"` // what will be different when it is done
	Verify    string          `cbor:",omitzero"` // what a gate checks, in words
	Skill     string          `cbor:",omitzero"` // what a worker must be able to do; "": one without Skills
	Worker    string          `cbor:",omitzero"` // tried first; of an objective's own tasks: it alone
	Inputs    json.RawMessage `json:",omitempty" cbor:",omitzero"`
}

// PlanCall is one call of a plan: a task, or a tool. ResultDigest says what the tool returned, see
// tools.Digest; "": not known. A plan that fires is to be left where a call returns something else.
type PlanCall struct {
	Name         string          `cbor:",omitzero"`
	Inputs       json.RawMessage `json:",omitempty"` // as a value: of one that fires, members are sorted
	ResultDigest string          `cbor:",omitzero"`
	Text         string          `cbor:",omitzero"` // the task's words, if all of them are bound to the case
}

// Plan is what was done: a list of calls. The prose of tasks decides nothing about it.
type Plan struct {
	ID    string     `json:",omitempty" cbor:",omitzero"` // by which learn.Layer.Known has it; "": not known
	Calls []PlanCall // in order
}

// Suggestion is a plan that delivered a case like this one. In its inputs "{order}" is a parameter: put a
// value of this case there, of its inputs or of an earlier result ([Case.Use]). A Decision takes it by Name.
type Suggestion struct {
	Plan
	Name       string            // "plan 1"
	Parameters map[string]string // names, and what each was: "string", "number" or "bool"; "": not known
	Differs    string            // why it does not fire for this case, in a sentence
	Delivered  int               // how many cases it delivered
	Refused    int               // and in how many it was refused
	Retired    bool              // by a person: it neither fires nor is suggested until that is taken back
	Edited     bool              // by a person: its calls are as they were written, whatever is learned
}

// Warning says what failed at an action before, and what passed afterwards.
type Warning struct {
	Skill, Complaint string // at what, "": not known; and why it was refused
	Instead          string // "" while the complaint is open
	Times            int    // how often it failed
}

// String is the warning in words, for a prompt or a person.
func (w Warning) String() string {
	s := strings.TrimPrefix(w.Skill+": ", ": ") + w.Complaint
	if w.Times > 1 {
		s += fmt.Sprintf(" (%d times)", w.Times)
	}
	if w.Instead != "" {
		s += "; passed afterwards: " + w.Instead
	}
	return s
}

// Delivery is a task of the run that was delivered, by its Worker.
type Delivery struct {
	Task
	Output json.RawMessage `json:",omitempty" cbor:",omitzero"` // what its worker made
}

// Failure is an attempt at a task, by its Worker, that did not pass.
type Failure struct {
	Task
	Approach        string // of the Decision that has set it; "": none was named
	Complaint, Gate string // why it was refused, and by which gate; "": it failed before it was judged
}

// Answer is what a person, or the reasoner, answered to a question.
type Answer struct{ Question, Text string }

// Source tells a Reasoner what the host knows about the work: texts of at most so many tokens, the most
// useful first, of files or pages each with its name. Where it fails that is told, and no plan is learned.
type Source func(ctx context.Context, objective string, tokens int) ([]string, error)

// Card is what a reasoner is told of a worker: a name, a description with what it is there to change, the
// schema of its inputs, and what it can do.
type Card struct {
	Tool            // its Input is that of a task
	Skills []string // none: it takes tasks without a skill
}

// Known is what memory has of cases like the one at hand.
type Known struct {
	Memories    []memory.Hit `cbor:",omitzero"` // rules first, then what was recalled, best first
	Background  []memory.Hit `cbor:",omitzero"` // nobody vouches for it (memory.Record.Trusted): to weigh
	Facts       []string     `cbor:",omitzero"` // of the person or project, see package identity
	Warnings    []Warning    `cbor:",omitzero"`
	Suggestions []Suggestion `cbor:",omitzero"`
	Fires       *Plan        `cbor:",omitzero"` // to carry out without a model, in a Call by its worker
}

// Brief is what a Reasoner decides from.
type Brief struct {
	Case                 // what is wanted, and what is known of it
	Workers    []Card    // none: nothing is known of them
	Failed     []Failure // of this run; an approach that failed is to be left
	Assessment string    // how the session goes, where it does not get on, see package meta
	Skills     []Skill   // the host's notes on ways of working, see LoadSkills
	Passages   []string  // of Sources
}

// What a [Decision] can say of an objective's size, and why no way is open.
var (
	complexities = []string{"simple", "moderate", "complex", "unclear"}
	impasses     = []string{noApproach, conflict, "missing_capability", "repeated_failure"}
)

const (
	noApproach = "no_approach"
	conflict   = "conflict" // demands contradict each other, or nothing tells the ways apart
)

// Preference says how an alternative compares (Soar's preferences).
type Preference struct {
	Approach string // of an alternative
	Is       string // acceptable, reject, better, worse, best, worst, indifferent, require or prohibit
	Than     string // of another; "" but for better, worse and, where it names one, indifferent
}

// Decision is what a Reasoner concludes: exactly one of Tasks, Use, Alternatives, Impasse and Questions.
type Decision struct {
	Approach     string          // the way in a few words: one that has failed is refused; "": its Tasks are
	Tasks        []Task          // in the order in which they are to be done, at most 64
	Use          string          // a Suggestion's name; bound with Inputs it counts as that plan's delivery
	Inputs       json.RawMessage `json:",omitempty" cbor:"Inputs"` // of Use: the parameters
	Alternatives []Decision      // each an Approach with its Tasks, and nothing else
	Preferences  []Preference    // tell the Alternatives apart, see [Decision.Choose]
	Impasse      string          // no way is open: no_approach, conflict, missing_capability, repeated_failure
	Subgoal      string          // of an Impasse: what would open one; "" or begun before: a person is asked
	Questions    []string        // for a person, at most 64
	Applied      []memory.ID     // the memories that shaped it
	Reasoning    string          // why, in a few sentences; of LLM, first how complex the objective is
	Usage        *Usage          // what deciding took; nil: unknown
}

// Reasoner decides. It runs no tools and writes no memory. Decide may be called concurrently.
type Reasoner interface {
	Decide(ctx context.Context, b *Brief) (*Decision, error)
}

// Answerer is a [Reasoner] that answers the questions of a worker. Where the Brief does not say, the answer
// is "", and a person is asked.
type Answerer interface {
	Answer(ctx context.Context, b *Brief, questions []string) (string, *Usage, error)
}
