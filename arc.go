package arc

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// Host has the parts of an Agent. All of them are called concurrently. A run needs only Workers. A panic is
// an error. Code that ends its goroutine, as t.FailNow does, fails its attempt, or leaves the run as of its
// last commit, for [View.Resume]. Clocks, loggers, and the Model method of a memory.Embedder do neither.
type Host struct {
	Reasoner reason.Reasoner // nil: the objective is the one task
	Workers  []act.Worker
	Gates    []act.Gate      // of every worker, before its own
	Approver act.Approver    // nil: a run that needs a person waits for [View.Decide]
	Around   []act.Around    // around each attempt, outermost first
	Sources  []reason.Source // asked at once before the Reasoner is, for at most Options.Timeout
	Skills   []reason.Skill

	// Secrets returns the value of a secret that a worker, tool or Objective lists, of at least 8 bytes. It is
	// asked for each call, and nothing of the value is stored. An attempt waits where [reason.Classify] takes
	// the error for an outage; any other denies it. nil: there are no secrets.
	Secrets func(ctx context.Context, name string) (string, error)
}

// Options of an Agent. Nil and the zero value are the defaults.
type Options struct {
	Scope    memory.Scope  // of an Objective that has none, and is not run for another run
	Attempts int           // at a task by one plan, over all workers, of which each tries twice at most; 0: 4
	Replans  int           // plans after the first one; 0: 2; negative: none
	Patience time.Duration // how long a run waits for an outage to pass; 0: an hour

	// OnStuck says what happens, once a plan, where a run's session does not get on: after an attempt its
	// assessment has the Step [meta.PivotNow] or an Also (see [meta.Assessment]). "replan": another plan is
	// made, while Replans lasts; "ask": a person is asked; "": neither. An event "stuck" tells of it in any
	// case, and whoever decides next is told why. A run without a Session is not assessed.
	OnStuck string

	// ApprovalTimeout is how long an approval is open: then silence allows a Veto, else denies. 0: 24 hours.
	ApprovalTimeout time.Duration
	Timeout         time.Duration // of an execution, a gate, and a call of the reasoner; 0: 10 minutes
	Policy          rank.Policy   // which worker is tried first; nil: by Worth

	// Worth is what a delivered task is worth in US dollars. Above 0, [rank.Book.Ladder] ranks, by the figures
	// of the Lessons scope: the worker with the best chance for its price is tried first, and where none is
	// worth its price, the first that can take the task. 0: [rank.Book.Learned] ranks. A dollar is a tenth of a
	// success there, so the price of models that cost cents decides next to nothing.
	Worth float64

	// Daily bounds all runs of a tenant in a day (UTC). What was spent while there was no bound is not counted.
	Daily Budget

	Retention time.Duration // after it [View.Maintain] deletes a run that has ended, with its ID; 0: 90 days

	Memory *memory.Options // of each tenant; where its Now or Sanitizer is nil, the one below counts
	Learn  learn.Options   // of each tenant; its Scope and Memory do not count, and a Seed of 0 is the one below

	FireIrreversible bool // false: a person is asked before each irreversible call of a plan that fires

	Sanitizer *redact.Sanitizer // nil: redact.New of no options
	Logger    *slog.Logger      // is told of what has no caller to return it to; nil: nobody is

	// OnEvent is called with each event of each run of this process as it happens: concurrently for several
	// runs, and the run waits until it returns. A secret of several words may stand in the text of Live events.
	OnEvent func(scope memory.Scope, run string, e Event)

	// Trace is called where a run, a phase of it or a commit begins, as "arc.run", "arc.recall" or "arc.commit",
	// with attributes such as "run" and "worker", none of them a text. What happens within gets the context that
	// it returns; the function that it returns is called once, at the end, with the error or nil. For "arc.act"
	// an attempt that was not delivered is an error, too: its Err, or a *reason.Error whose Class is its
	// Outcome. Trace is called concurrently.
	Trace func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error))

	// Process is a label of this process for people who read the Logger or the store; "": none. It identifies
	// nothing: two Agents with one label are two processes.
	Process string

	Now  func() time.Time // nil: time.Now
	Seed uint64           // of all that is drawn; 0: by chance
}

// What Options.OnStuck may be.
const replanStuck, askStuck = "replan", "ask"

