package arc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/applied"
	"github.com/arc-learn/arc/internal/breaker"
	"github.com/arc-learn/arc/internal/detach"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/known"
	"github.com/arc-learn/arc/internal/lease"
	"github.com/arc-learn/arc/internal/ledger"
	"github.com/arc-learn/arc/internal/peers"
	"github.com/arc-learn/arc/internal/pool"
	"github.com/arc-learn/arc/internal/quoted"
	"github.com/arc-learn/arc/internal/roster"
	"github.com/arc-learn/arc/internal/upkeep"
	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/internal/winddown"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Host holds the parts that the host program provides. Workers are required. So are Gates,
// unless each worker has gates of its own.
type Host struct {
	// Reasoner decides what to do. nil: every objective has Tasks.
	Reasoner reason.Reasoner
	// Workers do the tasks. Their names are distinct.
	Workers []act.Worker
	// Gates verify the outcome of every task, in order, before the worker's own gates.
	Gates []act.Gate
	// Approver is asked before an attempt that needs an approval: by its worker's Mode, Blast
	// or Irreversible, by Options.ApproveAbove, or as its success is in doubt. nil: the run is
	// Waiting, with CauseApproval, until View.Rule records a person's decision.
	Approver act.Approver
	// Interceptors wrap every attempt, the first outermost.
	Interceptors []act.Interceptor

	// Sources tell what the host knows about an objective. They are asked before each
	// deliberation and before a chunk fires, all at once, for at most 2,000 tokens each, and
	// have 10 s to answer. The answers are in Brief.Passages, in the order of Sources, and are
	// not stored. A source that fails is logged and left out. A chunk does not fire if a source
	// fails, or answers something that it did not answer for the chunk's plan, unless the
	// passage is Volatile.
	Sources []reason.Source
	// Skills give the worker of a task the AGENT.md of the skill that the task names, in
	// Work.Agent. They are not stored: a run that is resumed after a restart has those of
	// the new Host. nil: none.
	Skills map[string]reason.Skill
	// Secrets returns the values of Objective.Secrets, by name, when a run that has any is
	// resumed from the store. It has 10 s. If a value is missing the run ends BLOCKED, with
	// CauseSecret. nil: only a call of Run with the values can resume such a run.
	Secrets func(ctx context.Context, scope memory.Scope, run string, names []string) (map[string]string, error)
}

