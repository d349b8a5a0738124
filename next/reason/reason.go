// Package reason decides what to do. A [Reasoner] gets a [Brief] and returns a [Decision]: tasks, a suggested plan,
// alternatives, an impasse with a subgoal, or questions. [LLM] is the one on a [Model], which an adapter brings.
//
//	llm := &reason.LLM{Model: openai.New("gpt-5-mini", nil), Instructions: "We are a help desk."}
//	d, err := llm.Decide(ctx, &reason.Brief{Objective: "Where is order A-7471?", Workers: cards})
//
// A Model is called by [Generate] or, for an answer of a schema, by [Ask]. Nothing here tries again or waits: the
// error says what can be done ([Classify]), and the loop does it. Nothing is kept.
package reason

import (
	"context"
	"encoding/json"
	"time"

	"github.com/arc-learn/arc/next/memory"
)

// Effect is a change of the world that a worker can make or a goal needs: a dotted path and a direction.
type Effect struct {
	Path string  // "ci.success_rate"
	Sign int     // +1 raises, -1 lowers, 0 sets
	Size float64 // about how much; 0: not known
}

// Delta is a change of the world that an attempt has made.
type Delta struct {
	Path  string
	Op    string // "set", "inc", "push"
	Value json.RawMessage
}

// Task is one unit of work.
type Task struct {
	Objective string
	Delta     string // what will be different when it is done
	Verify    string // what a gate checks, in words
	Skill     string // what a worker must be able to do; "": a worker without Skills
	Effect    *Effect
	Worker    string // try this worker first
	Inputs    json.RawMessage
}

// PlanCall is one call of a plan: a skill or a tool, and its inputs. ResultDigest is that of the recorded result of
// a tool; "" for a task.
type PlanCall struct {
	Name         string
	Inputs       json.RawMessage
	ResultDigest string
	Text         string // the task's words; dropped where a plan is bound to another case and not all of them are
}

// Plan is what was done: a list of calls. The prose of tasks decides nothing about it.
type Plan struct{ Calls []PlanCall }

// Suggestion is a plan that delivered a case like this one. A Decision takes it by its Name.
type Suggestion struct {
	Name       string // "plan 1"
	Plan       Plan   // {name} stands for each parameter
	Parameters []string
	Types      []string // of Parameters: "string", "number" or "bool"; "": not known
	Differs    string   // what differs from this case, in a sentence
	Delivered  int      // how often it delivered
}

// Warning says what failed at an action before, and what passed instead.
type Warning struct {
	Skill, Complaint string
	Instead          string // "" while the complaint is open
	Times            int
}

// Delivery is what an earlier task of the run delivered.
type Delivery struct {
	Task   Task
	Worker string
	Output json.RawMessage
}

// Failure is an attempt of this run that did not pass.
type Failure struct {
	Task            Task
	Worker          string
	Approach        string
	Complaint, Gate string
	At              time.Time
}

// Answer is what a person, or the reasoner, answered to a question.
type Answer struct{ Question, Text string }

// Passage is a piece of a Source's text.
type Passage struct{ Name, Text string }

// Source tells what the host knows about the work at hand, in at most so many tokens, the most useful first.
type Source func(ctx context.Context, objective string, tokens int) ([]Passage, error)

// Card is what a reasoner is told of a worker.
type Card struct {
	Name, Description string
	Skills            []string
	Effects           []Effect
	Input             json.RawMessage // the JSON Schema of its inputs
}

// Brief is what a Reasoner decides from.
type Brief struct {
	Run, Session string
	Objective    string // in a subgoal: the subgoal
	Situation    string
	Inputs, Data json.RawMessage
	Goals        []string // in a subgoal: those above it, outermost first
	Complexity   Complexity

	Memories    []memory.Hit // rules first, then what was recalled, best first
	Background  []memory.Hit // quarantined: data to weigh
	Facts       []string     // of the person or project
	Suggestions []Suggestion
	Warnings    []Warning
	Passages    []Passage
	Workers     []Card
	Manuals     []Skill

	Lineage   []Delivery
	Failed    []Failure
	Answers   []Answer
	Avoid     []string // approaches to leave
	Advice    string   // of metacognition
	Rest      []Task   // what was left of the plan
	Complaint string   // why the previous decision was refused
}

// Complexity is an estimate of an objective's size.
type Complexity string

const (
	Simple   Complexity = "simple"
	Moderate Complexity = "moderate"
	Complex  Complexity = "complex"
	Unclear  Complexity = "unclear"
)

// ImpasseKind says why no way is open.
type ImpasseKind string

const (
	NoApproach        ImpasseKind = "no_approach"
	Conflict          ImpasseKind = "conflict" // demands contradict each other, or nothing tells the ways apart
	MissingCapability ImpasseKind = "missing_capability"
	RepeatedFailure   ImpasseKind = "repeated_failure"
)

// Impasse says that no way is open, and what would open one.
type Impasse struct {
	Kind    ImpasseKind
	Why     string
	Subgoal string // "": a person is asked
}

// Alternative is one of several ways.
type Alternative struct {
	Approach string
	Tasks    []Task
}

// Preference says how an alternative compares (Soar's preferences).
type Preference struct {
	Approach string
	Is       string // "acceptable", "reject", "better", "worse", "best", "worst", "indifferent", "require", "prohibit"
	Than     string
}

// Decision is what a Reasoner concludes: exactly one of Tasks, Use, Alternatives, Impasse and Questions.
type Decision struct {
	Complexity   Complexity
	Approach     string
	Tasks        []Task
	Use          string          // a Suggestion's name; bound with Inputs it counts as that plan's delivery
	Inputs       json.RawMessage // of Use: the parameters
	Alternatives []Alternative
	Preferences  []Preference
	Impasse      *Impasse
	Questions    []string
	Applied      []memory.ID // the memories that shaped it
	Reasoning    string
	Usage        *Usage
}

// Reasoner decides. It runs no tools and writes no memory. Decide may be called concurrently.
type Reasoner interface {
	Decide(ctx context.Context, b *Brief) (*Decision, error)
}

// Answerer is a [Reasoner] that answers the questions of a worker. Where the Brief does not say, the answer is "",
// and a person is asked.
type Answerer interface {
	Answer(ctx context.Context, b *Brief, questions []string) (string, *Usage, error)
}
