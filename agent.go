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

// Host is what the host program brings. Workers are required, and Gates too
// unless each worker has its own.
type Host struct {
	// Reasoner decides. nil: every objective brings its Tasks.
	Reasoner reason.Reasoner
	// Workers do the tasks. Each has a name of its own.
	Workers []act.Worker
	// Gates judge every task, in order, before the worker's own gates.
	Gates []act.Gate
	// Approver is asked before an attempt that a human has to allow, by its worker's Mode
	// or Blast, or by ApproveAbove. nil: the run is Waiting, by CauseApproval, until
	// View.Rule says what a human says.
	Approver act.Approver
	// Interceptors stand around every attempt, the first outermost.
	Interceptors []act.Interceptor

	// Sources say what the host knows about an objective: they are asked before
	// each deliberation and before a chunk fires, all at once, for at most 2,000 tokens
	// each, and have 10 s to answer. What they say is in Brief.Passages, in the order of
	// Sources, and is not kept. A source that fails is logged and left out. A chunk does
	// not fire if one fails, or says what it has not said of its plan, unless that is Volatile.
	Sources []reason.Source
	// Skills give the worker of a task AGENT.md of the skill that the task
	// names, in Work.Agent. They are not kept: a run that goes on after a
	// restart has those of the new Host. nil: none.
	Skills map[string]reason.Skill
	// Secrets gives the values of Objective.Secrets again, by name, when a run that has
	// any goes on from the store, and has 10 s to do so. Without a value the run ends BLOCKED, by
	// CauseSecret. nil: there are none to be had, but by calling Run again with them.
	Secrets func(ctx context.Context, scope memory.Scope, run string, names []string) (map[string]string, error)
}

