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
	// ID names the run. "": one is generated. Running an ID again goes on
	// with that run; if it has finished, its Report is returned. With another Text, Inputs,
	// Tasks (of the same Objectives and Inputs), Scope or User than the run has begun with,
	// the error is ErrTaken. The last three count where both calls name them.
	ID string `cbor:"1,keyasint,omitempty"`
	// Text is the objective in words, at most 64 KiB. Required.
	Text string `cbor:"2,keyasint,omitempty"`
	// Situation is the kind of situation that the objective is about, such
	// as the kind of error that is to be mended, without what is particular
	// to this case. Memories are recalled, chunks fired and rankings kept by
	// it. Naming it, the host vouches that objectives of equal situations share
	// a plan, with what the plan quotes of the Inputs bound anew; booleans that it
	// does not quote are the same. "": the Text, and only the same text fires a chunk.
	Situation string `cbor:"3,keyasint,omitempty"`
	// Inputs are the host's data, valid JSON, handed to the reasoner and to
	// every worker as they are, without the secrets: at most 64 KiB, nested 64 deep.
	Inputs json.RawMessage `cbor:"4,keyasint,omitempty"`
	// Session groups runs for metacognition. "": the run is its own session.
	Session string `cbor:"5,keyasint,omitempty"`
	// Scope is where the run recalls from and learns into. "": Options.Scope.
	Scope memory.Scope `cbor:"6,keyasint,omitempty"`
	// Also are further scopes of the same tenant to recall from.
	Also []memory.Scope `cbor:"7,keyasint,omitempty"`
	// Episodes are scopes of the same tenant in which a passing Episode tells how
	// the run ended, and later runs look for such. Nil: "TENANT/system/ACTOR" if
	// Actor is set. Else "SCOPE/episodes", for the user whom the run serves, and
	// "SCOPE/episodes/NAME", for the agent with the user, if the agent has an
	// Options.Name. Empty and not nil: none. What is no valid scope is left out.
	Episodes []memory.Scope `cbor:"10,keyasint,omitempty"`
	// Actor is what began the run, if it was no person, such as the name of a
	// queue. It is one segment of a scope. Agent.Keep sets it to the Controller's
	// name.
	Actor string `cbor:"20,keyasint,omitempty"`
	// User is the person whose words the Text and the Inputs are, if they are not
	// the host's, by a name of at most 256 bytes that the host vouches for. What
	// the run teaches is shown to that user's runs alone, and fires there, until a
	// run of another user, which was not shown it, has come to the same plan;
	// memory.Space.Revoke of {User, name} takes it back. A host that serves several
	// people in one scope names them.
	User string `cbor:"110,keyasint,omitempty"`
	// Fresh starts with a clean context: nothing is recalled, no chunk
	// fires, and the session's history gives no advice. What happens is
	// learned all the same.
	Fresh bool `cbor:"8,keyasint,omitempty"`
	// Budget bounds the run; its zero fields are those of Options.Budget.
	Budget Budget `cbor:"9,keyasint,omitempty"`
	// Tasks are a plan that the host has made, at most reason.MaxTasks. It is
	// run first: no chunk fires, and the reasoner is asked only after one of
	// the tasks was BLOCKED, as Options.Replans allows. Required if
	// Host.Reasoner is nil.
	Tasks []reason.Task `cbor:"11,keyasint,omitempty"`
	// Attempts at a task, over all workers, before it is BLOCKED. 0:
	// Options.Attempts.
	Attempts int `cbor:"12,keyasint,omitempty"`
	// Once is for work that must not be done twice. An attempt that was cut
	// off (by a crash, a Shutdown, a context that ended) is not made again,
	// and no other is: when the run goes on, it ends BLOCKED, with "outcome
	// unknown" as the reason, and what was tried is not held against the
	// worker. With Attempts of 1, no executor is called twice for a task.
	Once bool `cbor:"13,keyasint,omitempty"`
	// Conditions are what the right plan depends on and neither the Text nor the
	// Inputs say: the environment, the branch, the tier of a customer. A chunk
	// fires under equal conditions only. At most 32, of at most 256 bytes each.
	Conditions map[string]string `cbor:"14,keyasint,omitempty"`
	// Secrets are values that workers and gates need, by name: at most 32, of at least
	// 6 bytes. They get them in Work.Secrets, and in texts that hold them; the reasoner
	// in texts only. They are never kept: wherever they would be kept or told, a token
	// stands for them, also in base64, hex, JSON and URLs. A run that goes on from the
	// store asks Host.Secrets for them. Where that gives none, what a person says of the
	// run hides them as they are alone, between what are no letters or digits.
	Secrets act.Secrets `cbor:"-" json:"-"`
	// Skills are those of Host.Skills that the work needs, at most 32: the reasoner reads
	// their SKILL.md first, whatever the Text names, and a task that names no skill of
	// its own gives its worker their AGENT.md. A name that the host lacks is passed by.
	Skills []string `cbor:"135,keyasint,omitempty"`
	// Provisional is for work whose success shows later than its gates can see.
	// What it delivers is not learned as good before View.Judge says so: before,
	// neither worker nor memories have credit, and no chunk is made. Failures count at once.
	Provisional bool `cbor:"21,keyasint,omitempty"`
}

