package arc

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// Host is what the host program brings. Workers are required, and Gates too
// unless every worker has its own.
type Host struct {
	Reasoner reason.Reasoner // nil: every objective brings its Tasks
	Workers  []act.Worker
	Gates    []act.Gate   // applied to every task
	Approver act.Approver // for workers whose Mode or Blast asks for one

	// Skills give the worker of a task AGENT.md of the skill that the task
	// names, in Work.Agent. They are not kept: a run that goes on after a
	// restart has those of the new Host. nil: none.
	Skills *reason.Skills
}

// Options configure an Agent. The zero value, and nil, are ready.
type Options struct {
	// Scope of objectives that name none. "": "local", for hosts with a
	// single tenant; others give every objective its scope.
	Scope memory.Scope
	// Attempts at a task, over all workers, before it is BLOCKED. 0: 3.
	Attempts int
	// Decisions that a reasoner may have refused for one goal (errors,
	// malformed answers, skills that nobody has) before the goal is BLOCKED.
	// Waiting for a model that is busy is none. 0: 3.
	Refusals int
	// Replans is how often a goal is reasoned about again after one of its
	// tasks was BLOCKED. 0: never; then the goal is BLOCKED too.
	Replans int
	// Pivot is what to do when metacognition says to pivot.
	Pivot PivotPolicy
	// Budget of objectives that set none.
	Budget Budget

	ReasonTimeout  time.Duration // of one deliberation; 0: ten minutes
	AttemptTimeout time.Duration // of one attempt; 0: ten minutes
	GateTimeout    time.Duration // of one gate; 0: ten minutes
	ApprovalTTL    time.Duration // of one approval, which then is denied; 0: one minute
	ApproveFrom    act.Blast     // workers of this radius and above need the Approver; Self: only by Mode
	// Grace is how long Close waits for executors before it cancels their
	// contexts. 0: five seconds; negative: not at all.
	Grace time.Duration

	// Policy ranks the workers. nil: Learned of rank.Book, with its defaults.
	Policy func(*rank.Book) rank.Policy
	// Memory tunes the memory, such as by an Embedder. Its Now, Seed and
	// Sanitizer do not count: they are those below.
	Memory memory.Options
	// Learn tunes recall for injection, and when chunks fire.
	Learn learn.Options

	Sanitizer *redact.Sanitizer // takes secrets out of every text; nil: the zero Sanitizer

	// Logger is told of what goes wrong around a run (a part that panics, a
	// gate that fails) at Error, and at Debug of each event. nil: discards.
	Logger *slog.Logger
	Hooks  Hooks
	// TracerProvider and MeterProvider take spans and measurements by
	// OpenTelemetry's conventions for generative AI; docs/telemetry.md lists
	// them. Nil: none are made, which costs nothing.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Name is that of the agent in spans and measurements. "": "arc".
	Name string
	// ShowTexts has spans and logs show what a run is about: objectives, tasks,
	// outputs, complaints, errors; sanitized, and cut at 8 KiB. Without it
	// they show ids, names, counts and classes of errors only.
	ShowTexts bool

	Now  func() time.Time // nil: time.Now
	Seed uint64           // of every draw; 0: a random one
}

// PivotPolicy says what the loop does when the monitor recommends to pivot.
type PivotPolicy int

// The policies.
const (
	PivotFlag PivotPolicy = iota // put it into the Report and the next Brief, and go on
	PivotAuto                    // drop the plan and reason again, with the approach to avoid, which is refused until a human answers; ask a human or give up where meta.Assessment.Also says so
	PivotAsk                     // stop and ask a human
)

func (o *Options) fill() {
	setDefault(&o.Scope, "local")
	setDefault(&o.Attempts, 3)
	setDefault(&o.Refusals, 3)
	setDefault(&o.ReasonTimeout, 10*time.Minute)
	setDefault(&o.AttemptTimeout, 10*time.Minute)
	setDefault(&o.GateTimeout, 10*time.Minute)
	setDefault(&o.ApprovalTTL, time.Minute)
	setDefault(&o.Grace, 5*time.Second)
	setDefault(&o.Budget.Steps, 1000)
	setDefault(&o.Name, "arc")
	if o.Policy == nil {
		o.Policy = func(b *rank.Book) rank.Policy { return b.Learned(nil) }
	}
	o.Logger = guard.Logger(o.Logger)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Seed == 0 {
		var b [8]byte
		crand.Read(b[:]) // never fails: it ends the process instead
		o.Seed = binary.LittleEndian.Uint64(b[:]) | 1
	}
}

func setDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func (o *Options) check() error {
	var errs []error
	for _, f := range [...]struct {
		name string
		v    int
	}{{"Attempts", o.Attempts}, {"Refusals", o.Refusals}, {"Replans", o.Replans}} {
		if f.v < 0 {
			errs = append(errs, fmt.Errorf("option %s: %d is negative", f.name, f.v))
		}
	}
	if o.ReasonTimeout < 0 {
		errs = append(errs, fmt.Errorf("option ReasonTimeout: %v is negative", o.ReasonTimeout))
	}
	if o.Pivot < PivotFlag || o.Pivot > PivotAsk {
		errs = append(errs, fmt.Errorf("option Pivot: unknown policy %d", o.Pivot))
	}
	if err := o.Scope.Check(); err != nil {
		errs = append(errs, fmt.Errorf("option Scope: %w", err))
	}
	if err := o.Budget.check(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Agent runs objectives and keeps what is learned. It is safe for concurrent
// use; runs of different ids may overlap. It starts no goroutine of its own
// beyond the runs that its methods are called for.
type Agent struct {
	o        Options
	st       store.Store
	w        *flush.Writer // of all parts
	owned    bool          // Close closes st
	reasoner reason.Reasoner
	skills   *reason.Skills
	runner   *act.Runner
	bank     *memory.Bank
	book     *rank.Book
	policy   rank.Policy
	monitor  *meta.Monitor
	learner  *learn.Learner

	watch *observer // nil: nobody watches
	hooks guard.Outlet

	writes sync.Pool // of *write

	mu struct {
		sync.Mutex
		closing bool
		live    map[string]context.CancelFunc // of the runs that are being run, by id
		idle    chan struct{}                 // closed when closing and no run is live
		ids     uint64                        // generated so far
	}
	closeOnce sync.Once
	closeErr  error
}

// Open returns an Agent that keeps everything in dir, which is created if it
// is missing; with dir "" everything is kept in memory. Close closes the
// store. The errors are New's and those of badger.Open.
func Open(ctx context.Context, dir string, host Host, opts *Options) (*Agent, error) {
	if err := alive(ctx); err != nil {
		return nil, err // before anything is created on disk, as what follows
	}
	if err := checkHost(host, opts); err != nil {
		return nil, err
	}
	var st store.Store = store.NewMem()
	if dir != "" {
		var logger *slog.Logger
		if opts != nil {
			logger = guard.Logger(opts.Logger)
		}
		disk, err := badger.Open(dir, &badger.Options{Logger: logger})
		if err != nil {
			return nil, err
		}
		st = disk
	}
	a, err := New(ctx, st, host, opts)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	a.owned = true
	return a, nil
}

// New returns an Agent over a store that the host has opened and will close.
// One error lists everything that is wrong with the host's parts and the
// options.
func New(ctx context.Context, st store.Store, host Host, opts *Options) (*Agent, error) {
	if err := checkHost(host, opts); err != nil {
		return nil, err
	}
	if guard.IsNil(st) {
		return nil, errors.New("arc: the store is nil")
	}
	if ctx == nil {
		return nil, errors.New("arc: the context is nil")
	}
	shared := flush.Share(st)
	a := &Agent{o: options(opts), st: shared, w: flush.New(shared), reasoner: host.Reasoner, skills: host.Skills}
	a.watch, a.hooks.Limit = newObserver(&a.o), hookLimit
	runner, err := newRunner(host, &a.o)
	if err != nil {
		return nil, err
	}
	a.runner = runner
	a.mu.live = make(map[string]context.CancelFunc)
	a.writes.New = func() any { return new(write) }
	if err := a.openParts(ctx); err != nil {
		return nil, errors.Join(err, a.closeParts())
	}
	return a, nil
}

func options(opts *Options) Options {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.fill()
	return o
}

// checkHost returns every problem with the host's parts and the options.
func checkHost(host Host, opts *Options) error {
	o := options(opts)
	var errs []error
	if host.Reasoner != nil && guard.IsNil(host.Reasoner) {
		errs = append(errs, errors.New("the reasoner is nil"))
	}
	if err := o.check(); err != nil {
		errs = append(errs, err)
	}
	if _, err := newRunner(host, &o); err != nil {
		errs = append(errs, err)
	}
	if _, err := learn.New(nil, nil, nil, &o.Learn); err != nil {
		errs = append(errs, err)
	}
	if errs != nil {
		return fmt.Errorf("arc: %w", errors.Join(errs...))
	}
	return nil
}

func newRunner(host Host, o *Options) (*act.Runner, error) {
	return act.NewRunner(act.Options{
		Workers: host.Workers, Gates: host.Gates, Approver: host.Approver,
		ApproveFrom: o.ApproveFrom, ApprovalTTL: o.ApprovalTTL,
		Timeout: o.AttemptTimeout, GateTimeout: o.GateTimeout,
		Sanitizer: o.Sanitizer, Now: o.Now,
	})
}

func (a *Agent) openParts(ctx context.Context) (err error) {
	m := a.o.Memory
	m.Now, m.Seed, m.Sanitizer = a.o.Now, a.o.Seed, a.o.Sanitizer
	m.Embedder = a.watch.embedder(m.Embedder)
	if a.bank, err = memory.Open(ctx, a.st, &m); err != nil {
		return fmt.Errorf("arc: memory: %w", err)
	}
	if a.book, err = rank.Open(ctx, a.st, &rank.Options{Now: a.o.Now, Seed: a.o.Seed}); err != nil {
		return fmt.Errorf("arc: rank: %w", err)
	}
	if a.monitor, err = meta.Open(ctx, a.st, &meta.Options{Sanitizer: a.o.Sanitizer, Now: a.o.Now}); err != nil {
		return fmt.Errorf("arc: meta: %w", err)
	}
	if a.policy = a.o.Policy(a.book); guard.IsNil(a.policy) {
		return errors.New("arc: Policy returned nil")
	}
	setDefault(&a.o.Learn.Seed, a.o.Seed)
	if a.learner, err = learn.New(a.bank, a.book, a.monitor, &a.o.Learn); err != nil {
		return fmt.Errorf("arc: %w", err)
	}
	return nil
}

func (a *Agent) closeParts() error {
	var errs []error
	if a.bank != nil {
		errs = append(errs, a.bank.Close())
	}
	if a.book != nil {
		errs = append(errs, a.book.Close())
	}
	if a.monitor != nil {
		errs = append(errs, a.monitor.Close())
	}
	if a.owned {
		errs = append(errs, a.st.Close())
	}
	return errors.Join(errs...)
}

// Hooks are called as a run proceeds, one after another within a run, which
// waits for them. A hook must not block: the run leaves behind a call that has
// not returned after ten seconds, and drops further calls until it does. Calls
// that panic, are left behind or dropped do no harm to a run; the Logger is told
// of the first two, and Health.Dropped counts them all. Nil hooks are skipped.
type Hooks struct {
	Event func(Event) // after the commit of the step that the event belongs to
}

// hookLimit is how long a run waits for a hook.
const hookLimit = 10 * time.Second

// enter marks a run as live, and returns the context that it runs under. Every
// call that succeeds is paired with leave.
func (a *Agent) enter(ctx context.Context, id string) (context.Context, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.closing {
		return nil, store.ErrClosed
	}
	if _, ok := a.mu.live[id]; ok {
		return nil, fmt.Errorf("%w: %q", ErrRunning, id)
	}
	ctx, a.mu.live[id] = context.WithCancel(ctx)
	return ctx, nil
}

func (a *Agent) leave(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.live[id]()
	delete(a.mu.live, id)
	if a.mu.closing && len(a.mu.live) == 0 {
		close(a.mu.idle)
	}
}

func (a *Agent) closing() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.closing
}

// Shutdown stops the intake of runs, lets the live ones finish their step, and
// waits for them until ctx ends; then it cancels their executors, and closes
// what it has opened. Runs that were not finished go on with Resume when the
// Agent is opened again. Shutdown and Close are idempotent. They must not be
// called by the host's parts from inside a run: they would wait for
// themselves until ctx ends.
func (a *Agent) Shutdown(ctx context.Context) error {
	a.closeOnce.Do(func() {
		a.mu.Lock()
		a.mu.closing = true
		a.mu.idle = make(chan struct{})
		if len(a.mu.live) == 0 {
			close(a.mu.idle)
		}
		a.mu.Unlock()
		select {
		case <-a.mu.idle:
		case <-ctx.Done():
		}
		a.mu.Lock()
		for _, cancel := range a.mu.live {
			cancel()
		}
		a.mu.Unlock()
		<-a.mu.idle // the commits under way; executors that hang are left behind
		a.closeErr = a.closeParts()
	})
	return a.closeErr
}

// Maintain keeps the memory of a scope in order: it archives what is old and
// unused, then merges what says the same. The scope "" is Options.Scope. It is
// idempotent, and may run beside everything else; arc has no schedule of its
// own, see the package comment.
func (a *Agent) Maintain(ctx context.Context, scope memory.Scope) (learn.MaintenanceReport, error) {
	setDefault(&scope, a.o.Scope)
	return a.learner.Maintain(ctx, scope)
}

// Close is Shutdown with Options.Grace for the executors. A Close that is
// called while another Shutdown is waiting waits with it.
func (a *Agent) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), max(0, a.o.Grace))
	defer cancel()
	return a.Shutdown(ctx)
}
