package arc

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
)

// Phase is where a run stands in the loop.
type Phase string

// The phases, and what follows what:
//
//	Context → Act → Verify → Learn → Done
//	Context → Reason          no decision could be acted on: again
//	Context → Context         a subgoal
//	Context → Ask → Reason    a human is asked
//	Reason                    as Context, but for the recall
//	Act     → Learn           the attempt failed by itself
//	Learn   → Act             the next task or attempt
//	Learn   → Reason          a chunk failed, or a replan
//	Learn   → Context         back in the goal above a subgoal
//	any     → Summary → Done  the budget is spent
const (
	PhaseContext Phase = "context" // recall, and let a chunk fire or ask the reasoner
	PhaseReason  Phase = "reason"  // ask the reasoner
	PhaseAsk     Phase = "ask"     // wait for a human
	PhaseAct     Phase = "act"     // have a worker make the attempt
	PhaseVerify  Phase = "verify"  // have the gates judge it
	PhaseLearn   Phase = "learn"   // take it in, and decide what follows
	PhaseSummary Phase = "summary" // end a run that is cut short
	PhaseDone    Phase = "done"
)

// State is a run as it is committed after each step. It is a plain value that
// encodes to JSON and CBOR; whoever holds one must not change it.
type State struct {
	ID        string    `cbor:"1,keyasint,omitempty" json:"id"`
	Session   string    `cbor:"2,keyasint,omitempty" json:"session"`
	Objective Objective `cbor:"3,keyasint,omitempty" json:"objective"`
	Status    Status    `cbor:"4,keyasint,omitempty" json:"status"`
	Reason    string    `cbor:"5,keyasint,omitempty" json:"reason,omitempty"`
	Phase     Phase     `cbor:"6,keyasint,omitempty" json:"phase"`
	Step      int       `cbor:"7,keyasint,omitempty" json:"step"`    // transitions made
	Seq       int       `cbor:"8,keyasint,omitempty" json:"seq"`     // events so far
	Started   int64     `cbor:"9,keyasint,omitempty" json:"started"` // Unix time in nanoseconds, as is Ended
	Ended     int64     `cbor:"10,keyasint,omitempty" json:"ended,omitempty"`

	// Goals are the objective and, while an impasse is being resolved, its
	// subgoals, innermost last.
	Goals []Goal `cbor:"11,keyasint,omitempty" json:"goals"`
	// Subgoals are the texts of all subgoals so far: none is entered twice.
	Subgoals []string `cbor:"12,keyasint,omitempty" json:"subgoals,omitempty"`
	// Current is the attempt that is prepared, running, or to be judged.
	Current *Attempt `cbor:"13,keyasint,omitempty" json:"current,omitempty"`

	Deliveries    []Delivery  `cbor:"14,keyasint,omitempty" json:"deliveries,omitempty"`
	Attempts      int         `cbor:"15,keyasint,omitempty" json:"attempts,omitempty"`
	Deliberations int         `cbor:"16,keyasint,omitempty" json:"deliberations,omitempty"`
	Fired         int         `cbor:"17,keyasint,omitempty" json:"fired,omitempty"`
	Usage         act.Usage   `cbor:"18,keyasint,omitempty" json:"usage"`
	Tracker       []iar.Entry `cbor:"19,keyasint,omitempty" json:"tracker,omitempty"`
	Learned       []memory.ID `cbor:"20,keyasint,omitempty" json:"learned,omitempty"`
	Pivots        []string    `cbor:"21,keyasint,omitempty" json:"pivots,omitempty"`
	// Assessment is the last of the session that was not to keep going; in a
	// finished run, the last.
	Assessment meta.Assessment `cbor:"22,keyasint,omitempty" json:"assessment"`

	// Last is the last attempt that was learned from.
	Last LastAttempt `cbor:"23,keyasint,omitempty" json:"last,omitzero"`

	// hits caches the records of the innermost goal's Recalled. It is not
	// part of the state: after a restart they are fetched again.
	hits []memory.Hit
}

// LastAttempt is who made an attempt, and how it ended.
type LastAttempt struct {
	Worker string  `cbor:"1,keyasint,omitempty" json:"worker,omitempty"`
	End    act.End `cbor:"2,keyasint,omitempty" json:"end,omitempty"`
}

