package arc

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/consent"
	"github.com/arc-learn/arc/internal/gist"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/lease"
	"github.com/arc-learn/arc/internal/ledger"
	"github.com/arc-learn/arc/internal/outputs"
	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
)

// Objective is what a run is to achieve.
type Objective struct {
	// ID names the run. "": one is generated. To run an ID again continues that run, or
	// returns its Report if it is finished. The error is ErrTaken if Text or Inputs differ
	// from those of the run, or if Tasks (their Objectives and Inputs) or User are given both
	// times and differ, or a given Scope is not the run's. At most 256 bytes, without control
	// characters, and no token of an issuer; as Session and User.
	ID string `cbor:"1,keyasint,omitempty"`
	// Text is the objective in words, at most 64 KiB. Required.
	Text string `cbor:"2,keyasint,omitempty"`
	// Situation is the kind of situation that the objective is about, such as the kind of
	// error to be repaired, without the particulars of this case. Memories are recalled, chunks
	// fired and rankings kept by it. By naming it the host vouches that objectives of equal
	// situations share a plan: what the plan quotes of the Inputs is replaced by the new
	// Inputs, and booleans that it does not quote are equal. A number of one or two digits may
	// be any number in the words of a plan, which then fires for the same number only.
	// "": the Text; then a chunk fires for the same text only.
	Situation string `cbor:"3,keyasint,omitempty"`
	// Inputs are the host's data as valid JSON, at most 64 KiB and 64 levels deep. The
	// reasoner and all workers get them, without the secrets.
	Inputs json.RawMessage `cbor:"4,keyasint,omitempty"`
	// Session groups runs for metacognition. "": the run is a session of its own.
	Session string `cbor:"5,keyasint,omitempty"`
	// Scope is the scope that the run recalls from and learns into. "": Options.Scope.
	Scope memory.Scope `cbor:"6,keyasint,omitempty"`
	// Also are further scopes of the same tenant to recall from, at most 256.
	Also []memory.Scope `cbor:"7,keyasint,omitempty"`
	// Episodes are scopes of the same tenant that get an Episode about how the run ended, and
	// in which the run looks for earlier Episodes. nil: "TENANT/system/ACTOR" if Actor is
	// set; else "SCOPE/episodes", for the user whom the run serves, and, if the agent has an
	// Options.Name, "SCOPE/episodes/NAME", for the agent with this user; of these, malformed
	// scopes are left out. Empty but not nil: none. At most 256.
	Episodes []memory.Scope `cbor:"10,keyasint,omitempty"`
	// Actor is what began the run if it was not a person, such as the name of a queue. It is
	// one segment of a scope. Agent.Keep sets it to the Controller's name.
	Actor string `cbor:"20,keyasint,omitempty"`
	// User is the name of the person who has written the Text and the Inputs, if it was not
	// the host: at most 256 bytes, vouched for by the host. What the run teaches is shown to
	// that user's runs only, and fires only there, until a run of another user, which was not
	// shown it, has come to the same plan. memory.Space.Revoke of {User, name} takes it back.
	// A host that serves several people in one scope should set it.
	User string `cbor:"110,keyasint,omitempty"`
	// Fresh starts with a clean context: nothing is recalled, no chunk fires, and the
	// session's history gives no advice. The outcome is learned nevertheless.
	Fresh bool `cbor:"8,keyasint,omitempty"`
	// Budget bounds the run. Its zero fields are those of Options.Budget.
	Budget Budget `cbor:"9,keyasint,omitempty"`
	// Tasks are a plan of the host's, at most reason.MaxTasks. The run begins with it: no chunk
	// fires, and the reasoner is asked only after a task was BLOCKED, as Options.Replans
	// allows. Required if Host.Reasoner is nil.
	Tasks []reason.Task `cbor:"11,keyasint,omitempty"`
	// Attempts is how many attempts a task gets, over all workers, before it is BLOCKED.
	// 0: Options.Attempts.
	Attempts int `cbor:"12,keyasint,omitempty"`
	// Once is for work that must not be done twice. If an attempt is interrupted (by a crash, a
	// Shutdown, a context that ended), neither it nor another one is made: when the run is
	// resumed it ends BLOCKED, with the reason "outcome unknown", and the attempt does not
	// count against the worker. With Attempts of 1, no executor is called twice for a task,
	// except with the answers to its questions.
	Once bool `cbor:"13,keyasint,omitempty"`
	// Conditions are what the right plan depends on, and neither Text nor Inputs tell: the
	// environment, the branch, the tier of a customer. A chunk fires under equal conditions
	// only. At most 32, of at most 256 bytes each.
	Conditions map[string]string `cbor:"14,keyasint,omitempty"`
	// Secrets are values that workers and gates need, by name: at most 32, of at least
	// 6 bytes. Workers and gates get them in Work.Secrets, and in texts that contain them; the
	// reasoner gets them in texts only. They are never stored or passed on: a token replaces
	// them, also where they are encoded in base64, hex, JSON or URLs. A run that is resumed
	// from the store asks Host.Secrets for them. If a value is not given, it is hidden in
	// people's remarks about the run only as it is, between characters that are neither
	// letters nor digits.
	Secrets act.Secrets `cbor:"-" json:"-"`
	// Skills are the names of the Host.Skills that the work needs, at most 32: the reasoner
	// reads their SKILL.md first, even if the Text does not name them, and the worker of a
	// task that names no skill gets their AGENT.md. Unknown names are ignored.
	Skills []string `cbor:"135,keyasint,omitempty"`
	// Provisional is for work whose success shows only after its gates have passed it. What it
	// delivers counts as good only once View.Judge says so: before that, neither worker nor
	// memories are credited, and no chunk is made. Failures count at once.
	Provisional bool `cbor:"21,keyasint,omitempty"`
}

