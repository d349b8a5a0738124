package goal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/cooldown"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/reason/goal/internal/swing"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Options configure a [Controller]. The zero value, and nil, are ready.
type Options struct {
	// Name tells controllers apart that share a store, and begins the IDs of their
	// dispatches; at most 64 bytes, no slash. "": "goals". No two controllers of a
	// name may be at work at a time.
	Name string
	// Tenant whose goals they are, as memory.Scope.Tenant has it: controllers of several
	// tenants share a store and a Name. "": of none.
	Tenant string
	// Actions are what can be done by workers who have their Skill or, without one,
	// can bring about their first effect. Each further effect of the catalog is an
	// action too, at a cost of 1. At most 64 actions may bear on one goal.
	Actions []Action

	// Lease is how long a dispatch may take. 0: ten minutes.
	Lease time.Duration
	// Cooldown is how long a goal that names none is left alone after a dispatch
	// that succeeded, so that its effects can show, and any goal by an action that
	// was refused for it. 0: 90 seconds; negative: not at all. After every dispatch
	// the goal is left alone at least until what it is about was read anew.
	Cooldown time.Duration
	// MaxInFlight is how many dispatches run at a time; the most severe goals go
	// first. 0: 4.
	MaxInFlight int
	// History is how many outcomes are kept. A restart takes cooldowns and rests from
	// them. 0: 500.
	History int

	// Every is the time between two ticks of Run. 0: 5 seconds.
	Every time.Duration
	// Grace is how long Close waits for dispatches before it cuts them off. 0: five
	// seconds; negative: not at all.
	Grace time.Duration

	// Sanitizer takes secrets out of what is kept; nil: the zero Sanitizer.
	Sanitizer *redact.Sanitizer
	// Outcome is called with each outcome once it is kept, and once more when one that was
	// Unseen has come to nothing, or was seen; perhaps concurrently. It may be nil. A
	// call that does not return within ten seconds is left behind, and no other is
	// made until it does. It must not call Close.
	Outcome func(Outcome)
	// Logger gets how goals and collectors change, and what has failed; nil: discards.
	Logger *slog.Logger
	// Now is the clock, which may be put back; nil: time.Now.
	Now func() time.Time
}

const maxControllerName = 64 // bytes

// withDefaults returns the options with their defaults, and what is wrong with them.
func (o Options) withDefaults() (Options, error) {
	o.Name = cmp.Or(o.Name, "goals")
	o.Lease = cmp.Or(o.Lease, 10*time.Minute)
	o.Cooldown = cmp.Or(o.Cooldown, 90*time.Second)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 4)
	o.History = cmp.Or(o.History, 500)
	o.Every = cmp.Or(o.Every, 5*time.Second)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.Logger = guard.Logger(o.Logger)
	o.Now = guard.Clock(o.Now)
	errs := []error{key.CheckID("option Name", o.Name), key.CheckID("option Tenant", o.Tenant)}
	if n := len(o.Name); n > maxControllerName {
		errs = append(errs, &store.LimitError{Field: "option Name", Limit: maxControllerName, Got: n})
	}
	if strings.Contains(o.Name, "/") { // else two names could make one ID
		errs = append(errs, errors.New("option Name contains a slash"))
	}
	if min(o.Lease, o.Every, time.Duration(o.MaxInFlight), time.Duration(o.History)) < 0 {
		errs = append(errs, errors.New("option Lease, Every, MaxInFlight or History is negative"))
	}
	return o, errors.Join(errs...)
}