// Budget bounds a run. A run that reaches a bound ends BLOCKED before its next
// step; an attempt that was made is verified and learned from first. Zero
// fields are unbounded, except Steps.
type Budget struct {
	// Steps of the loop, each of them a commit. 0: 1000.
	Steps int `cbor:"1,keyasint,omitempty"`
	// Wall is the time since the run began, by Options.Now.
	Wall time.Duration `cbor:"2,keyasint,omitempty"`
	// Tokens in and out, of reasoner, workers and gates, as reported.
	Tokens int `cbor:"3,keyasint,omitempty"`
	// CostUSD of reasoner, workers and gates, as reported: by an Executor in its Usage, by a
	// model whose provider reports tokens alone through model.Price. Estimates (APICostUSD) do
	// not count: what a subscription covers costs nothing. Bound Tokens for these. Where
	// nothing reports dollars, Health says so.
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

// Errors of the Agent's methods. Besides these they return the store's.
var (
	// ErrObjective: the objective cannot be run as given.
	ErrObjective = errors.New("bad objective")
	// ErrTaken: the ID is that of a run of another Objective (see its ID). It is an ErrObjective.
	ErrTaken = fmt.Errorf("%w: its ID is taken", ErrObjective)
	// ErrRunning: the run is live, here or in another process.
	ErrRunning = errors.New("run is live")
	// ErrNotBlocked: Retry was called for a run that is not BLOCKED.
	ErrNotBlocked = errors.New("run is not blocked")
	// ErrNotDelivered: Judge was called for what was not delivered.
	ErrNotDelivered = errors.New("not delivered")
	// ErrNotAsking: Answer was called for a run that asked nothing.
	ErrNotAsking = errors.New("run has asked nothing")
)

// errLeft says that the consumer of the events has left the loop.
var errLeft = errors.New("left")

// OwnedError is the error of a call about a run that another Agent on the same store is
// live with (see Options.Replica), also of the call that was, once its run was taken
// over: then nothing of what it did last is kept. errors.Is calls it ErrRunning. The run
// goes on there, or here once that Agent has not been heard of for Options.Lease.
type OwnedError struct {
	Run     string
	Replica string // "": it was let go since
}

// Error names both.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("%v: %q, of replica %q", ErrRunning, e.Run, e.Replica)
}

// Is reports whether it is ErrRunning.
func (e *OwnedError) Is(target error) bool { return target == ErrRunning }

// owned returns err, or if it comes of a run's lease, what that means to a host.
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

// errStill says that Erase, Export or Import has the tenant.
var errStill = fmt.Errorf("%w: a scope of the tenant is being erased, exported or imported", ErrRunning)

// another reports whether an error says that another replica has the lease.
func another(err error) bool {
	_, held := errors.AsType[*lease.Held](err)
	return held
}

