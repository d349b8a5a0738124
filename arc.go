package arc

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/breaker"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/lease"
	"github.com/arc-learn/arc/internal/ledger"
	"github.com/arc-learn/arc/internal/pool"
	"github.com/arc-learn/arc/internal/quoted"
	"github.com/arc-learn/arc/internal/roster"
	"github.com/arc-learn/arc/internal/upkeep"
	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/internal/winddown"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// Open returns an Agent that stores everything in dir, which it creates if it is missing; with
// dir "" everything stays in memory. Close closes the store. The errors are those of New and
// badger.Open.
func Open(ctx context.Context, dir string, host Host, opts *Options) (*Agent, error) {
	if err := store.CheckContext(ctx); err != nil {
		// This and the next check come before anything is created on disk.
		return nil, err
	}
	o, runner, err := checked(host, opts)
	if err != nil {
		return nil, err
	}
	var st store.Store = store.NewMem()
	if dir != "" {
		disk, err := badger.Open(dir, &badger.Options{Logger: o.Logger})
		if err != nil {
			return nil, err
		}
		st = disk
	}
	a, err := build(ctx, st, host, o, runner)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	a.owned = true
	a.keepUp()
	return a, nil
}

// New returns an Agent over a store that the host has opened, and closes after the Agent. One
// error lists all problems with the host's parts and the options.
func New(ctx context.Context, st store.Store, host Host, opts *Options) (*Agent, error) {
	o, runner, err := checked(host, opts)
	if err != nil {
		return nil, err
	}
	a, err := build(ctx, st, host, o, runner)
	if err != nil {
		return nil, err
	}
	a.keepUp()
	return a, nil
}

// build returns an Agent whose background is not started. Host and options have been checked.
//
// It puts three layers over the host's store: guard.Store, which turns panics and hangs of the store
// into errors; the leases, if there are replicas; and the Writer, which holds back what a step learns
// until the step commits. After an error it closes what it has opened; the store stays open.
func build(ctx context.Context, st store.Store, host Host, o Options, runner *act.Runner) (*Agent, error) {
	if guard.IsNil(st) {
		return nil, errors.New("arc: the store is nil")
	}
	if err := store.CheckContext(ctx); err != nil {
		return nil, err
	}
	base := guard.Store(st)
	var leases *lease.Store
	if o.Replica != "" {
		leases = lease.New(base, o.Replica, o.Lease, o.Now)
		base = leases
	}
	shared := flush.Share(base)
	a := &Agent{
		writes: sync.Pool{New: func() any { return new(write) }},
		veils:  sync.Pool{New: func() any { return new(veil.Veil) }},
		o:      o, st: shared, w: flush.New(shared), leases: leases,
		reasoner: host.Reasoner, sources: slices.Clone(host.Sources), secrets: host.Secrets,
		runner: runner, asks: host.Approver != nil,
		skills: quoted.Skills{Names: slices.Sorted(maps.Keys(host.Skills)), All: maps.Clone(host.Skills)},
	}
	a.keeping = make(chan struct{}, 1)
	a.files, _ = st.(filer) // nil: st has no method Purge
	var err error
	if a.o.Sanitizer, err = veil.Keyed(ctx, shared, a.o.Sanitizer); err != nil {
		return nil, fmt.Errorf("arc: %w", err)
	}
	a.watch, a.hooks.Limit = newObserver(&a.o), hookLimit
	a.runs, a.opened = roster.New(ErrRunning, errStill), make(chan struct{})
	a.upkeep = upkeep.New()
	a.tenants = pool.New(a.openTenant, a.w.Flush, idleTenants, nil, nil, nil)
	if a.leases != nil {
		err = a.beside(ctx, st)
	}
	if err == nil {
		err = a.openParts(ctx)
	}
	if err != nil {
		return nil, veil.Error(a.o.Sanitizer, errors.Join(err, a.Close()))
	}
	close(a.opened)
	return a, nil
}

// options returns a copy of opts with the defaults filled in.
func options(host Host, opts *Options) Options {
	var o Options
	if opts != nil {
		o = *opts
	}
	// A ladder of workers by price is climbed to its end, unless the host bounds the attempts. Without
	// an Approver a person answers by View.Rule, who may not be there before tomorrow.
	if o.Spend > 0 || o.Worth.Success > 0 {
		o.Attempts = cmp.Or(o.Attempts, len(host.Workers))
	}
	if host.Approver == nil {
		o.ApprovalTTL = cmp.Or(o.ApprovalTTL, 24*time.Hour)
	}
	o.fill()
	return o
}