// Controller keeps goals. At every [Controller.Tick] it looks which of them are
// violated, has something done about those that may be acted on, and keeps exactly
// one [Outcome] of each dispatch that it admitted, whatever the [Runner] does and
// whenever the process ends.
//
// A dispatch is a run. It is in flight while that run is live or unfinished, and no
// longer than its lease. After a restart the first tick resumes the unfinished
// runs, each at most three times and with a new lease, and begins those that were
// admitted and never begun.
//
// A Controller starts a goroutine for each dispatch. Close ends them.
type Controller struct {
	o       Options
	steps   []step // Options.Actions
	ledger  ledger
	world   *World
	goals   *Goals
	catalog Catalog
	runner  Runner

	hook, judge guard.Outlet // to Options.Outcome and to the Runner's Judge
	// ticking is held by Tick, which alone admits. It is taken before mu. No code of the host is called with mu held.
	ticking sync.Mutex

	mu struct {
		sync.Mutex
		closed bool
		guard  *cooldown.Guard
		// flying and past are by goal: what is under way, and what was last.
		flying map[string]*flight
		past   map[string]*past
		swings swing.Swings
		// failed is when each action came to nothing the last time.
		failed map[string]time.Time
		// latest is the latest time of a tick or an outcome: a time before it shows that
		// the clock was put back.
		latest time.Time
		// report is that of the last tick, and ended are the outcomes since.
		report Report
		ended  []Outcome
		// judged are outcomes that were Unseen, as a reading shows them, still to be kept.
		judged []Outcome
		last   uint64 // number of a dispatch
		// damaged are entries of the ledger by goal, which is left alone for them.
		damaged map[string]error
		// doubt says that the ledger may have open entries that are not flying here. The
		// next tick adopts these before it admits anything.
		doubt bool
		// held are to be launched when the tick is over.
		held []*flight
		// busy counts the goroutines of flights. Idle is closed when it is back at 0.
		busy int
		idle chan struct{}
	}
	closeOnce sync.Once
}

// New returns a Controller over a store that the host has opened, and will close
// after the Controller. It reads what is in flight and how dispatches ended there,
// and begins nothing. The error says all that is wrong with the parts and the
// options, or is the store's.
func New(
	ctx context.Context, st store.Store, w *World, gs *Goals, c Catalog, r Runner, opts *Options,
) (*Controller, error) {
	o, err := cmp.Or(opts, new(Options)).withDefaults()
	errs := []error{err}
	for _, part := range []struct {
		name string
		v    any
	}{{"context", ctx}, {"store", st}, {"world", w}, {"goals", gs}, {"catalog", c}, {"runner", r}} {
		if guard.IsNil(part.v) {
			errs = append(errs, fmt.Errorf("the %s is nil", part.name))
		}
	}
	steps, err := compileActions(o.Actions)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("goal: %w", veil.Error(o.Sanitizer, err))
	}
	x := &Controller{
		o: o, steps: steps, world: w, goals: gs, catalog: c, runner: r,
		ledger: ledger{st: st, tenant: o.Tenant, name: o.Name, history: o.History},
	}
	x.hook.Limit, x.judge.Limit = hookLimit, judgeLimit
	x.mu.guard, x.mu.flying, x.mu.past = cooldown.NewGuard(), make(map[string]*flight), make(map[string]*past)
	x.mu.failed, x.mu.swings = make(map[string]time.Time), make(swing.Swings)
	if err := x.load(ctx); err != nil {
		return nil, fmt.Errorf("goal: %w", err)
	}
	return x, nil
}

// load takes from the ledger what the last controller of the name has left.
func (c *Controller) load(ctx context.Context) error {
	l, err := c.ledger.read(ctx)
	if err != nil {
		return err
	}
	c.mu.last, c.mu.damaged = l.last, l.damaged
	c.mu.doubt = len(l.open) > 0 // the first tick adopts them
	for i := range l.outcomes {
		o := &l.outcomes[i]
		c.noteLocked(o, c.touched(o.About, o.Actions))
		c.mu.latest = slices.MaxFunc([]time.Time{c.mu.latest, o.Ended}, time.Time.Compare)
	}
	return nil
}