// byAnother is err, or errStill with it if it says that another replica has the lease.
func byAnother(err error) error {
	if another(err) {
		return fmt.Errorf("%w: %w", errStill, err)
	}
	return err
}

// Status is how a run stands.
type Status string

// The statuses of a run.
const (
	// Running: the run is not finished. It is live, or to be resumed.
	Running Status = "running"
	// Asking: the run waits for View.Answer.
	Asking Status = "asking"
	// Waiting: a part of the host is away. Report.Cause says which, and
	// Report.Next when it is tried again.
	Waiting Status = "waiting"
	// Delivered: every task passed its gates.
	Delivered Status = "delivered"
	// Blocked: the run is given up. Report.Cause and Report.Reason say why.
	Blocked Status = "blocked"
)

// statuses are all that a run can have.
var statuses = [...]Status{Running, Asking, Waiting, Delivered, Blocked}

// Cause says what a run that is Blocked or Waiting has met, in one word.
// Report.Reason has the words for people.
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
	// CauseDenied: a human or the Approver refused, failed or did not answer in time.
	CauseDenied Cause = "denied"
	// CauseApproval: an attempt waits for a human, see View.Approvals.
	CauseApproval Cause = "approval"
	// CauseModel: the reasoner is away, or no decision of it could be acted on.
	CauseModel Cause = "model"
	// CauseStuck: what is done does not work, and there is nothing else to do.
	CauseStuck Cause = "stuck"
	// CauseBudget: a bound of Objective.Budget or Options.Bounds is reached, or
	// would be by the next attempt.
	CauseBudget Cause = "budget"
	// CauseWorth: no worker's attempt is worth its price any more.
	CauseWorth Cause = "worth"
	// CauseInterrupted: the outcome of an attempt is unknown, see Objective.Once.
	CauseInterrupted Cause = "interrupted"
	// CauseSecret: the run went on from the store (after a restart, an answer, a wait
	// beyond Options.Patience), and what a part of the host was to get held a secret,
	// or is one, that was not kept. Report.Reason names it.
	CauseSecret Cause = "secret"
	// CauseInternal: arc could not go on, such as with too large a record.
	CauseInternal Cause = "internal"
)