// Goal is the objective, or a subgoal that would resolve an impasse.
type Goal struct {
	Text      string             `cbor:"1,keyasint,omitempty" json:"text"`
	Situation string             `cbor:"2,keyasint,omitempty" json:"situation"`
	Number    int                `cbor:"21,keyasint,omitempty" json:"number,omitempty"` // subgoals entered before it
	Impasse   reason.ImpasseKind `cbor:"3,keyasint,omitempty" json:"impasse,omitempty"` // that made it a subgoal
	Recalled  []memory.ID        `cbor:"4,keyasint,omitempty" json:"recalled,omitempty"`
	Withheld  []memory.ID        `cbor:"22,keyasint,omitempty" json:"withheld,omitempty"` // recalled, and held out: see learn.Options

	Approach string        `cbor:"5,keyasint,omitempty" json:"approach,omitempty"`
	Tasks    []reason.Task `cbor:"6,keyasint,omitempty" json:"tasks,omitempty"`
	Next     int           `cbor:"7,keyasint,omitempty" json:"next,omitempty"`   // index of the task at hand
	Tries    int           `cbor:"8,keyasint,omitempty" json:"tries,omitempty"`  // attempts at that task
	Fired    memory.ID     `cbor:"9,keyasint,omitempty" json:"fired,omitempty"`  // the chunk that made the tasks
	Spent    []memory.ID   `cbor:"10,keyasint,omitempty" json:"spent,omitempty"` // chunks that failed for this goal
	Utilized []memory.ID   `cbor:"11,keyasint,omitempty" json:"utilized,omitempty"`

	Failed    []reason.FailedAttempt `cbor:"12,keyasint,omitempty" json:"failed,omitempty"`
	Denied    []string               `cbor:"13,keyasint,omitempty" json:"denied,omitempty"` // workers that may not do the task at hand
	Questions []string               `cbor:"14,keyasint,omitempty" json:"questions,omitempty"`
	Answers   []reason.Answer        `cbor:"15,keyasint,omitempty" json:"answers,omitempty"`
	Avoid     []string               `cbor:"16,keyasint,omitempty" json:"avoid,omitempty"` // approaches to leave
	Refused   int                    `cbor:"17,keyasint,omitempty" json:"refused,omitempty"`
	Complaint string                 `cbor:"18,keyasint,omitempty" json:"complaint,omitempty"` // about the last decision
	Replans   int                    `cbor:"19,keyasint,omitempty" json:"replans,omitempty"`
	Blocked   string                 `cbor:"20,keyasint,omitempty" json:"blocked,omitempty"` // why it is given up
}

// Attempt is the attempt at hand. What follows Complaint is there once it was
// executed, Verdict once it was verified.
type Attempt struct {
	Key       string `cbor:"1,keyasint,omitempty" json:"key"`
	Worker    string `cbor:"2,keyasint,omitempty" json:"worker"`
	Number    int    `cbor:"3,keyasint,omitempty" json:"number"`
	Complaint string `cbor:"4,keyasint,omitempty" json:"complaint,omitempty"` // about the attempt before

	End        act.End        `cbor:"5,keyasint,omitempty" json:"end,omitempty"`
	Reflection iar.Reflection `cbor:"6,keyasint,omitempty" json:"reflection"`
	Resonance  float64        `cbor:"7,keyasint,omitempty" json:"resonance,omitempty"`
	Output     Output         `cbor:"8,keyasint,omitempty" json:"output"`
	Utilized   []memory.ID    `cbor:"9,keyasint,omitempty" json:"utilized,omitempty"`
	Misled     []memory.ID    `cbor:"10,keyasint,omitempty" json:"misled,omitempty"`
	Usage      act.Usage      `cbor:"11,keyasint,omitempty" json:"usage"`
	Deltas     []act.Delta    `cbor:"12,keyasint,omitempty" json:"deltas,omitempty"`
	Wall       time.Duration  `cbor:"13,keyasint,omitempty" json:"wall,omitempty"`

	Passed bool   `cbor:"14,keyasint,omitempty" json:"passed,omitempty"`
	Faulty bool   `cbor:"15,keyasint,omitempty" json:"faulty,omitempty"`  // a gate could not decide
	Wrong  string `cbor:"16,keyasint,omitempty" json:"problem,omitempty"` // why it did not pass
}

// Output is JSON that a worker made. A large one is a record of its own.
type Output struct {
	Inline json.RawMessage `cbor:"1,keyasint,omitempty" json:"inline,omitempty"`
	Key    string          `cbor:"2,keyasint,omitempty" json:"key,omitempty"`
}

// Delivery is a delivered task.
type Delivery struct {
	Task    reason.Task `cbor:"1,keyasint,omitempty" json:"task"`
	Worker  string      `cbor:"2,keyasint,omitempty" json:"worker"`
	Attempt int         `cbor:"3,keyasint,omitempty" json:"attempt"`
	Output  Output      `cbor:"4,keyasint,omitempty" json:"output"`
	Summary string      `cbor:"5,keyasint,omitempty" json:"summary,omitempty"`
	Deltas  []act.Delta `cbor:"6,keyasint,omitempty" json:"deltas,omitempty"`
}

// goal returns the innermost goal.
func (s *State) goal() *Goal { return &s.Goals[len(s.Goals)-1] }

// maxPrefix leaves room in a key for what follows the run.
const maxPrefix = 192

// prefix is what the keys of a run's attempts and goals begin with: its id, or
// a hash of one that is too long for a part of a key.
func (s *State) prefix() string {
	if len(s.ID) <= maxPrefix {
		return s.ID
	}
	sum := sha256.Sum256([]byte(s.ID))
	return "run-" + hex.EncodeToString(sum[:16])
}

// fork returns a copy of s whose goals and attempt can be changed without
// changing those of s. Slices in them are still shared: they are only ever
// replaced, or appended to with appendTo.
func (s State) fork() State {
	s.Goals = slices.Clone(s.Goals)
	if s.Current != nil {
		c := *s.Current
		s.Current = &c
	}
	return s
}

// appendTo appends without writing into memory that another State may share.
func appendTo[T any](list []T, more ...T) []T {
	return append(slices.Clip(list), more...)
}