// Agent runs objectives. Its methods may be called concurrently. Several Agents, in as many processes, may
// have one store that is a [store.Changer]: a run is worked on by one of them, any of them may be asked for
// it, and when one is gone, another takes up its runs within 25 s; a program that was killed and is started
// again is another. Their hosts should have the same workers. Any other store is for one Agent at a time. An
// Agent without Workers works on no run: it shows runs, and stores rulings, answers and retries for an Agent
// that has workers; of Secrets that its Host has not it cleans no word. A run that begins in it is blocked.
//
// Close, Shutdown, View.Cancel and View.Erase wait for runs under way. A worker, gate or OnEvent that calls
// one of them would wait for its own run: call it in a goroutine.
type Agent struct {
	store  store.Store
	close  func() error // of the store; does nothing where it is the host's
	host   Host
	opts   Options
	runner atomic.Pointer[act.Runner]

	base   context.Context // of all runs: ends with Close, or when Shutdown has waited long enough
	cancel context.CancelFunc
	stop   context.Context    // ends with Shutdown: runs stop at their next commit
	halt   context.CancelFunc // called under mu: no run begins afterwards
	kick   chan struct{}      // the scheduler looks again
	runs   sync.WaitGroup

	process *process
	tenants *tenants
	awaited atomic.Int64 // calls that wait for a run

	mu      sync.Mutex
	live    map[string]*live     // by runKey
	rests   map[string]time.Time // until when the scheduler leaves alone what failed, or its caller has left
	changed chan struct{}        // closed when a run was committed; nil: nobody waits for that
	recent  []string             // runKeys of the runs that were committed last, for View.Changed
	former  uint64               // how many before
}

// live is a run that is under way here.
type live struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	rev    atomic.Uint64            // of its record, as read or committed here; 0: none yet
	said   atomic.Pointer[canceled] // by View.Cancel, also where its context has ended before
}

// Open opens an Agent over the store in a directory, which Badger keeps. Runs that were under way, waiting or
// due when the store was last open go on by themselves. Close it.
func Open(ctx context.Context, dir string, h Host, o *Options) (*Agent, error) {
	st, err := badger.Open(ctx, dir, &badger.Options{Logger: cmp.Or(o, &Options{}).Logger})
	if err != nil {
		return nil, fmt.Errorf("arc: %w", err)
	}
	a, err := open(ctx, st, h, o, st.Close)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return a, nil
}

// New opens an Agent over a store of all tenants, which stays the host's, as Open does.
func New(ctx context.Context, st store.Store, h Host, o *Options) (*Agent, error) {
	return open(ctx, st, h, o, func() error { return nil })
}

// open is Open and New. The process is known to others before anything is due for it, and what they commit is
// followed from before that on, so that nothing is missed between.
func open(ctx context.Context, st store.Store, h Host, o *Options, closeStore func() error) (*Agent, error) {
	a := &Agent{
		store: st, close: closeStore, host: h, kick: make(chan struct{}, 1),
		live: map[string]*live{}, rests: map[string]time.Time{},
		opts:   *cmp.Or(o, &Options{}),
		former: uint64(time.Now().UnixMicro()), // no mark is 0, or of a former process
	}
	a.tenants = &tenants{load: a.openTenant, open: map[string]*opening{}}
	err := a.opts.check()
	if err == nil && call.None(st) {
		err = errors.New("no store: store.NewMem() keeps nothing on a disk, and Open makes one in a directory")
	}
	if _, part := st.(interface{ Prefix() string }); part {
		err = errors.New("store.Sub is a part of a store, and an Agent takes all of one")
	}
	if err != nil {
		return nil, fmt.Errorf("arc: %w", err)
	}
	a.opts.complete()
	if err := a.SetWorkers(h.Workers); err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(a.opts.Process+"-"+rand.Text(), "-")
	a.process = &process{name: name, seen: map[store.Revision]time.Time{}, done: make(chan struct{})}
	a.process.changer, _ = st.(store.Changer)
	a.process.quit, a.process.quits = context.WithCancel(context.Background())
	a.base, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
	a.stop, a.halt = context.WithCancel(context.Background())
	if changer := a.process.changer; changer != nil {
		seen, err := store.Revision(0), error(nil) // nothing has changed after it yet
		for e, bad := range changer.Changes(ctx, "", store.Latest) {
			seen, err = e.Rev, bad
		}
		if err == nil {
			err = a.process.write(ctx, st, store.Absent)
		}
		if err != nil {
			a.cancel()
			return nil, fmt.Errorf("arc: %w", err)
		}
		go a.beat()
		a.runs.Go(func() { a.follow(seen) })
	} else {
		close(a.process.done)
	}
	a.runs.Go(a.schedule)
	return a, nil
}