// Options configure an Agent. The zero value, and nil, are ready. A value out
// of range is an error of Open and New that names the field.
type Options struct {
	// Scope of objectives that name none. "": "local", for hosts with a
	// single tenant; others give every objective its scope.
	Scope memory.Scope
	// Attempts at a task, over all workers, before it is BLOCKED. 0: 3, or one for
	// each worker where Spend or Worth says when to stop.
	Attempts int
	// Refusals is how many decisions for one goal the loop refuses (errors,
	// malformed answers, skills that no worker has) before the goal is BLOCKED.
	// Waiting for a model that is busy does not count. 0: 3.
	Refusals int
	// Replans is how often a goal is reasoned about again after one of its
	// tasks was BLOCKED. 0: never; then the goal is BLOCKED too. The alternatives
	// of a decision are tried before, and do not count.
	Replans int
	// Pivot is what the loop does when metacognition says to pivot.
	Pivot PivotPolicy
	// Attended says that a person answers what a run asks by itself: a run that
	// is stuck is Asking. Otherwise it is Blocked, by CauseStuck.
	Attended bool
	// Budget of objectives that set none.
	Budget Budget
	// Bounds are budgets that runs share.
	Bounds Bounds
	// Spend is how many US dollars a run of a tenant may cost on average: what a
	// run saves, later ones may use. Workers are then ranked as a ladder: who is
	// worth its price next, given who has failed at this very task, until none is.
	// 0: there is no average.
	Spend float64
	// Worth is what a delivery and a second of a worker are worth in US dollars.
	// With a Success it ranks workers as a ladder too; with Spend it is the most
	// that a delivery is ever worth. Policies other than rank's Learned ignore both.
	Worth rank.Worth

	// ReasonTimeout bounds one call of the reasoner. 0: ten minutes. One that misses it is a
	// refused decision; model.Timeout, with less, has the run wait for a model that hangs.
	//
	// Negative is none, here and in the next two: the host's code is called on
	// the goroutine of the run, which is faster. A call that hangs then hangs
	// the run, which Close leaves behind; one that ends its goroutine ends the caller's
	// of Run. A Budget with a Wall bounds deliberations all the same.
	ReasonTimeout time.Duration
	// AttemptTimeout bounds one attempt, its repeats included. 0: ten minutes.
	AttemptTimeout time.Duration
	// GateTimeout bounds the verdict of one gate. 0: ten minutes.
	GateTimeout time.Duration
	// ApprovalTTL bounds one approval: then an attempt in mode Veto is made, and any
	// other denied. 0: one minute for an Approver, a day for a human.
	ApprovalTTL time.Duration
	// ApproveFrom is the radius from which on attempts need an approval, in mode
	// Gated. Self, the zero value: act.Fleet; act.Nowhere: only the workers' Mode decides.
	ApproveFrom act.Blast
	// ApproveAbove is what an attempt may cost, in US dollars as its worker's have on
	// average, before it needs one. 0: any amount.
	ApproveAbove float64
	// Patience is how long Run holds on, in all, while a part of the host is away
	// (a model, every worker for a task, a gate), before it returns the Report of
	// a run that is Waiting. 0: two minutes; negative: not at all.
	Patience time.Duration
	// Grace is how long Close waits for executors before it cancels their
	// contexts, and for what it closes. 0: five seconds; negative: not at all.
	Grace time.Duration

	// Retention bounds what stays of runs that are finished.
	Retention Retention

	// Policy ranks the workers by the Book of a tenant: it is called once for
	// each, and again for one that was not in use for long. nil: Learned of
	// rank.Book, with its defaults.
	Policy func(*rank.Book) rank.Policy
	// Memory tunes the memory, such as by an Embedder. Its Now, Seed, Sanitizer, Home and
	// Shared do not count: they are those below.
	Memory memory.Options
	// Learn tunes recall for injection, and when chunks fire.
	Learn learn.Options

	// Maintain is how often an open Agent calls [Agent.Maintain] by itself, for each
	// scope that was written to since. A scope that it has not seen before is due
	// for the first time after as long. 0: a day; negative: never.
	Maintain time.Duration

	// Sanitizer takes secrets out of every text that is kept or told: records, what is
	// learned, embeddings, events, spans, logs, errors and Reports. The host's own
	// parts get the texts as they are. nil: the zero Sanitizer. One without a key gets
	// that of the store, so that equal secrets have equal tags.
	Sanitizer *redact.Sanitizer

	// Logger is told of what goes wrong around a run (a part that panics, a
	// gate that fails) at Error, and of each event at Debug. nil: discards.
	Logger *slog.Logger
	// Hooks are called as a run proceeds.
	Hooks Hooks
	// TracerProvider and MeterProvider take spans and measurements by
	// OpenTelemetry's conventions for generative AI; docs/telemetry.md lists
	// them. Nil: none are made, which costs nothing.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Name is that of the agent in spans and measurements ("": "arc"), and in the
	// scopes of its episodes, see [Objective].Episodes.
	Name string
	// ShowTexts has spans and logs show what a run is about: objectives, tasks,
	// outputs, complaints, errors; sanitized, and cut at 8 KiB. Without it
	// they show ids, names, counts and classes of errors only.
	ShowTexts bool

	// Replica is the name of this Agent among those that are open on the same store
	// at the same time: each has another, and keeps it over restarts if it can. Of two with one
	// name the runs are with the one that was opened last. "": there is no other.
	//
	// A named Agent has a lease of each run that it is live with, and goes on with
	// those of Agents that are gone. The store is a store.Watcher, by which it hears of
	// what the others do. What is promised stands in docs/reliability.md.
	Replica string
	// Lease is how long a run is left to a replica that is not heard of. It is renewed
	// with every commit, and by itself in a long step. 0: 15 s; at least 5 s.
	Lease time.Duration

	// ReadYourWrites is how long a run that begins or goes on at a replica waits to hear of
	// all that was acknowledged before: what others have remembered, and what their runs
	// have taught. Then it does without, and the Logger is told. It costs a small commit.
	// 0: a second; negative: it does not wait.
	ReadYourWrites time.Duration

	// Now is the clock, which several goroutines call. nil: time.Now. That of a replica has monotonic
	// time, as time.Now's has: where it jumps ahead by a Lease, runs of others are taken over early. The
	// others' commits are refused then, and nothing is done twice, except the attempt under way.
	Now func() time.Time
	// Seed of every draw. 0: a random one.
	Seed uint64
}

