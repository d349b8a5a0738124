package arc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/pool"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// Open returns an Agent that keeps everything in dir, which is created if it
// is missing; with dir "" everything is kept in memory. Close closes the
// store. The errors are New's and those of badger.Open.
func Open(ctx context.Context, dir string, host Host, opts *Options) (*Agent, error) {
	if err := alive(ctx); err != nil {
		// Before anything is created on disk, as what follows.
		return nil, err
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
	a, err := build(ctx, st, host, opts)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	a.owned = true
	a.keepUp()
	return a, nil
}

// New returns an Agent over a store that the host has opened and will close, after
// the Agent.
// One error lists everything that is wrong with the host's parts and the
// options.
func New(ctx context.Context, st store.Store, host Host, opts *Options) (*Agent, error) {
	if err := checkHost(host, opts); err != nil {
		return nil, err
	}
	a, err := build(ctx, st, host, opts)
	if err != nil {
		return nil, err
	}
	a.keepUp()
	return a, nil
}

// build returns an Agent without its background. The host's parts are checked.
func build(ctx context.Context, st store.Store, host Host, opts *Options) (*Agent, error) {
	if guard.IsNil(st) {
		return nil, errors.New("arc: the store is nil")
	}
	if ctx == nil {
		return nil, errors.New("arc: the context is nil")
	}
	shared := flush.Share(guard.Store(st))
	a := &Agent{
		o: options(opts), st: shared, w: flush.New(shared),
		reasoner: host.Reasoner, sources: slices.Clone(host.Sources), skills: host.Skills,
	}
	a.watch, a.hooks.Limit = newObserver(&a.o), hookLimit
	runner, err := newRunner(host, &a.o)
	if err != nil {
		return nil, err
	}
	a.runner = runner
	a.mu.live, a.mu.erasing = make(map[runID]context.CancelFunc), make(map[string]bool)
	a.tenants = pool.New(a.openTenant, a.w.Flush, idleTenants)
	if err := a.openParts(ctx); err != nil {
		return nil, errors.Join(err, a.closeParts())
	}
	return a, nil
}

// options returns a copy of opts with the defaults filled in.
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
	for i, source := range host.Sources {
		if guard.IsNil(source) {
			errs = append(errs, fmt.Errorf("source %d is nil", i+1))
		}
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

// newRunner returns what makes attempts, or every problem with the host's workers
// and gates.
func newRunner(host Host, o *Options) (*act.Runner, error) {
	return act.NewRunner(act.Options{
		Workers: host.Workers, Gates: host.Gates, Approver: host.Approver,
		ApproveFrom: o.ApproveFrom, ApprovalTTL: o.ApprovalTTL,
		Timeout: o.AttemptTimeout, GateTimeout: o.GateTimeout,
		Sanitizer: o.Sanitizer, Now: o.Now,
	})
}

// openParts opens memory over the store, with the clock, seed and sanitizer of the
// Agent, and what it has of the default tenant.
func (a *Agent) openParts(ctx context.Context) (err error) {
	m := a.o.Memory
	m.Now, m.Seed, m.Sanitizer = a.o.Now, a.o.Seed, a.o.Sanitizer
	if a.watch != nil {
		m.Embedder = a.watch.Embedder(m.Embedder, a.o.Now)
	}
	if a.bank, err = memory.Open(ctx, a.st, &m); err != nil {
		return fmt.Errorf("arc: memory: %w", err)
	}
	a.o.Learn.Seed = cmp.Or(a.o.Learn.Seed, a.o.Seed)
	if err := a.adopt(ctx); err != nil {
		return fmt.Errorf("arc: records without a tenant: %w", err)
	}
	own, err := a.tenant(ctx, a.o.Scope) // whatever is wrong with the options shows now
	if err == nil {
		a.handBack(own)
	}
	return err
}

// openTenant opens ranking, monitor and learner of a tenant over the store.
func (a *Agent) openTenant(ctx context.Context, name string) (*tenant, error) {
	o, own := &a.o, &tenant{name: name}
	var err error
	own.book, err = rank.Open(ctx, a.st, &rank.Options{Now: o.Now, Seed: o.Seed, Sanitizer: o.Sanitizer, Tenant: name})
	if err != nil {
		return nil, fmt.Errorf("arc: rank: %w", err)
	}
	own.monitor, err = meta.Open(ctx, a.st, &meta.Options{
		Sanitizer: o.Sanitizer, Now: o.Now, Tenant: name,
		Apply: func(ctx context.Context, p meta.Proposal) (json.RawMessage, error) { return a.apply(ctx, own, p) },
	})
	if err == nil {
		err = own.heed(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("arc: meta: %w", err)
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

// closeParts closes what openParts has opened, and the store that Open has.
func (a *Agent) closeParts() error {
	var errs []error
	if a.bank != nil {
		errs = append(errs, a.bank.Close())
	}
	errs = append(errs, a.tenants.Close(func(own *tenant) error {
		return errors.Join(own.book.Close(), own.monitor.Close())
	}))
	if a.owned {
		errs = append(errs, a.st.Close())
	}
	return errors.Join(errs...)
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
		a.upkeep.Stop()
		select {
		case <-a.mu.idle:
		case <-ctx.Done():
		}
		a.mu.Lock()
		for _, cancel := range a.mu.live {
			cancel()
		}
		a.mu.Unlock()
		// The commits under way; executors that hang are left behind.
		<-a.mu.idle
		a.upkeep.Wait()
		a.closeErr = a.closeParts()
	})
	return a.closeErr
}

// Close is Shutdown with Options.Grace for the executors. A Close that is
// called while another Shutdown is waiting waits with it.
func (a *Agent) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), max(0, a.o.Grace))
	defer cancel()
	return a.Shutdown(ctx)
}