// Budget bounds a run. A run that reaches a bound ends BLOCKED before its next step; an attempt
// that was made is verified and learned from first. Zero fields are no bound, except Steps.
type Budget struct {
	// Steps is how many steps the loop takes; each is a commit. 0: 1000.
	Steps int `cbor:"1,keyasint,omitempty"`
	// Wall is the time since the run began, by Options.Now, without the time that it waited.
	Wall time.Duration `cbor:"2,keyasint,omitempty"`
	// Tokens is the sum of tokens in and out that reasoner, workers and gates report.
	Tokens int `cbor:"3,keyasint,omitempty"`
	// CostUSD is the sum of the costs that reasoner, workers and gates report, in US dollars.
	// An Executor reports it in its Usage; model.Price computes it for a model whose provider
	// reports tokens alone. Estimates (APICostUSD) do not count, since what a subscription
	// covers costs nothing: bound Tokens for these. If no part reports dollars, Health says so.
	CostUSD float64 `cbor:"4,keyasint,omitempty"`
}

// or returns b with the bounds of d where b has none.
func (b Budget) or(d Budget) Budget {
	b.Steps = cmp.Or(b.Steps, d.Steps)
	b.Wall = cmp.Or(b.Wall, d.Wall)
	b.Tokens = cmp.Or(b.Tokens, d.Tokens)
	b.CostUSD = cmp.Or(b.CostUSD, d.CostUSD)
	return b
}

// Errors of the Agent's methods. They also return those of the store.
var (
	// ErrObjective: the objective cannot be run as given.
	ErrObjective = errors.New("bad objective")
	// ErrTaken: a run of another Objective has this ID (see Objective.ID). It matches
	// ErrObjective.
	ErrTaken = fmt.Errorf("%w: its ID is taken", ErrObjective)
	// ErrRunning: the run is live, here or in another process.
	ErrRunning = errors.New("run is live")
	// ErrNotBlocked: Retry was called for a run that is not BLOCKED.
	ErrNotBlocked = errors.New("run is not blocked")
	// ErrNotDelivered: Judge was called for a run, or a task, that was not delivered.
	ErrNotDelivered = errors.New("not delivered")
	// ErrNotAsking: Answer was called for a run that is not Asking.
	ErrNotAsking = errors.New("run has asked nothing")
)

// errLeft says that the consumer of the events has left the loop.
var errLeft = errors.New("left")

// OwnedError is the error of a call about a run that is live in another Agent on the same
// store (see Options.Replica). A call whose run another Agent has taken over returns it too:
// then its last step is lost. It matches ErrRunning. The run continues in the other Agent, or
// can be resumed here once that Agent has not been heard of for Options.Lease.
type OwnedError struct {
	Run     string
	Replica string // "": the other Agent has released the run since
}

// Error names both.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("%v: %q, of replica %q", ErrRunning, e.Run, e.Replica)
}

// Is reports whether target is ErrRunning.
func (e *OwnedError) Is(target error) bool { return target == ErrRunning }

// owned returns err, or an OwnedError if err is about a run's lease.
func owned(ctx context.Context, run string, err error) error {
	held, ok := errors.AsType[*lease.Held](err)
	if !ok && errors.Is(err, context.Canceled) {
		held, ok = errors.AsType[*lease.Held](context.Cause(ctx))
	}
	if ok {
		return &OwnedError{run, held.Owner}
	}
	return err
}

// errStill is returned while Erase, Export or Import keeps the tenant's runs from beginning.
var errStill = fmt.Errorf("%w: a scope of the tenant is being erased, exported or imported", ErrRunning)

// another reports whether err says that another replica holds the lease.
func another(err error) bool {
	_, held := errors.AsType[*lease.Held](err)
	return held
}

// byAnother returns err, wrapped by errStill if another replica holds the lease.
func byAnother(err error) error {
	if another(err) {
		return fmt.Errorf("%w: %w", errStill, err)
	}
	return err
}

// Status is the state of a run.
type Status string

// The statuses of a run.
const (
	// Running: the run is not finished. It is live, or was interrupted and can be resumed.
	Running Status = "running"
	// Asking: the run waits for View.Answer.
	Asking Status = "asking"
	// Waiting: a part of the host is away, or a person has to approve an attempt.
	// Report.Cause says which, and Report.Next when the run is tried again.
	Waiting Status = "waiting"
	// Delivered: every task passed its gates.
	Delivered Status = "delivered"
	// Blocked: the run is given up. Report.Cause and Report.Reason say why.
	Blocked Status = "blocked"
)

