package arc

import (
	"encoding/json"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
)

// EventKind says what happened.
type EventKind string

// The kinds of event, in the order in which a run meets them. "asked" (Text:
// the questions), "subgoal" (Text: the subgoal), "learned" (IDs: the memories
// stored or strengthened) and "delivered" (a goal was reached) have no constant:
// the Report tells the same.
const (
	EventRecalled EventKind = "recalled" // IDs: memories injected
	EventFired    EventKind = "fired"    // IDs: the chunk; Text: its approach
	EventAssessed EventKind = "assessed" // Text: the recommendation, unless it is to go on
	EventPivot    EventKind = "pivot"    // Text: the evidence
	EventDecided  EventKind = "decided"  // Text: the approach; IDs: memories applied
	EventRefused  EventKind = "refused"  // Text: why the decision was refused
	EventAttempt  EventKind = "attempt"  // an attempt is about to be made; Ranking
	EventExecuted EventKind = "executed" // Text: the end, and the complaint if there is one
	EventVerified EventKind = "verified" // Pass; Text: the complaint
	EventBlocked  EventKind = "blocked"  // a goal was given up; Text: why
	EventFinished EventKind = "finished" // Text: the status

	eventAsked     EventKind = "asked"
	eventSubgoal   EventKind = "subgoal"
	eventLearned   EventKind = "learned"
	eventDelivered EventKind = "delivered"
)

// Event is something that happened in a run. The Agent reports an event once
// the step that it belongs to is committed, so it never takes one back. A
// crash that undoes a step takes the step's events with it, unseen.
type Event struct {
	Seq     int           `json:"seq"` // from 1 within the run
	At      time.Time     `json:"at"`
	Run     string        `json:"run"`
	Kind    EventKind     `json:"kind"`
	Goal    string        `json:"goal"`
	Task    int           `json:"task,omitempty"`    // from 1
	Attempt int           `json:"attempt,omitempty"` // from 1
	Worker  string        `json:"worker,omitempty"`
	Pass    bool          `json:"pass,omitempty"`
	Text    string        `json:"text,omitempty"`
	IDs     []memory.ID   `json:"ids,omitempty"`
	Ranking []rank.Scored `json:"ranking,omitempty"` // best first, with the parts of each score
	Wall    time.Duration `json:"wall,omitempty"`
}

// turn is what the phases work on: a run's state, and what goes with it while
// it is in memory.
type turn struct {
	a *Agent
	s state

	// Read from records when a step begins (turn.fetch): the memories
	// recalled for the innermost aim, what was delivered so far, and the output
	// of the attempt at hand.
	hits    []memory.Hit
	lineage []act.Delivery
	output  json.RawMessage

	watched bool    // a consumer, a hook or the log takes the events
	learned bool    // the step has changed what is learned
	events  []Event // of the step

	// did is what the phase at hand has done, for telemetry and the log.
	did struct {
		used    act.Usage // by the reasoner
		fault   error     // of the reasoner, the worker or a gate
		stack   []byte    // of a worker that panicked
		lessons int       // patterns and failures stored or strengthened
	}
}

// emit adds an event to those of the step.
func (t *turn) emit(kind EventKind, e Event) {
	t.s.Seq++
	if !t.watched {
		return
	}
	e.Kind, e.Seq, e.At, e.Run = kind, t.s.Seq, t.a.o.Now().UTC(), t.s.ID
	e.Goal = t.s.aim().Text
	if c := t.s.Current; c != nil {
		e.Task, e.Attempt, e.Worker = t.s.aim().Next+1, c.Number, c.Worker
	}
	t.events = append(t.events, e)
}

// block gives the innermost aim up. Learn takes it in.
func (t *turn) block(why string) phase {
	t.s.aim().Blocked = why
	t.s.Current = nil
	return phaseLearn
}

// work is the attempt at hand as gates see it.
func (t *turn) work() act.Work {
	s, g, c := &t.s, t.s.aim(), t.s.Current
	task := g.Tasks[g.Next]
	skill, _ := t.a.skills.Get(task.Skill) // the zero Skill has no AGENT.md
	return act.Work{
		Run: s.ID, Objective: g.Text, Situation: g.Situation, Inputs: s.Objective.Inputs,
		Task: task, Agent: skill.Agent, Memories: t.hits, Lineage: t.lineage,
		Attempt: c.Number, Key: c.Key, Complaint: c.Complaint,
	}
}
