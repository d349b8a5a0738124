package arc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/advice"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/register"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// Erase deletes all data of a scope and of the scopes below it: that of a user or, for a
// scope of one segment, of a tenant. It deletes runs with their outputs, memories with
// their vectors, identity, samples, sessions, experiments, and the jobs of queues, also
// those in progress. "" is memory.ErrScope here.
//
// A run touches the scope if it is in it, recalls from it, or writes its episodes there.
// Erase deletes such a run as a whole, with all that was learned from it in other scopes and
// derived from that, even if the run itself was deleted before. It also deletes the samples
// of deleted runs, since their scope is no longer known. Of a user's data only sums of the
// tenant stay, which contain no text.
//
// A run that cannot be read may touch the scope. It stays, and the error names it, once all
// else is deleted.
//
// The error is ErrRunning while a run that touches the scope is live, at any replica, and,
// for a whole tenant, while any call of the tenant is in progress; until Erase returns, the
// tenant's runs cannot begin or continue, and get ErrRunning. No other call may use the
// memory or identity of the scope meanwhile. After another error a part may be deleted: call
// Erase again. At the end Erase calls the store's method Purge, if it has one, after which
// Badger's files and PostgreSQL's tables do not hold the data either. Erasing backups is up
// to the host.
func (a *Agent) Erase(ctx context.Context, scope memory.Scope) error {
	if err := errors.Join(store.CheckContext(ctx), scope.Check()); err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	err := a.stilled(ctx, scope, whole(scope), func(ctx context.Context) error { return a.erase(ctx, scope) })
	if a.files != nil && (err == nil || codec.Unreadable(err)) {
		err = errors.Join(err, a.w.Flush(ctx), tend(ctx, a.files.Purge))
	}
	if err != nil {
		return fmt.Errorf("erase %q: %w", scope, err)
	}
	return nil
}

// touches reports whether the run touches a scope, or one below it: see Agent.Erase.
func (s *state) touches(scope memory.Scope) bool { return anyWithin(s.scopes(), scope) }

// anyWithin reports whether one of the scopes is a scope or below it.
func anyWithin(scopes []memory.Scope, scope memory.Scope) bool {
	return slices.ContainsFunc(scopes, func(of memory.Scope) bool { return of.Within(scope) })
}

// whole reports whether a scope is that of a whole tenant.
func whole(scope memory.Scope) bool { return string(scope) == scope.Tenant() }

// erase is Erase while no run of the scope is live, without the store's Purge. The runs go first,
// since they say which memories in other scopes, samples and sessions came from them; a part that
// was deleted is skipped by the next call. A whole tenant needs none of that: all of its keys go.
func (a *Agent) erase(ctx context.Context, scope memory.Scope) error {
	tenant := scope.Tenant()
	done, err := a.keepStill(ctx)
	if err != nil {
		return err
	}
	defer func() {
		a.erased.Add(1) // makes maintenance list the scopes again
		done()
	}()
	var damaged error
	if !whole(scope) {
		if damaged = a.eraseRuns(ctx, scope); damaged != nil && !codec.Unreadable(damaged) {
			return damaged
		}
	}
	if err := a.bank.Erase(ctx, scope); err != nil {
		return err
	}
	if err := queue.Erase(ctx, a.st, scope); err != nil {
		return err
	}
	if whole(scope) {
		return errors.Join(a.w.Flush(ctx), a.dropDue(ctx, tenant), a.dropAll(ctx, key.Under(tenant, "")))
	}
	below := key.Under(tenant, upkeepKeys, string(scope)+"/") // the time alone stays of one that is a hash
	return errors.Join(damaged, a.w.Add(ctx, store.Op{Key: upkeepKey(scope), Delete: true}), a.dropAll(ctx, below))
}