// statuses are all of them.
var statuses = [...]Status{Running, Asking, Waiting, Delivered, Blocked}

// Cause is why a run is Blocked or Waiting, in one word. Report.Reason has the text for people.
type Cause string

// The causes.
const (
	// CauseGate: the gates did not pass the last attempt, or could not decide.
	CauseGate Cause = "gate"
	// CauseWorker: the last attempt failed by itself, or the workers are away.
	CauseWorker Cause = "worker"
	// CauseNoWorker: no worker of the host can take a task.
	CauseNoWorker Cause = "no_worker"
	// CausePermission: the last worker asked may not do the task (401, 403).
	CausePermission Cause = "permission"
	// CauseDenied: a person or the Approver refused, failed or did not answer in time.
	CauseDenied Cause = "denied"
	// CauseApproval: an attempt waits for a person's approval, see View.Approvals.
	CauseApproval Cause = "approval"
	// CauseModel: the reasoner is away, or all its decisions were refused.
	CauseModel Cause = "model"
	// CauseStuck: the attempts do not work, and there is no other plan.
	CauseStuck Cause = "stuck"
	// CauseBudget: a bound of Objective.Budget or Options.Bounds is reached, or the next
	// attempt would pass it.
	CauseBudget Cause = "budget"
	// CauseWorth: no worker's attempt is worth its price any more.
	CauseWorth Cause = "worth"
	// CauseInterrupted: the outcome of an attempt is unknown, see Objective.Once; of a run that is
	// Waiting: the Agent that resumed it was stopped.
	CauseInterrupted Cause = "interrupted"
	// CauseSecret: the run was resumed from the store (after a restart, an answer, a wait
	// beyond Options.Patience), and a part of the host needs a secret, or a text with one, that
	// was not stored. Report.Reason names it.
	CauseSecret Cause = "secret"
	// CauseInternal: arc itself failed, by a record that is too large for example.
	CauseInternal Cause = "internal"
)

// causeOf returns the cause of an attempt that did not pass.
func causeOf(end act.End) Cause {
	switch end {
	case act.Finished:
		return CauseGate
	case act.Denied:
		return CausePermission
	case act.Refused, act.Unanswered, act.Undecided:
		return CauseDenied
	case act.Interrupted:
		return CauseInterrupted
	}
	return CauseWorker
}

// phase is a state of the loop. Its value is stored with the run.
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
	phaseAsk    phase = "ask"  // a worker has asked, or the run waits for a person
	phaseDone   phase = "done" // the run is finished
)

// state is a run as records.go commits it after each step. It encodes to CBOR, which the store
// holds, and to JSON.
//
// The numbers in the CBOR tags identify the fields of stored runs: a new field takes a new
// number, and a number is never used again.
type state struct {
	ID        string    `cbor:"1,keyasint,omitempty" json:"id"`
	Session   string    `cbor:"2,keyasint,omitempty" json:"session"`
	Objective Objective `cbor:"3,keyasint,omitempty" json:"objective"`
	Status    Status    `cbor:"4,keyasint,omitempty" json:"status"`
	// Reason says why the run ends early, as BLOCKED, or what it waits for.
	Reason string `cbor:"5,keyasint,omitempty" json:"reason,omitempty"`
	Phase  phase  `cbor:"6,keyasint,omitempty" json:"phase"`
	// Step and Seq count the steps and the events so far.
	Step int `cbor:"7,keyasint,omitempty" json:"step"`
	Seq  int `cbor:"8,keyasint,omitempty" json:"seq"`
	// Started and Ended are Unix times in nanoseconds.
	Started int64 `cbor:"9,keyasint,omitempty" json:"started"`
	Ended   int64 `cbor:"10,keyasint,omitempty" json:"ended,omitempty"`

	// Aims are the objective and, during an impasse, its subgoals, innermost last.
	Aims []aim `cbor:"11,keyasint,omitempty" json:"goals"`
	// Subgoals are the texts of all subgoals so far: none is entered twice.
	Subgoals []string `cbor:"12,keyasint,omitempty" json:"subgoals,omitempty"`
	// Current is the current attempt: prepared, running, or to be verified.
	Current *attempt `cbor:"13,keyasint,omitempty" json:"current,omitempty"`

	Deliveries    []delivery  `cbor:"14,keyasint,omitempty" json:"deliveries,omitempty"`
	Attempts      int         `cbor:"15,keyasint,omitempty" json:"attempts,omitempty"`
	Deliberations int         `cbor:"16,keyasint,omitempty" json:"deliberations,omitempty"`
	Fired         int         `cbor:"17,keyasint,omitempty" json:"fired,omitempty"`
	Usage         act.Usage   `cbor:"18,keyasint,omitempty" json:"usage"`
	Tracker       []iar.Entry `cbor:"19,keyasint,omitempty" json:"tracker,omitempty"`
	Learned       []memory.ID `cbor:"20,keyasint,omitempty" json:"learned,omitempty"`
	Pivots        []string    `cbor:"21,keyasint,omitempty" json:"pivots,omitempty"`
	// Assessment is the session's last that did not recommend to keep going; in a finished
	// run, the last.
	Assessment meta.Assessment `cbor:"22,keyasint,omitempty" json:"assessment"`

	// FailedBy is the approach of the last attempt that failed.
	FailedBy string `cbor:"30,keyasint,omitempty" json:"failed_by,omitempty"`

	// Last is the last attempt that was learned from.
	Last lastAttempt `cbor:"23,keyasint,omitempty" json:"last,omitzero"`

	// Cause goes with Reason.
	Cause Cause   `cbor:"24,keyasint,omitempty" json:"cause,omitempty"`
	Wait  waiting `cbor:"25,keyasint,omitempty" json:"wait,omitzero"`
	// Escalated: a person was told of the run.
	Escalated bool `cbor:"225,keyasint,omitempty" json:"escalated,omitempty"`
	// Before is what was spent before the last Retry.
	Before Budget `cbor:"26,keyasint,omitempty" json:"before,omitzero"`
	// Requeue is the last requeue of a job for which the run was retried; it is not again.
	Requeue string `cbor:"227,keyasint,omitempty" json:"requeue,omitempty"`
	// Jobs are the IDs of those that the run is for, the latest last: at most maxJobs.
	Jobs []string `cbor:"228,keyasint,omitempty" json:"jobs,omitempty"`
	// Verdicts has the last verdict of each source about each task; Judged counts all.
	Verdicts []Verdict `cbor:"27,keyasint,omitempty" json:"verdicts,omitempty"`
	Judged   int       `cbor:"28,keyasint,omitempty" json:"judged,omitempty"`

	// Hidden are the paths of texts whose secrets are not in the stored record, and cannot be
	// put back. Secrets are the tags of Objective.Secrets, by name.
	Hidden  []string          `cbor:"70,keyasint,omitempty" json:"hidden,omitempty"`
	Secrets map[string]string `cbor:"71,keyasint,omitempty" json:"secrets,omitempty"`
}

