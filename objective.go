package arc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Objective is what an Agent is to reach.
type Objective struct {
	// ID is the run's, unique in its scope, up to 240 bytes: one ID, one run. "": made, below a run by this.
	ID string `cbor:",omitzero"`

	Text      string          `cbor:",omitzero"`                   // at most 64 KiB
	Situation string          `cbor:",omitzero"`                   // the kind of case, in the host's words
	Inputs    json.RawMessage `json:",omitempty" cbor:",omitzero"` // a JSON object, at most 64 KiB: what varies

	// Data is JSON that workers get, and that is no part of the case: a ticket, a log. At most 256 KiB. A JSON
	// string is a person's message: memories are recalled by it, too. A plan fires whatever it says: of a chat's
	// history that decides what Text means, put a digest into Conditions.
	Data json.RawMessage `json:",omitempty" cbor:",omitzero"`

	Session    string         `cbor:",omitzero"` // its runs are assessed together, and not told of each other
	Scope      memory.Scope   `cbor:",omitzero"` // "": that of the run above, or Options.Scope
	Lessons    memory.Scope   `cbor:",omitzero"` // where plans and figures are shared: Scope or above; "": Scope
	Also       []memory.Scope `cbor:",omitzero"` // scopes of the tenant that are recalled from, too
	Conditions []string       `cbor:",omitzero"` // what else must hold for the same plan to be right
	Tasks      []reason.Task  `cbor:",omitzero"` // the host's plan: none fires; if it fails the reasoner plans
	Secrets    []string       `cbor:",omitzero"` // names of secrets that may stand in it, see [Host].Secrets
	Budget     Budget         `cbor:",omitzero"`

	Fresh       bool `cbor:",omitzero"` // nothing is recalled and nothing fires; the outcome is learned
	Once        bool `cbor:",omitzero"` // an attempt that a crash cuts off is not made again: the run is blocked
	Provisional bool `cbor:",omitzero"` // a delivery teaches no plan and no figure before [View.Judge]
}

// Errors of an Agent. They may be wrapped.
var (
	// Of Run, Events, Think and View.Why: the objective is malformed or too large ([store.ErrInvalid], too), a
	// secret that it names is not there, or its scope is being erased.
	ErrObjective = errors.New("arc: the objective cannot be used")
	// Of Run and Events: give another ID, or ask for the run by View.Report.
	ErrTaken = errors.New("arc: the ID is that of another objective")
	// Of Run, Events, and the methods of View that go on with a run or change it: it is stored, and View.Wait
	// waits for it. Where an outage came before that the error is reason.Unavailable, or the store's own.
	ErrRunning = errors.New("arc: the run is under way")
	// Of the methods of View that go on with a run or change it, and of View.Decide.
	ErrState = errors.New("arc: the run is not in a state for that")
	// Of all that would begin or go on with a run: another Agent over the store does, or the next one.
	ErrClosed = errors.New("arc: the agent is shut down")
)

// Bounds of an Objective, in bytes.
const (
	maxRunID  = store.MaxID - 16 // what is kept of a run has IDs that begin with its own
	maxText   = 64 << 10
	maxInputs = 64 << 10
)

func (o *Objective) check() error {
	c := o.asks()
	err := cmp.Or(c.Check(), o.Budget.check(), store.CheckID(o.ID), store.Limit("id", len(o.ID), maxRunID),
		store.Limit("number of tasks", len(o.Tasks), maxTasks))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrObjective, err)
	}
	var object map[string]json.RawMessage
	switch {
	case o.Text == "" && len(o.Tasks) == 0:
		return fmt.Errorf("%w: %w: it has neither Text nor Tasks", ErrObjective, store.ErrInvalid)
	case len(o.Inputs) > 0 && json.Unmarshal(o.Inputs, &object) != nil:
		return fmt.Errorf("%w: %w: Inputs is no JSON object", ErrObjective, store.ErrInvalid)
	}
	return nil
}

// clean takes secrets out of all that stands in the objective.
func (o *Objective) clean(s *redact.Sanitizer) {
	o.Text, o.Situation = s.Prose(o.Text), s.Prose(o.Situation)
	o.Inputs, o.Data = data(s, o.Inputs), data(s, o.Data)
	o.Conditions, o.Tasks = each(o.Conditions, s.Prose), cleanTasks(s, o.Tasks)
}

func each[T, U any](of []T, f func(T) U) []U {
	out := make([]U, len(of))
	for i, v := range of {
		out[i] = f(v)
	}
	return out
}

func cleanTasks(s *redact.Sanitizer, tasks []reason.Task) []reason.Task {
	return each(tasks, func(t reason.Task) reason.Task {
		t.Objective, t.Delta, t.Verify = s.Prose(t.Objective), s.Prose(t.Delta), s.Prose(t.Verify)
		t.Skill, t.Worker, t.Inputs = s.Prose(t.Skill), s.Prose(t.Worker), data(s, t.Inputs)
		return t
	})
}

func cleanDecision(s *redact.Sanitizer, d reason.Decision) reason.Decision {
	d.Approach, d.Reasoning = s.Prose(d.Approach), s.Prose(d.Reasoning)
	d.Impasse, d.Subgoal = s.Prose(d.Impasse), s.Prose(d.Subgoal)
	d.Inputs, d.Tasks, d.Questions = data(s, d.Inputs), cleanTasks(s, d.Tasks), each(d.Questions, s.Prose)
	d.Alternatives = each(d.Alternatives, func(a reason.Decision) reason.Decision { return cleanDecision(s, a) })
	d.Preferences = slices.Clone(d.Preferences)
	for i, p := range d.Preferences {
		d.Preferences[i].Approach, d.Preferences[i].Than = s.Prose(p.Approach), s.Prose(p.Than)
	}
	return d
}

// data is clean JSON, nil where there is none: clients write null for that.
func data(s *redact.Sanitizer, raw json.RawMessage) json.RawMessage {
	if given := bytes.TrimSpace(raw); len(given) == 0 || string(given) == "null" {
		return nil
	}
	return s.Data(raw)
}

// asks is the objective as the case that package learn is asked about.
func (o *Objective) asks() reason.Case {
	return reason.Case{
		Scope: o.Scope, Lessons: o.Lessons, Also: o.Also, Session: o.Session, Situation: o.Situation, Text: o.Text,
		Inputs: o.Inputs, Data: o.Data, Conditions: o.Conditions, Fresh: o.Fresh,
	}
}