// fill puts the defaults where a field is zero.
func (o *Options) fill() {
	o.Scope = cmp.Or(o.Scope, "local")
	o.Attempts = cmp.Or(o.Attempts, 3)
	o.Refusals = cmp.Or(o.Refusals, 3)
	o.ReasonTimeout = cmp.Or(o.ReasonTimeout, 10*time.Minute)
	o.AttemptTimeout = cmp.Or(o.AttemptTimeout, 10*time.Minute)
	o.GateTimeout = cmp.Or(o.GateTimeout, 10*time.Minute)
	o.ApprovalTTL = cmp.Or(o.ApprovalTTL, time.Minute)
	o.Patience = cmp.Or(o.Patience, 2*time.Minute)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.Maintain = cmp.Or(o.Maintain, 24*time.Hour)
	o.Budget.Steps = cmp.Or(o.Budget.Steps, 1000)
	o.Lease = cmp.Or(o.Lease, 15*time.Second)
	o.ReadYourWrites = cmp.Or(o.ReadYourWrites, time.Second)
	o.Retention.Age = cmp.Or(o.Retention.Age, 90*24*time.Hour)
	o.Retention.Count = max(o.Retention.Count, 0)
	o.Retention.Samples = cmp.Or(o.Retention.Samples, 400*24*time.Hour)
	if o.Policy == nil {
		o.Policy = func(b *rank.Book) rank.Policy { return b.Learned(nil) }
	}
	o.Logger = guard.Logger(o.Logger)
	o.Now = guard.Clock(o.Now)
	if o.Seed == 0 {
		var b [8]byte
		crand.Read(b[:]) // never returns an error
		o.Seed = binary.LittleEndian.Uint64(b[:]) | 1
	}
}

// check returns every value that is out of range, after fill.
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
	if o.Pivot < PivotFlag || o.Pivot > PivotAsk {
		errs = append(errs, fmt.Errorf("option Pivot: unknown policy %d", o.Pivot))
	}
	errs = append(errs, key.CheckID("option Name", o.Name), key.CheckID("option Replica", o.Replica))
	if least := 5 * time.Second; o.Lease < least { // three renewals, at least a second apart
		errs = append(errs, fmt.Errorf("option Lease: %v is less than %v", o.Lease, least))
	}
	if err := o.Scope.Check(); err != nil {
		errs = append(errs, fmt.Errorf("option Scope: %w", err))
	}
	for _, b := range [...]struct {
		name string
		Budget
	}{
		{"Budget", o.Budget}, {"Bounds.Session", o.Bounds.Session},
		{"Bounds.Scope", o.Bounds.Scope}, {"Bounds.Day", o.Bounds.Day},
	} {
		if err := ledger.Amount(b.Budget).Check(); err != nil {
			errs = append(errs, fmt.Errorf("option %s.%w", b.name, err))
		}
	}
	if !(o.Spend >= 0 && o.Spend <= rank.MaxCostUSD) {
		errs = append(errs, fmt.Errorf("option Spend: %v is not an amount of US dollars", o.Spend))
	}
	if w := o.Worth; !(w.Success >= 0 && w.Success <= rank.MaxCostUSD && w.Second >= 0 && w.Second <= rank.MaxCostUSD) {
		errs = append(errs, fmt.Errorf("option Worth: Success %v, Second %v are no US dollars", w.Success, w.Second))
	}
	return errors.Join(errs...)
}

// checked returns the options with their defaults and the Runner, or all problems with the
// host's parts and the options.
func checked(host Host, opts *Options) (o Options, runner *act.Runner, err error) {
	o = options(host, opts)
	if host.Reasoner != nil && guard.IsNil(host.Reasoner) {
		err = errors.New("the reasoner is nil")
	}
	for i, source := range host.Sources {
		if guard.IsNil(source) {
			err = errors.Join(err, fmt.Errorf("source %d is nil", i+1))
		}
	}
	runner, badHost := act.NewRunner(act.Options{
		Workers: host.Workers, Gates: host.Gates, Approver: host.Approver, Interceptors: host.Interceptors,
		ApproveFrom: o.ApproveFrom, ApproveAbove: o.ApproveAbove, ApprovalTTL: o.ApprovalTTL,
		Timeout: o.AttemptTimeout, GateTimeout: o.GateTimeout,
		Now: o.Now,
	})
	_, badLearn := learn.New(nil, nil, nil, &o.Learn)
	if err = errors.Join(err, o.check(), badHost, badLearn); err != nil {
		return o, nil, fmt.Errorf("arc: %w", err)
	}
	return o, runner, nil
}

