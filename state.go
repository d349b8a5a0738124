package arc

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// Bounds of what a run's record holds.
const (
	maxTasks   = 64 // of a plan
	maxAims    = 4  // an objective, and subgoals in subgoals
	maxAdvised = 16 // objectives and subgoals of a run: one that reaches subgoal upon subgoal asks a person
	maxFailed  = 32 // failures of a run that the next decision sees; the oldest go first
	maxTold    = 2 << 10
)

// record is a run as stored: what the next step needs. What happened is in the run's journal; the objective,
// the advice and the deliveries are parts of their own, since they do not change.
type record struct {
	ID      string       `cbor:",omitzero"`
	Scope   memory.Scope `cbor:",omitzero"`
	Session string       `cbor:",omitzero"`
	Text    string       `cbor:",omitzero"` // the beginning of the objective, for lists
	Digest  []byte       `cbor:",omitzero"`
	Process string       `cbor:",omitzero"` // that has last committed it, and alone works on it
	Left    bool         `cbor:",omitzero"` // who ran it has left: it goes on by Resume
	Status  Status       `cbor:",omitzero"`
	Phase   phase        `cbor:",omitzero"` // the next step
	Cause   Cause        `cbor:",omitzero"`
	Reason  string       `cbor:",omitzero"`
	Began   time.Time
	Ended   time.Time
	Due     time.Time // when the scheduler looks at it; zero: never

	Attempts, Deliberations, Fired int             `cbor:",omitzero"`
	Usage                          *reason.Usage   `cbor:",omitzero"` // without that of Current
	Aims                           []aim           `cbor:",omitzero"` // the last one is worked on
	Current                        attempt         `cbor:",omitzero"`
	Wait                           waiting         `cbor:",omitzero"`
	Pending                        []act.Approval  `cbor:",omitzero"`
	Questions                      []string        `cbor:",omitzero"`
	Back                           phase           `cbor:",omitzero"` // where to go on when they are answered
	Answers                        []reason.Answer `cbor:",omitzero"`
	Deliveries                     []int           `cbor:",omitzero"` // numbers of the attempts that delivered
	Advices                        int             `cbor:",omitzero"` // made so far
	Advice                         string          `cbor:",omitzero"` // ID of the objective's last one, for Judge
}

// aim is the objective, or a subgoal of the one before it.
type aim struct {
	Text    string `cbor:",omitzero"`
	Advised int    `cbor:",omitzero"` // number of its advice; 0: none yet

	Plan         []reason.Task       `cbor:",omitzero"`
	Next         int                 `cbor:",omitzero"` // of Plan
	Fired        bool                `cbor:",omitzero"` // the plan is the advice's
	Suggested    bool                `cbor:",omitzero"` // the worker gets the advice's plan, and makes its calls
	Given        bool                `cbor:",omitzero"` // the plan is the objective's
	Stuck        bool                `cbor:",omitzero"` // it was told that the session does not get on
	Approach     string              `cbor:",omitzero"`
	Alternatives []reason.Decision   `cbor:",omitzero"`
	Preferences  []reason.Preference `cbor:",omitzero"`
	Applied      []memory.ID         `cbor:",omitzero"`

	Tries     []try            `cbor:",omitzero"` // at the next task, by this plan
	Failed    []reason.Failure `cbor:",omitzero"`
	Void      []string         `cbor:",omitzero"` // complaints of Failed that say nothing of the work
	Replans   int              `cbor:",omitzero"`
	Refused   int              `cbor:",omitzero"` // decisions in a row that could not be used
	Complaint string           `cbor:",omitzero"` // why

	Calls    []reason.PlanCall `cbor:",omitzero"` // that were delivered, by whichever plan
	Made     bool              `cbor:",omitzero"` // they are those that the worker has made in its one task
	Worker   string            `cbor:",omitzero"` // that delivered last
	Utilized []memory.ID       `cbor:",omitzero"`
	Thought  bool              `cbor:",omitzero"` // a reasoner has made the plan
}

// try is an attempt at the next task that did not pass.
type try struct {
	Worker, Complaint string `cbor:",omitzero"`
	Denied            bool   `cbor:",omitzero"` // it is not asked again
}

// attempt is the one that is under way or waits.
type attempt struct {
	Number int           `cbor:",omitzero"` // 0: none
	Worker string        `cbor:",omitzero"`
	Asked  int           `cbor:",omitzero"` // how often the reasoner has answered it
	Usage  *reason.Usage `cbor:",omitzero"`
}

// waiting is for an outage.
type waiting struct {
	Since time.Time     // zero: nothing is waited for
	Tries int           `cbor:",omitzero"`
	Why   string        `cbor:",omitzero"`
	For   time.Duration `cbor:",omitzero"` // as the part that is away has asked
}

// delivered is what a task delivered, as stored.
type delivered struct {
	Task   reason.Task     `cbor:",omitzero"`
	Text   string          `cbor:",omitzero"`
	Output json.RawMessage `cbor:",omitzero"`
	Sample rank.Sample     `cbor:",omitzero"` // of the attempt, as the Book has it
}

// held reports whether a process works on the run, or waits with it for an outage to pass.
func (r *record) held() bool {
	return r.Status == Running || r.Status == Waiting && len(r.Pending) == 0
}

func (r *record) aim() *aim { return &r.Aims[len(r.Aims)-1] }

// goals are those above the aim.
func (r *record) goals() (above []string) {
	for _, a := range r.Aims[:len(r.Aims)-1] {
		above = append(above, a.Text)
	}
	return above
}

// lessons are the failures that say something about the work.
func (a *aim) lessons() []reason.Failure {
	return slices.DeleteFunc(slices.Clone(a.Failed), func(f reason.Failure) bool {
		return slices.Contains(a.Void, f.Complaint)
	})
}

// begin puts a plan in the place of the former one.
func (a *aim) begin(tasks []reason.Task, approach string) {
	a.Plan, a.Approach, a.Next, a.Tries = tasks, approach, 0, nil
	a.Stuck, a.Fired, a.Suggested, a.Given, a.Applied, a.Thought = false, false, false, false, nil, false
}

// failed counts the tries of a worker at the next task.
func (a *aim) failed(worker string) (n int, denied bool) {
	for _, t := range a.Tries {
		if t.Worker == worker {
			n, denied = n+1, denied || t.Denied
		}
	}
	return n, denied
}

// called adds to the calls that were delivered. A call that a later plan makes again counts once.
func (a *aim) called(c reason.PlanCall) {
	for _, o := range a.Calls {
		if o.Name == c.Name && string(o.Inputs) == string(c.Inputs) && o.Text == c.Text {
			return
		}
	}
	a.Calls = append(a.Calls, c)
}

// left are the approaches that may take the place of the plan.
func (a *aim) left() (names []string) {
	for _, alternative := range a.Alternatives {
		names = append(names, alternative.Approach)
	}
	return names
}

// fail adds a failure.
func (a *aim) fail(f reason.Failure) {
	f.Complaint = fence.Clip(f.Complaint, maxTold)
	a.Failed = append(a.Failed, f)
	a.Failed = slices.Delete(a.Failed, 0, max(0, len(a.Failed)-maxFailed))
}