// Options configure an Agent. The zero value and nil mean the defaults. For a value out of
// range Open and New return an error that names the field.
type Options struct {
	// Scope is the scope of objectives that name none. "": "local", for hosts with a single
	// tenant; other hosts give every objective its scope.
	Scope memory.Scope
	// Attempts is how many attempts a task gets, over all workers, before it is BLOCKED.
	// 0: 3, or one for each worker of New if Spend or Worth.Success is set.
	Attempts int
	// Refusals is how many decisions for one goal the loop refuses (errors, malformed answers,
	// skills that no worker has) before the goal is BLOCKED. Waiting for a model that is busy
	// does not count. 0: 3.
	Refusals int
	// Replans is how often the reasoner is asked for a new plan after a task was BLOCKED. The
	// alternatives of a decision are tried before that, and do not count. 0: never; the goal
	// is then BLOCKED too.
	Replans int
	// Pivot is what the loop does when metacognition recommends to pivot.
	Pivot PivotPolicy
	// Attended says that a person answers the questions of a run that is stuck: the run is
	// Asking. If false the run ends Blocked, with CauseStuck.
	Attended bool
	// Budget is the budget of objectives that set none.
	Budget Budget
	// Bounds are budgets that several runs share.
	Bounds Bounds
	// Spend is how many US dollars a run of a tenant may cost on average: later runs may use
	// what earlier ones have saved. Workers are then ranked as a ladder: next comes the worker
	// most worth its price, given which workers have failed at this task, until none is.
	// 0: no average.
	Spend float64
	// Worth is what a delivery, and a second of a worker, are worth in US dollars. With a
	// Success it ranks workers as a ladder too; with Spend it is the most that a delivery is
	// worth. Policies other than rank's Learned ignore both.
	Worth rank.Worth

	// ReasonTimeout bounds one call of the reasoner. 0: ten minutes. A call that exceeds it is
	// a refused decision. To make the run wait for a model that hangs, give the model a
	// shorter model.Timeout.
	//
	// Negative means no timeout, here and in the next two: arc calls the host's code on the
	// goroutine of the run, which is faster. A call that hangs then hangs the run, and Close
	// leaves both behind; a call that ends its goroutine ends that of Run's caller. A Budget
	// with a Wall bounds deliberations nevertheless.
	ReasonTimeout time.Duration
	// AttemptTimeout bounds one attempt with its repeats. 0: ten minutes.
	AttemptTimeout time.Duration
	// GateTimeout bounds the verdict of one gate. 0: ten minutes.
	GateTimeout time.Duration
	// ApprovalTTL bounds the wait for one approval. After it an attempt in mode Veto is made,
	// and any other is denied. 0: one minute for an Approver, a day for a person.
	ApprovalTTL time.Duration
	// ApproveFrom is the least Blast with which attempts need an approval, as in mode Gated.
	// The zero value, Self, means act.Fleet; with act.Nowhere the Blast decides nothing.
	ApproveFrom act.Blast
	// ApproveAbove is the cost in US dollars above which an attempt needs an approval; the
	// average of its worker's attempts is taken. 0: no cost needs one.
	ApproveAbove float64
	// Patience is how long Run waits, in all, for a part of the host that is away (a model,
	// all workers for a task, a gate) before it returns the Report of a run that is Waiting.
	// 0: two minutes; negative: it does not wait.
	Patience time.Duration
	// Grace is how long Close waits for executors before it cancels their contexts, and then
	// for the parts that it closes. 0: five seconds; negative: it does not wait.
	Grace time.Duration

	// Retention bounds which finished runs are kept.
	Retention Retention

	// Policy returns the policy that ranks the workers of a tenant, by its Book. It is called
	// once for each tenant, and again for a tenant that was idle for long. nil: Learned of
	// rank.Book, with its defaults.
	Policy func(*rank.Book) rank.Policy
	// Memory configures the memory, with an Embedder for example. Its Now, Seed, Sanitizer,
	// Home and Shared are ignored: the Agent sets them by the options below.
	Memory memory.Options
	// Learn configures recall for injection, and when chunks fire.
	Learn learn.Options

	// Maintain is how often an open Agent calls [Agent.Maintain] by itself for each scope that
	// was written to since the last call, and Identity.Maintain for each identity, every 30 days
	// if that is not written to. For a scope that it sees for the first time the first call
	// comes after that time too. 0: a day; negative: never.
	Maintain time.Duration

	// Sanitizer takes secrets out of every text that arc stores or passes on: records, what is
	// learned, embeddings, events, spans, logs, errors and Reports. The host's own parts get
	// the texts unchanged. nil: the zero Sanitizer. A Sanitizer without a key gets the key of
	// the store, so that equal secrets have equal tags.
	Sanitizer *redact.Sanitizer

	// Logger logs faults around a run (a part that panics, a gate that fails) at Error, what
	// the Agent goes on without at Warn, and each event at Debug. nil: discards.
	Logger *slog.Logger
	// Hooks are called as a run proceeds.
	Hooks Hooks
	// TracerProvider and MeterProvider take spans and measurements by OpenTelemetry's
	// conventions for generative AI; docs/telemetry.md lists them. nil: none are made, at no
	// cost.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Name is the agent's name in spans and measurements ("": "arc"), and in the scopes of its
	// episodes: see [Objective].Episodes.
	Name string
	// ShowTexts makes spans and logs contain texts: objectives, tasks, outputs, complaints and
	// errors, sanitised and cut at 8 KiB. If false they have ids, names, counts and classes of
	// errors only.
	ShowTexts bool

	// Replica is the name of this Agent among the Agents that have the same store open. Their
	// names are distinct; a replica should keep its name over restarts. If two have one name,
	// the one that was opened last gets the runs. "": no other Agent has the store open.
	//
	// A named Agent holds a lease of each run that is live with it, and resumes the runs of
	// Agents that are gone. Its store has to be a store.Watcher, by which it learns of the
	// others' changes. docs/reliability.md lists what is guaranteed.
	Replica string
	// Lease is how long a run is left to a replica that has not been heard of. Every commit
	// renews it, and in a long step the Agent does. 0: 15 s; at least 5 s.
	Lease time.Duration

	// ReadYourWrites is how long a run that begins or is resumed at a replica waits until this
	// one knows all writes that were acknowledged before: what other replicas have remembered,
	// and what their runs have taught. After that time the run goes on without, and the Logger
	// says so. It costs one small commit. 0: a second; negative: it does not wait.
	ReadYourWrites time.Duration

	// Now is the clock; several goroutines call it. nil: time.Now. A replica's clock has to be
	// monotonic, as time.Now is. If it jumps ahead by a Lease, this replica takes over the runs
	// of others too early: their next commits fail, and nothing is done twice except the
	// attempt in flight.
	Now func() time.Time
	// Seed is the seed of all draws. 0: a random one.
	Seed uint64
}