// SetWorkers replaces the workers while runs continue, for example after a file of
// act.LoadActions has changed. It replaces all of them, or none and returns an error that lists
// all problems.
//
// An attempt in flight ends with the worker and the gates with which it began. If a worker is
// gone before its attempt begins, the run takes another worker; if the Objective is Once the
// attempt counts as failed. A worker is identified by its name: pending approvals, and what was
// learned about a worker, pass to the new worker of that name. So give a worker that does
// something else another name.
func (a *Agent) SetWorkers(workers []act.Worker) error {
	if err := a.runner.SetWorkers(workers); err != nil {
		return fmt.Errorf("arc: the workers are as before: %w", err)
	}
	return nil
}

// openParts opens the memory over the store, with the Agent's clock, seed and sanitizer, and
// the default tenant. Before any tenant is used it moves what earlier versions have stored under
// other keys, so that all else reads one layout.
func (a *Agent) openParts(ctx context.Context) (err error) {
	m := a.o.Memory
	m.Now, m.Seed, m.Sanitizer, m.Shared = a.o.Now, a.o.Seed, a.o.Sanitizer, a.leases != nil
	m.Home = func(tenant string) bool { return a.atHome(memory.Scope(tenant)) }
	if a.watch != nil {
		m.Embedder = a.watch.Embedder(m.Embedder, a.o.Now)
	}
	if a.bank, err = memory.Open(ctx, a.st, &m); err != nil {
		return fmt.Errorf("arc: memory: %w", err)
	}
	if err = identity.Adopt(ctx, a.st, a.bank); err != nil {
		return fmt.Errorf("arc: %w", err)
	}
	a.o.Learn.Seed = cmp.Or(a.o.Learn.Seed, a.o.Seed)
	if err := a.adopt(ctx); err != nil {
		return fmt.Errorf("arc: records without a tenant: %w", err)
	}
	own, err := a.tenant(ctx, a.o.Scope) // so that New returns errors of the tenant's options
	if err == nil {
		a.handBack(own)
	}
	return err
}

// idleTenants is how many tenants stay in memory while no call uses them.
const idleTenants = 64