// maxJobs is how many jobs a run knows that name it in their Input.
const maxJobs = 8

// workedOn is the key, in the context of a QueueHandler, of the ID of its job.
type workedOn struct{}

// serves notes that the run is for a job, and goes on for the job's last Requeue. It reports
// whether that is new. nil is no job.
func (s *state) serves(j *queue.Job) (news bool) {
	if j == nil {
		return false
	}
	if !slices.Contains(s.Jobs, j.ID) {
		s.Jobs, news = appendTo(s.Jobs[max(0, len(s.Jobs)+1-maxJobs):], j.ID), true
	}
	was := s.Requeue
	s.Requeue = cmp.Or(requeueOf(j), was)
	return news || s.Requeue != was
}

// requeueOf names the last Requeue of a job. "": there was none.
func requeueOf(j *queue.Job) string {
	if j.Requeued == 0 {
		return ""
	}
	return fmt.Sprint(j.ID, " ", j.Requeued)
}

// stirs reports whether the run, which had another status before, is to be looked at by its
// jobs: it was answered or retried, has stopped, or no longer waits for a person.
func (s *state) stirs(was Status, now time.Time) bool {
	if s.Status == Waiting {
		return s.Wait.Due <= now.UnixNano()
	}
	return was != s.Status && was != Waiting
}

// lastAttempt is the worker of an attempt, and how the attempt ended.
type lastAttempt struct {
	Worker string  `cbor:"1,keyasint,omitempty" json:"worker,omitempty"`
	End    act.End `cbor:"2,keyasint,omitempty" json:"end,omitempty"`
}