// Bounds are budgets that runs share, those of other replicas too. An attempt reserves
// what its worker takes on average before it begins, and what it took is settled
// after. Zero fields are unbounded, Steps too.
type Bounds struct {
	Session Budget // of all runs of a session
	Scope   Budget // of all runs of a scope
	Day     Budget // of all runs of a tenant in a day, by UTC
}

// Retention bounds what stays of runs that are finished, in each tenant. Memories
// are never pruned, nor are runs that are not finished. Agent.Maintain prunes the
// tenant of its scope, and an open Agent each tenant, every Options.Maintain. The
// zero value is ready.
type Retention struct {
	// Age after which a finished run is deleted, as View.Delete does, counted from
	// when it began; a job of a queue, with what it logged, from when it ended; and a
	// proposal that came to nothing, from when that was decided. 0: 90 days; negative: never.
	Age time.Duration
	// Count is how many finished runs stay, the latest. 0 or negative: any number.
	Count int
	// Samples is the age after which a worker's sample no longer counts where the
	// last samples of a skill do. 0: 400 days; negative: never.
	Samples time.Duration
}

// PivotPolicy says what the loop does when the monitor recommends to pivot.
type PivotPolicy int

// The policies. With any of them an assessment is an event and stands in the
// Report, the next Brief has its advice and the alternatives that are left, and
// a decision for an approach, or for tasks, that failed three times at the goal
// is refused, with the reason in Brief.Complaint.
const (
	// PivotFlag goes no further.
	PivotFlag PivotPolicy = iota
	// PivotAuto drops a plan that keeps failing once no worker is left to try it,
	// and reasons again, three times a goal beyond Options.Replans. Where the assessment adds
	// StartFresh, the Brief leaves out the failed attempts and the memories so far;
	// where it adds AskHuman, the run asks (see Options.Attended); GiveUp ends it.
	PivotAuto
	// PivotAsk stops the run and asks a human.
	PivotAsk
)

// Agent runs objectives and keeps what is learned. New and Open make one: methods of the zero
// Agent, and of nil, panic. It is safe for concurrent use; runs of different ids may overlap. While
// it is open, a goroutine of its own goes on with runs that are Waiting, once they are due.
type Agent struct {
	o Options

	// What is kept: the store, and the Writer that its parts share, so that
	// what a step has learned is one commit with the step. Close closes a store
	// that is owned.
	st     *flush.Shared
	w      *flush.Writer
	leases *lease.Store // below st; nil: no other Agent is open on it
	// news is 1 and one more for each write to statistics that was seen.
	news   atomic.Uint64
	opened chan struct{} // closed once the Agent is open
	peers  *peers.Self   // among other Agents; nil: there are none
	owned  bool
	files  filer // nil: the store keeps nothing of what was deleted

	// The host's parts.
	reasoner reason.Reasoner
	skills   quoted.Skills
	sources  []reason.Source
	secrets  func(context.Context, memory.Scope, string, []string) (map[string]string, error)
	runner   *act.Runner
	asks     bool // an Approver, within the step

	// The parts that learn.
	bank    *memory.Bank
	tenants *pool.Pool[*tenant]
	last    atomic.Pointer[scoped] // what it has of the scope that was asked for last

	watch *observer // nil: no provider is given
	hooks guard.Outlet

	unpriced atomic.Int64 // Health.Unpriced

	// writes holds what commits need, *write, for the next to use again.
	writes sync.Pool
	// veils holds what runs have hidden their secrets with, *veil.Veil, for the next.
	veils sync.Pool

	runs *roster.Roster // those that are live
	mu   struct {
		sync.Mutex
		// kept are the goals of the controllers of Keep, by name.
		kept map[string]kept
	}
	ids    atomic.Uint64 // generated
	upkeep *upkeep.Keeper
	// maintained is when scopes are to be looked at again, in Unix nanoseconds.
	maintained atomic.Int64
	// dated is when runs were last looked for that began to wait ahead of time, in Unix nanoseconds.
	dated   atomic.Int64
	keeping chan struct{} // holds one while a scope is maintained, or erased
	erased  atomic.Int64  // counts calls of Erase
	pruned  int64         // when the last prune began; of the one that maintains

	// closeOnce has Shutdown begin to end the parts.
	closeOnce sync.Once
	ending    *winddown.Down
}