// Bounds are budgets that several runs share, also those of other replicas. An attempt
// reserves its worker's average usage before it begins, and settles what it has used after. A
// worker's first attempts reserve nothing, since no average is known: runs that begin together may
// pass a bound by what these use. An attempt that was cut off, and is made again, has no
// reservation. In each of them zero fields, Steps included, are no bound.
type Bounds struct {
	Session Budget // of all runs of a session
	Scope   Budget // of all runs of a scope
	Day     Budget // of all runs of a tenant in a day, by UTC
}

// Retention bounds which finished runs of each tenant are kept. Memories, and runs that are
// not finished, are never deleted. Agent.Maintain deletes runs of its scope's tenant, and an
// open Agent those of each tenant every Options.Maintain. The zero value means the defaults.
type Retention struct {
	// Age is how old things get before they are deleted: a finished run since it began, as by
	// View.Delete; a job of a queue, with its cycles, since it ended; a proposal that was
	// rejected, undone, or has expired or failed, since then. 0: 90 days; negative: no limit.
	Age time.Duration
	// Count is how many finished runs are kept, the latest. 0 or negative: no limit.
	Count int
	// Samples is the age after which a sample leaves the window of the last samples of a
	// skill. 0: 400 days; negative: no limit.
	Samples time.Duration
}

// PivotPolicy is what the loop does when the monitor recommends to pivot.
type PivotPolicy int

// The policies. With each of them the assessment is an event and is in the Report; the next
// Brief has its advice and the alternatives that are left; and a decision for an approach, or
// for tasks, that have failed three times at the goal is refused, with the reason in
// Brief.Complaint.
const (
	// PivotFlag does nothing more.
	PivotFlag PivotPolicy = iota
	// PivotAuto drops a plan that keeps failing once no worker is left to try it, and asks the
	// reasoner again, three times a goal beyond Options.Replans. If the assessment adds
	// StartFresh, the Brief leaves out earlier failed attempts and memories; if it adds
	// AskHuman, the run asks (see Options.Attended); GiveUp ends the run.
	PivotAuto
	// PivotAsk stops the run and asks a person.
	PivotAsk
)

// Agent runs objectives and stores what is learned. New and Open make one; methods of the zero
// Agent and of nil panic. It is safe for concurrent use, and runs of different ids may overlap.
// An open Agent has a goroutine that resumes runs that are Waiting once they are due.
type Agent struct {
	o Options

	// The store, and the Writer that all parts share, so that a step and what it has
	// learned are one commit. Close closes the store if it is owned.
	st     *flush.Shared
	w      *flush.Writer
	leases *lease.Store // below st; nil: no other Agent is open on it
	// news and decided count the writes of other replicas to statistics, from 1, and to proposals.
	news    atomic.Uint64
	decided atomic.Uint64
	opened  chan struct{} // closed once the Agent is open
	peers   *peers.Self   // this Agent among the replicas; nil: it is the only one
	owned   bool
	files   filer // nil: the store has no method Purge

	// The host's parts.
	reasoner reason.Reasoner
	skills   quoted.Skills
	sources  []reason.Source
	secrets  func(context.Context, memory.Scope, string, []string) (map[string]string, error)
	runner   *act.Runner
	asks     bool // there is an Approver, which is asked within a step

	// The parts that learn.
	bank    *memory.Bank
	tenants *pool.Pool[*tenant]
	last    atomic.Pointer[scoped] // of the scope that was used last

	watch *observer // nil: there is no provider
	hooks guard.Outlet

	unpriced atomic.Int64 // Health.Unpriced

	writes sync.Pool // of *write
	veils  sync.Pool // of *veil.Veil

	runs *roster.Roster // live runs
	mu   struct {
		sync.Mutex
		// kept has the goals of Keep's controllers, by name.
		kept map[string]kept
	}
	ids    atomic.Uint64 // how many run ids were generated
	upkeep *upkeep.Keeper
	// maintained is when to look next for scopes to maintain, in Unix nanoseconds.
	maintained atomic.Int64
	// dated is when the Agent last looked for runs that wait for a time too far ahead, as after
	// a clock was put back, in Unix nanoseconds.
	dated   atomic.Int64
	keeping chan struct{} // a lock: a scope is being maintained, or erased
	erased  atomic.Int64  // counts calls of Erase
	pruned  int64         // when the last prune began; used while maintaining only

	// closeOnce starts the end of the parts, in Shutdown.
	closeOnce sync.Once
	ending    *winddown.Down
}

