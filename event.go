package arc

import (
	"time"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
)

// EventKind says what happened.
type EventKind string

// The kinds of event, in the order in which a run meets them.
const (
	EventRecalled  EventKind = "recalled"  // IDs: memories injected
	EventFired     EventKind = "fired"     // IDs: the chunk; Text: its approach
	EventAssessed  EventKind = "assessed"  // Text: the recommendation, when it is not to go on
	EventPivot     EventKind = "pivot"     // Text: the evidence
	EventDecided   EventKind = "decided"   // Text: the approach; IDs: memories applied
	EventRefused   EventKind = "refused"   // Text: why the decision was refused
	EventAsked     EventKind = "asked"     // Text: the questions
	EventSubgoal   EventKind = "subgoal"   // Text: the subgoal
	EventAttempt   EventKind = "attempt"   // an attempt is about to be made; Ranking
	EventExecuted  EventKind = "executed"  // Text: the end, and the complaint if there is one
	EventVerified  EventKind = "verified"  // Pass; Text: the complaint
	EventLearned   EventKind = "learned"   // IDs: memories stored or strengthened
	EventDelivered EventKind = "delivered" // a goal was delivered
	EventBlocked   EventKind = "blocked"   // a goal was given up; Text: why
	EventFinished  EventKind = "finished"  // Text: the status
)

// Event is something that happened in a run. Events are reported once the step
// that they belong to is committed, so none is ever taken back; those of a step
// that a crash has undone are never seen.
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

// Hooks are called as a run proceeds, one after another within a run, which
// waits for them. They must not block: a call that has not returned after ten
// seconds is left behind, and calls are dropped until it does. Calls that
// panic, are left behind or dropped do no harm to a run; the Logger is told of
// the first two, and Health.Dropped counts them all. Nil hooks are skipped.
type Hooks struct {
	Event  func(Event)  // after the commit of the step that the event belongs to
	Commit func(*State) // after each commit; the State must not be changed or kept
}

// hookLimit is how long a run waits for a hook.
const hookLimit = 10 * time.Second