// aim is the objective, or a subgoal that would resolve an impasse.
type aim struct {
	Text      string `cbor:"1,keyasint,omitempty" json:"text"`
	Situation string `cbor:"2,keyasint,omitempty" json:"situation"`
	// Vouched: the host has named the situation.
	Vouched bool `cbor:"34,keyasint,omitempty" json:"vouched,omitempty"`
	// Number counts the subgoals entered before it: 0 for the objective.
	Number int `cbor:"21,keyasint,omitempty" json:"number,omitempty"`
	// Impasse is the kind of the impasse that the subgoal resolves; "" for the objective.
	Impasse string `cbor:"3,keyasint,omitempty" json:"impasse,omitempty"`

	// Searched: memories were recalled. Recalled were found and shown, Withheld found and held
	// out at random (learn.Options.Holdout).
	Searched bool        `cbor:"23,keyasint,omitempty" json:"searched,omitempty"`
	Recalled []memory.ID `cbor:"4,keyasint,omitempty" json:"recalled,omitempty"`
	Withheld []memory.ID `cbor:"22,keyasint,omitempty" json:"withheld,omitempty"`
	// Decided is when the current plan was made, in Unix nanoseconds.
	Decided int64 `cbor:"255,keyasint,omitempty" json:"decided,omitempty"`

	// Facts of the scope's identity were found and shown. Used are those of them that the
	// decision applied or the workers used.
	Facts []memory.ID `cbor:"130,keyasint,omitempty" json:"facts,omitempty"`
	Used  []memory.ID `cbor:"131,keyasint,omitempty" json:"used,omitempty"`

	// The plan: its tasks, the index of the current task, the number of attempts at that, and
	// the chunk that made the plan, if one fired.
	Approach string        `cbor:"5,keyasint,omitempty" json:"approach,omitempty"`
	Tasks    []reason.Task `cbor:"6,keyasint,omitempty" json:"tasks,omitempty"`
	Next     int           `cbor:"7,keyasint,omitempty" json:"next,omitempty"`
	Tries    int           `cbor:"8,keyasint,omitempty" json:"tries,omitempty"`
	Fired    memory.ID     `cbor:"9,keyasint,omitempty" json:"fired,omitempty"`
	// Ranked are the indices of tasks whose worker the ranking has chosen, not the plan.
	Ranked []int `cbor:"325,keyasint,omitempty" json:"ranked,omitempty"`

	// Said is a digest of what the host's sources said when the reasoner made the plan. 0:
	// nothing.
	Said uint64 `cbor:"326,keyasint,omitempty" json:"said,omitempty"`

	// The alternatives that are left, the reasoner's preferences among them, and how many
	// alternatives have replaced a plan that failed.
	Others      []reason.Alternative `cbor:"24,keyasint,omitempty" json:"others,omitempty"`
	Preferences []reason.Preference  `cbor:"25,keyasint,omitempty" json:"preferences,omitempty"`
	Turns       int                  `cbor:"26,keyasint,omitempty" json:"turns,omitempty"`

	// Spent are the chunks that failed for this aim, Utilized the memories that the decision
	// applied or the workers used.
	Spent    []memory.ID `cbor:"10,keyasint,omitempty" json:"spent,omitempty"`
	Utilized []memory.ID `cbor:"11,keyasint,omitempty" json:"utilized,omitempty"`

	// Coached: a worker has passed after a complaint about its own attempt. So the plan alone
	// does not say what made it pass.
	Coached bool `cbor:"38,keyasint,omitempty" json:"coached,omitempty"`

	// Failed are the attempts that failed, at most maxFailed, latest last. Denied are the
	// workers that may not do the current task, or cannot.
	Failed []reason.FailedAttempt `cbor:"12,keyasint,omitempty" json:"failed,omitempty"`
	Denied []string               `cbor:"13,keyasint,omitempty" json:"denied,omitempty"`
	// FailedAt has the ends of the last of Failed, in Unix nanoseconds.
	FailedAt []int64 `cbor:"256,keyasint,omitempty" json:"failed_at,omitempty"`

	// Questions are open. Answers are those to earlier questions.
	Questions []string        `cbor:"14,keyasint,omitempty" json:"questions,omitempty"`
	Answers   []reason.Answer `cbor:"15,keyasint,omitempty" json:"answers,omitempty"`
	// Avoid are the approaches that metacognition advises against.
	Avoid []string `cbor:"16,keyasint,omitempty" json:"avoid,omitempty"`
	// Refused counts the refused decisions; Complaint says what was wrong with the last.
	Refused   int    `cbor:"17,keyasint,omitempty" json:"refused,omitempty"`
	Complaint string `cbor:"18,keyasint,omitempty" json:"complaint,omitempty"`
	// Replans counts the plans dropped after a task was BLOCKED.
	Replans int `cbor:"19,keyasint,omitempty" json:"replans,omitempty"`
	// Tried are digests of the attempts that failed since the last answer or reached subgoal,
	// at most maxFailed.
	Tried []try `cbor:"30,keyasint,omitempty" json:"tried,omitempty"`
	// Told: a decision was refused once because of the session's history.
	Told bool `cbor:"31,keyasint,omitempty" json:"told,omitempty"`
	// Cleared counts the Failed before a fresh start: these, and what was recalled, are no
	// longer shown. 0: there was none.
	Cleared int `cbor:"32,keyasint,omitempty" json:"cleared,omitempty"`
	// Until is the task before which the reasoner is asked again, since the plan is taken one
	// task at a time. 0: the whole plan is taken.
	Until int `cbor:"33,keyasint,omitempty" json:"until,omitempty"`
	// Blocked says why the aim is given up without an attempt.
	Blocked string `cbor:"20,keyasint,omitempty" json:"blocked,omitempty"`
	Cause   Cause  `cbor:"27,keyasint,omitempty" json:"cause,omitempty"`
	// Away are the workers that are away.
	Away []absent `cbor:"28,keyasint,omitempty" json:"away,omitempty"`

	// Quotes are the sources whose words the decisions for the aim repeat, Parents the
	// memories from which the decisions were made.
	Quotes  []memory.Source `cbor:"41,keyasint,omitempty" json:"quotes,omitempty"`
	Parents []memory.ID     `cbor:"42,keyasint,omitempty" json:"parents,omitempty"`
}

// try is digests of an attempt that failed: equal digests mean equal texts.
type try struct {
	// Approach is the decision's approach, or its tasks if it names none.
	Approach uint64 `cbor:"1,keyasint,omitempty" json:"approach,omitempty"`
	// Action is the task, its inputs, and the worker.
	Action uint64 `cbor:"2,keyasint,omitempty" json:"action,omitempty"`
	// Result is the complaint.
	Result uint64 `cbor:"3,keyasint,omitempty" json:"result,omitempty"`
	// Plan is the tasks of the decision.
	Plan uint64 `cbor:"4,keyasint,omitempty" json:"plan,omitempty"`
}

