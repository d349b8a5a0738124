package arc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/internal/adopt"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/lease"
	"github.com/arc-learn/arc/internal/outputs"
	"github.com/arc-learn/arc/internal/register"
	"github.com/arc-learn/arc/internal/roster"
	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// The first parts of the keys of this package.
const (
	// runKeys lead from a run id to its state.
	runKeys = "run"
	// jobKeys lead to what a Queue stores.
	jobKeys = "queue"
	// spoolKeys lead, under a tenant, to the pieces of an import that is being checked.
	spoolKeys = "import"
	// leaseKeys lead to the leases of runs that are live in replicas, by tenant and id.
	leaseKeys = "arc/lease"
)

// stillKeys lead from a tenant to the lease of the replica that erases, exports or imports in it.
const stillKeys = "arc/still"

func leaseKey(run roster.ID) string { return key.Join(leaseKeys, run.Tenant, run.Run) }

// taughtKeys lead from a deleted run to the scopes that it touched: what was learned from it stays,
// and is erased with any of them.
const taughtKeys = "taught"

// taught is what is stored under taughtKeys.
type taught struct {
	Scopes []memory.Scope `cbor:"1,keyasint,omitempty"`
}

// upkeepKeys lead from a scope to when it was last maintained.
const upkeepKeys = "upkeep"

// upkeepKey returns the key of the time when a scope was last maintained.
func upkeepKey(scope memory.Scope) string {
	return key.Under(scope.Tenant(), upkeepKeys, partOf(scope))
}

// maintainedAt is what is stored under upkeepKeys, in Unix nanoseconds.
type maintainedAt struct {
	At int64 `cbor:"1,keyasint,omitempty"`
}

// keepTime stores the time when a scope was maintained.
func (a *Agent) keepTime(ctx context.Context, k string, at int64) error {
	value, err := codec.Encode(k, maintainedAt{at})
	if err == nil {
		_, err = a.st.Commit(ctx, store.Op{Key: k, Value: value})
	}
	return err
}

// runKey returns the key of a run.
func runKey(tenant, id string) string { return key.Under(tenant, runKeys, id) }

// listed returns the run's entry in the index.
func (s *state) listed() register.Run {
	o := &s.Objective
	return register.Run{Tenant: o.Scope.Tenant(), ID: s.ID, Session: o.Session, Began: s.Started}
}

// write holds the memory of one commit of a state, for reuse: stores keep no reference to it.
type write struct {
	buf []byte
	ops []store.Op
}

// committer commits ops together: the store, or the parts' Writer, which adds what they have
// learned.
type committer interface {
	Commit(ctx context.Context, ops ...store.Op) (store.Revision, error)
}

// commit writes the run after a step, and what the step has learned, in one commit. The stored
// run must still be as it was at rev (0: not stored yet).
func (t *turn) commit(ctx context.Context, rev store.Revision) (store.Revision, error) {
	var to committer = t.a.st
	if t.learned {
		to = t.a.w
	}
	t.s.Wait.Due = t.due()
	if t.a.leases != nil { // saves an allocation
		lease.Of(ctx).Keep(t.s.Status == Running || t.abiding)
	}
	// What belongs to the step beside the run: its worker's breaker, and the run's place among those
	// that are due. A place that has not changed is not written again.
	var index []store.Op
	if t.heard.Key != "" {
		index = append(index, t.heard)
	}
	if was, is := t.listed, t.s.Wait.Due; was != is {
		if was != 0 {
			index = append(index, store.Op{Key: t.s.listed().ByTime(was), Delete: true})
		}
		if is != 0 {
			index = append(index, t.s.listed().Enlist(is, t.s.set(t.a.o.Now().UnixNano())))
		}
	}
	var next store.Revision
	err := t.pay(ctx, rev == 0, func(ctx context.Context, ledgers ...store.Op) (_ store.Revision, err error) {
		next, err = t.a.commit(ctx, to, t.key, &t.s, t.veil, t.was, rev, append(slices.Clip(index), ledgers...)...)
		return next, err
	})
	if err == nil {
		t.listed, t.was = t.s.Wait.Due, t.s.Status
		t.keepBreaker()
	}
	if t.s.Status == Waiting {
		t.a.upkeep.Poke()
	}
	return next, err
}

// keepBreaker tries to store the state of the worker's breaker after the step. Breakers are advice:
// an error is ignored.
func (t *turn) keepBreaker() {
	for op := t.heard; op.Key != ""; {
		if op = t.own.breakers.Newer(op); op.Key == "" {
			return
		}
		if _, err := t.a.st.Commit(context.Background(), op); err != nil { // without the run's lease
			return
		}
	}
}

// commit writes a run through a committer, and moves it in the index from its former status to the
// present one. Index has the ops for the index of due runs. No other function writes runs. The
// veil hides secrets; nil: the run has none of its own.
func (a *Agent) commit(
	ctx context.Context, to committer, k string, s *state, v *veil.Veil, was Status, rev store.Revision, index ...store.Op,
) (store.Revision, error) {
	w := a.writes.Get().(*write)
	defer a.writes.Put(w)
	if v == nil {
		v = a.veilFor(nil)
		defer a.veils.Put(v)
	}
	// One pass encodes the state and looks for secrets in each of its texts. Only if it finds one,
	// which is rare, is the state copied, hidden, and encoded again.
	value, err := codec.AppendSeen(w.buf[:0], k, s, v.See)
	if err == nil && v.Found {
		kept := keptState(v, s)
		value, err = codec.Append(w.buf[:0], k, &kept)
	}
	if err == nil {
		err = codec.Short(value) // or Export could not write the run
	}
	if err != nil {
		return 0, fmt.Errorf("run %q: %w", s.ID, err)
	}
	w.buf = append(value, s.Objective.Scope...)
	scope := w.buf[len(value):]
	w.ops = append(w.ops[:0], store.Op{Key: k, Value: value, If: store.At(rev)})
	listed := s.listed()
	if k := listed.BySession(); rev == 0 && k != "" {
		w.ops = append(w.ops, store.Op{Key: k})
	}
	var keys key.Block
	if rev == 0 || was != s.Status {
		keys.Grow(2 * (len(s.Objective.Scope) + len(s.ID) + 48)) // for both keys
		w.ops = append(w.ops, store.Op{Key: listed.ByStatus(&keys, string(s.Status)), Value: scope})
	}
	if rev != 0 && was != s.Status {
		w.ops = append(w.ops, store.Op{Key: listed.ByStatus(&keys, string(was)), Delete: true})
	}
	// Jobs that wait for this run become due with the commit that they wait for. The job that works
	// on the run now needs no mark: it sees the Report.
	for _, job := range s.Jobs {
		by, _ := ctx.Value(workedOn{}).(string)
		if job != by && s.stirs(was, a.o.Now()) {
			w.ops = append(w.ops, queue.Wake(s.Objective.Scope, job))
		}
	}
	rev, err = to.Commit(ctx, append(w.ops, index...)...)
	if errors.Is(err, store.ErrConflict) {
		return 0, fmt.Errorf("%w: %q was moved on by another agent: %w", ErrRunning, s.ID, store.ErrConflict)
	}
	if err = owned(ctx, s.ID, err); err != nil {
		return 0, fmt.Errorf("run %q: %w", s.ID, err)
	}
	return rev, nil
}

// adopt moves records that an earlier version has stored under keys without a tenant.
func (a *Agent) adopt(ctx context.Context) error {
	within := func(ctx context.Context, name string, fn func(*rank.Book, *meta.Monitor) error) error {
		own, err := a.tenants.Get(ctx, name)
		if err != nil {
			return err
		}
		defer a.handBack(own)
		return fn(own.book, own.monitor)
	}
	return adopt.All(ctx, a.st, a.o.Logger, a.adopted, within, a.w.Flush, a.dropAll)
}

// adopted is a run of an earlier version, and the ops that move it.
func (a *Agent) adopted(
	e store.Entry,
) (adopt.Run, func(context.Context, func(string) string, ...store.Op) error, error) {
	var s state
	err := codec.Decode(e, &s)
	tenant := s.Objective.Scope.Tenant()
	move := func(ctx context.Context, renamed func(string) string, ops ...store.Op) error {
		for i := range s.Deliveries {
			s.Deliveries[i].Output.Key = renamed(s.Deliveries[i].Output.Key)
		}
		if s.Current != nil {
			s.Current.Output.Key = renamed(s.Current.Output.Key)
		}
		_, err := a.commit(ctx, a.st, runKey(tenant, s.ID), &s, nil, "", 0, ops...)
		if errors.Is(err, ErrRunning) {
			return fmt.Errorf("%w: run %q", store.ErrConflict, s.ID)
		}
		return err
	}
	return adopt.Run{Tenant: tenant, Name: s.prefix()}, move, err
}

// dueRuns returns the runs that are due now or whose leases have lapsed, and when to
// look for the next, in Unix nanoseconds. 0: there is none.
func (a *Agent) dueRuns(ctx context.Context) (due []register.Due, next int64, err error) {
	now := a.o.Now().UnixNano()
	due, next, lost := a.lapsed(ctx)
	if lost != nil { // of some runs; the others are returned
		defer func() { err = errors.Join(fmt.Errorf("leases: %w", lost), err) }()
	}
	for d, err := range register.AllDue(ctx, a.st, 0) {
		if err != nil {
			return due, next, err
		}
		if d.At > now {
			if next == 0 || d.At < next {
				next = d.At
			}
			break
		}
		due = append(due, d)
	}
	misdated, err := a.misdated(ctx, now)
	return append(due, misdated...), next, err
}

// misdated returns the runs that began to wait at a time after now, by more than the clocks of
// replicas may differ: the clock was put back since. It looks every longestWait only.
func (a *Agent) misdated(ctx context.Context, now int64) (due []register.Due, err error) {
	if past := now - a.dated.Load(); past >= 0 && past < int64(longestWait) {
		return nil, nil
	}
	const apart = int64(time.Hour)
	for d, err := range register.AllDue(ctx, a.st, now+apart) {
		if err != nil {
			return due, err
		}
		if d.Set > now+apart {
			due = append(due, d)
		}
	}
	a.dated.Store(now)
	return due, nil
}

// lapsed returns the runs whose leases have lapsed, and when to look again, in Unix nanoseconds.
func (a *Agent) lapsed(ctx context.Context) (runs []register.Due, next int64, err error) {
	if a.leases == nil {
		return nil, 0, nil
	}
	keys, err := a.leases.Lapsed(ctx, key.Prefix(leaseKeys))
	for _, k := range keys {
		parts := key.Split(k)
		runs = append(runs, register.Due{Tenant: parts[1], ID: parts[2], Key: k})
	}
	return runs, a.o.Now().Add(a.o.Lease / 3).UnixNano(), err
}

// undue deletes an outdated entry from the index. A run that waits has its own afterwards, though a damaged
// one may have stood for it.
func (a *Agent) undue(ctx context.Context, d register.Due, s *state) error {
	ops := []store.Op{{Key: d.Key, Delete: true}}
	if s.Wait.Due != 0 {
		ops = append(ops, s.listed().Enlist(s.Wait.Due, s.set(s.Wait.Since)))
	}
	_, err := a.st.Commit(ctx, ops...)
	return err
}

// load returns a run and the revision of its last commit.
func (a *Agent) load(ctx context.Context, tenant, id string) (state, store.Revision, error) {
	e, err := a.st.Get(ctx, runKey(tenant, id))
	if errors.Is(err, store.ErrNotFound) {
		err = store.ErrNotFound // without the key
	}
	if err != nil {
		return state{}, 0, fmt.Errorf("run %q: %w", id, err)
	}
	var s state
	if err := codec.Decode(e, &s); err != nil {
		return state{}, 0, fmt.Errorf("run %q: %w", id, err)
	}
	return s, e.Rev, nil
}

// remove deletes a run at rev with its outputs, with the records that make it idempotent, and with
// its session if that has no other run. What was learned from it stays; a run that touches scopes
// which can be erased without its own leaves the list of these, so that their Erase finds what it
// has taught.
//
// A crash in the middle leaves the run, and deleting it again completes the rest: the run goes in
// the last commit, with all that leads to it.
func (a *Agent) remove(ctx context.Context, own *tenant, s *state, rev store.Revision) error {
	listed := s.listed()
	ops := []store.Op{
		{Key: runKey(own.name, s.ID), Delete: true, If: store.At(rev)},
		{Key: listed.ByStatus(new(key.Block), string(s.Status)), Delete: true},
	}
	if k := listed.BySession(); k != "" {
		ops = append(ops, store.Op{Key: k, Delete: true})
	}
	if s.Wait.Due != 0 {
		ops = append(ops, store.Op{Key: listed.ByTime(s.Wait.Due), Delete: true})
	}
	if s.apart() {
		k := key.Under(own.name, taughtKeys, s.ID)
		value, err := codec.Encode(k, taught{s.scopes()})
		if err != nil {
			return err
		}
		ops = append(ops, store.Op{Key: k, Value: value})
	}
	attempts, goals := s.names()
	for e, err := range a.outputs(ctx, s) {
		if err != nil {
			return err
		}
		ops = append(ops, store.Op{Key: e.Key, Delete: true})
	}
	if err := own.learner.Release(ctx, s.Session, s.scopes(), attempts, goals); err != nil {
		return err
	}
	t := turn{a: a, own: own, s: *s}
	if err := t.unreserve(ctx); err != nil { // a run that waited, or whose replica was killed
		return err
	}
	if last, err := a.lastOf(ctx, s); err != nil {
		return err
	} else if last {
		if err := own.monitor.Forget(ctx, s.Session); err != nil {
			return err
		}
		op, err := own.ledgers.Drop(ctx, s.Session)
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	_, err := a.w.Commit(ctx, ops...)
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("%w: %q was moved on by another agent", ErrRunning, s.ID)
	}
	return owned(ctx, s.ID, err)
}

// outputs yields the outputs of a run that are separate records.
func (a *Agent) outputs(ctx context.Context, s *state) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		attempts, _ := s.names()
		begin := key.Under(s.Objective.Scope.Tenant(), outputs.Keys, "")
		for e, err := range a.st.Scan(ctx, store.Range{Prefix: begin + s.prefix() + "/"}) {
			if err == nil && !slices.Contains(attempts, e.Key[len(begin):]) {
				continue // belongs to a run whose id begins with this one's
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// dropAll deletes all keys below a prefix.
func (a *Agent) dropAll(ctx context.Context, prefix string) error {
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: prefix}) {
		if err == nil {
			err = a.w.Add(ctx, store.Op{Key: e.Key, Delete: true})
		}
		if err != nil {
			return err
		}
	}
	return a.w.Flush(ctx)
}

// names returns the keys of the run's attempts, of the verdicts about it, and of its aims. Of the
// first two it adds one more, which may have been cut off. All of them follow from counters in the
// state, so that no list of keys has to be stored with a run.
func (s *state) names() (attempts, goals []string) {
	for n := range s.Attempts + 1 {
		attempts = append(attempts, s.attemptKey(n+1))
	}
	for n := range 2 * (s.Judged + 1) {
		verdict := s.verdictKey(n/2+1, n%2 == 0)
		attempts = append(attempts, verdict, verdict+"/back")
		for i := range s.Deliveries {
			attempts = append(attempts, verdict+"/"+strconv.Itoa(i))
		}
	}
	for n := range len(s.Subgoals) + 1 {
		goals = append(goals, s.prefix()+"/goal/"+strconv.Itoa(n))
	}
	return attempts, goals
}

// lastOf reports whether no other run belongs to the run's session.
func (a *Agent) lastOf(ctx context.Context, s *state) (bool, error) {
	tenant := s.Objective.Scope.Tenant()
	for e, err := range a.st.Scan(ctx, store.Range{Prefix: register.OfSession(tenant, s.Session), Limit: 2}) {
		if err != nil || e.Key != s.listed().BySession() {
			return false, err
		}
	}
	if s.Session == s.ID {
		return true, nil
	}
	other, _, err := a.load(ctx, tenant, s.Session)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return err == nil && other.Objective.Session != "", err
}

// restore reads what belongs to a turn's state: the deliveries so far, the memories recalled for
// the aim, and the output that the gates have to verify. It is called once, when a run begins or
// is resumed. In what it reads, the secrets that the host has given again stand in place of their
// marks: workers and gates get the texts as they were.
func (t *turn) restore(ctx context.Context) (err error) {
	if t.lineage, err = t.a.lineage(ctx, &t.s); err != nil || t.s.Status != Running {
		return err
	}
	for i := range t.lineage {
		t.lineage[i].Output = t.veil.San.RevealJSON(t.lineage[i].Output)
	}
	if err := t.remind(ctx); err != nil {
		return err
	}
	if c := t.s.Current; c != nil {
		if t.output, err = c.Output.Read(ctx, t.a.st); err == nil {
			t.output = t.veil.San.RevealJSON(t.output)
			err = t.know(ctx)
		}
	}
	return err
}

// remind reads the memories that were recalled for the aim, and the facts that were told.
func (t *turn) remind(ctx context.Context) (err error) {
	o := &t.s.Objective
	ask := learn.Ask{Scope: o.Scope, Also: o.Also, Episodes: o.Episodes, Case: learn.Case{User: o.User}}
	if t.shown.Found, err = t.own.learner.Again(ctx, ask, t.s.aim().Recalled); err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	return t.retell(ctx)
}

// lineage returns the deliveries of a run with their outputs, which may be separate records.
func (a *Agent) lineage(ctx context.Context, s *state) (ds []act.Delivery, err error) {
	for _, d := range s.Deliveries {
		out, err := d.Output.Read(ctx, a.st)
		if err != nil {
			return nil, err
		}
		ds = append(ds, d.delivered(out))
	}
	return ds, nil
}