// causeOf says what an attempt that did not pass has met.
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
	// A worker has asked, or the run waits for a human.
	phaseAsk phase = "ask"
	// The run is over.
	phaseDone phase = "done"
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
	// Reason says why the run is cut short, and end makes it BLOCKED; or what it
	// waits for.
	Reason string `cbor:"5,keyasint,omitempty" json:"reason,omitempty"`
	Phase  phase  `cbor:"6,keyasint,omitempty" json:"phase"`
	// Step and Seq count the steps and the events so far.
	Step int `cbor:"7,keyasint,omitempty" json:"step"`
	Seq  int `cbor:"8,keyasint,omitempty" json:"seq"`
	// Started and Ended are Unix times in nanoseconds.
	Started int64 `cbor:"9,keyasint,omitempty" json:"started"`
	Ended   int64 `cbor:"10,keyasint,omitempty" json:"ended,omitempty"`

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
	// Requeue is the last of a job's that the run has gone on for: the run is not retried for it again.
	Requeue string `cbor:"227,keyasint,omitempty" json:"requeue,omitempty"`
	// Verdicts are the last by source and task; Judged counts all of them.
	Verdicts []Verdict `cbor:"27,keyasint,omitempty" json:"verdicts,omitempty"`
	Judged   int       `cbor:"28,keyasint,omitempty" json:"judged,omitempty"`

	// Hidden are the fields whose secrets are not in the record that the state was read
	// from. Secrets are the tags of Objective.Secrets.
	Hidden  []string          `cbor:"70,keyasint,omitempty" json:"hidden,omitempty"`
	Secrets map[string]string `cbor:"71,keyasint,omitempty" json:"secrets,omitempty"`
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
	// Impasse is the kind that made it a subgoal; "" for the objective.
	Impasse string `cbor:"3,keyasint,omitempty" json:"impasse,omitempty"`

	// Searched is set once recall has looked for memories: those Recalled were
	// found and shown, those Withheld were found and held out by chance
	// (learn.Options.Holdout).
	Searched bool        `cbor:"23,keyasint,omitempty" json:"searched,omitempty"`
	Recalled []memory.ID `cbor:"4,keyasint,omitempty" json:"recalled,omitempty"`
	Withheld []memory.ID `cbor:"22,keyasint,omitempty" json:"withheld,omitempty"`
	// Decided is when the plan at hand was made, in Unix nanoseconds.
	Decided int64 `cbor:"255,keyasint,omitempty" json:"decided,omitempty"`

	// Facts are those of the scope's identity that were found and shown; Used are
	// those of them that the decision applied and the workers used.
	Facts []memory.ID `cbor:"130,keyasint,omitempty" json:"facts,omitempty"`
	Used  []memory.ID `cbor:"131,keyasint,omitempty" json:"used,omitempty"`

	// The plan: its tasks, the index of the task at hand, the attempts at that
	// task, and the chunk that made the plan, if one fired.
	Approach string        `cbor:"5,keyasint,omitempty" json:"approach,omitempty"`
	Tasks    []reason.Task `cbor:"6,keyasint,omitempty" json:"tasks,omitempty"`
	Next     int           `cbor:"7,keyasint,omitempty" json:"next,omitempty"`
	Tries    int           `cbor:"8,keyasint,omitempty" json:"tries,omitempty"`
	Fired    memory.ID     `cbor:"9,keyasint,omitempty" json:"fired,omitempty"`
	// Ranked are the tasks, by index, whose worker the ranking has chosen, and not the plan.
	Ranked []int `cbor:"325,keyasint,omitempty" json:"ranked,omitempty"`

	// Said is what the host's sources said of the plan when the reasoner made it, as a number.
	// 0: nothing.
	Said uint64 `cbor:"326,keyasint,omitempty" json:"said,omitempty"`

	// The alternatives to the plan that were not taken yet, what the reasoner
	// prefers among them, and how many took the place of a plan that failed.
	Others      []reason.Alternative `cbor:"24,keyasint,omitempty" json:"others,omitempty"`
	Preferences []reason.Preference  `cbor:"25,keyasint,omitempty" json:"preferences,omitempty"`
	Turns       int                  `cbor:"26,keyasint,omitempty" json:"turns,omitempty"`

	// Spent are the chunks that failed for this aim, Utilized the memories that
	// the decision applied and the workers used.
	Spent    []memory.ID `cbor:"10,keyasint,omitempty" json:"spent,omitempty"`
	Utilized []memory.ID `cbor:"11,keyasint,omitempty" json:"utilized,omitempty"`

	// Coached is set once a worker has passed after a complaint of its own: what
	// made it pass is not in the plan.
	Coached bool `cbor:"38,keyasint,omitempty" json:"coached,omitempty"`

	// Failed are the attempts that failed, at most maxFailed, latest last.
	// Denied are the workers that may not do the task at hand, or cannot.
	Failed []reason.FailedAttempt `cbor:"12,keyasint,omitempty" json:"failed,omitempty"`
	Denied []string               `cbor:"13,keyasint,omitempty" json:"denied,omitempty"`
	// FailedAt are when the last of Failed ended, in Unix nanoseconds.
	FailedAt []int64 `cbor:"256,keyasint,omitempty" json:"failed_at,omitempty"`

	// Questions are open, Answers are those to earlier ones.
	Questions []string        `cbor:"14,keyasint,omitempty" json:"questions,omitempty"`
	Answers   []reason.Answer `cbor:"15,keyasint,omitempty" json:"answers,omitempty"`
	// Avoid are approaches to leave.
	Avoid []string `cbor:"16,keyasint,omitempty" json:"avoid,omitempty"`
	// Refused counts the decisions that could not be acted on; Complaint says
	// what was wrong with the last of them.
	Refused   int    `cbor:"17,keyasint,omitempty" json:"refused,omitempty"`
	Complaint string `cbor:"18,keyasint,omitempty" json:"complaint,omitempty"`
	// Replans counts the plans dropped after a task was BLOCKED.
	Replans int `cbor:"19,keyasint,omitempty" json:"replans,omitempty"`
	// Tried are the attempts that failed by what was decided since the last answer
	// or reached subgoal, as digests, at most maxFailed.
	Tried []try `cbor:"30,keyasint,omitempty" json:"tried,omitempty"`
	// Told: a decision was refused once for what the session has seen.
	Told bool `cbor:"31,keyasint,omitempty" json:"told,omitempty"`
	// Cleared counts the Failed of before a fresh start: these, and what was
	// recalled, are not shown any more. 0: there was none.
	Cleared int `cbor:"32,keyasint,omitempty" json:"cleared,omitempty"`
	// Until is the task before which the reasoner is asked again, since the plan is
	// taken one task at a time. 0: the plan is taken as it is.
	Until int `cbor:"33,keyasint,omitempty" json:"until,omitempty"`
	// Blocked says why the aim is given up without an attempt.
	Blocked string `cbor:"20,keyasint,omitempty" json:"blocked,omitempty"`
	Cause   Cause  `cbor:"27,keyasint,omitempty" json:"cause,omitempty"`
	// Away are workers that are not there.
	Away []absent `cbor:"28,keyasint,omitempty" json:"away,omitempty"`

	// Quotes are whose words the decisions for the aim repeat, Parents the
	// memories that they were drawn from.
	Quotes  []memory.Source `cbor:"41,keyasint,omitempty" json:"quotes,omitempty"`
	Parents []memory.ID     `cbor:"42,keyasint,omitempty" json:"parents,omitempty"`
}