// waiting is how a run waits, and how long it has waited.
type waiting struct {
	// Due is when an Agent has to resume the run, in Unix nanoseconds. 0: its caller resumes
	// it.
	Due int64 `cbor:"1,keyasint,omitempty" json:"due,omitempty"`
	// Since is when the run began to wait. 0: it does not wait.
	Since int64 `cbor:"2,keyasint,omitempty" json:"since,omitempty"`
	// Tries counts the tries in a row that found the part away.
	Tries int `cbor:"3,keyasint,omitempty" json:"tries,omitempty"`
	// Waited is how long the run has waited in all. That does not count as Budget.Wall.
	Waited time.Duration `cbor:"4,keyasint,omitempty" json:"waited,omitempty"`
}

// absent is a worker that is away.
type absent struct {
	Worker string `cbor:"1,keyasint,omitempty" json:"worker"`
	// Until is when it may be asked again while there are other workers, in Unix nanoseconds.
	// After is the pause that it asked for. 0: none.
	Until int64         `cbor:"2,keyasint,omitempty" json:"until"`
	After time.Duration `cbor:"3,keyasint,omitempty" json:"after,omitempty"`
}

// absent returns the workers that are away for the current task at a time in Unix nanoseconds,
// and the shortest pause that they ask for. 0: not all of them ask for one.
func (g *aim) absent(now int64) (workers []string, after time.Duration) {
	for _, w := range g.Away {
		if w.Until <= now {
			continue
		}
		workers = append(workers, w.Worker)
		if len(workers) == 1 || w.After < after {
			after = w.After
		}
	}
	return workers, after
}

// back notes that a worker is not away any more.
func (g *aim) back(worker string) {
	if len(g.Away) > 0 {
		g.Away = slices.DeleteFunc(slices.Clone(g.Away), func(w absent) bool { return w.Worker == worker })
	}
}

// attempt is the current attempt. The act phase fills the fields from End to Wall, verify those
// from Passed on.
type attempt struct {
	// Key identifies the attempt among those of the tenant.
	Key    string `cbor:"1,keyasint,omitempty" json:"key"`
	Worker string `cbor:"2,keyasint,omitempty" json:"worker"`
	// Number counts the attempts at the task, from 1.
	Number int `cbor:"3,keyasint,omitempty" json:"number"`
	// Complaint is what was wrong with the previous attempt.
	Complaint string `cbor:"4,keyasint,omitempty" json:"complaint,omitempty"`

	End        act.End        `cbor:"5,keyasint,omitempty" json:"end,omitempty"`
	Reflection iar.Reflection `cbor:"6,keyasint,omitempty" json:"reflection"`
	Resonance  float64        `cbor:"7,keyasint,omitempty" json:"resonance,omitempty"`
	Output     outputs.JSON   `cbor:"8,keyasint,omitempty" json:"output"`
	Utilized   []memory.ID    `cbor:"9,keyasint,omitempty" json:"utilized,omitempty"`
	Misled     []memory.ID    `cbor:"10,keyasint,omitempty" json:"misled,omitempty"`
	Used       []memory.ID    `cbor:"130,keyasint,omitempty" json:"used,omitempty"` // of the aim's Facts
	Usage      act.Usage      `cbor:"11,keyasint,omitempty" json:"usage"`
	Deltas     []act.Delta    `cbor:"12,keyasint,omitempty" json:"deltas,omitempty"`
	Wall       time.Duration  `cbor:"13,keyasint,omitempty" json:"wall,omitempty"`

	Passed bool `cbor:"14,keyasint,omitempty" json:"passed,omitempty"`
	// Faulty: a gate could not decide. The worker is not to blame.
	Faulty bool `cbor:"15,keyasint,omitempty" json:"faulty,omitempty"`
	// Unjudged: a gate could not decide about an earlier attempt of the worker either.
	Unjudged bool `cbor:"228,keyasint,omitempty" json:"unjudged,omitempty"`
	// Wrong says why the attempt did not pass, Gate which gate rejected it.
	Wrong string `cbor:"16,keyasint,omitempty" json:"problem,omitempty"`
	Gate  string `cbor:"256,keyasint,omitempty" json:"gate,omitempty"`
	// Warned are the memories of the warnings that the worker is shown.
	Warned []memory.ID `cbor:"23,keyasint,omitempty" json:"warned,omitempty"`
	// Questions are the worker's open questions, Answers the answers to earlier ones.
	Questions []string        `cbor:"187,keyasint,omitempty" json:"questions,omitempty"`
	Answers   []reason.Answer `cbor:"188,keyasint,omitempty" json:"answers,omitempty"`
	// Approval is the approval that the attempt waits or has waited for. nil: none.
	Approval *consent.Ask `cbor:"145,keyasint,omitempty" json:"approval,omitempty"`
}

// pending returns the approval that a run waits for, or nil.
func (s *state) pending() *consent.Ask {
	if c := s.Current; s.Status == Waiting && s.Phase == phaseAct && c != nil && c.Approval != nil && !c.Approval.Closed {
		return c.Approval
	}
	return nil
}

// set returns when the run's Wait.Due was set, for register.Run.Enlist. It is 0 for an
// approval, whose end may be far off.
func (s *state) set(now int64) int64 {
	if s.pending() != nil {
		return 0
	}
	return now
}

