// Package arctest has the parts of a Host by script, to test a loop without a model.
package arctest

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
)

// Reasoner is a reason.Reasoner that decides by a function of its Brief, and keeps what it was asked.
type Reasoner struct {
	Decision func(b *reason.Brief) (*reason.Decision, error)

	mu     sync.Mutex
	briefs []reason.Brief
}

func (r *Reasoner) Decide(_ context.Context, b *reason.Brief) (*reason.Decision, error) {
	r.mu.Lock()
	r.briefs = append(r.briefs, *b)
	r.mu.Unlock()
	return r.Decision(b)
}

// Briefs are those that it was asked with, in order.
func (r *Reasoner) Briefs() []reason.Brief {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]reason.Brief(nil), r.briefs...)
}

// Tasks is a decision for tasks, by an approach.
func Tasks(approach string, tasks ...reason.Task) *reason.Decision {
	return &reason.Decision{Approach: approach, Tasks: tasks}
}

// Turn is what a Worker does with one call: it delivers Text, fails with Err, or is refused (Refuse).
type Turn struct {
	Text   string
	Err    error
	Refuse string
}

// Worker is an executor and its gate by script: one turn a call, and the last one again and again.
type Worker struct {
	Turns []Turn

	mu    sync.Mutex
	calls []act.Call
}

func (w *Worker) Execute(_ context.Context, c *act.Call) (*act.Result, error) {
	w.mu.Lock()
	w.calls = append(w.calls, *c)
	n := len(w.calls)
	w.mu.Unlock()
	if len(w.Turns) == 0 {
		return &act.Result{Text: "done"}, nil
	}
	turn := w.Turns[min(n, len(w.Turns))-1]
	if turn.Err != nil {
		return nil, turn.Err
	}
	raw, err := json.Marshal(output{turn.Refuse})
	return &act.Result{Text: turn.Text, Output: raw}, err
}

// output is the result, so that the gate judges it in another process, too.
type output struct{ Refuse string }

// Verify implements act.Gate: it refuses what the turn says.
func (w *Worker) Verify(_ context.Context, _ *act.Call, r *act.Result) (act.Verdict, error) {
	var says output
	_ = json.Unmarshal(r.Output, &says) // a result of another one has none, and passes
	return act.Verdict{Pass: says.Refuse == "", Complaint: says.Refuse}, nil
}

// Calls are those that were made, in order.
func (w *Worker) Calls() []act.Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]act.Call(nil), w.calls...)
}

// As is the worker with a name and skills.
func (w *Worker) As(name string, skills ...string) act.Worker {
	return act.Worker{Name: name, Skills: skills, Executor: w, Gates: []act.Gate{w}}
}