// try is an attempt that failed, as digests: two that are equal mean the same.
type try struct {
	// Approach is what was decided; of a decision without a name, its tasks.
	Approach uint64 `cbor:"1,keyasint,omitempty" json:"approach,omitempty"`
	// Action is what was done: the task, its inputs, and the worker.
	Action uint64 `cbor:"2,keyasint,omitempty" json:"action,omitempty"`
	// Result is what was wrong with it.
	Result uint64 `cbor:"3,keyasint,omitempty" json:"result,omitempty"`
	// Plan are the tasks of the decision, whatever it calls them.
	Plan uint64 `cbor:"4,keyasint,omitempty" json:"plan,omitempty"`
}

// waiting is how a run waits, and has waited.
type waiting struct {
	// Due is when the run is to be gone on with, if its holder has not done so
	// by then, in Unix nanoseconds. 0: it is not the Agent's business.
	Due int64 `cbor:"1,keyasint,omitempty" json:"due,omitempty"`
	// Since is when the run began to wait. 0: it does not.
	Since int64 `cbor:"2,keyasint,omitempty" json:"since,omitempty"`
	// Tries in a row have met what it waits for.
	Tries int `cbor:"3,keyasint,omitempty" json:"tries,omitempty"`
	// Waited is how long it has waited in all, which spends no wall time.
	Waited time.Duration `cbor:"4,keyasint,omitempty" json:"waited,omitempty"`
}

// absent is a worker that is away.
type absent struct {
	Worker string `cbor:"1,keyasint,omitempty" json:"worker"`
	// Until is when it may be asked again, in Unix nanoseconds, while there are
	// others. After is what it asked for. 0: it did not say.
	Until int64         `cbor:"2,keyasint,omitempty" json:"until"`
	After time.Duration `cbor:"3,keyasint,omitempty" json:"after,omitempty"`
}

// absent returns the workers that are away for the task at hand at a time in Unix
// nanoseconds, and the shortest time that they ask for. 0: not all of them say.
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

