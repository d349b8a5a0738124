package arc

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/arc-learn/arc/next/act"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/reason"
)

// Bounds of what a run's record holds.
const (
	maxTasks  = 64 // of a plan
	maxAims   = 4  // an objective, and subgoals in subgoals
	maxFailed = 32 // failures of a run that the next decision sees; the oldest go first
	maxTold   = 2 << 10
)

// record is a run as stored: what the next step needs. What happened is in the run's journal; the objective, the
// advice and the deliveries are parts of their own, since they do not change.
type record struct {
	ID      string
	Scope   memory.Scope
	Session string
	Text    string // the beginning of the objective, for lists
	Digest  []byte
	Process string // that has last committed it; while it is under way, nobody else works on it
	Left    bool   // who ran it has left: it goes on by Resume
	Status  Status
	Phase   phase // the next step
	Cause   Cause
	Reason  string
	Began   time.Time
	Ended   time.Time
	Due     time.Time // when the scheduler looks at it; zero: never

	Attempts, Deliberations, Fired int
	Usage                          *reason.Usage // without that of Current
	Aims                           []aim         // the last one is worked on
	Current                        attempt
	Wait                           waiting
	Pending                        []act.Approval
	Questions                      []string
	Back                           phase // where to go on when they are answered
	Answers                        []reason.Answer
	Deliveries                     []int  // numbers of the attempts that delivered
	Advices                        int    // made so far
	Advice                         string // the ID of the objective's last one, for Judge
}

// aim is the objective, or a subgoal of the one before it.
type aim struct {
	Text    string
	Advised int // number of its advice; 0: none yet

	Plan         []reason.Task
	Next         int  // of Plan
	Fired        bool // the plan is the advice's
	Suggested    bool // the worker gets the advice's plan: it makes calls itself
	Given        bool // the plan is the objective's
	Stuck        bool // it was told that the session does not get on
	Approach     string
	Alternatives []reason.Decision
	Preferences  []reason.Preference
	Applied      []memory.ID

	Tries     []try // at the next task, by this plan
	Failed    []reason.Failure
	Replans   int
	Refused   int    // decisions in a row that could not be used
	Complaint string // why

	Calls    []reason.PlanCall // that were delivered, by whichever plan
	Made     bool              // they are those that the worker has made in its one task
	Worker   string            // that delivered last
	Utilized []memory.ID
	Thought  bool // a reasoner has made the plan
}

// try is an attempt at the next task that did not pass.
type try struct {
	Worker, Complaint string
	Denied            bool // it is not asked again
}

// attempt is the one that is under way or waits.
type attempt struct {
	Number int // 0: none
	Worker string
	Asked  int // how often the reasoner has answered it
	Usage  *reason.Usage
}

// waiting is for an outage.
type waiting struct {
	Since time.Time // zero: nothing is waited for
	Tries int
	Why   string
	For   time.Duration // as the part that is away has asked
}

// delivered is what a task delivered, as stored.
type delivered struct {
	Task   reason.Task
	Text   string
	Output json.RawMessage
	Sample rank.Sample // of the attempt, as the Book has it
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
	f.Complaint = clip(f.Complaint, maxTold)
	a.Failed = append(a.Failed, f)
	a.Failed = slices.Delete(a.Failed, 0, max(0, len(a.Failed)-maxFailed))
}
