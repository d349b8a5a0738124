package arc

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
)

// phase is a station of the loop. Its value is what a stored run calls it.
type phase string

// The phases. The table in loop.go says what each does and which may follow.
const (
	phaseAssess phase = "assess"
	phaseRecall phase = "context"
	phaseReason phase = "reason"
	phaseAssign phase = "assign"
	phaseAct    phase = "act"
	phaseVerify phase = "verify"
	phaseLearn  phase = "learn"
	phaseEnd    phase = "summary"
	phaseAsk    phase = "ask"  // the run waits for a human
	phaseDone   phase = "done" // the run is over
)

// state is a run as records.go commits it after each step. It is a plain
// value that encodes to JSON and CBOR.
//
// A stored run names its fields by the numbers in the tags: a new field takes
// a new number, and a number is never used again.
type state struct {
	ID        string    `cbor:"1,keyasint,omitempty" json:"id"`
	Session   string    `cbor:"2,keyasint,omitempty" json:"session"`
	Objective Objective `cbor:"3,keyasint,omitempty" json:"objective"`
	Status    Status    `cbor:"4,keyasint,omitempty" json:"status"`
	Reason    string    `cbor:"5,keyasint,omitempty" json:"reason,omitempty"`
	Phase     phase     `cbor:"6,keyasint,omitempty" json:"phase"`
	Step      int       `cbor:"7,keyasint,omitempty" json:"step"`    // steps made
	Seq       int       `cbor:"8,keyasint,omitempty" json:"seq"`     // events so far
	Started   int64     `cbor:"9,keyasint,omitempty" json:"started"` // Unix time in nanoseconds, as is Ended
	Ended     int64     `cbor:"10,keyasint,omitempty" json:"ended,omitempty"`

	// Aims are the objective and, while an impasse is being resolved, its
	// subgoals, innermost last.
	Aims []aim `cbor:"11,keyasint,omitempty" json:"goals"`
	// Subgoals are the texts of all subgoals so far: none is entered twice.
	Subgoals []string `cbor:"12,keyasint,omitempty" json:"subgoals,omitempty"`
	// Current is the attempt that is prepared, running, or to be judged.
	Current *attempt `cbor:"13,keyasint,omitempty" json:"current,omitempty"`

	Deliveries    []delivery  `cbor:"14,keyasint,omitempty" json:"deliveries,omitempty"`
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
	Last lastAttempt `cbor:"23,keyasint,omitempty" json:"last,omitzero"`
}

// lastAttempt is the worker of an attempt, and how the attempt ended.
type lastAttempt struct {
	Worker string  `cbor:"1,keyasint,omitempty" json:"worker,omitempty"`
	End    act.End `cbor:"2,keyasint,omitempty" json:"end,omitempty"`
}