// check returns the first thing that is wrong with the options.
func (o *Options) check() error {
	_, err := learn.With(nil, nil, nil, &o.Learn) // what it refuses, each tenant would
	err = cmp.Or(o.Scope.Check(), o.Daily.check(), err)
	flaw := func(is bool, name string, value any) {
		if is && err == nil {
			err = fmt.Errorf("%s is %v", "Options."+name, value)
		}
	}
	flaw(!(o.Worth >= 0 && o.Worth <= math.MaxFloat64), "Worth", o.Worth)
	flaw(o.Attempts < 0, "Attempts", o.Attempts)
	flaw(o.Retention < 0, "Retention", o.Retention)
	flaw(o.Patience < 0, "Patience", o.Patience)
	flaw(o.ApprovalTimeout < 0, "ApprovalTimeout", o.ApprovalTimeout)
	flaw(o.Timeout < 0, "Timeout", o.Timeout)
	flaw(store.CheckID(o.Process+"-") != nil || strings.Contains(o.Process, "/"), "Process", o.Process)
	flaw(!slices.Contains([]string{"", replanStuck, askStuck}, o.OnStuck), "OnStuck", o.OnStuck)
	return err
}

// complete puts defaults in the place of what is not set.
func (o *Options) complete() {
	o.Sanitizer = cmp.Or(o.Sanitizer, redact.New(nil))
	o.Now = call.Clock(o.Now)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Attempts, o.Replans = cmp.Or(o.Attempts, 4), max(0, cmp.Or(o.Replans, 2))
	o.Retention, o.Patience = cmp.Or(o.Retention, 90*24*time.Hour), cmp.Or(o.Patience, time.Hour)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
	m := *cmp.Or(o.Memory, &memory.Options{})
	if m.Now == nil {
		m.Now = o.Now
	}
	m.Sanitizer = cmp.Or(m.Sanitizer, o.Sanitizer)
	o.Memory, o.Learn.Memory = &m, &m
	o.Learn.Seed = cmp.Or(o.Learn.Seed, o.Seed)
}

// SetWorkers replaces the workers. Attempts that are under way end with those that they began with. Where
// there are none any more, the runs that come due are left to Agents that have some.
func (a *Agent) SetWorkers(workers []act.Worker) error {
	workers = slices.Clone(workers)
	for i, w := range workers {
		workers[i].Gates = slices.Concat(a.host.Gates, w.Gates)
		workers[i].Timeout = cmp.Or(w.Timeout, a.opts.Timeout)
	}
	r, err := act.NewRunner(workers, a.host.Approver, a.opts.ApprovalTimeout, a.host.Secrets, a.host.Around...)
	if err != nil {
		return fmt.Errorf("arc: %w", err)
	}
	a.runner.Store(r)
	a.wake()
	return nil
}

// Workers returns copies of the workers, as SetWorkers takes them. What their slices and maps have is shared.
func (a *Agent) Workers() (workers []act.Worker) {
	for _, w := range a.runner.Load().Workers() {
		c := *w
		c.Gates = slices.Clone(w.Gates[len(a.host.Gates):]) // SetWorkers adds those of the Host
		workers = append(workers, c)
	}
	return workers
}

// idle reports whether the Agent has no workers, and leaves runs to those that have: it could but block them.
func (a *Agent) idle() bool { return len(a.runner.Load().Workers()) == 0 }

// Shutdown refuses further runs and lets those under way reach their next commit, from which they go on. When
// ctx ends first it cancels them, and returns an error that names them. Close the Agent afterwards.
func (a *Agent) Shutdown(ctx context.Context) error {
	for {
		a.mu.Lock()
		a.halt()
		var one *live
		for _, one = range a.live {
			break
		}
		names := slices.Sorted(maps.Keys(a.live))
		a.mu.Unlock()
		if one == nil {
			a.process.quits()
			return nil
		}
		select {
		case <-one.done:
		case <-ctx.Done():
			a.cancel()
			return fmt.Errorf("arc: %w: still running: %s", ctx.Err(), strings.Join(names, ", "))
		}
	}
}

// Close cancels what is under way, waits for it, and closes what Open has opened. Code of the host that
// ignores its context holds Close.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.halt()
	a.mu.Unlock()
	a.cancel()
	a.runs.Wait()
	a.process.quits()
	<-a.process.done
	a.tenants.forget()
	return a.close()
}