// tenant is what the Agent has of a tenant beside memory and runs: the parts
// that keep its statistics and sessions, and learn from its outcomes.
type tenant struct {
	name      string
	book      *rank.Book
	policy    rank.Policy
	monitor   *meta.Monitor
	learner   *learn.Learner
	proposals *proposal.Book
	// applied is what the proposals do that were approved; one decision is carried out at a time.
	applied  atomic.Pointer[applied.Set]
	deciding sync.Mutex
	ledgers  *ledger.Book
	breakers *breaker.Set
	news     atomic.Uint64 // of the Agent, when the statistics caught up
}

// tenant returns the tenant of a scope. Every call that succeeds is paired with
// handBack.
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

// catchUp has the statistics of a tenant be what other replicas have made of them, if any
// has written some since they were.
func (a *Agent) catchUp(ctx context.Context, own *tenant) error {
	now := a.news.Load()
	if own.news.Swap(now) == now {
		return nil
	}
	err := errors.Join(own.book.Refresh(ctx), own.monitor.Refresh(ctx))
	if err != nil {
		own.news.Store(0)
	}
	return err
}

// kept are the goals of a controller.
type kept struct {
	goals *goal.Goals
	by    *goal.Controller
}

// Hooks are called as a run proceeds, one after another within a run, which
// waits for them. A hook must not block: the run leaves behind a call that has
// not returned after ten seconds, and drops further calls until it does. Calls
// that panic, are left behind or dropped do no harm to a run; the Logger is told
// of the first two, and Health.Dropped counts them all. Nil hooks are skipped.
type Hooks struct {
	// After the commit of the step that the event belongs to.
	Event func(Event)
}

// hookLimit is how long a run waits for a hook.
const hookLimit = 10 * time.Second

// EventKind says what happened.
type EventKind string