// attempt is the attempt at hand. Act fills what follows Complaint, Verify
// what follows Wall.
type attempt struct {
	// Key names the attempt among all attempts of the runs of its tenant.
	Key    string `cbor:"1,keyasint,omitempty" json:"key"`
	Worker string `cbor:"2,keyasint,omitempty" json:"worker"`
	// Number counts the attempts at the task, from 1.
	Number int `cbor:"3,keyasint,omitempty" json:"number"`
	// Complaint is what was wrong with the attempt before.
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
	// Unjudged: nor could it decide about another attempt of the worker's.
	Unjudged bool `cbor:"228,keyasint,omitempty" json:"unjudged,omitempty"`
	// Wrong says why the attempt did not pass, Gate which gate did not pass it.
	Wrong string `cbor:"16,keyasint,omitempty" json:"problem,omitempty"`
	Gate  string `cbor:"256,keyasint,omitempty" json:"gate,omitempty"`
	// Warned are the memories of the warnings that the worker is shown.
	Warned []memory.ID `cbor:"23,keyasint,omitempty" json:"warned,omitempty"`
	// Questions are the worker's that are open, Answers those to earlier ones.
	Questions []string        `cbor:"187,keyasint,omitempty" json:"questions,omitempty"`
	Answers   []reason.Answer `cbor:"188,keyasint,omitempty" json:"answers,omitempty"`
	// Approval is what the attempt waits for, or has waited for. nil: none.
	Approval *consent.Ask `cbor:"145,keyasint,omitempty" json:"approval,omitempty"`
}

// pending is the approval that a run waits for, or nil.
func (s *state) pending() *consent.Ask {
	if c := s.Current; s.Status == Waiting && s.Phase == phaseAct && c != nil && c.Approval != nil && !c.Approval.Closed {
		return c.Approval
	}
	return nil
}

// set is when the run's Wait.Due was set, as register.Run.Enlist takes it. The end of an approval,
// however far off, is what the host has asked for.
func (s *state) set(now int64) int64 {
	if s.pending() != nil {
		return 0
	}
	return now
}

// workerAsks reports whether the run is about what a worker has to know.
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
	// At is when it had passed, in Unix nanoseconds.
	At int64 `cbor:"255,keyasint,omitempty" json:"at,omitempty"`
	// Made is which of the run's attempts it was, from 1. 0: a run of before does not say.
	Made int `cbor:"304,keyasint,omitempty" json:"made,omitempty"`
}

// delivered is the delivery as the host's parts see it, with its output.
func (d *delivery) delivered(output json.RawMessage) act.Delivery {
	return act.Delivery{
		Task: d.Task, Worker: d.Worker, Attempt: d.Attempt, Output: output, Summary: d.Summary, Deltas: d.Deltas,
		At: at(d.At),
	}
}

// Bounds of what a state keeps.
const (
	// maxText is in bytes of each text of an objective or an answer.
	maxText = 64 << 10
	// maxTracked is in reflections.
	maxTracked = 64
	// maxFailed is in failed attempts at an aim.
	maxFailed = 64
	// maxComplaint is in bytes of a text about an attempt.
	maxComplaint = 4 << 10
	// maxPrefix is in bytes of an id in a key: it leaves room for what follows.
	maxPrefix = 192
)

// aim returns the innermost aim.
func (s *state) aim() *aim { return &s.Aims[len(s.Aims)-1] }

// scopes are those that the run recalls from and learns into.
func (s *state) scopes() []memory.Scope {
	o := &s.Objective
	return slices.Concat([]memory.Scope{o.Scope}, o.Also, o.Episodes)
}

// apart reports whether one of its scopes may be erased by itself, the episodes of its own aside.
func (s *state) apart() bool {
	own := s.Objective.Scope
	return slices.ContainsFunc(s.scopes(), func(of memory.Scope) bool { return of != own && !of.Within(own+"/episodes") })
}

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