// tenant is what the Agent has in memory of a tenant beside memories and runs: the parts
// that keep its statistics and sessions, and that learn from outcomes.
type tenant struct {
	name      string
	book      *rank.Book
	policy    rank.Policy
	monitor   *meta.Monitor
	learner   *learn.Learner
	proposals *proposal.Book
	applied   atomic.Pointer[applied.Set] // effects of the approved proposals
	deciding  chan struct{}               // holds one while a decision about proposals is made
	heed      func(context.Context) error // makes applied follow the proposals
	ledgers   *ledger.Book
	breakers  *breaker.Set
	news      atomic.Uint64 // Agent.news as of the last catchUp
	decided   atomic.Uint64 // Agent.decided then
}

// decides calls fn while no other decision about proposals is made.
func (own *tenant) decides(ctx context.Context, fn func() error) error {
	select {
	case own.deciding <- struct{}{}:
		defer func() { <-own.deciding }()
		return fn()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tenant returns the tenant of a scope. Each successful call has to be paired with handBack.
func (a *Agent) tenant(ctx context.Context, scope memory.Scope) (*tenant, error) {
	if err := scope.Check(); err != nil {
		return nil, err
	}
	own, err := a.tenants.Get(ctx, scope.Tenant())
	if err == nil && a.leases != nil {
		if err = a.catchUp(ctx, own); err != nil {
			a.handBack(own)
		}
	}
	return own, err
}

// handBack ends the use of a tenant.
func (a *Agent) handBack(own *tenant) { a.tenants.Put(own.name) }

// catchUp refreshes the statistics of a tenant, and what its proposals change, if another replica
// has written any since the last refresh.
func (a *Agent) catchUp(ctx context.Context, own *tenant) error {
	if decided := a.decided.Load(); own.decided.Load() != decided {
		if err := own.decides(ctx, func() error { return own.heed(ctx) }); err != nil {
			return err
		}
		own.decided.Store(decided)
	}
	now := a.news.Load()
	if own.news.Load() == now {
		return nil
	}
	err := errors.Join(own.book.Refresh(ctx), own.monitor.Refresh(ctx))
	if err == nil { // not before: a call beside this one needs the news too
		own.news.Store(now)
	}
	return err
}

// kept are the goals of a controller.
type kept struct {
	goals *goal.Goals
	by    *goal.Controller
}

// Hooks are called as a run proceeds. A run waits for each call. A hook must not block: after
// ten seconds the run leaves the call behind, and makes no further call until that returns. A
// hook that panics or hangs does not harm the run. The Logger logs panics and calls that were
// left behind; Health.Dropped counts these and the calls that were not made. Nil hooks are
// skipped.
type Hooks struct {
	// Event is called after the commit of the step that the event belongs to.
	Event func(Event)
}

// hookLimit is how long a run waits for a hook.
const hookLimit = 10 * time.Second

// EventKind is what has happened.
type EventKind string

// The kinds of event, in the order in which a run meets them. Six more have no constant, since
// the Report tells the same:
//
//	asked      the run asks; Text: the questions
//	waiting    Text: the cause, and what the run waits for
//	subgoal    Text: the subgoal
//	learned    IDs: the memories stored or strengthened; Text: "rejected" and why, if memory
//	           did not accept one
//	delivered  a goal was reached
//	escalated  a person should be told; Text: the cause and the reason
//
// A run is escalated if it is blocked, or asks because it is stuck, and is the tenant's first
// of the day (by UTC) with this cause, this end of its last attempt, and this skill.
const (
	// EventAssessed has the recommendation in Text, unless that is to continue.
	EventAssessed EventKind = "assessed"
	// EventPivot has the evidence in Text.
	EventPivot EventKind = "pivot"
	// EventRecalled has the memories that are injected in IDs.
	EventRecalled EventKind = "recalled"
	// EventFired has the chunk in IDs and its approach in Text.
	EventFired EventKind = "fired"
	// EventDecided has the approach in Text and the memories applied in IDs.
	EventDecided EventKind = "decided"
	// EventRefused says in Text why the decision was refused.
	EventRefused EventKind = "refused"
	// EventAttempt comes before an attempt, with the Mode of its worker and the Ranking.
	EventAttempt EventKind = "attempt"
	// EventExecuted has the end of the attempt in Text, and the complaint if
	// there is one.
	EventExecuted EventKind = "executed"
	// EventVerified has Pass, and the gate's complaint in Text.
	EventVerified EventKind = "verified"
	// EventBlocked says in Text why a goal was given up.
	EventBlocked EventKind = "blocked"
	// EventFinished has the run's Status in Text.
	EventFinished EventKind = "finished"

	eventAsked     EventKind = "asked"
	eventSubgoal   EventKind = "subgoal"
	eventLearned   EventKind = "learned"
	eventDelivered EventKind = "delivered"
	eventWaiting   EventKind = "waiting"
	eventEscalated EventKind = "escalated"
)

// Event is something that happened in a run. The Agent reports an event after the commit of
// its step, so an event is never taken back. If a crash loses a step, its events were not
// reported either.
type Event struct {
	// Seq numbers the events of a run, from 1.
	Seq  int       `json:"seq"`
	At   time.Time `json:"at"`
	Run  string    `json:"run"`
	Kind EventKind `json:"kind"`
	// Scope is the run's scope; run ids are unique in a tenant. JSON leaves it out, since a
	// reader of a run's events knows it.
	Scope memory.Scope `json:"-"`
	// Goal is the objective, or the subgoal that is being worked on.
	Goal string `json:"goal"`
	// Task and Attempt count from 1; 0 outside of an attempt.
	Task    int `json:"task,omitempty"`
	Attempt int `json:"attempt,omitempty"`
	// Worker makes the attempt.
	Worker string `json:"worker,omitempty"`
	// Mode is the worker's, in an EventAttempt: an attempt of act.Notification is to be
	// announced. The policy may raise it: see Approval.
	Mode act.Mode    `json:"mode,omitempty"`
	Pass bool        `json:"pass,omitempty"`
	Gate string      `json:"gate,omitempty"` // the gate that rejected the attempt
	Text string      `json:"text,omitempty"`
	IDs  []memory.ID `json:"ids,omitempty"`
	// Ranking is best first, with the parts of each score.
	Ranking []rank.Scored `json:"ranking,omitempty"`
	// Wall is how long the attempt took.
	Wall time.Duration `json:"wall,omitempty"`
}

// turn is what the phases work on: a run's state, and what belongs to it while the run is in
// memory.
type turn struct {
	a      *Agent
	own    *tenant
	s      state
	key    string   // of the state's record
	was    Status   // as of the last commit
	called string   // Work.Key of the current attempt, once it was needed
	call   act.Call // makes the current attempt

	// veil hides the run's secrets. lost are the paths of texts whose secret cannot be put
	// back, since its value has changed.
	veil *veil.Veil
	lost []string

	// What belongs to the state, and is read from records when a run is resumed: the memories
	// recalled for the innermost aim, the deliveries so far, and the output of the current
	// attempt.
	shown   shown
	lineage []act.Delivery
	output  json.RawMessage
	// known are the known failures in the situation.
	known struct {
		*known.Known
		situation string
		looked    bool
	}

	// patience is how long the caller still waits with the run, pause the length of the
	// current wait. adopted: the caller has left, and the Agent continues the run. listed
	// is the run's due time in the index. unheld: the attempt was begun before, and may have
	// lost its share of a budget.
	patience, pause time.Duration
	adopted, unheld bool
	listed          int64
	abiding         bool // the caller is waiting with the run

	abreast bool // see hearOthers: up to date, or waited long enough

	// paid is what the run had used when it was last settled.
	paid ledger.Amount

	// watched: a consumer, a hook or the log takes the events.
	watched bool
	// learned: the step has changed what is learned.
	learned bool
	// heard stores the outcome of the step's attempt for its worker's breaker.
	heard store.Op
	// events are the events of the step.
	events []Event

	// did is what the current phase has done, for telemetry and the log.
	did struct {
		used    act.Usage // of the reasoner
		fault   error     // of the reasoner, the worker or a gate
		stack   []byte    // of a worker that panicked
		sources []error   // of the sources; nil for those that answered
		lessons int       // patterns and failures stored or strengthened
	}
}

// shown are the memories recalled for the innermost aim, the facts about the person or project
// of the scope, and the chunks among the memories, once they are matched.
type shown struct {
	learn.Found
	facts   []memory.Hit
	matched bool // Chunks is set
}

// memories returns what is shown for the aim: memories, background, and facts. It leaves out
// what was found before a fresh start.
func (t *turn) memories() (hits, background, facts []memory.Hit) {
	if n := t.shown.Trusted; t.s.aim().Cleared == 0 {
		hits, background, facts = t.shown.Hits[:n:n], t.shown.Hits[n:], t.shown.facts
	}
	return hits, background, facts
}

// emit adds an event to the step's.
func (t *turn) emit(kind EventKind, e Event) {
	t.s.Seq++
	if kind == EventDecided || kind == EventFired {
		t.s.aim().Decided = t.a.o.Now().UnixNano()
	}
	if !t.watched {
		return
	}
	e.Kind, e.Seq, e.At, e.Run, e.Scope = kind, t.s.Seq, t.a.o.Now().UTC(), t.s.ID, t.s.Objective.Scope
	e.Goal, e.Text = t.veil.Hide(t.s.aim().Text), fence.Visible(t.veil.Hide(e.Text))
	e.Gate, e.IDs, e.Ranking = fence.Visible(t.veil.Hide(e.Gate)), slices.Clone(e.IDs), slices.Clone(e.Ranking)
	if c := t.s.Current; c != nil {
		e.Task, e.Attempt, e.Worker = t.s.aim().Next+1, c.Number, c.Worker
	}
	t.events = append(t.events, e)
}

// work returns the current attempt as gates see it.
func (t *turn) work() act.Work {
	s, g, c := &t.s, t.s.aim(), t.s.Current
	task := g.Tasks[g.Next]
	manual := t.a.skills.All[task.Skill].Agent // the zero Skill has no AGENT.md
	if task.Skill == "" {
		var all []string
		for _, name := range s.Objective.Skills {
			if text := t.a.skills.All[name].Agent; text != "" {
				all = append(all, text)
			}
		}
		manual = strings.Join(all, "\n\n")
	}
	hits, background, facts := t.memories()
	if !strings.HasSuffix(t.called, c.Key) {
		t.called = t.own.name + "/" + c.Key
	}
	return act.Work{
		Run: s.ID, Objective: g.Text, Situation: g.Situation, Inputs: s.Objective.Inputs,
		Task: task, Agent: manual, Memories: hits, Facts: facts, Background: background,
		Lineage: detach.Deliveries(t.lineage), Attempt: c.Number, Key: t.called, Complaint: c.Complaint,
		Answers: slices.Clone(c.Answers), Secrets: maps.Clone(s.Objective.Secrets),
	}
}

// block gives the innermost aim up. The next phase learns from that.
func (t *turn) block(cause Cause, why string) phase {
	t.s.aim().Blocked, t.s.aim().Cause = why, cause
	t.s.Current = nil
	return phaseLearn
}

// unpaid gives the current aim up for want of a budget, or of a worker that is worth its price. That is
// evidence about the work only if an attempt has failed.
func (t *turn) unpaid(cause Cause, why string) phase {
	if len(t.s.aim().Failed) > 0 {
		return t.block(cause, why)
	}
	t.emit(EventBlocked, Event{Text: why})
	t.s.Current, t.s.Cause, t.s.Reason = nil, cause, why
	return phaseEnd
}

// know looks up the known failures in the situation of the aim, unless they are at hand.
func (t *turn) know(ctx context.Context) (err error) {
	g := t.s.aim()
	if t.known.looked && t.known.situation == g.Situation {
		return nil
	}
	var attempt string
	if t.s.Current != nil {
		attempt = t.s.Current.Key
	}
	o := &t.s.Objective
	t.known.Known, err = t.own.learner.Known(ctx, o.Scope, t.veil.Hide(g.Situation), attempt, o.User)
	if err != nil {
		return fmt.Errorf("look up warnings: %w", err)
	}
	t.known.situation, t.known.looked = g.Situation, true
	return nil
}

// heeded reports whether the run heeds known failures. A fresh one does not, nor one whose
// memories are withheld.
func (t *turn) heeded() bool {
	return t.known.Known != nil && !t.s.Objective.Fresh && len(t.s.aim().Withheld) == 0
}

// warnings returns the warnings for tasks with one of the skills, or for all if none is given.
func (t *turn) warnings(skills ...string) []reason.Warning {
	if !t.heeded() {
		return nil
	}
	return t.known.Warnings(skills...)
}

// action returns the current task as an action of a worker.
func (t *turn) action(worker string) known.Action {
	o, g := &t.s.Objective, t.s.aim()
	return known.Action{
		Goal: g.Text, Inputs: o.Inputs, Conditions: o.Conditions, Task: &g.Tasks[g.Next], Worker: worker, Lineage: t.lineage,
	}
}

// ask makes the run wait for a person's answer.
func (t *turn) ask(questions ...string) phase {
	t.s.aim().Questions, t.s.Status = questions, Asking
	t.emit(eventAsked, Event{Text: strings.Join(questions, "\n")})
	return phaseAsk
}

// longestWait bounds the time between two tries, even if an error asks for more.
const longestWait = 5 * time.Minute

// away notes that the worker of the current attempt is away. The attempt does not count.
func (t *turn) away(after time.Duration) {
	g, c := t.s.aim(), t.s.Current
	until := t.a.o.Now().Add(min(max(after, time.Minute), longestWait)).UnixNano()
	g.back(c.Worker)
	g.Away = append(slices.Clip(g.Away), absent{c.Worker, until, after})
	g.Tries--
}

// wait makes the run wait for a part of the host, and repeat the current phase then. after is
// the wait that the part asks for. 0: none is asked for.
func (t *turn) wait(cause Cause, why string, after time.Duration) phase {
	s, now := &t.s, t.a.o.Now()
	t.pause = t.a.pause(s, after)
	s.Status, s.Cause, s.Reason = Waiting, cause, clip(t.veil.Hide(why))
	s.Wait.Since, s.Wait.Due = now.UnixNano(), now.Add(t.pause).UnixNano()
	s.Wait.Tries++
	t.emit(eventWaiting, Event{Text: string(cause) + ": " + s.Reason})
	return s.Phase
}

// pause returns how long a run waits before its next try: as long as the part asks for, or a
// second, doubled with each try. A random share of up to a quarter, drawn by run and try, keeps
// runs that wait for the same part from trying together.
func (a *Agent) pause(s *state, after time.Duration) time.Duration {
	if after > 0 {
		return min(max(after, time.Second), longestWait)
	}
	after = min(time.Second<<min(s.Wait.Tries, 16), longestWait*4/5)
	run := fnv.New64a()
	run.Write([]byte(s.ID)) // never fails
	draw := rand.New(rand.NewPCG(a.o.Seed, run.Sum64()+uint64(s.Wait.Tries)))
	return after + time.Duration(draw.Float64()*float64(after)/4)
}

// due returns when an Agent has to resume the run, in Unix nanoseconds; 0: never, since the run
// is over, or its caller resumes it. For a live run it is when other Agents may assume that
// it was cut off.
func (t *turn) due() int64 {
	switch {
	case t.s.Status == Waiting:
		return t.s.Wait.Due
	case t.s.Status == Running && t.adopted && t.a.leases == nil:
		return t.a.o.Now().Add(t.a.lease()).UnixNano()
	}
	return 0
}

// lease returns how long a run that may be live in another Agent is left alone: longer than any
// step takes. It is 0 if this Agent owns the store, since then there is no other.
func (a *Agent) lease() time.Duration {
	if a.owned {
		return 0
	}
	steps := max(0, a.o.ReasonTimeout) + max(0, a.o.AttemptTimeout) + a.runner.VerifyTimeout()
	if a.asks {
		steps += a.o.ApprovalTTL
	}
	return steps
}

// veilFor returns the veil of a run with secrets of its own.
func (a *Agent) veilFor(secrets act.Secrets) *veil.Veil {
	v := a.veils.Get().(*veil.Veil)
	if v.Reset(a.o.Sanitizer); len(secrets) > 0 {
		v.Reset(a.o.Sanitizer.Knowing(slices.Sorted(maps.Values(secrets))...))
		v.Found = true
	}
	return v
}

// kept returns the turn as the store has it, without secrets. Learning uses that.
func (t *turn) kept() *turn {
	if !t.veil.Found {
		return t
	}
	k := *t
	k.s = keptState(t.veil, &t.s)
	k.output, k.lineage = t.veil.JSON("", t.output), slices.Clone(t.lineage)
	t.veil.HideAll(&k.lineage, nil)
	return &k
}

// givenAgain returns the secrets of a run that is resumed, by name: those that its caller has
// given, or else Host.Secrets. The result is not nil, and has no entry for a missing secret.
func (a *Agent) givenAgain(ctx context.Context, s *state) act.Secrets {
	given, asked := s.Objective.Secrets, slices.Sorted(maps.Keys(s.Secrets))
	if given == nil && a.secrets != nil && len(asked) > 0 {
		scope, id, names := s.Objective.Scope, s.ID, slices.Clone(asked) // the call may outlive this one
		got, err := guard.Do(ctx, 10*time.Second, func(ctx context.Context) (map[string]string, error) {
			got, err := a.secrets(ctx, scope, id, names)
			if err == nil {
				err = act.Secrets(got).Check()
			}
			return maps.Clone(got), err
		})
		if given = got; err != nil {
			a.o.Logger.Error("a run's secrets were not given again", "run", s.ID, a.shown(a.o.Sanitizer.Sanitize(err.Error())))
		}
	}
	own := make(act.Secrets, len(asked))
	maps.Copy(own, given)
	maps.DeleteFunc(own, func(name, v string) bool { return v == "" || !slices.Contains(asked, name) })
	return own
}

// hide takes the secrets of a run out of a person's remark about it, also those that were not
// given again.
func (a *Agent) hide(s *state, text string) string {
	return a.o.Sanitizer.Tagged(text, slices.Collect(maps.Values(s.Secrets))...)
}

// remark returns a person's remark about a run as it is stored.
func (a *Agent) remark(ctx context.Context, s *state, text string) string {
	return clip(a.o.Sanitizer.Knowing(slices.Collect(maps.Values(a.givenAgain(ctx, s)))...).Sanitize(a.hide(s, text)))
}

// unlock puts the secrets of a run that is resumed back into its texts.
func (t *turn) unlock(ctx context.Context) {
	s := &t.s
	if len(s.Secrets) == 0 || s.Status != Running {
		return
	}
	own, changed := t.a.givenAgain(ctx, s), false
	for name, v := range own {
		changed = changed || t.a.o.Sanitizer.Tag(v) != s.Secrets[name]
	}
	t.a.veils.Put(t.veil)
	t.veil = t.a.veilFor(own)
	t.veil.RevealAll(s, func(path string) {
		if changed {
			t.lost = append(t.lost, path)
		}
	})
	s.Objective.Secrets = own
}

// lacks names a secret, or a text with one, that a part of the host needs and that is lost. It
// returns "" if none is.
func (t *turn) lacks() string {
	s, first := &t.s, ""
	for name := range s.Secrets {
		if s.Objective.Secrets[name] == "" && (first == "" || name < first) {
			first = name
		}
	}
	if first != "" {
		return fmt.Sprintf("the host has not given the secret %q again", first)
	}
	if lost := append(slices.Clip(s.Hidden), t.lost...); len(lost) > 0 {
		return lost[0] + " held a secret, which was not kept"
	}
	return ""
}

// clip bounds a text about an attempt. It hides secrets before it cuts, since half a secret
// would not be recognised.
func (t *turn) clip(text string) string {
	if len(text) > maxComplaint {
		text = clip(t.veil.Hide(text))
	}
	return text
}

// filer is a store whose files hold deleted data until Purge.
type filer interface {
	Purge(context.Context) error
}

// keepStill waits until no scope is being erased or maintained, and keeps it so until done is
// called.
func (a *Agent) keepStill(ctx context.Context) (done func(), err error) {
	select {
	case a.keeping <- struct{}{}:
		return func() { <-a.keeping }, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}

// tend calls a method of a store, and makes its panics and errors safe.
func tend(ctx context.Context, method func(context.Context) error) error {
	var err error
	return errors.Join(guard.Call(func() { err = guard.Error(method(ctx)) }), err)
}