// The kinds of event, in the order in which a run meets them. Six more have no
// constant, since the Report tells the same: "asked" (Text: the questions),
// "waiting" (Text: the cause, and what the run waits for), "subgoal" (Text: the
// subgoal), "learned" (IDs: the memories stored or strengthened; Text: "rejected" and
// why, if memory did not take one), "delivered" (a goal was reached) and "escalated"
// (Text: the cause and the reason), with which a person is to be told: the run is
// blocked, or asks since it is stuck, and is the tenant's first of the day (by UTC)
// with that cause, that end of its last attempt, and that skill.
const (
	// EventAssessed has the recommendation in Text, unless it is to go on.
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
	// EventAttempt comes before an attempt, with the Ranking of the workers.
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

// Event is something that happened in a run. The Agent reports an event once
// the step that it belongs to is committed, so it never takes one back. A
// crash that undoes a step takes the step's events with it, unseen.
type Event struct {
	// Seq numbers the events of a run, from 1.
	Seq  int       `json:"seq"`
	At   time.Time `json:"at"`
	Run  string    `json:"run"`
	Kind EventKind `json:"kind"`
	// Scope is that of the run, whose id is unique in its tenant. JSON, which is for
	// those whose run it is, leaves it out.
	Scope memory.Scope `json:"-"`
	// Goal is the objective, or the subgoal that is being worked on.
	Goal string `json:"goal"`
	// Task and Attempt count from 1; 0 outside of an attempt.
	Task    int `json:"task,omitempty"`
	Attempt int `json:"attempt,omitempty"`
	// Worker makes the attempt.
	Worker string      `json:"worker,omitempty"`
	Pass   bool        `json:"pass,omitempty"`
	Gate   string      `json:"gate,omitempty"` // that did not pass the attempt
	Text   string      `json:"text,omitempty"`
	IDs    []memory.ID `json:"ids,omitempty"`
	// Ranking is best first, with the parts of each score.
	Ranking []rank.Scored `json:"ranking,omitempty"`
	// Wall is how long the attempt took.
	Wall time.Duration `json:"wall,omitempty"`
}

// turn is what the phases work on: a run's state, and what goes with it while
// it is in memory.
type turn struct {
	a      *Agent
	own    *tenant
	s      state
	key    string   // of the state's record
	was    Status   // as it was committed last
	called string   // Work.Key of the attempt at hand, once it was asked for
	call   act.Call // by which that is made

	// veil hides the secrets of the run. lost are the fields that lack one, since it has
	// changed.
	veil *veil.Veil
	lost []string

	// What goes with the state, restored from records where a run goes on: the
	// memories recalled for the innermost aim, what was delivered so far, and the
	// output of the attempt at hand.
	shown   shown
	lineage []act.Delivery
	output  json.RawMessage
	// known is what is known against actions in the situation.
	known struct {
		*known.Known
		situation string
		looked    bool
	}

	// patience is how long the caller still holds on while the run waits, and
	// pause how long the wait at hand is. adopted: the caller has left, and the
	// Agent goes on with the run; listed is the due time that the index has.
	patience, pause time.Duration
	adopted         bool
	listed          int64
	abiding         bool // the caller holds on

	abreast bool // what was acknowledged before is known, or was waited for

	// paid is what the run had used when it was last settled.
	paid ledger.Amount

	// watched: a consumer, a hook or the log takes the events.
	watched bool
	// learned: the step has changed what is learned.
	learned bool
	// heard keeps what the step's attempt has come to for its worker's breaker.
	heard store.Op
	// events are those of the step.
	events []Event

	// did is what the phase at hand has done, for telemetry and the log.
	did struct {
		// used is what the reasoner has used.
		used act.Usage
		// fault is the error of the reasoner, the worker or a gate.
		fault error
		// stack is that of a worker that panicked.
		stack []byte
		// sources are the errors of the sources, nil for those that answered.
		sources []error
		// lessons counts the patterns and failures stored or strengthened.
		lessons int
	}
}

// shown are the memories of the innermost aim, what is known of the person or project
// of the scope, and the chunks among the memories, once they were matched.
type shown struct {
	learn.Found
	facts   []memory.Hit
	matched bool // Chunks are those among Hits
}

// memories are those that are shown for the aim, the background, and facts: none of what
// was found before a fresh start.
func (t *turn) memories() (hits, background, facts []memory.Hit) {
	if n := t.shown.Trusted; t.s.aim().Cleared == 0 {
		hits, background, facts = t.shown.Hits[:n:n], t.shown.Hits[n:], t.shown.facts
	}
	return hits, background, facts
}

// emit adds an event to those of the step.
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

// work is the attempt at hand as gates see it.
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

// block gives the innermost aim up. Learn takes it in.
func (t *turn) block(cause Cause, why string) phase {
	t.s.aim().Blocked, t.s.aim().Cause = why, cause
	t.s.Current = nil
	return phaseLearn
}

// know looks up what is known against actions in the situation of the aim, unless
// that is at hand.
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

// heeded reports whether the run goes by what is known against actions: a fresh
// one does not, and none whose memories are withheld.
func (t *turn) heeded() bool {
	return t.known.Known != nil && !t.s.Objective.Fresh && len(t.s.aim().Withheld) == 0
}

// warnings are those at a task with one of the skills, or at any if none is given.
func (t *turn) warnings(skills ...string) []reason.Warning {
	if !t.heeded() {
		return nil
	}
	return t.known.Warnings(skills...)
}

// action is the task at hand in the hands of a worker.
func (t *turn) action(worker string) known.Action {
	o, g := &t.s.Objective, t.s.aim()
	return known.Action{
		Goal: g.Text, Inputs: o.Inputs, Conditions: o.Conditions, Task: &g.Tasks[g.Next], Worker: worker, Lineage: t.lineage,
	}
}

// ask has the run wait for a human.
func (t *turn) ask(questions ...string) phase {
	t.s.aim().Questions, t.s.Status = questions, Asking
	t.emit(eventAsked, Event{Text: strings.Join(questions, "\n")})
	return phaseAsk
}

// longestWait bounds the time between two tries, whatever an error asks for.
const longestWait = 5 * time.Minute

// away notes that the worker of the attempt at hand is not there. The attempt
// is as if it had not been made.
func (t *turn) away(after time.Duration) {
	g, c := t.s.aim(), t.s.Current
	until := t.a.o.Now().Add(min(max(after, time.Minute), longestWait)).UnixNano()
	g.back(c.Worker)
	g.Away = append(slices.Clip(g.Away), absent{c.Worker, until, after})
	g.Tries--
}

// wait has the run wait for a part of the host before it goes on in the phase at
// hand. after is how long the part asks to wait. 0: it does not say.
func (t *turn) wait(cause Cause, why string, after time.Duration) phase {
	s, now := &t.s, t.a.o.Now()
	t.pause = t.a.pause(s, after)
	s.Status, s.Cause, s.Reason = Waiting, cause, clip(t.veil.Hide(why))
	s.Wait.Since, s.Wait.Due = now.UnixNano(), now.Add(t.pause).UnixNano()
	s.Wait.Tries++
	t.emit(eventWaiting, Event{Text: string(cause) + ": " + s.Reason})
	return s.Phase
}

// pause is how long a run waits before its next try: as long as it is asked to, or
// a second, twice as long each time, and up to a quarter more, drawn by run and try,
// so that runs that wait for the same do not come together.
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

// due is when an Agent is to go on with the run: never with one that is over or
// that its caller resumes. With one that is live it is when others may take it
// for cut off.
func (t *turn) due() int64 {
	switch {
	case t.s.Status == Waiting:
		return t.s.Wait.Due
	case t.s.Status == Running && t.adopted && t.a.leases == nil:
		return t.a.o.Now().Add(t.a.lease()).UnixNano()
	}
	return 0
}

// lease is how long a run is left alone that another Agent may be live with: for
// longer than any step takes. A store of this Agent's own knows no other.
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

// kept is the turn as the store has it: what is learned is learned from that.
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

// givenAgain returns the secrets of a run that goes on, by name: those that its caller
// has given again, else the host's. It is not nil, and lacks those that are not to be had.
func (a *Agent) givenAgain(ctx context.Context, s *state) act.Secrets {
	given, asked := s.Objective.Secrets, slices.Sorted(maps.Keys(s.Secrets))
	if given == nil && a.secrets != nil && len(asked) > 0 {
		scope, id, names := s.Objective.Scope, s.ID, slices.Clone(asked) // a call that is left behind has its own
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

// hide takes the secrets of a run out of what a person says of it, also those that are
// not given again.
func (a *Agent) hide(s *state, text string) string {
	return a.o.Sanitizer.Tagged(text, slices.Collect(maps.Values(s.Secrets))...)
}

// remark is what a person says of a run, as it is kept.
func (a *Agent) remark(ctx context.Context, s *state, text string) string {
	return clip(a.o.Sanitizer.Knowing(slices.Collect(maps.Values(a.givenAgain(ctx, s)))...).Sanitize(a.hide(s, text)))
}

// unlock puts the secrets of a run back that goes on.
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

// lacks says which text or secret that a part of the host is to get is not there any
// more, "" if none is.
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

// clip bounds a text about an attempt. What is cut is cut without secrets: half of one
// would not be found.
func (t *turn) clip(text string) string {
	if len(text) > maxComplaint {
		text = clip(t.veil.Hide(text))
	}
	return text
}

// filer is a store that keeps what was deleted until Purge.
type filer interface {
	Purge(context.Context) error
}

// keepStill keeps Erase, and what maintains scopes, from one another until done is called.
func (a *Agent) keepStill(ctx context.Context) (done func(), err error) {
	select {
	case a.keeping <- struct{}{}:
		return func() { <-a.keeping }, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}

// tend calls a method of a store.
func tend(ctx context.Context, method func(context.Context) error) error {
	var err error
	return errors.Join(guard.Call(func() { err = guard.Error(method(ctx)) }), err)
}