// Run polls the world and ticks, each every Options.Every, until ctx ends, and then
// closes the Controller. It polls every second if that is more often. Run logs what a
// tick failed at, and the next tick tries it again. It logs a collector that begins to
// fail, or is well again. [Controller.Report] has what the last tick found. Run returns
// nil, or store.ErrClosed if the Controller was closed before ctx ended.
func (c *Controller) Run(ctx context.Context) error {
	if ctx == nil {
		return store.CheckContext(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	var polls sync.WaitGroup
	polls.Go(func() {
		// More often than every tick: a reading of a quick collector may not hold
		// from tick to tick.
		every(ctx, min(c.o.Every, pollEvery), func() bool {
			// A collector that hangs must not keep the others waiting.
			polls.Go(func() { _ = c.world.Poll(ctx, c.o.Now()) }) // its error is that of ctx
			return true
		})
	})
	var err error
	failing := make(map[string]bool)
	every(ctx, c.o.Every, func() bool {
		c.logDomains(ctx, failing)
		if _, err = c.Tick(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
			c.o.Logger.Error("a tick failed", "controller", c.o.Name, "error", veil.Error(c.o.Sanitizer, err))
			err = nil
		}
		return err == nil
	})
	cancel()
	polls.Wait()
	c.Close()
	if errors.Is(err, store.ErrClosed) {
		return store.ErrClosed
	}
	return nil
}

// pollEvery is the time between two polls of Run, at most.
const pollEvery = time.Second

// every calls fn at once and then from time to time, until it returns false or ctx
// ends.
func every(ctx context.Context, d time.Duration, fn func() bool) {
	t := time.NewTicker(d)
	defer t.Stop()
	for fn() {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// storeGrace is how long Close waits once all were cut off: a dispatch may have an
// outcome to store.
const storeGrace = 10 * time.Second

// Close lets no further dispatch begin, waits for those under way for
// Options.Grace, and then cuts them off: the next Controller of the name resumes
// them. A dispatch that still waits for the store ten seconds later is left behind.
// Close is idempotent. The Runner must not call it during a dispatch.
func (c *Controller) Close() {
	c.closeOnce.Do(func() {
		c.mu.Lock()
		c.mu.closed = true
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), max(0, c.o.Grace))
		defer cancel()
		if c.Wait(ctx) == nil {
			return
		}
		c.mu.Lock()
		for _, f := range c.mu.flying {
			f.cancel(errClosing)
		}
		c.mu.Unlock()
		late, stop := context.WithTimeout(context.Background(), storeGrace)
		defer stop()
		_ = c.Wait(late) // what is left behind then hangs in the store
	})
}

// Wait waits until no dispatch is under way, or ctx ends, whose error it returns.
func (c *Controller) Wait(ctx context.Context) error {
	c.mu.Lock()
	busy, idle := c.mu.busy, c.mu.idle
	c.mu.Unlock()
	if busy == 0 {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Report returns what the last [Controller.Tick] has returned, such as one of
// [Controller.Run]: how each goal stands, and why nothing is done about it. It is
// the zero Report before the first. The slices are the caller's; what they refer to
// is that of the tick's own Report.
func (c *Controller) Report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.mu.report
	r.Goals, r.Ended = slices.Clone(r.Goals), slices.Clone(r.Ended)
	return r
}

// record keeps a report for [Controller.Report], and logs what has changed since the
// one before. Only Tick calls it.
func (c *Controller) record(ctx context.Context, r Report) {
	stood := make(map[string]Standing, len(r.Goals))
	for _, before := range c.Report().Goals {
		stood[before.Goal] = before
	}
	r.Goals, r.Ended = slices.Clone(r.Goals), slices.Clone(r.Ended)
	c.mu.Lock()
	c.mu.report = r
	c.mu.Unlock()
	for _, now := range r.Goals {
		before, known := stood[now.Goal]
		if now.Status == before.Status && now.Doing == before.Doing || !known && now.Status == Met {
			continue
		}
		level := slog.LevelInfo
		if now.Doing == Stuck {
			level = slog.LevelWarn
		} else if now.Status == before.Status {
			level = slog.LevelDebug
		}
		why := now.Why
		if why == "" && now.Status == Unknown { // else the reason has values of the world in it
			why = now.Reason
		}
		c.o.Logger.Log(ctx, level, "a goal stands differently",
			"controller", c.o.Name, "goal", now.Goal, "severity", now.Severity, "status", now.Status,
			"doing", now.Doing, "dispatch", now.Dispatch, "why", c.o.Sanitizer.Sanitize(why))
	}
}

// logDomains logs which collectors have begun to fail, or are well again. Failing are the
// domains of which it has logged that they fail.
func (c *Controller) logDomains(ctx context.Context, failing map[string]bool) {
	for _, d := range c.world.Domains(c.o.Now()) {
		log := c.o.Logger.With("controller", c.o.Name, "domain", d.Name)
		before := failing[d.Name]
		switch failing[d.Name] = d.Failures > 0; {
		case failing[d.Name] && !before:
			log.WarnContext(ctx, "a collector fails", "error", veil.Error(c.o.Sanitizer, d.Err))
		case !failing[d.Name] && before:
			log.InfoContext(ctx, "a collector is well again")
		}
	}
}

// Outcomes yields the outcomes that are kept, in the order in which their
// dispatches were admitted. It yields store.ErrDamaged for an entry that cannot be read,
// and goes on; another error, of ctx or of the store, is the last thing that it yields.
func (c *Controller) Outcomes(ctx context.Context) iter.Seq2[Outcome, error] {
	return c.ledger.all(ctx)
}
