package reason

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// Complexity is the reasoner's estimate of an objective.
type Complexity string

// The complexities. An unclear objective comes with questions.
const (
	Simple   Complexity = "simple"
	Moderate Complexity = "moderate"
	Complex  Complexity = "complex"
	Unclear  Complexity = "unclear"
)

// Decision is what a Reasoner concludes: tasks, or an impasse, or questions,
// and exactly one of the three.
type Decision struct {
	Complexity Complexity // "" if it was not estimated
	Tasks      []Task     // to be done in this order, at most MaxTasks
	Impasse    *Impasse
	Questions  []string // for a human; the run waits for the answer

	Approach  string      // the way taken, in a few words; outcomes are held against it
	Applied   []memory.ID // the recalled memories that shaped the decision
	Reasoning string      // why, for whoever reads the run later
	Usage     Usage       // what the deliberation cost
}

// Task is one unit of work with its own check.
type Task struct {
	Objective string          `cbor:"1,keyasint,omitempty"`
	Delta     string          `cbor:"2,keyasint,omitempty"` // what will be different when it is done
	Verify    string          `cbor:"3,keyasint,omitempty"` // what a gate checks, in words or as a command that the host's gates allow
	Skill     string          `cbor:"4,keyasint,omitempty"` // what a worker must be able to do; "": any worker will do
	Effect    *Effect         `cbor:"5,keyasint,omitempty"` // what a worker must be able to change; nil: no matter
	Worker    string          `cbor:"6,keyasint,omitempty"` // the worker to try first, by name; "" or unknown: as ranked
	Inputs    json.RawMessage `cbor:"7,keyasint,omitempty"` // data for the worker
}

// Effect names a value of the world that a task is to change.
type Effect struct {
	Domain string `cbor:"1,keyasint,omitempty"` // such as "ci"
	Path   string `cbor:"2,keyasint,omitempty"` // within the domain, such as "data.failing"
}

// Delta is a change of the world that a worker reports.
type Delta struct {
	Domain string          `cbor:"1,keyasint,omitempty"`
	Path   string          `cbor:"2,keyasint,omitempty"`
	Value  json.RawMessage `cbor:"3,keyasint,omitempty"` // the value now
}

// Usage is what a call of a model or a worker has used. The zero value is
// "nothing reported".
type Usage struct {
	TokensIn   int     `cbor:"1,keyasint,omitempty"`
	TokensOut  int     `cbor:"2,keyasint,omitempty"`
	CostUSD    float64 `cbor:"3,keyasint,omitempty"` // as reported by the provider
	APICostUSD float64 `cbor:"4,keyasint,omitempty"` // as estimated from tokens and list prices
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	u.TokensIn += v.TokensIn
	u.TokensOut += v.TokensOut
	u.CostUSD += v.CostUSD
	u.APICostUSD += v.APICostUSD
	return u
}

// Valid reports whether no count of u is negative, infinite or not a number.
func (u Usage) Valid() bool {
	return u.TokensIn >= 0 && u.TokensOut >= 0 && cost(u.CostUSD) && cost(u.APICostUSD)
}

func cost(usd float64) bool { return usd >= 0 && usd <= math.MaxFloat64 }

// ImpasseKind says in which way a Reasoner is stuck. The four kinds follow
// Soar's idea that an impasse is made explicit and resolved in a subgoal
// (Laird, Newell & Rosenbloom 1987).
type ImpasseKind string

// The kinds of impasse.
const (
	NoApproach        ImpasseKind = "no_approach"        // no way is known
	Conflict          ImpasseKind = "conflict"           // requirements contradict each other
	MissingCapability ImpasseKind = "missing_capability" // something needed is not available
	RepeatedFailure   ImpasseKind = "repeated_failure"   // tried, and failed, several times
)

// Impasse says that the Reasoner does not know how to go on, and what to
// achieve first so that it would.
type Impasse struct {
	Kind    ImpasseKind
	Reason  string
	Subgoal string // the objective whose delivery would resolve the impasse
}

