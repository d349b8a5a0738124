package act

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// Worker is an Executor with what it can do and under which conditions.
type Worker struct {
	Card     rank.Candidate // its name, which must be unique, and its own confidence
	Executor Executor
	Skills   []string        // none: any task that asks for no skill
	Effects  []reason.Effect // what it can change
	Gates    []Gate          // applied after the host's gates
	Blast    Blast           // how far its effects reach; wins over Card.Blast if larger
	Mode     Mode            // how far it may go without a human

	// Input is the JSON Schema of its tasks' inputs, which the reasoner sees. A task with other
	// inputs, or with a key that comes twice, is not its. Go's encoding/json takes keys in any
	// case: a worker that reads by it says "additionalProperties": false. nil: any.
	Input json.RawMessage
	// Irreversible says that its effects cannot be taken back: each attempt is Gated, and a
	// run asks again about one that was allowed and cut off, which may have been made.
	Irreversible bool
	// Approvers is how many humans have to agree in mode Compound. 0: two.
	Approvers int
	// Rate is the list price of its tokens, for attempts that do not report an estimate. An
	// estimate binds no budget: an Executor reports what was paid as Usage.CostUSD.
	Rate Rate

	input *schema // of Input
}

// Rate is the list price of a worker's tokens, in US dollars for a million of them. Those
// that come from a cache, or go to it, cost In where theirs is 0.
type Rate struct{ In, Out, CacheRead, CacheWrite float64 }

// able reports whether the worker can take the task.
func (w *Worker) able(t *Task) bool {
	if t.Skill != "" && !slices.Contains(w.Skills, t.Skill) {
		return false
	}
	return t.Effect == nil || slices.Contains(w.Effects, *t.Effect)
}

// accepts returns an error that says why the worker does not take the inputs of a task.
func (w *Worker) accepts(t *Task) error {
	if w.input == nil {
		return nil
	}
	if err := w.input.check(t.Inputs); err != nil {
		return fmt.Errorf("its inputs are not what %s takes: %w", w.Card.Name, err)
	}
	return nil
}