// answer closes the open questions.
func (c *attempt) answer(text string) {
	c.Answers = appendTo(c.Answers, reason.Answer{Questions: c.Questions, Text: text})
	c.Questions = nil
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

// attemptKey is that of the run's n-th attempt, from 1.
func (s *state) attemptKey(n int) string { return s.prefix() + "/" + strconv.Itoa(n) }

// verdictKey is that of the n-th verdict about the run, from 1.
func (s *state) verdictKey(n int, right bool) string {
	return fmt.Sprintf("%s/verdict/%d/%t", s.prefix(), n, right)
}

// aimKey names the innermost aim among all aims of the tenant's runs, behind a text.
func (s *state) aimKey(before string) string {
	return before + s.prefix() + "/goal/" + strconv.Itoa(s.aim().Number)
}

// unjudged reports whether the session is the run's own and has no outcome yet.
func (s *state) unjudged() bool {
	g := s.aim()
	return s.Objective.Session == "" && len(s.Deliveries) == 0 && g.Replans == 0 && g.Turns == 0 &&
		s.Before.Steps == 0
}

// unplanned reports whether the host's plan could not be begun.
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

// other returns the best of the alternatives that are left, as a decision; one
// without tasks if there is none, or nothing tells them apart. An approach that
// metacognition says to leave is not taken unasked.
func (g *aim) other() reason.Decision {
	left := slices.DeleteFunc(slices.Clone(g.Others), func(a reason.Alternative) bool {
		return gist.Listed(g.Avoid, a.Approach)
	})
	return reason.Decision{Alternatives: left, Preferences: g.Preferences}.Choose()
}

// takeOther makes the best of the alternatives that are left the plan, and
// reports whether there is one.
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

// applied returns those of ids that were recalled for the aim, each once: a
// reasoner cannot credit a memory that it was not shown.
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

// maxQuotes is how many sources are taken down. More tell nothing more: the plan
// does not fire.
const maxQuotes = 64

// union returns list with those of more that it lacks, in memory of its own.
func union[T comparable](list, more []T) []T {
	list = slices.Clip(list)
	for _, m := range more {
		if len(list) < maxQuotes && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// keptState returns a run as it is kept. Its Hidden are the fields that the host's parts
// get to see and that cannot be had back from that.
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

// handed are the fields of a state that the host's parts get to see.
var handed = []string{"Objective", "Aims", "Current", "Deliveries", "Assessment"}

// partOf is the part of a key that names a scope, however long that is.
func partOf(scope memory.Scope) string {
	part := string(scope)
	if len(part) > key.MaxID {
		sum := sha256.Sum256([]byte(part))
		part = "#" + hex.EncodeToString(sum[:]) // no scope begins so
	}
	return part
}

// scoped is what the Agent has of a scope. It holds nothing of the store's.
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

// bounds are those of the run alone.
func (s *state) bounds() ledger.Amount { return ledger.Amount(s.Objective.Budget) }

// spent is what the run has used so far, or since its last Retry.
func (s *state) spent(now time.Time) ledger.Amount {
	return s.used(now).Less(ledger.Amount(s.Before))
}

// used is what the run has used in all.
func (s *state) used(now time.Time) ledger.Amount {
	return ledger.Amount{
		Steps: s.Step, Wall: time.Duration(now.UnixNano()-s.Started) - s.Wait.Waited,
		Tokens: s.Usage.TokensIn + s.Usage.TokensOut, CostUSD: s.Usage.CostUSD,
	}
}

// resonance is that of the run's reflections that are valid.
func (s *state) resonance() (trend []float64) {
	for _, e := range s.Tracker {
		if !e.Invalid {
			trend = append(trend, e.Resonance)
		}
	}
	return trend
}

// Verdict is what someone has found out about a delivery after its gates had
// passed it. Of one Source about one Task, the last counts.
type Verdict struct {
	// Task is the delivered task, counted from 1 in Report.Deliveries. 0: all.
	Task int `cbor:"1,keyasint,omitempty" json:"task,omitempty"`
	// Right says that what was delivered is right; otherwise it is wrong.
	Right bool `cbor:"2,keyasint,omitempty" json:"right,omitempty"`
	// Why says how that came out, at most 64 KiB, of which the first and last
	// 2 KiB are kept.
	Why string `cbor:"3,keyasint,omitempty" json:"why,omitempty"`
	// Source is the person or check that says so, at most 256 bytes. "": the
	// host.
	Source string `cbor:"4,keyasint,omitempty" json:"source,omitempty"`
}

// at is the time of a field of state.
func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