// MaxTasks is the largest number of tasks in a decision.
const MaxTasks = 64

// Bounds of each text of a decision, and of those of its tasks together, in
// bytes.
const (
	maxText      = 64 << 10
	maxTasksText = 128 << 10
)

// ErrDecision is the error of a decision that cannot be acted on. The text
// says why, in words that can be given back to the Reasoner.
var ErrDecision = errors.New("decision refused")

// Check returns nil if d can be acted on, else ErrDecision with the first
// thing that is wrong, or a *store.LimitError.
func (d *Decision) Check() error {
	given := 0
	for _, has := range []bool{len(d.Tasks) > 0, d.Impasse != nil, len(d.Questions) > 0} {
		if has {
			given++
		}
	}
	switch {
	case given == 0:
		return fmt.Errorf("%w: no tasks, no impasse and no questions", ErrDecision)
	case given > 1:
		return fmt.Errorf("%w: give either tasks, or an impasse, or questions", ErrDecision)
	}
	switch d.Complexity {
	case "", Simple, Moderate, Complex:
	case Unclear:
		if len(d.Tasks) > 0 {
			return fmt.Errorf("%w: an unclear objective calls for questions, not tasks", ErrDecision)
		}
	default:
		return fmt.Errorf("%w: unknown complexity %q", ErrDecision, d.Complexity)
	}
	if !d.Usage.Valid() {
		return fmt.Errorf("%w: usage is negative or not a number", ErrDecision)
	}
	if err := checkTexts("decision", d.Approach, d.Reasoning); err != nil {
		return err
	}
	if d.Impasse != nil {
		return d.Impasse.check()
	}
	if err := checkTexts("question", d.Questions...); err != nil {
		return err
	}
	for _, q := range d.Questions {
		if strings.TrimSpace(q) == "" {
			return fmt.Errorf("%w: an empty question", ErrDecision)
		}
	}
	return checkTasks(d.Tasks)
}

func (i *Impasse) check() error {
	switch i.Kind {
	case NoApproach, Conflict, MissingCapability, RepeatedFailure:
	default:
		return fmt.Errorf("%w: unknown kind of impasse %q", ErrDecision, i.Kind)
	}
	if strings.TrimSpace(i.Subgoal) == "" {
		return fmt.Errorf("%w: an impasse needs a subgoal", ErrDecision)
	}
	return checkTexts("impasse", i.Reason, i.Subgoal)
}

func checkTasks(tasks []Task) error {
	if len(tasks) > MaxTasks {
		return &store.LimitError{Field: "tasks of a decision", Limit: MaxTasks, Got: len(tasks)}
	}
	total := 0
	for i := range tasks {
		t := &tasks[i]
		total += len(t.Objective) + len(t.Delta) + len(t.Verify) + len(t.Inputs)
		if strings.TrimSpace(t.Objective) == "" {
			return fmt.Errorf("%w: task %d has no objective", ErrDecision, i+1)
		}
		if err := checkTexts("task", t.Objective, t.Delta, t.Verify, t.Skill, t.Worker); err != nil {
			return err
		}
		if len(t.Inputs) > maxText {
			return &store.LimitError{Field: "inputs of a task", Limit: maxText, Got: len(t.Inputs)}
		}
		if len(t.Inputs) > 0 && !json.Valid(t.Inputs) {
			return fmt.Errorf("%w: the inputs of task %d are not JSON", ErrDecision, i+1)
		}
	}
	if total > maxTasksText {
		return &store.LimitError{Field: "tasks of a decision together", Limit: maxTasksText, Got: total}
	}
	return nil
}

func checkTexts(field string, texts ...string) error {
	for _, s := range texts {
		if len(s) > maxText {
			return &store.LimitError{Field: field, Limit: maxText, Got: len(s)}
		}
	}
	return nil
}