// openTenant opens ranking, monitor, proposals and learner of a tenant over the store. The pool calls
// it when a tenant is used that is not in memory, once for all calls that wait for it.
func (a *Agent) openTenant(ctx context.Context, name string) (*tenant, error) {
	o, own := &a.o, &tenant{
		name: name, ledgers: ledger.Open(a.st, a.w, name, a.leases != nil), deciding: make(chan struct{}, 1),
	}
	var err error
	own.book, err = rank.Open(ctx, a.st, &rank.Options{
		Now: o.Now, Seed: o.Seed, Sanitizer: o.Sanitizer, Tenant: name, Calibrated: true, Shared: a.leases != nil,
		Damaged: func(err error) {
			o.Logger.Error("a record of the workers' statistics is left out", "error", o.Sanitizer.Sanitize(err.Error()))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("arc: rank: %w", err)
	}
	own.monitor, err = meta.Open(ctx, a.st, &meta.Options{
		Sanitizer: o.Sanitizer, Now: o.Now, Tenant: name, Shared: a.leases != nil,
	})
	if err != nil {
		return nil, fmt.Errorf("arc: meta: %w", err)
	}
	own.proposals, err = proposal.Open(ctx, a.st, &proposal.Options{
		Sanitizer: o.Sanitizer, Now: o.Now, Tenant: name,
		Apply: func(ctx context.Context, p proposal.Proposal) (json.RawMessage, error) { return a.apply(ctx, own, p) },
	})
	own.heed = func(ctx context.Context) error { return a.heed(ctx, own) }
	if err == nil {
		err = own.heed(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("arc: %w", err)
	}
	if own.breakers, err = breaker.Load(ctx, a.st, name); err != nil {
		return nil, fmt.Errorf("arc: %w", err)
	}
	if lost := guard.Call(func() { own.policy = o.Policy(own.book) }); lost != nil {
		return nil, fmt.Errorf("arc: Policy: %w", lost)
	}
	if guard.IsNil(own.policy) {
		return nil, errors.New("arc: Policy returned nil")
	}
	if !guard.Own(own.policy) {
		own.policy = hostPolicy{own.policy}
	}
	if own.learner, err = learn.New(a.bank, own.book, own.monitor, &o.Learn); err != nil {
		return nil, fmt.Errorf("arc: %w", err)
	}
	return own, nil
}

// policyTimeout bounds one ranking by a host's policy.
const policyTimeout = 10 * time.Second

// hostPolicy wraps a host's policy, which may panic, hang, or end its goroutine.
type hostPolicy struct{ theirs rank.Policy }

// Score implements rank.Policy. A policy of the host may rank fewer candidates than it was given. What it
// returns beyond these is left out.
func (p hostPolicy) Score(ctx context.Context, in rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
	ranking, err := guard.Do(ctx, policyTimeout, func(ctx context.Context) ([]rank.Scored, error) {
		return p.theirs.Score(ctx, in, cs)
	})
	var known []rank.Scored // without unknown and repeated candidates
	for _, s := range ranking {
		offered := func(c rank.Candidate) bool { return c.Name == s.Candidate.Name }
		again := func(k rank.Scored) bool { return offered(k.Candidate) }
		if slices.ContainsFunc(cs, offered) && !slices.ContainsFunc(known, again) {
			known = append(known, s)
		}
	}
	return known, err
}

// parts returns what Shutdown ends, in order: each part may use those after it, so the store is the
// last. Once the caller's time is up, a part that hangs is left behind and the next one ends.
func (a *Agent) parts() []winddown.Part {
	return []winddown.Part{
		winddown.Named("runs", func() error { <-a.runs.Idle(); return nil }),
		winddown.Named("background", func() error {
			a.upkeep.Wait()
			if a.peers != nil {
				a.peers.Depart()
			}
			return nil
		}),
		winddown.Named("memory", func() error {
			if a.bank == nil { // New has failed
				return nil
			}
			return a.bank.Close()
		}),
		winddown.Named("tenants", func() error {
			return a.tenants.Close(func(own *tenant) error { return errors.Join(own.book.Close(), own.monitor.Close()) })
		}),
		winddown.Named("store", func() error {
			a.st.Shut() // so that a part that was left behind commits nothing more
			if a.owned {
				return a.st.Close()
			}
			return nil
		}),
	}
}

// BusyError is the error of a Shutdown or Close whose time was up before all parts of the Agent
// had ended. The parts that it names are left behind: they end when the host's code that they
// wait for returns, and commit nothing more. A later Shutdown waits for them, and returns nil
// once they have ended.
type BusyError struct {
	// Parts are runs, such as `run "acme/door"`, and "background", "memory",
	// "tenants" and "store".
	Parts []string
}

// Error names the parts.
func (e *BusyError) Error() string { return "arc: left behind: " + strings.Join(e.Parts, ", ") }

// Shutdown refuses new runs, lets live runs finish their current step, and waits for them until
// ctx ends; then it cancels their executors. It ends the background, closes what the Agent has
// opened, and returns at the latest a second after the end of ctx, with a *[BusyError] if a part
// hangs. Unfinished runs can be resumed when the Agent is opened again.
//
// Shutdown and Close may be called again, and concurrently: each waits no longer than its own
// ctx, and the first ctx that ends cancels the executors.
func (a *Agent) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return store.CheckContext(ctx)
	}
	a.closeOnce.Do(func() {
		a.runs.Close()
		a.upkeep.Stop()
		a.ending = winddown.Begin(a.parts()...)
	})
	left, err := a.ending.Wait(ctx, a.runs.Cancel)
	if len(left) == 0 {
		return err
	}
	if left[0] == "runs" {
		left = left[1:]
		for _, run := range slices.Backward(a.runs.Live()) {
			left = slices.Insert(left, 0, fmt.Sprintf("run %q", run.Tenant+"/"+run.Run))
		}
	}
	return &BusyError{left}
}

// Close is Shutdown with a context of Options.Grace. It returns at the latest a second after
// that.
func (a *Agent) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), max(0, a.o.Grace))
	defer cancel()
	return a.Shutdown(ctx)
}