// workerAsks reports whether the run handles the questions of a worker.
func (s *state) workerAsks() bool {
	return s.Phase == phaseAsk && s.Current != nil && len(s.Current.Questions) > 0
}

// delivery is a delivered task.
type delivery struct {
	Task    reason.Task  `cbor:"1,keyasint,omitempty" json:"task"`
	Worker  string       `cbor:"2,keyasint,omitempty" json:"worker"`
	Attempt int          `cbor:"3,keyasint,omitempty" json:"attempt"`
	Output  outputs.JSON `cbor:"4,keyasint,omitempty" json:"output"`
	Summary string       `cbor:"5,keyasint,omitempty" json:"summary,omitempty"`
	Deltas  []act.Delta  `cbor:"6,keyasint,omitempty" json:"deltas,omitempty"`
	// At is when it passed, in Unix nanoseconds.
	At int64 `cbor:"255,keyasint,omitempty" json:"at,omitempty"`
	// Made is the number of its attempt in the run, from 1. 0: stored by an earlier version.
	Made int `cbor:"304,keyasint,omitempty" json:"made,omitempty"`
}

// delivered returns the delivery as the host's parts see it, with its output.
func (d *delivery) delivered(output json.RawMessage) act.Delivery {
	return act.Delivery{
		Task: d.Task, Worker: d.Worker, Attempt: d.Attempt, Output: output, Summary: d.Summary, Deltas: d.Deltas,
		At: at(d.At),
	}
}

// Bounds of what a state holds.
const (
	maxText      = 64 << 10 // bytes of a text of an objective or an answer
	maxTracked   = 64       // reflections
	maxFailed    = 64       // failed attempts at an aim
	maxComplaint = 4 << 10  // bytes of a text about an attempt
	maxPrefix    = 192      // bytes of a run's id in a key, which has more parts
)

// aim returns the innermost aim.
func (s *state) aim() *aim { return &s.Aims[len(s.Aims)-1] }

// scopes returns the scopes that the run recalls from and learns into.
func (s *state) scopes() []memory.Scope {
	o := &s.Objective
	return slices.Concat([]memory.Scope{o.Scope}, o.Also, o.Episodes)
}

// apart reports whether one of the run's scopes can be erased without the run's own scope.
func (s *state) apart() bool {
	own := s.Objective.Scope
	return slices.ContainsFunc(s.scopes(), func(of memory.Scope) bool { return of != own && !of.Within(own+"/episodes") })
}

// fork returns a copy of s whose aims and attempt can be changed without changing s. The slices
// in them are shared: replace them, or append with appendTo.
func (s state) fork() state {
	s.Aims = slices.Clone(s.Aims)
	if s.Current != nil {
		c := *s.Current
		s.Current = &c
	}
	return s
}

// appendTo appends without writing into an array that another state may share.
func appendTo[T any](list []T, more ...T) []T {
	return append(slices.Clip(list), more...)
}

// answer closes the open questions.
func (c *attempt) answer(text string) {
	c.Answers = appendTo(c.Answers, reason.Answer{Questions: c.Questions, Text: text})
	c.Questions = nil
}

// prefix returns what the keys of a run's attempts and aims begin with: its id, or a hash of an
// id that is too long for a part of a key.
func (s *state) prefix() string {
	if len(s.ID) <= maxPrefix {
		return s.ID
	}
	sum := sha256.Sum256([]byte(s.ID))
	return "run-" + hex.EncodeToString(sum[:16])
}

// attemptKey returns the key of the run's n-th attempt, from 1.
func (s *state) attemptKey(n int) string { return s.prefix() + "/" + strconv.Itoa(n) }

// verdictKey returns the key of the n-th verdict about the run, from 1.
func (s *state) verdictKey(n int, right bool) string {
	return fmt.Sprintf("%s/verdict/%d/%t", s.prefix(), n, right)
}

// aimKey returns a key that identifies the innermost aim in the tenant, behind a text.
func (s *state) aimKey(before string) string {
	return before + s.prefix() + "/goal/" + strconv.Itoa(s.aim().Number)
}

// unjudged reports whether the session is the run's own and has no outcome yet.
func (s *state) unjudged() bool {
	g := s.aim()
	return s.Objective.Session == "" && len(s.Deliveries) == 0 && g.Replans == 0 && g.Turns == 0 &&
		s.Before.Steps == 0
}

// unplanned reports whether the run has not begun the host's plan.
func (s *state) unplanned() bool {
	return len(s.Objective.Tasks) > 0 && s.Deliberations == 0 && len(s.aim().Tasks) == 0
}

// follow makes tasks the plan of the aim.
func (g *aim) follow(tasks []reason.Task, approach string, fired memory.ID) {
	g.Tasks, g.Next, g.Until, g.Tries, g.Approach, g.Fired = tasks, 0, 0, 0, approach, fired
	g.Coached, g.Ranked = false, nil
}

// reserve stores the alternatives that a decision has left.
func (g *aim) reserve(d reason.Decision) { g.Others, g.Preferences = d.Alternatives, d.Preferences }