// aim is the objective, or a subgoal that would resolve an impasse.
type aim struct {
	Text      string             `cbor:"1,keyasint,omitempty" json:"text"`
	Situation string             `cbor:"2,keyasint,omitempty" json:"situation"`
	Number    int                `cbor:"21,keyasint,omitempty" json:"number,omitempty"` // subgoals entered before it
	Impasse   reason.ImpasseKind `cbor:"3,keyasint,omitempty" json:"impasse,omitempty"` // that made it a subgoal
	Recalled  []memory.ID        `cbor:"4,keyasint,omitempty" json:"recalled,omitempty"`
	Withheld  []memory.ID        `cbor:"22,keyasint,omitempty" json:"withheld,omitempty"` // recalled, and held out: see learn.Options
	Searched  bool               `cbor:"23,keyasint,omitempty" json:"searched,omitempty"` // it has been through recall

	Approach string        `cbor:"5,keyasint,omitempty" json:"approach,omitempty"`
	Tasks    []reason.Task `cbor:"6,keyasint,omitempty" json:"tasks,omitempty"`
	Next     int           `cbor:"7,keyasint,omitempty" json:"next,omitempty"`   // index of the task at hand
	Tries    int           `cbor:"8,keyasint,omitempty" json:"tries,omitempty"`  // attempts at that task
	Fired    memory.ID     `cbor:"9,keyasint,omitempty" json:"fired,omitempty"`  // the chunk that made the tasks
	Spent    []memory.ID   `cbor:"10,keyasint,omitempty" json:"spent,omitempty"` // chunks that failed for this aim
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

// attempt is the attempt at hand. Act fills what follows Complaint, Verify
// what follows Wall.
type attempt struct {
	Key       string `cbor:"1,keyasint,omitempty" json:"key"`
	Worker    string `cbor:"2,keyasint,omitempty" json:"worker"`
	Number    int    `cbor:"3,keyasint,omitempty" json:"number"`
	Complaint string `cbor:"4,keyasint,omitempty" json:"complaint,omitempty"` // about the attempt before

	End        act.End        `cbor:"5,keyasint,omitempty" json:"end,omitempty"`
	Reflection iar.Reflection `cbor:"6,keyasint,omitempty" json:"reflection"`
	Resonance  float64        `cbor:"7,keyasint,omitempty" json:"resonance,omitempty"`
	Output     output         `cbor:"8,keyasint,omitempty" json:"output"`
	Utilized   []memory.ID    `cbor:"9,keyasint,omitempty" json:"utilized,omitempty"`
	Misled     []memory.ID    `cbor:"10,keyasint,omitempty" json:"misled,omitempty"`
	Usage      act.Usage      `cbor:"11,keyasint,omitempty" json:"usage"`
	Deltas     []act.Delta    `cbor:"12,keyasint,omitempty" json:"deltas,omitempty"`
	Wall       time.Duration  `cbor:"13,keyasint,omitempty" json:"wall,omitempty"`

	Passed bool   `cbor:"14,keyasint,omitempty" json:"passed,omitempty"`
	Faulty bool   `cbor:"15,keyasint,omitempty" json:"faulty,omitempty"`  // a gate could not decide
	Wrong  string `cbor:"16,keyasint,omitempty" json:"problem,omitempty"` // why it did not pass
}

// output is JSON that a worker made. A large one is a record of its own.
type output struct {
	Inline json.RawMessage `cbor:"1,keyasint,omitempty" json:"inline,omitempty"`
	Key    string          `cbor:"2,keyasint,omitempty" json:"key,omitempty"`
}

// delivery is a delivered task.
type delivery struct {
	Task    reason.Task `cbor:"1,keyasint,omitempty" json:"task"`
	Worker  string      `cbor:"2,keyasint,omitempty" json:"worker"`
	Attempt int         `cbor:"3,keyasint,omitempty" json:"attempt"`
	Output  output      `cbor:"4,keyasint,omitempty" json:"output"`
	Summary string      `cbor:"5,keyasint,omitempty" json:"summary,omitempty"`
	Deltas  []act.Delta `cbor:"6,keyasint,omitempty" json:"deltas,omitempty"`
}

// Bounds of what a state keeps.
const (
	maxTracked   = 64      // reflections
	maxFailed    = 64      // failed attempts at an aim
	maxComplaint = 4 << 10 // bytes of a text about an attempt
	maxPrefix    = 192     // bytes of an id in a key, which leaves room for what follows it
)

// aim returns the innermost aim.
func (s *state) aim() *aim { return &s.Aims[len(s.Aims)-1] }

// fork returns a copy of s whose aims and attempt can be changed without
// changing those of s. Slices in them are still shared: code replaces them, or
// appends with appendTo.
func (s state) fork() state {
	s.Aims = slices.Clone(s.Aims)
	if s.Current != nil {
		c := *s.Current
		s.Current = &c
	}
	return s
}

// appendTo appends without writing into memory that another state may share.
func appendTo[T any](list []T, more ...T) []T {
	return append(slices.Clip(list), more...)
}

// prefix begins the keys of a run's attempts and aims: its id, or a hash of an
// id that is too long for a part of a key.
func (s *state) prefix() string {
	if len(s.ID) <= maxPrefix {
		return s.ID
	}
	sum := sha256.Sum256([]byte(s.ID))
	return "run-" + hex.EncodeToString(sum[:16])
}

// aimKey names the innermost aim among all aims of all runs.
func (s *state) aimKey() string { return s.prefix() + "/goal/" + strconv.Itoa(s.aim().Number) }

// unjudged reports whether the session is the run's own and has no outcome yet.
func (s *state) unjudged() bool {
	return s.Objective.Session == "" && len(s.Deliveries) == 0 && s.aim().Replans == 0
}

// unplanned reports whether the host's plan could not be begun.
func (s *state) unplanned() bool {
	return len(s.Objective.Tasks) > 0 && s.Deliberations == 0 && len(s.aim().Tasks) == 0
}

// follow makes tasks the plan of the aim.
func (g *aim) follow(tasks []reason.Task, approach string, fired memory.ID) {
	g.Tasks, g.Next, g.Tries, g.Approach, g.Fired = tasks, 0, 0, approach, fired
}

// applied returns those of ids that were recalled for the aim, each once: a
// reasoner cannot credit a memory that it was not shown.
func (g *aim) applied(ids []memory.ID) []memory.ID {
	var out []memory.ID
	for _, id := range ids {
		if slices.Contains(g.Recalled, id) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// clip bounds a text about an attempt: it keeps the beginning and the end.
func clip(s string) string {
	if len(s) <= maxComplaint {
		return s
	}
	head, tail := s[:maxComplaint/2], s[len(s)-maxComplaint/2:]
	return strings.ToValidUTF8(head, "") + " … " + strings.ToValidUTF8(tail, "")
}

// same reports whether two texts of a model differ at most in case and blanks
// at their ends.
func same(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }
