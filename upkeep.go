package arc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/register"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
	"golang.org/x/sync/errgroup"
)

const (
	// firstLook is how long after it was opened an Agent looks for due runs for the first time,
	// so that a host that calls ResumeDue itself comes first.
	firstLook = time.Second
	// together is how many runs are resumed at a time.
	together = 8
)

// keepUp starts the background of an Agent, which Shutdown ends. Each of its parts does what is
// due, and returns when more is, in Unix nanoseconds, or 0 if it does not know. The Agent looks
// again after longestWait at the latest, since other Agents may use the store.
func (a *Agent) keepUp() {
	parts := []func() int64{a.renewSome, a.resumeSome, a.maintainSome}
	a.upkeep.Start(firstLook, func() time.Duration {
		pause := longestWait
		for _, do := range parts {
			if at := do(); at != 0 {
				pause = min(pause, time.Duration(at-a.o.Now().UnixNano()))
			}
		}
		return max(pause, time.Second)
	})
}

// resumeSome starts to resume due runs, up to together at a time. Those beyond are found again when
// one of these has ended. A run that could not be resumed is due later (postpone), so that it does
// not keep others from their turn.
func (a *Agent) resumeSome() int64 {
	ctx := context.Background() // enter derives one that Shutdown ends
	due, next, err := a.dueRuns(ctx)
	if err != nil {
		a.o.Logger.Error("what is due could not be read", "error", a.o.Sanitizer.Sanitize(err.Error()))
	}
	for _, d := range due {
		letGo := a.upkeep.Take(d.Key, together)
		if letGo == nil {
			continue // when the live call ends it pokes
		}
		a.upkeep.Go(func() {
			err := a.goOn(ctx, d)
			letGo(err == nil)
			if err != nil && !errors.Is(err, ErrRunning) && !a.runs.Closing() {
				a.logDue(d.ID, err)
			}
		})
	}
	return next
}

// ResumeDue resumes the runs that are Waiting and whose Report.Next has come. It waits until
// each of them has ended, asks, or waits again, and returns how many there were. An open
// Agent does the same in the background, a few runs at a time; ResumeDue is for hosts that
// open an Agent for a short time. The error joins those of single runs, which are due again
// later. If ctx ends, runs stop at their last commit, and are due a second later.
func (a *Agent) ResumeDue(ctx context.Context) (int, error) {
	if err := store.CheckContext(ctx); err != nil {
		return 0, err
	}
	due, _, err := a.dueRuns(ctx)
	if err != nil && len(due) == 0 {
		return 0, err
	}
	taken := a.upkeep.Taken()
	n, errs := len(taken), append(make([]error, len(due)), err)
	var all errgroup.Group
	all.SetLimit(together)
	for i, d := range due {
		letGo := a.upkeep.Take(d.Key, math.MaxInt)
		if letGo == nil {
			continue // is being resumed already
		}
		n++
		all.Go(func() error {
			defer letGo(true)
			if err := a.goOn(ctx, d); !errors.Is(err, ErrRunning) {
				errs[i] = err
			}
			return nil
		})
	}
	_ = all.Wait() // its errors are in errs
	for _, gone := range taken {
		select {
		case <-gone:
		case <-ctx.Done():
		}
	}
	return n, errors.Join(errs...)
}

// maintainSome starts to maintain the scopes that are due, one after another, so that runs keep the
// machine. maintained holds when the next scope is due, or math.MaxInt64 while one is maintained.
func (a *Agent) maintainSome() int64 {
	if a.o.Maintain < 0 {
		return 0
	}
	now := a.o.Now().UnixNano()
	at := a.maintained.Load()
	if now < at && (at == math.MaxInt64 || at-now <= int64(a.o.Maintain)) { // further ahead: the clock was put back
		return min(at, now+int64(longestWait))
	}
	a.maintained.Store(math.MaxInt64) // in progress
	a.upkeep.Go(func() {
		names := a.names()
		next := a.maintainDue(a.upkeep.Context(), now)
		if a.names() != names {
			next = now // other tenants are at home here now
		}
		a.maintained.Store(next)
	})
	return 0
}

// maintainDue maintains the scopes at home here that were written to since they were last
// maintained, if Options.Maintain has passed since, and returns when the next scope is due.
func (a *Agent) maintainDue(ctx context.Context, now int64) int64 {
	next := now + int64(a.o.Maintain)
	if a.pruned+int64(a.o.Maintain) <= now || a.pruned > now { // tenants that are idle have old runs too
		prune := func(ctx context.Context) error { return a.prune(ctx, time.Unix(0, now)) }
		err := a.leases.Alone(ctx, maintainKey, prune)
		if err != nil && !another(err) && ctx.Err() == nil {
			a.o.Logger.Error("what is old could not be deleted", "error", a.o.Sanitizer.Sanitize(err.Error()))
		}
		if files, ok := a.files.(interface{ Maintain(context.Context) error }); ok {
			if err := tend(ctx, files.Maintain); err != nil && ctx.Err() == nil {
				a.o.Logger.Error("the store's files could not be maintained", "error", a.o.Sanitizer.Sanitize(err.Error()))
			}
		}
		a.pruned = now
	}
	// An Erase between two scopes may delete some that are still listed: then the list is read again.
	// Within one scope keepStill holds Erase back.
	erased := a.erased.Load()
	for scope, written := range a.bank.Scopes() {
		if !a.atHome(scope) {
			continue
		}
		done, err := a.keepStill(ctx)
		if err != nil || a.erased.Load() != erased {
			done()
			return now // the list of scopes is outdated
		}
		due, err := a.maintainOne(ctx, scope, written, now)
		done()
		if err != nil && ctx.Err() == nil {
			a.o.Logger.Error("a scope could not be maintained", "error", a.o.Sanitizer.Sanitize(err.Error()))
			due = now + int64(time.Hour)
		}
		if due > now {
			next = min(next, due)
		}
	}
	return next
}

// maintainAll maintains a scope: its memories, or its identity.
func (a *Agent) maintainAll(ctx context.Context, scope memory.Scope) error {
	of, apart := strings.CutSuffix(string(scope), "/"+memory.Apart)
	if !apart {
		_, err := a.Maintain(ctx, scope)
		return err
	}
	me, err := a.identity(memory.Scope(of))
	if err == nil {
		_, err = me.Maintain(ctx)
	}
	return err
}

// fading is how long an identity that is not written to waits for its next maintenance: its facts
// fade all the same, and its events are rolled up at that age.
const fading = 30 * 24 * time.Hour

// maintainOne maintains a scope if it is due, and returns when it is due next; 0: when it is
// written to.
func (a *Agent) maintainOne(ctx context.Context, scope memory.Scope, written time.Time, now int64) (int64, error) {
	k := upkeepKey(scope)
	var last maintainedAt
	e, err := a.st.Get(ctx, k)
	if err == nil {
		err = codec.Decode(e, &last)
	}
	if errors.Is(err, store.ErrDamaged) {
		err = store.ErrNotFound // it is written anew
	}
	seen := err == nil && last.At-now <= int64(a.o.Maintain) // later: the clock was put back
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	// A scope is maintained a period after its first writes are seen, not at once: a new Agent on a
	// large store would begin with all of it. The time is stored after the work, so that work that
	// was cut off is done again; all of it is idempotent.
	due, idle := last.At+int64(a.o.Maintain), seen && written.UnixNano() < last.At
	if idle && strings.HasSuffix(string(scope), "/"+memory.Apart) {
		due, idle = last.At+int64(max(a.o.Maintain, fading)), false
	}
	switch {
	case idle:
		return 0, nil
	case seen && due > now:
		return due, nil
	case seen:
		err := a.leases.Alone(ctx, key.Join(maintainKey, scope.Tenant()), func(ctx context.Context) error {
			return a.maintainAll(ctx, scope)
		})
		if another(err) { // another replica still counts it as its own
			return now + int64(a.o.Lease), nil
		}
		if err != nil {
			return 0, err
		}
	}
	return now + int64(a.o.Maintain), a.keepTime(ctx, k, now)
}

// maintainKey is the lease of the replica that prunes, and with a tenant that of the replica that
// maintains the tenant.
const maintainKey = "arc/maintains"

// prune deletes what Options.Retention does not keep, in all tenants.
func (a *Agent) prune(ctx context.Context, now time.Time) error {
	tenants, err := register.Tenants(ctx, a.st)
	for _, name := range tenants { // an error of one does not keep the others waiting
		err = errors.Join(err, a.pruneTenant(ctx, memory.Scope(name), now))
	}
	return err
}

// pruneTenant is prune for one tenant. A run that is live, or has changed meanwhile, stays until
// the next prune.
func (a *Agent) pruneTenant(ctx context.Context, scope memory.Scope, now time.Time) error {
	r := &a.o.Retention
	var pruned error
	if r.Age > 0 || r.Count > 0 {
		if pruned = a.pruneRuns(ctx, scope, now); pruned != nil && !codec.Unreadable(pruned) {
			return pruned
		}
	}
	return errors.Join(pruned, a.pruneRest(ctx, scope, now))
}

// pruneRest is pruneTenant for what is no run: jobs that are done, proposals that are closed and have
// no effect, and samples. An applied proposal stays, since it can be undone.
func (a *Agent) pruneRest(ctx context.Context, scope memory.Scope, now time.Time) error {
	r := &a.o.Retention
	own, err := a.tenant(ctx, scope)
	if err != nil {
		return err
	}
	defer a.handBack(own)
	if r.Age > 0 {
		if err := queue.Prune(ctx, a.st, scope, now.Add(-r.Age)); err != nil {
			return err
		}
		err := own.proposals.Drop(ctx, func(p proposal.Proposal) bool { return over(p) && p.Decided.Before(now.Add(-r.Age)) })
		if err != nil && !errors.Is(err, store.ErrDamaged) { // of which Health tells
			return err
		}
	}
	if r.Samples < 0 {
		return nil
	}
	old := now.Add(-r.Samples)
	return own.book.Forget(ctx, func(s rank.Sample) bool { return s.At.Before(old) })
}

// pruneRuns deletes finished runs of a tenant that exceed Retention's Age or Count. A run that waits or
// asks stays, however old it is. One that cannot be read stays too, and the error names it: it may
// be all that is left of what it did.
func (a *Agent) pruneRuns(ctx context.Context, scope memory.Scope, now time.Time) error {
	r := &a.o.Retention
	in := register.List{To: register.End, Prefixes: []string{
		register.OfStatus(scope.Tenant(), string(Delivered)), register.OfStatus(scope.Tenant(), string(Blocked)),
	}}
	old := register.End
	if r.Age > 0 {
		old = register.At(now.Add(-r.Age))
	}
	// The index lists the latest first: without a Count, only what is old is read.
	if r.Count == 0 {
		in.From = old
	}
	var damaged error
	n := 0
	for place, err := range in.Places(ctx, a.st, "") {
		if err != nil {
			return errors.Join(err, damaged)
		}
		if n++; place < old && (r.Count == 0 || n <= r.Count) {
			continue
		}
		err := a.discard(ctx, scope, register.ID(place), (*state).settled)
		if err != nil && !errors.Is(err, ErrRunning) && !errors.Is(err, store.ErrNotFound) {
			if !codec.Unreadable(err) {
				return err
			}
			damaged = errors.Join(damaged, err)
		}
	}
	return damaged
}

// settled reports whether the run is finished. A Blocked one may still be retried.
func (s *state) settled() bool { return s.Status == Delivered || s.Status == Blocked }

// over reports whether a proposal is closed and has no effect.
func over(p proposal.Proposal) bool {
	return slices.Contains([]string{"rejected", "expired", "failed", "undone"}, p.Status)
}

// Upkeep is what [Agent.Maintain] did.
type Upkeep struct {
	learn.MaintenanceReport
	// Proposals are those that follow from the analysis, new or not, and that no person has
	// decided about.
	Proposals []proposal.Proposal
}

// Maintain maintains a scope, and proposes changes. It archives memories that are old
// and unused, merges memories that say the same, and deletes the runs of the scope's tenant
// that Options.Retention does not keep. It analyses how the tenant's workers did, what
// people were asked, and which memories mislead: what keeps failing becomes a proposal,
// about which a person decides; see [View.Proposals]. The scope "" is Options.Scope.
// Maintain is idempotent, and safe beside all calls but those of Erase and Import. If the
// error is that a run could not be read, all else was done.
func (a *Agent) Maintain(ctx context.Context, scope memory.Scope) (up Upkeep, err error) {
	scope = cmp.Or(scope, a.o.Scope)
	own, err := a.tenant(ctx, scope)
	if err != nil {
		return up, err
	}
	defer a.handBack(own)
	pruned := a.pruneTenant(ctx, scope, a.o.Now())
	if pruned != nil {
		pruned = fmt.Errorf("maintain: %w", pruned)
	}
	if pruned != nil && !codec.Unreadable(pruned) {
		return up, pruned
	}
	if up.MaintenanceReport, err = own.learner.Maintain(ctx, scope); err != nil {
		return up, err
	}
	drafts, err := a.analyse(ctx, own, scope)
	if err != nil {
		return up, fmt.Errorf("maintain: %w", err)
	}
	for _, d := range drafts {
		p, err := own.proposals.Propose(ctx, d)
		if err != nil {
			return up, fmt.Errorf("maintain: %w", err)
		}
		if p.Decided.IsZero() {
			up.Proposals = append(up.Proposals, p)
		}
	}
	return up, pruned
}