// other returns the best of the alternatives that are left, as a decision. The decision has no
// tasks if none is left, or the preferences do not tell them apart. An approach that
// metacognition advises against is left out.
func (g *aim) other() reason.Decision {
	left := slices.DeleteFunc(slices.Clone(g.Others), func(a reason.Alternative) bool {
		return gist.Listed(g.Avoid, a.Approach)
	})
	return reason.Decision{Alternatives: left, Preferences: g.Preferences}.Choose()
}

// takeOther makes the best of the alternatives that are left the plan, and reports whether
// there is one.
func (g *aim) takeOther() bool {
	d := g.other()
	if len(d.Tasks) == 0 {
		return false
	}
	g.follow(d.Tasks, d.Approach, "")
	g.reserve(d)
	g.Turns++
	g.Denied = nil
	return true
}

// applied returns those of ids that were recalled for the aim, each once: a reasoner cannot
// credit a memory that it was not shown.
func (g *aim) applied(ids []memory.ID) []memory.ID { return among(g.Recalled, ids) }

// among returns those of ids that were shown, each once.
func among(shown, ids []memory.ID) (out []memory.ID) {
	for _, id := range ids {
		if slices.Contains(shown, id) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// maxQuotes is how many sources a run records. A plan with as many never fires.
const maxQuotes = 64

// union returns list with those of more that it lacks, up to maxQuotes, in a new array.
func union[T comparable](list, more []T) []T {
	list = slices.Clip(list)
	for _, m := range more {
		if len(list) < maxQuotes && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// keptState returns a run as it is stored. Its Hidden are the paths of the texts that the host's
// parts see and whose secrets cannot be put back.
func keptState(v *veil.Veil, s *state) state {
	kept, hidden := *s, slices.Clone(s.Hidden)
	lost := func(path string) {
		field := path[:strings.IndexAny(path+".", ".[")]
		if slices.Contains(handed, field) && !slices.Contains(hidden, path) {
			hidden = append(hidden, path)
		}
	}
	v.HideAll(&kept, lost)
	for i, d := range s.Deliveries {
		if d.Output.Marked {
			lost(fmt.Sprintf("Deliveries[%d].Output", i))
		}
	}
	if s.Current != nil && s.Current.Output.Marked {
		lost("Current.Output")
	}
	kept.Hidden = hidden
	return kept
}

// handed are the fields of a state that the host's parts see.
var handed = []string{"Objective", "Aims", "Current", "Deliveries", "Assessment"}

// partOf returns a part of a key that identifies a scope: the scope, or a hash if that is too
// long.
func partOf(scope memory.Scope) string {
	part := string(scope)
	if len(part) > key.MaxID {
		sum := sha256.Sum256([]byte(part))
		part = "#" + hex.EncodeToString(sum[:]) // no scope begins so
	}
	return part
}

// scoped is what the Agent derives from a scope's name.
type scoped struct {
	scope    memory.Scope
	identity *identity.Identity
	episodes []memory.Scope // see Objective.Episodes
}

// clip bounds a text about an attempt: it keeps the beginning and the end.
func clip(s string) string {
	if len(s) <= maxComplaint {
		return s
	}
	head, tail := s[:maxComplaint/2], s[len(s)-maxComplaint/2:]
	return strings.ToValidUTF8(head, "") + " … " + strings.ToValidUTF8(tail, "")
}

// bounds returns the run's own budget.
func (s *state) bounds() ledger.Amount { return ledger.Amount(s.Objective.Budget) }

// spent returns what the run has used since it began, or since its last Retry.
func (s *state) spent(now time.Time) ledger.Amount {
	return s.used(now).Less(ledger.Amount(s.Before))
}

// used returns what the run has used in all.
func (s *state) used(now time.Time) ledger.Amount {
	return ledger.Amount{
		Steps: s.Step, Wall: max(0, time.Duration(now.UnixNano()-s.Started)-s.Wait.Waited), // a clock may be put back
		Tokens: s.Usage.TokensIn + s.Usage.TokensOut, CostUSD: s.Usage.CostUSD,
	}
}

// resonance returns that of the run's valid reflections, in order.
func (s *state) resonance() (trend []float64) {
	for _, e := range s.Tracker {
		if !e.Invalid {
			trend = append(trend, e.Resonance)
		}
	}
	return trend
}

// Verdict is a finding about a delivery after its gates had passed it. The last verdict of a
// Source about a Task counts.
type Verdict struct {
	// Task is the delivered task, counted from 1 in Report.Deliveries. 0: all.
	Task int `cbor:"1,keyasint,omitempty" json:"task,omitempty"`
	// Right: the delivery is right. If false it is wrong.
	Right bool `cbor:"2,keyasint,omitempty" json:"right,omitempty"`
	// Why says how that was found, in at most 64 KiB. The first and last 2 KiB are stored.
	Why string `cbor:"3,keyasint,omitempty" json:"why,omitempty"`
	// Source is the person or check with the finding, at most 256 bytes. "": the host.
	Source string `cbor:"4,keyasint,omitempty" json:"source,omitempty"`
}

func (v Verdict) wrong() bool { return !v.Right }

// at returns the time of a field in Unix nanoseconds, the zero time for 0.
func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