// dropDue deletes the tenant's runs from the index of due runs.
func (a *Agent) dropDue(ctx context.Context, tenant string) error {
	for d, err := range register.AllDue(ctx, a.st, 0) {
		if err == nil && d.Tenant == tenant {
			err = a.w.Add(ctx, store.Op{Key: d.Key, Delete: true})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stilled calls do while no run of the tenant can begin, at any replica. Here the roster refuses them,
// elsewhere the lease under stillKeys, which enter looks at. Live runs are looked for after both, so
// that none can begin unseen.
func (a *Agent) stilled(ctx context.Context, scope memory.Scope, alone bool, do func(context.Context) error) error {
	if err := a.still(ctx, scope, alone); err != nil {
		return err
	}
	defer a.resume(scope.Tenant())
	return byAnother(a.leases.Alone(ctx, key.Join(stillKeys, scope.Tenant()), func(ctx context.Context) error {
		if err := a.stillElsewhere(ctx, scope); err != nil {
			return err
		}
		return do(ctx)
	}))
}

// stillElsewhere returns an error while a run that touches the scope is live in another replica. It
// waits until this replica knows the commits of all others.
func (a *Agent) stillElsewhere(ctx context.Context, scope memory.Scope) error {
	if a.leases == nil {
		return nil
	}
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: key.Prefix(leaseKeys, scope.Tenant())}) {
		if err != nil {
			return err
		}
		id := key.Split(e.Key)[2]
		s, _, err := a.load(ctx, scope.Tenant(), id)
		if errors.Is(err, store.ErrNotFound) || err == nil && s.touches(scope) {
			err = owned(ctx, id, a.leases.Check(ctx, e.Key))
		}
		if err != nil {
			return err
		}
	}
	return a.bank.Await(ctx, memory.Latest)
}

// still keeps the tenant's runs from beginning until resume is called. It returns an error if a run
// that touches the scope is live. Alone, it also keeps all other calls from the tenant, and
// returns an error if one is in progress.
func (a *Agent) still(ctx context.Context, scope memory.Scope, alone bool) error {
	tenant := scope.Tenant()
	live, err := a.runs.Bar(tenant)
	if err != nil {
		return err
	}
	for _, id := range live {
		s, _, err := a.load(ctx, tenant, id)
		if errors.Is(err, store.ErrNotFound) || err == nil && s.touches(scope) {
			err = fmt.Errorf("%w: %q", ErrRunning, id)
		}
		if err != nil {
			a.resume(tenant)
			return err
		}
	}
	if alone && !a.tenants.Bar(tenant, errStill) {
		a.resume(tenant)
		return fmt.Errorf("%w: a call of the tenant is under way", ErrRunning)
	}
	return nil
}

// resume lets the tenant's runs begin again.
func (a *Agent) resume(tenant string) {
	a.runs.Lift(tenant)
	a.tenants.Lift(tenant)
	a.upkeep.Poke() // its runs may be due
}

// eraseRuns deletes the runs that touch a scope, and their effects in other scopes.
func (a *Agent) eraseRuns(ctx context.Context, scope memory.Scope) error {
	own, err := a.tenant(ctx, scope)
	if err != nil {
		return err
	}
	defer a.handBack(own)
	// Statistics do not say of which scope they are: samples have the keys of attempts, ledgers the
	// names of sessions. So what belongs to runs that stay is listed first, and all else goes.
	kept := make(map[string]bool) // keys of the attempts of runs that stay
	gone := make(map[string]bool) // sessions of deleted runs
	stay := make(map[string]bool) // sessions of runs that stay
	var damaged error             // runs that may touch the scope
	for s, err := range a.matching(ctx, scope, Filter{}) {
		if codec.Unreadable(err) {
			damaged = errors.Join(damaged, err)
			continue
		}
		if err != nil {
			return err
		}
		if !s.touches(scope) {
			attempts, _ := s.names()
			for _, k := range attempts {
				kept[k] = true
			}
			stay[s.Session] = true
			continue
		}
		if err := a.eraseRun(ctx, own, &s, scope); err != nil {
			return fmt.Errorf("run %q: %w", s.ID, err)
		}
		gone[s.Session] = true
	}
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: key.Under(own.name, taughtKeys, "")}) {
		var of taught
		if err == nil {
			err = codec.Decode(e, &of)
		}
		if codec.Unreadable(err) {
			damaged = errors.Join(damaged, err)
			continue
		}
		if err == nil && anyWithin(of.Scopes, scope) {
			parts := key.Split(e.Key)
			err = a.retract(ctx, own, of.Scopes, parts[len(parts)-1], scope)
			err = errors.Join(err, a.w.Add(ctx, store.Op{Key: e.Key, Delete: true}))
		}
		if err != nil {
			return err
		}
	}
	if err := own.ledgers.Erase(ctx, func(kind, name string) bool {
		ends := gone[name] || damaged == nil && !stay[name] // its run may be deleted already
		return kind == "scope" && memory.Scope(name).Within(scope) || kind == "session" && ends
	}); err != nil {
		return err
	}
	if err := own.learner.Forget(ctx, scope); err != nil {
		return err
	}
	err = own.proposals.Drop(ctx, func(p proposal.Proposal) bool { return tells(p, scope) })
	if err != nil && !codec.Unreadable(err) {
		return err
	}
	damaged = errors.Join(damaged, err)
	kept[""] = true // sums over many attempts have no key
	return errors.Join(damaged, own.book.Forget(ctx, func(s rank.Sample) bool { return !kept[s.Key] }))
}

// eraseRun deletes a run with its session, and what was learned from it in scopes that stay.
func (a *Agent) eraseRun(ctx context.Context, own *tenant, s *state, scope memory.Scope) error {
	if err := a.retract(ctx, own, s.scopes(), s.ID, scope); err != nil {
		return err
	}
	_, rev, err := a.load(ctx, own.name, s.ID)
	if err != nil {
		return err
	}
	if err := a.remove(ctx, own, s, rev); err != nil {
		return err
	}
	return own.monitor.Forget(ctx, s.Session)
}

// retract deletes what was learned from a run in those of its scopes that stay.
func (a *Agent) retract(ctx context.Context, own *tenant, scopes []memory.Scope, run string, gone memory.Scope) error {
	for _, of := range scopes {
		if of.Within(gone) {
			continue
		}
		_, err := a.bank.In(of).Revoke(ctx, memory.Source{Run: run})
		if err = errors.Join(err, own.monitor.Retract(ctx, string(of), run)); err != nil {
			return err
		}
	}
	return nil
}

// tells reports whether a proposal may quote runs or memories of a scope. Any that is not applied
// may; it is proposed again if what is left supports it.
func tells(p proposal.Proposal, scope memory.Scope) bool {
	var m advice.Memory
	return p.Status != "applied" || p.Kind == "memory" && advice.Decode(p.Change, &m) == nil && m.Scope.Within(scope)
}
